#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Names of containers and pods, of containers that runc and podman run. runc has them in bundles where
containerd has its own, with the annotations that containerd writes. Two containers are of one pod,
one is of a pod that was made again under its name, and one has no name.
"""

import contextlib
import json
import os
import shutil
import subprocess

from _live import answer, clew, finish, ok, run, scratch, skip
from _place import Lacking, controller

BUNDLES = "/run/containerd/io.containerd.runtime.v2.task/k8s.io"
BUSYBOX = "/bin/busybox"
MINE = f"{os.getpid():x}"
POD, SPACE = f"web-{MINE}", f"shop-{MINE}"
# It waits for a child again and again.
LOOP = ["/bin/sh", "-c", "while :; do /bin/sh -c :; done"]


def number(digit):
    return (digit + MINE).ljust(64, "0")


def uid(digit):
    return f"{digit}d8c6f2e-1f3a-4c1b-9d52-{os.getpid():012x}"


# id, pod's number, annotations
CONTAINERS = [(number("a"), uid("1"),
               {"container-name": "app", "sandbox-name": POD, "sandbox-namespace": SPACE}),
              (number("b"), uid("1"),
               {"container-name": "proxy", "sandbox-name": POD, "sandbox-namespace": SPACE}),
              (number("c"), uid("2"),
               {"container-name": "app", "sandbox-name": POD, "sandbox-namespace": SPACE}),
              (number("d"), uid("3"), {}), ]


def bundle(name, pod, annotations):
    """What containerd makes of a container: a folder with the configuration and the root."""
    folder = os.path.join(BUNDLES, name)
    os.makedirs(os.path.join(folder, "rootfs/bin"))
    os.mkdir(os.path.join(folder, "rootfs/proc"))
    shutil.copy(BUSYBOX, os.path.join(folder, "rootfs/bin/sh"))
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
        json.dump(
            {
                "ociVersion": "1.0.2", "process": {
                    "user": {"uid": 0, "gid": 0}, "args": LOOP, "cwd": "/"
                }, "root": {"path": "rootfs"}, "mounts":
                [{"destination": "/proc", "type": "proc", "source": "proc"}], "annotations":
                {f"io.kubernetes.cri.{key}": value
                 for key, value in annotations.items()}, "linux": {
                     "cgroupsPath": f"/kubepods/burstable/pod{pod}/{name}", "namespaces":
                     [{"type": "pid"}, {"type": "mount"}]
                 },
            }, file)
    return folder


def start(name, folder):
    """None, or why it does not run. The container keeps the output open, so that is a file."""
    said = scratch("runc.log")
    with open(said, "w", encoding="utf-8") as file:
        done = subprocess.run(["runc", "run", "--detach", "--bundle", folder, name],
                              stdin=subprocess.DEVNULL,
                              stdout=file,
                              stderr=file,
                              check=False,
                              timeout=60)
    if not done.returncode:
        return None
    with open(said, encoding="utf-8") as file:
        return " ".join(file.read().split()) or "runc says nothing"


@contextlib.contextmanager
def running():
    """None, or why they do not run."""
    begun, why = [], None
    try:
        for name, pod, annotations in CONTAINERS:
            begun.append(name)
            why = start(name, bundle(name, pod, annotations))
            if why:
                break
        yield why
    finally:
        for name in begun:
            run("runc", "delete", "--force", name)
            shutil.rmtree(os.path.join(BUNDLES, name), ignore_errors=True)
        root = controller("cpu")[0]
        for _, pod, _ in CONTAINERS:
            with contextlib.suppress(OSError):
                os.rmdir(os.path.join(root, "kubepods/burstable", f"pod{pod}"))


def threads(path, *arguments):
    """The containers, pods and namespaces of the threads that wait, idle or not."""
    return {(wait.get("container"), wait.get("pod"), wait.get("namespace"))
            for wait in answer("waits", "--idle", *arguments, path)["waits"]}


def afterwards():
    path = scratch("pods.clew")
    done = clew("record", "-o", path, "-d", "500ms")
    if not ok(done.returncode == 0, "pods: recorded", done.stderr):
        return
    app, proxy = ("app", POD, SPACE), ("proxy", POD, SPACE)
    found = {place for place in threads(path) if place[1] == POD or place[0] == number("d")}
    ok(found == {app, proxy, (number("d"), None, None)},
       "each container has its names, and the one without names its id", found)
    ok(threads(path, "--pod", POD) == {app, proxy}, "waits --pod", threads(path, "--pod", POD))
    one = threads(path, "--pod", f"{SPACE}/web-*", "--container", "proxy")
    ok(one == {proxy}, "waits --pod NAMESPACE/GLOB --container", one)
    waits = answer("waits", "--idle", "--pod", POD, path)["waits"]
    ids = {wait["container_id"] for wait in waits}
    ok(ids == {number("a"), number("b"), number("c")},
       "a pod that was made again under its name has its containers' ids", ids)
    places = [place for place in answer("report", path)["places"] if place["pod"] == POD]
    ok(
        len(places) == 1 and places[0]["namespace"] == SPACE and places[0]["total_ns"] > 0,
        "report: the pod's time", places)
    text = clew("report", path).stdout
    ok(f"{SPACE}/{POD}" in text, "report: a table with the pod", text)
    tid = next(wait["tid"] for wait in waits if wait["container"] == "proxy")
    told = " ".join(clew("why", "--tid", tid, path).stdout.split())
    ok(f"in container proxy of pod {SPACE}/{POD}" in told, "why says where it ran", told[:300])
    rows = json.loads(
        clew("sql", "--json", path,
             f"select distinct container, pod, namespace from tasks where pod = '{POD}'").stdout)
    rows = {tuple(row[key] for key in ("container", "pod", "namespace")) for row in rows["rows"]} \
        if isinstance(rows.get("rows", [None])[0], dict) else set(map(tuple, rows["rows"]))
    ok(rows == {app, proxy}, "sql: columns of tasks", rows)
    model = scratch("pods.ctrace")
    done = clew("convert", path, "-o", model)
    ok(done.returncode == 0 and threads(model, "--pod", POD) == {app, proxy},
       "a causal trace keeps the names", done.stderr)
    spans = json.loads(clew("select", model, "all", "--pod", POD, "--json").stdout)["spans"]
    ok(spans and all("sh-" in span for span in spans), "select --pod", spans[:3])
    exported = scratch("pods.json")
    done = clew("export", "--to", "otlp", "--pod", POD, "--slowest", "1", path, "-o", exported)
    text = open(exported, encoding="utf-8").read() if done.returncode == 0 else done.stderr
    ok(
        all(key in text
            for key in ("k8s.pod.name", "k8s.namespace.name", "container.name", uid("1")[1:])),
        "OTLP: a resource has the names of Kubernetes", text[:400])


def chosen():
    """Full detail for a pod alone: all of its containers are in the pod's group."""
    path = scratch("chosen.clew")
    done = clew("record", "-o", path, "-d", "200ms", "--pod", f"{SPACE}/{POD}")
    ok(done.returncode == 2 and "choose one" in done.stderr and done.stderr.count("\n") == 1,
       "record --pod: two pods of one name are status 2 and one line", done.stderr)
    run("runc", "delete", "--force", number("c"))
    done = clew("record", "-o", path, "-d", "200ms", "--pod", f"{SPACE}/{POD}")
    if ok(done.returncode == 0, "record --pod: both containers of a pod", done.stderr):
        # The end of a child is in detail only.
        detailed = {
            wait["container"]
            for wait in answer("waits", "--pod", POD, path)["waits"] if wait["kind"] == "child"
        }
        ok(detailed == {"app", "proxy"}, "record --pod: waits of both", detailed)
    done = clew("record", "-o", path, "-d", "200ms", "--container", "proxy")
    ok(done.returncode == 0, "record --container takes a name", done.stderr)
    done = clew("record", "-o", path, "-d", "200ms", "--pod", "nobody-here")
    ok(done.returncode == 2 and "nobody-here" in done.stderr and done.stderr.count("\n") == 1,
       "record: no such pod is status 2 and one line", done.stderr)


