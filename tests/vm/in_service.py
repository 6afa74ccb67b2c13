# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
clew as a service of systemd, seen from the guest that runs it; see tests/vm/service. The unit's
sandbox takes nothing away: locks, functions in programs of other users and of the kernel are in
what is recorded. Reloaded, killed, stopped and hung it does what the unit promises.
"""
import fcntl
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import time
import traceback
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "live"))

from _live import WORKLOADS, await_detached, clew, finish, note, ok, resolved, run, scratch  # noqa: E402  pylint: disable=wrong-import-position

RING = "/run/clew/ring"
CONF = "/etc/clew/clew.conf"
INCIDENTS = "/var/lib/clew/incidents"
NODE_EXPORTER = "/var/lib/prometheus/node-exporter"
ADDRESS = "127.0.0.1:9464"
DROP_IN = "/etc/systemd/system/clew.service.d"
GROUP = "/sys/fs/cgroup/system.slice/clew.service"
CLOCKS = 20_000_000  # ns: a wait is shorter than its call by that at most, on an emulated CPU
# Takes memory until it is killed.
HOG = """
import os
with open("/proc/self/oom_score_adj", "w") as file:
    file.write("1000")
with open("%s/cgroup.procs", "w") as file:
    file.write("0")
taken = []
while True:
    taken.append(os.urandom(1 << 20) * 16)
""" % GROUP


def systemctl(*arguments):
    return run("systemctl", "--no-pager", *arguments)


def state(*names):
    """Properties of the unit, as text."""
    told = systemctl("show", "clew", "--property=" + ",".join(names)).stdout
    found = dict(line.split("=", 1) for line in told.splitlines())
    return tuple(found[name] for name in names)


def main_pid():
    return int(state("MainPID")[0])


def journal():
    return run("journalctl", "--no-pager", "--unit=clew", "--output=cat").stdout


def status():
    """What the daemon says of itself, or why it says nothing."""
    done = clew("daemon", "status", "--json")
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr


def await_true(condition, seconds=120):
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.2)
    return condition()


def configure(*lines):
    os.makedirs(os.path.dirname(CONF), exist_ok=True)
    with open(CONF, "w", encoding="ascii") as file:
        file.write("\n".join(lines) + "\n")


def change_unit(*lines):
    os.makedirs(DROP_IN, exist_ok=True)
    with open(DROP_IN + "/test.conf", "w", encoding="ascii") as file:
        file.write("\n".join(("[Service]", *lines)) + "\n")
    systemctl("daemon-reload")


def start(name):
    began = time.monotonic()
    done = systemctl("start", "clew")
    note("it started in %.1f s" % (time.monotonic() - began))
    told = status()
    good = done.returncode == 0 and state("ActiveState", "SubState") == ("active", "running")
    return ok(good and isinstance(told, dict) and told["pid"] == main_pid(), name,
              (done.stderr, told, journal()))


def hold(seconds):
    """Holds a lock; returns the waiter, and the begin and end of its wait by its own clock."""
    path = scratch("lock")
    with open(path, "w", encoding="ascii") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        come, go = os.pipe()
        child = os.fork()
        if not child:
            with open(path, "w", encoding="ascii") as mine:
                before = time.monotonic_ns()
                os.write(go, b"%d " % before)
                fcntl.flock(mine, fcntl.LOCK_EX)
                os.write(go, b"%d" % time.monotonic_ns())
            os._exit(0)
        before = int(os.read(come, 32))
        time.sleep(seconds)
        fcntl.flock(held, fcntl.LOCK_UN)
        after = int(os.read(come, 32))
        os.waitpid(child, 0)
        os.close(come)
        os.close(go)
    return child, before, after


def snapshot(name, last):
    """The path of a capture of what the daemon has of the last seconds, or None."""
    path = scratch(name)
    done = clew("snapshot", "--last", f"{last}s", "-o", path)
    if done.returncode:
        note(done.stderr)
    return path if done.returncode == 0 else None


def waits_of(path, *options):
    done = clew("waits", path, "--json", *options)
    return resolved(json.loads(done.stdout))["waits"] if done.returncode == 0 else []


def segments():
    return sorted(glob.glob(RING + "/*.clew"))


def read_segments(names):
    """
    What clew info says of segments, and what it refuses, but for one that was only just begun.
    """
    done = [clew("info", name, "--json") for name in names]
    told = [json.loads(each.stdout) for each in done if each.returncode == 0]
    refused = [each.stderr for each in done if each.returncode]
    return told, [text for text in refused if not re.search("not one whole chunk|is empty", text)]


def check_granted():
    """The unit's options are in force, so that the rest says something about them."""
    with open(f"/proc/{main_pid()}/status", encoding="ascii") as file:
        told = dict(line.rstrip("\n").split(":\t", 1) for line in file)
    with open(f"/proc/{main_pid()}/mounts", encoding="utf-8") as file:
        mounts = {line.split()[1]: line.split()[3].split(",") for line in file}
    granted = state("CapabilityBoundingSet")[0].split()
    ok(
        bin(int(told["CapEff"], 16)).count("1") == len(granted) == 8 and
        told["NoNewPrivs"] == "1" and told["Seccomp"] == "2" and "ro" in mounts["/"] and
        "rw" in mounts["/run/clew"], "its capabilities, system calls and files are the unit's",
        (granted, told, mounts))
    outside = json.loads(clew("doctor", "--json").stdout)
    lines = systemctl("cat", "clew").stdout.splitlines()
    # The doctor tries a 32-bit call of its own; recording makes none.
    left_out = ("SystemCallArchitectures=", "Type=", "NotifyAccess=", "ExecStart=", "ExecReload=",
                "WatchdogSec=", "Restart", "Runtime", "State", "[Install]", "WantedBy=",
                "KillMode=")
    kept = [line for line in lines if not line.startswith(left_out)]
    with open("/etc/systemd/system/clew-doctor.service", "w", encoding="ascii") as file:
        file.write("\n".join((*kept, "[Service]", "Type=oneshot", "RuntimeDirectory=clew-doctor",
                              "ExecStart=/usr/bin/clew doctor --json",
                              "StandardOutput=file:/results/doctor.json")) + "\n")
    systemctl("daemon-reload")
    done = systemctl("start", "clew-doctor")
    with open("/results/doctor.json", encoding="utf-8") as file:
        text = file.read()
    inside = json.loads(text)["features"] if done.returncode == 0 else []
    changed = [pair for pair in zip(outside["features"], inside) if pair[0] != pair[1]]
    ok(len(inside) == len(outside["features"]) > 40 and not changed,
       "with them clew doctor finds the same as without", (changed, done.stderr))


