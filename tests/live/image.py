#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
clew in a container, with the capabilities and mounts of fleet/daemonset.yaml and no others: what it
records of the machine has the machine's PIDs, paths, control groups and names; the daemon runs with
the configuration that is there, and answers the probe.

The image is made here from nothing but clew, its libraries and a shell.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time

from _live import CLEW, ROOT, answer, finish, ok, run, scratch, skip_all
from dashboard import ID, await_true, pod

try:
    import yaml
except ImportError:
    yaml = None

NAME = f"clew-image-{os.getpid()}"
MINE = f"image-{os.getpid()}"
# It sleeps again and again, in the group that it is given.
SLEEPER = f"""
import os, sys, time
with open(sys.argv[1] + "/cgroup.procs", "w") as file:
    file.write("0")
with open("/proc/self/comm", "w") as file:
    file.write("{MINE}")
print("begun", flush=True)
while True:
    time.sleep(0.01)
"""


def documents():
    with open(os.path.join(ROOT, "fleet", "daemonset.yaml"), encoding="utf-8") as file:
        return {document["kind"]: document for document in yaml.safe_load_all(file)}


def arguments(found):
    """podman's words for what the DaemonSet asks for; its folders of the machine are in a scratch one,
    but those of the kernel."""
    spec = found["DaemonSet"]["spec"]["template"]["spec"]
    one, = spec["containers"]
    security = one["securityContext"]
    # Another field may be another privilege: it has to be said here, too.
    assert set(security) == {
        "runAsUser", "privileged", "allowPrivilegeEscalation", "readOnlyRootFilesystem",
        "seccompProfile", "appArmorProfile", "capabilities"
    } and not security["privileged"]
    assert set(spec) == {
        "automountServiceAccountToken", "hostPID", "tolerations", "containers", "volumes"
    } and spec["hostPID"]
    words = ["--pid", "host", "--network", "none", "--security-opt", "seccomp=unconfined"]
    words += ["--read-only", "--read-only-tmpfs=false"
              ] if security["readOnlyRootFilesystem"] else []
    words += [] if security["allowPrivilegeEscalation"] else ["--security-opt", "no-new-privileges"]
    words += [f"--cap-drop={name}" for name in security["capabilities"]["drop"]]
    words += [f"--cap-add={name}" for name in security["capabilities"]["add"]]
    volumes = {volume["name"]: volume for volume in spec["volumes"]}
    for mount in one["volumeMounts"]:
        volume, end = volumes[mount["name"]], ":ro" if mount.get("readOnly") else ""
        if "emptyDir" in volume:
            words += ["--tmpfs", mount["mountPath"]]
            continue
        source = volume["hostPath"]["path"] if "hostPath" in volume else mount["mountPath"]
        if not source.startswith("/sys/"):
            source = scratch("image-root") + source
            os.makedirs(source, exist_ok=True)
        words += ["--volume", f"{source}:{mount['mountPath']}{end}"]
    with open(scratch("image-root") + "/etc/clew/clew.conf", "w", encoding="ascii") as file:
        file.write(found["ConfigMap"]["data"]["clew.conf"])
    return words


def build():
    """Whether the image was built, or what podman says."""
    folder = scratch("image-build")
    root = os.path.join(folder, "root")
    for path in ("usr/bin", "proc", "sys", "tmp", "run/clew", "etc/clew", "var/lib/clew"):
        os.makedirs(os.path.join(root, path))
    libraries = re.findall(r"(/\S+) \(", run("ldd", CLEW).stdout)
    for source, target in [(CLEW, "/usr/bin/clew"),
                           ("/bin/busybox", "/usr/bin/sh")] + [(library, library)
                                                               for library in libraries]:
        os.makedirs(os.path.dirname(root + target), exist_ok=True)
        shutil.copy(source, root + target)
    with open(os.path.join(folder, "Containerfile"), "w", encoding="ascii") as file:
        file.write('FROM scratch\nCOPY root /\nENTRYPOINT ["/usr/bin/clew"]\n')
    return run("podman", "build", "--quiet", "--tag", NAME, folder)


def start(words, *more, detach=False):
    # crun refuses hybrid groups, and root may not raise limits everywhere.
    return run("podman", "--runtime", "runc", "run", "--rm", "--name", NAME,
               "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1000:1000",
               *(["--detach"] if detach else []), *words, NAME, *more)


def recorded(words, group):
    sleeper = subprocess.Popen([sys.executable, "-c", SLEEPER, group],
                               stdout=subprocess.PIPE,
                               text=True)
    try:
        sleeper.stdout.readline()
        done = start(words, "record", "--stacks", "-o", "/var/lib/clew/inside.clew", "-d", "1s")
        path = scratch("image-root") + "/var/lib/clew/inside.clew"
        if not ok(done.returncode == 0 and os.path.exists(path), "it records from inside",
                  done.stderr):
            return
        told = answer("why", "--tid", sleeper.pid, path)
    finally:
        sleeper.kill()
        sleeper.wait()
    ok(told["pid"] == sleeper.pid and told["comm"] == MINE, "PIDs are the machine's",
       (told["pid"], told["comm"], sleeper.pid))
    ok(told["cgroup"].endswith(f"/{ID}"), "control groups are the machine's", told["cgroup"])
    names = tuple(told.get(key) for key in ("container", "pod", "namespace"))
    ok(names == ("app", "web-1", "shop"), "names are those of the machine's runtime", names)
    rows = json.loads(
        run(CLEW, "sql", "--json", path,
            f"select executable from tasks where tid = {sleeper.pid}").stdout)
    ok(os.path.realpath(sys.executable) in json.dumps(rows), "paths are the machine's", rows)
    stacks = run(CLEW, "waits", "--tid", sleeper.pid, "--idle", "--json", path).stdout
    ok("hrtimer_nanosleep" in stacks, "functions of the kernel have names", stacks[:500])


def daemon(words):
    metrics = scratch("image-root") + "/var/lib/prometheus/node-exporter/clew.prom"
    done = start(words, "daemon", "--foreground", detach=True)
    try:
        if not ok(done.returncode == 0, "the daemon begins", done.stderr):
            return
        found = await_true(
            lambda: os.path.exists(metrics) and open(metrics, encoding="utf-8").read())
        ok(
            bool(found) and 'name="locks"' in found,
            "its metrics come, with the rule that is there",
            run("podman", "logs", NAME).stderr)
        probe = documents()["DaemonSet"]["spec"]["template"]["spec"]["containers"][0]
        probe = probe["livenessProbe"]["exec"]["command"]
        done = run("podman", "--runtime", "runc", "exec", NAME, *probe)
        ok(done.returncode == 0, "the liveness probe passes", done.stdout + done.stderr)
        begun = time.monotonic()
        run("podman", "stop", "--time", "10", NAME)
        ok(time.monotonic() - begun < 8, "it ends when it is asked to")
    finally:
        run("podman", "rm", "--force", "--time", "0", NAME)


def main():
    if not shutil.which("podman") or not shutil.which("runc") or not yaml:
        skip_all("there is no podman, runc or python3-yaml: tools/deps --all installs them")
    try:
        done = build()
        if done.returncode:
            skip_all(" ".join(done.stderr.split())[-200:])
        words = arguments(documents())
        with pod() as group:
            if not group:
                skip_all("no group can be made")
            recorded(words, group)
        daemon(words)
    finally:
        run("podman", "rmi", "--force", NAME)
    finish()


if __name__ == "__main__":
    main()