def by_podman():
    name, folder = f"clew-{MINE}", scratch("image")
    os.mkdir(folder)
    shutil.copy(BUSYBOX, os.path.join(folder, "sh"))
    with open(os.path.join(folder, "Containerfile"), "w", encoding="utf-8") as file:
        file.write(f"FROM scratch\nCOPY sh /bin/sh\nCMD {json.dumps(LOOP)}\n")
    # Hybrid groups are refused by crun, and higher limits where root may not raise them.
    begin = [
        "podman", "--runtime", "runc", "run", "--detach", "--network", "none", "--ulimit",
        "nofile=1024:1024", "--ulimit", "nproc=1000:1000", "--name", name, name
    ]
    try:
        done = run("podman", "build", "--quiet", "--tag", name, folder)
        done = done if done.returncode else run(*begin)
        if done.returncode:
            skip("podman", " ".join(done.stderr.split())[-200:])
            return
        path = scratch("podman.clew")
        done = clew("record", "-o", path, "-d", "300ms", "--container", name)
        if ok(done.returncode == 0, "record --container with podman's name", done.stderr):
            found = threads(path, "--container", name)
            ok(found == {(name, None, None)}, "podman: the container's name", found)
    finally:
        run("podman", "rm", "--force", "--time", "0", name)
        run("podman", "rmi", "--force", name)


def main():
    try:
        controller("cpu")
    except Lacking as lacking:
        skip("names of containers", str(lacking))
        finish()
        return
    if not shutil.which("runc") or not os.path.exists(BUSYBOX):
        skip("names of containers", "there is no runc, or no busybox: tools/deps installs them")
    else:
        with running() as why:
            if why:
                skip("names of containers", why)
            else:
                afterwards()
                chosen()
    if shutil.which("podman"):
        by_podman()
    else:
        skip("podman", "there is none: tools/deps --all installs it")
    finish()


if __name__ == "__main__":
    main()