def check_refused():
    second = run("clew", "daemon", "--foreground")
    ok(
        second.returncode == 3 and f"process {main_pid()}," in second.stderr and
        second.stderr.count("\n") == 1, "a second daemon is refused in one line", second.stderr)


def check_lock(name):
    """A wait for a lock is in a snapshot, as long as the waiter's clock says."""
    tid, before, after = hold(0.4)
    path = snapshot(name + ".clew", 5)
    waits = waits_of(path, "--tid", tid) if path else []
    found = [
        wait for wait in waits
        if wait["object"] and wait["object"].get("path") == scratch("lock")
    ]
    good = len(found) == 1 and before <= found[0]["start"] <= found[0]["end"] <= after
    ok(good and after - before - (found[0]["end"] - found[0]["start"]) < CLOCKS,
       f"{name}: a lock on a file is waited for as long as the waiter says",
       (tid, before, after, waits))


def check_reload():
    pid, kept = main_pid(), status()
    configure("rotate 2s", "keep 5m", "rotat 2s")
    done = systemctl("reload", "clew")
    complained = await_true(lambda: f"clew: {CONF}:3:1: there is no setting" in journal(), 30)
    now = status()
    ok(done.returncode == 0 and complained and now["pid"] == pid and now["configuration"] is None,
       "a wrong configuration is told in the journal and changes nothing", (done.stderr, now))
    configure("rotate 2s", "keep 5m", "trigger held: lock wait > 250ms where comm python*",
              f"metrics-file {NODE_EXPORTER}/clew.prom")
    done = systemctl("reload", "clew")
    taken = await_true(lambda: status()["configuration"] == CONF, 30)
    await_true(lambda: status()["segments"] > kept["segments"] + 2, 30)
    now = status()
    ok(
        done.returncode == 0 and taken and now["pid"] == main_pid() == pid and
        now["segments"] > kept["segments"] + 2 and now["lost"] == 0 and
        state("ActiveState", "NRestarts") == ("active", "0"),
        "systemctl reload has it take another one, in the same process", (kept, now))


def incidents():
    """Those that are whole."""
    names = os.listdir(INCIDENTS) if os.path.isdir(INCIDENTS) else []
    return [name for name in names if "." not in name]


def check_incident():
    tid, before, after = hold(0.6)
    await_true(incidents, 90)
    names = incidents()
    told, text = {}, ""
    if names:
        with open(f"{INCIDENTS}/{names[0]}/trigger.json", encoding="utf-8") as file:
            told = json.load(file)
        with open(f"{INCIDENTS}/{names[0]}/why.txt", encoding="utf-8") as file:
            text = file.read()
    ok(
        len(names) == 1 and told["tid"] == tid and before <= told["start"] <= told["end"] <= after
        and f"-{os.getpid()}, holding" in text,
        "an incident is explained in the state directory, and names the holder",
        (names, told, text, journal()))
    metrics = NODE_EXPORTER + "/clew.prom"
    ok(await_true(lambda: os.path.exists(metrics), 60), "metrics are in node_exporter's directory",
       journal())


def check_stopped(name, begun=None):
    """`begun`: when it went on recording, by CLOCK_MONOTONIC, and all is kept since then."""
    before = time.monotonic_ns()
    done = systemctl("stop", "clew")
    ended = state("ActiveState", "Result", "ExecMainStatus")
    ok(done.returncode == 0 and ended == ("inactive", "success", "0"), name + ": it ends by itself",
       (ended, journal()))
    told, refused = read_segments(segments())
    left = sorted(os.listdir("/run/clew") + os.listdir(RING))
    ok(told and not refused, name + ": segments are left that can be read", refused)
    if begun is not None:
        whole = all(each["complete"] and each["ledger"]["balanced"] for each in told)
        gaps = [(a["end"], b["start"]) for a, b in zip(told, told[1:]) if a["end"] != b["start"]]
        ok(
            whole and not gaps and told[0]["start"] < begun and told[-1]["end"] > before,
            name + ": no time is missing between them, also where it was reloaded",
            (whole, gaps, told[0]["start"], begun, told[-1]["end"], before))
    strange = [each for each in left if not re.search(r"^(lock|ring|ring-path|pid|log)$|\.clew$", each)]
    ok(not strange, name + ": and nothing else", left)
    ok(not await_detached(), name + ": and no program and no map in the kernel")


def stacks_from(program, user):
    """
    Runs a program that says in which functions it waits; {tid: names}. It has been run before, as a
    first stack that leads into a file may come before the file's table.
    """
    command = f"{program} >/dev/null; sleep 1; {program}"
    done = run("su", "-s", "/bin/sh", "-c", command, user)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return {row["tid"]: [each["name"] for each in row["chain"]] for row in rows
            if row["case"] in ("leaf", "deep", "pipe", "signal")}


def check_programs():
    """Programs that only their users can read are read, wherever they are."""
    places = {"/home/u/stack": "nobody", "/root/stack": "root", "/tmp/stack": "nobody"}
    for program, user in places.items():
        os.makedirs(os.path.dirname(program), exist_ok=True)
        shutil.copy(WORKLOADS + "/stack", program)
        os.chmod(program, 0o500)
        shutil.chown(program, user)
    os.chmod("/tmp", 0o1777)
    begun = time.monotonic()
    stacks = {program: stacks_from(program, user) for program, user in places.items()}
    path = snapshot("stacks.clew", int(time.monotonic() - begun) + 2)
    waits = waits_of(path, "--idle", "--min", "1ms", "--stacks") if path else []
    for program, user in places.items():
        said, wrong, kernel = stacks[program], [], set()
        for tid, chain in said.items():
            mine = [wait["stack"] for wait in waits if wait["tid"] == tid and wait["stack"]]
            kernel.update(name for stack in mine for name in stack["kernel"])
            found = [[frame["name"] for frame in stack["frames"] if frame["object"] == program]
                     for stack in mine]
            if chain not in found:
                wrong.append((tid, chain, found))
        ok(len(said) == 4 and not wrong, f"functions of {program} are found for {user}",
           (said, wrong[:2]))
        ok({"pipe_read", "hrtimer_nanosleep"} <= kernel,
           f"{program}: and those of the kernel have names", kernel)
    with urllib.request.urlopen(f"http://{ADDRESS}/metrics", timeout=30) as answer:
        text = answer.read().decode()
    cost = re.search(r'^clew_cost_cpu_seconds_total\{part="bpf"\} (\S+)$', text, re.MULTILINE)
    ok(cost and float(cost[1]) > 0, "metrics by HTTP know what its programs cost in the kernel",
       text[:2000])


def check_memory():
    """A stand-in for an explanation that grows too large."""
    pid = main_pid()
    hog = subprocess.run([sys.executable, "-c", HOG], stderr=subprocess.PIPE, check=False)
    with open(GROUP + "/memory.events", encoding="ascii") as file:
        events = dict(line.split() for line in file)
    time.sleep(3)
    now = status()
    ok(
        hog.returncode == -9 and events["oom_kill"] == "1" and isinstance(now, dict) and
        now["pid"] == main_pid() == pid,
        "what takes too much memory beside it is killed alone", (hog, events, now, journal()))


def check_restarted(name, signal, result):
    pid, kept = main_pid(), segments()[-4:]
    restarts = int(state("NRestarts")[0])
    began = time.monotonic()
    systemctl("kill", "-s", signal, "clew")
    again = await_true(
        lambda: int(state("NRestarts")[0]) == restarts + 1 and state("ActiveState")[0] == "active")
    note("%s: it is there again %.1f s later" % (name, time.monotonic() - began))
    now = status()
    ok(
        again and isinstance(now, dict) and now["pid"] == main_pid() != pid and result in journal(),
        f"{name}: systemd starts it again", (now, journal()))
    told, refused = read_segments(kept)
    ok(told and not refused, f"{name}: what it had recorded can be read", refused)


def check_all():
    os.makedirs(NODE_EXPORTER)
    ok(systemctl("enable", "clew").returncode == 0 and
       systemctl("is-enabled", "clew").stdout == "enabled\n", "the installed unit can be enabled")
    start("it starts without a configuration, and says when it is ready")
    check_granted()
    check_refused()
    check_lock("as installed")
    begun = time.monotonic_ns()
    check_reload()
    check_incident()
    (active, watchdog) = state("ActiveEnterTimestampMonotonic", "WatchdogUSec")
    note(f"the watchdog's time is {watchdog}")
    await_true(lambda: time.monotonic() > int(active) / 1e6 + 40)
    ok(watchdog == "30s" and state("ActiveState", "NRestarts") == ("active", "0"),
       "the watchdog lets it live", (watchdog, journal()))
    check_stopped("stopped", begun)
    # A system call that is not allowed kills it from now on.
    change_unit("SystemCallErrorNumber=kill", "WatchdogSec=15")
    shutil.rmtree(RING)
    configure("keep 5m", "stacks yes", f"metrics-address {ADDRESS}")
    start("it starts where a system call that is not allowed would kill it")
    check_programs()
    check_memory()
    check_restarted("killed", "KILL", "status=9/KILL")
    check_restarted("hung", "STOP", "Watchdog timeout")
    check_lock("started again")
    ok("status=31/SYS" not in journal(), "it made no system call that is not allowed", journal())
    check_stopped("stopped again")


try:
    check_all()
except Exception:  # pylint: disable=broad-exception-caught
    ok(False, "the test goes to its end", traceback.format_exc())
print("# guest done", flush=True)
finish()
