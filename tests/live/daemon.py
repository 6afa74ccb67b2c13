#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
`clew daemon`: it says when it is ready, refuses a second one, is asked and reloaded while it
records, and stops cleanly. Without room, descriptors or threads it says so, or goes on. Killed, it
leaves segments that can be read and nothing in the kernel.
"""

import contextlib
import ctypes
import json
import os
import re
import resource
import shutil
import signal
import sys
import time

from _daemon import CONF, HERE, RUN, Daemon, asked, configure, segments, status
from _live import CLEW, PATIENCE, ROOT, await_detached, clew, finish, note, ok, run, scratch, skip, wanted_runs
from _place import Lacking, controller, write

def test_life():
    configure("rotate 500ms  # short", "", "keep 2s,64M")
    daemon = Daemon(watchdog=900000)
    ok(daemon.ready, "it says that it is ready", daemon.said)
    second = asked("daemon", "-c", CONF, "--foreground")
    ok(
        second.returncode == 3 and f"process {daemon.process.pid}" in second.stderr
        and second.stderr.count("\n") == 1,
        "a second one is refused in a line that names the first", second.stderr)
    first, deadline = segments()[:1], time.monotonic() + PATIENCE
    while segments()[:1] == first and time.monotonic() < deadline:
        time.sleep(0.05)
    told = status()
    ok(
        isinstance(told, dict) and told["pid"] == daemon.process.pid and told["lost"] == 0
        and told["records"] > 0 and 4 <= told["segments"] <= 7
        and 2_000_000_000 <= told["window_ns"] < 4_000_000_000, "it says what it keeps", told)
    text = " ".join(asked("daemon", "status").stdout.split())
    ok(f"process {daemon.process.pid}" in text and f"{RUN}/ring" in text, "also in words", text)
    before = time.monotonic_ns()
    taken = asked("snapshot", "--last", "1s", "-o", scratch("s.clew"))
    info = json.loads(clew("info", scratch("s.clew"), "--json").stdout or "{}")
    ok(taken.returncode == 0 and info.get("complete") and info["end"] >= before,
       "clew snapshot finds it", taken.stderr)
    ok(daemon.hears("WATCHDOG=1", 2), "the watchdog is told that it lives", daemon.said)
    reload_wrong(daemon)
    reload_right(daemon)
    code, error = daemon.stop()
    ok(code == 0 and daemon.said[-1] == "STOPPING=1", "it stops cleanly",
       (code, error, daemon.said))
    told = [json.loads(clew("info", each, "--json").stdout) for each in segments()]
    ok(
        all(each["complete"] and each["ledger"]["balanced"] for each in told)
        and all(a["end"] == b["start"] for a, b in zip(told, told[1:])),
        "no time is missing between segments, also where it was reloaded")
    ok("no daemon runs" in status(), "nobody answers any more", status())


def reload_wrong(daemon):
    configure("rotate 500ms", "keep 3s", "keeep 3s")
    daemon.tell(signal.SIGHUP)
    good = daemon.hears("RELOADING=1\nMONOTONIC_USEC=") and daemon.hears("READY=1")
    ok(good and isinstance(status(), dict), "with a wrong configuration it goes on", daemon.said)


def reload_right(daemon):
    configure("rotate 200ms", "keep 1s")
    daemon.tell(signal.SIGHUP)
    good = daemon.hears("RELOADING=1") and daemon.hears("READY=1")

    def is_kept(told):
        return 4 <= told["segments"] <= 9 and told["window_ns"] < 2_000_000_000

    # A segment is longer where the machine has no CPU for the daemon.
    kept, deadline = status(), time.monotonic() + 20
    while not is_kept(kept) and time.monotonic() < deadline:
        time.sleep(0.1)
        kept = status()
    ok(good and is_kept(kept),
       "with a right one it keeps what that says", kept)


PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 17, 0x4206, 0x4207
WALL = 0x40000000  # of waitpid(): also a thread


def thread_of(pid, name):
    for tid in map(int, os.listdir(f"/proc/{pid}/task")):
        with open(f"/proc/{pid}/task/{tid}/comm", encoding="ascii") as file:
            if file.read().strip() == name:
                return tid
    raise LookupError(name)


@contextlib.contextmanager
def stopped(tid):
    """One thread stands still, not its process."""
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    ptrace.argtypes = [ctypes.c_long] * 4
    if ptrace(PTRACE_SEIZE, tid, 0, 0) or ptrace(PTRACE_INTERRUPT, tid, 0, 0):
        raise OSError(ctypes.get_errno(), "ptrace")
    os.waitpid(tid, WALL)
    try:
        yield
    finally:
        ptrace(PTRACE_DETACH, tid, 0, 0)


def test_watchdog():
    """The watchdog is told that all is well only while rings are emptied and the builder is fed."""
    configure("rotate 60s")
    daemon = Daemon(watchdog=1000000)
    came = sum(daemon.hears("WATCHDOG=1", 1) for _ in range(4))
    ok(came == 4, "the watchdog is told in time while all is well", daemon.said)
    for name, does in (("clew-drain", "empties the rings"), ("clew-live", "feeds the builder")):
        with stopped(thread_of(daemon.process.pid, name)):
            # The socket delivers earlier messages first, and one more is due: the thread may have
            # gone round after the last one.
            for _ in range(4):
                if not daemon.hears("WATCHDOG=1", 1):
                    break
            heard = daemon.hears("WATCHDOG=1", 2)
            told = status()
        ok(not heard and isinstance(told, dict),
           f"not when the thread that {does} stands still, although the main one goes on",
           (heard, told, daemon.said))
        ok(daemon.hears("WATCHDOG=1", 3.3), f"again when it goes on: {name}", daemon.said)
    code, error = daemon.stop()
    said = re.findall("the thread that (.*) stands still", error)
    ok(code == 0 and said == ["empties the rings", "feeds the builder"],
       "and the daemon says which one stood still", (code, error))


def test_background():
    none = asked("daemon", "stop")
    ok(none.returncode == 1 and "no daemon runs" in none.stderr,
       "clew daemon stop says that none runs", (none.returncode, none.stderr))
    configure("rotate 1s")
    started = clew("daemon", "-c", os.path.basename(CONF), env=HERE, cwd=os.path.dirname(CONF))
    told = status()
    ok(started.returncode == 0 and isinstance(told, dict), "it goes to the background",
       (started.stderr, told))
    if not isinstance(told, dict):
        return
    configure("rotate 1s", "keep 7s", "trigger reloaded: wait fsync > 50s")
    os.kill(told["pid"], signal.SIGHUP)
    deadline = time.monotonic() + PATIENCE
    while not status()["triggers"] and time.monotonic() < deadline:
        time.sleep(0.05)
    ok([each["name"] for each in status()["triggers"]] == ["reloaded"],
       "there, too, it finds the configuration again that it was given by a relative path",
       status())
    stopped_it = asked("daemon", "stop")
    ok(stopped_it.returncode == 0 and not is_running(told["pid"]),
       "clew daemon stop returns when it has ended", (stopped_it.returncode, stopped_it.stderr))
    ok("no daemon runs" in status(), "and nobody answers", status())


def test_full():
    """On a full disk it says what to do in words of the configuration."""
    ring = f"{RUN}/ring"
    shutil.rmtree(ring, ignore_errors=True)
    os.makedirs(ring)
    if run("mount", "-t", "tmpfs", "-o", "size=200k,mode=755", "none", ring).returncode != 0:
        skip("full disk", "a tmpfs cannot be mounted here")
        return
    try:
        configure("rotate 60s")
        daemon = Daemon()
        while daemon.process.poll() is None:
            run("sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do /bin/true; done")
        code, error = daemon.stop()
        ok(code == 3 and error.count("\n") == 1 and "in the configuration" in error
           and " -o" not in error, "a full disk ends it with one line, and its own remedy",
           (code, error))
    finally:
        run("umount", "-l", ring)


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


# Sleeps in code that it has made itself, as often as it is told to, each time in another process.
JITTED = """
import ctypes, mmap, os, sys
code = mmap.mmap(-1, 4096, prot=7)
code.write(bytes((0xb8, 35, 0, 0, 0, 0x0f, 0x05, 0xc3)))
address = ctypes.addressof(ctypes.c_char.from_buffer(code))
call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(address)
for _ in range(int(sys.argv[1])):
    child = os.fork()
    if not child:
        for _ in range(3):
            call(ctypes.byref((ctypes.c_long * 2)(0, 5000000)), None)
        os._exit(0)
    os.waitpid(child, 0)
"""


def descriptors_of(pid):
    return os.listdir(f"/proc/{pid}/fd")


def processes_of(pid):
    """How many of its descriptors are of processes. Those of files depend on what runs beside it."""
    count = 0
    for descriptor in descriptors_of(pid):
        with contextlib.suppress(FileNotFoundError):
            count += re.match("/proc/[0-9]", os.readlink(f"/proc/{pid}/fd/{descriptor}")) is not None
    return count


def test_shortage():
    """Processes that ran code of their own are forgotten; without descriptors it goes on."""
    configure("rotate 500ms", "keep 5s", "stacks yes", "memory 8M")
    daemon = Daemon()
    pid = daemon.process.pid
    run(sys.executable, "-c", JITTED, 20)
    before = processes_of(pid)
    run(sys.executable, "-c", JITTED, 120)
    deadline = time.monotonic() + 20
    while processes_of(pid) > before + 20 and time.monotonic() < deadline:
        time.sleep(0.1)
    ok(processes_of(pid) <= before + 20, "no descriptor is kept of processes that have ended",
       (before, processes_of(pid)))
    note(f"{processes_of(pid)} of {len(descriptors_of(pid))} descriptors are of processes")
    limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (len(descriptors_of(pid)) + 8, limits[1]))
    run(sys.executable, "-c", JITTED, 40)
    time.sleep(1.5)
    alive = daemon.process.poll() is None
    if alive:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)
    known = set(segments())
    deadline = time.monotonic() + PATIENCE
    while alive and len(set(segments()) - known) < 2 and time.monotonic() < deadline:
        time.sleep(0.1)
    code, error = daemon.stop()
    ok(alive and code == 0 and len(set(segments()) - known) >= 2,
       "without descriptors it goes on, and with them in new segments", (alive, code, error))


@contextlib.contextmanager
def few_tasks(pid):
    """The process may not have one more thread."""
    root, _ = controller("pids")
    group = f"{root}/clew-test-{os.getpid()}"
    os.mkdir(group)
    try:
        write(f"{group}/cgroup.procs", pid)
        write(f"{group}/pids.max", 1)
        yield group
    finally:
        with contextlib.suppress(ProcessLookupError):
            write(f"{root}/cgroup.procs", pid)
        os.rmdir(group)


def refused(group):
    """How many threads the group was refused."""
    with open(f"{group}/pids.events", encoding="ascii") as file:
        return int(file.read().split()[1])


def test_few_threads():
    """A segment has threads of its own: without them the one before goes on."""
    configure("rotate 500ms", "keep 20s")
    try:
        controller("pids")
    except Lacking as error:
        skip("threads are short", str(error))
        return
    daemon = Daemon()
    with few_tasks(daemon.process.pid) as group:
        deadline = time.monotonic() + PATIENCE
        while refused(group) < 2 and daemon.process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.1)
        alive, known = daemon.process.poll() is None, set(segments())
    deadline = time.monotonic() + PATIENCE
    while alive and len(set(segments()) - known) < 2 and time.monotonic() < deadline:
        time.sleep(0.1)
    code, error = daemon.stop()
    ok(alive and code == 0 and len(set(segments()) - known) >= 2,
       "without threads it goes on, and with them in new segments", (alive, code, error))


def test_killed():
    configure("rotate 300ms", "keep 60s")
    shutil.rmtree(f"{RUN}/ring", ignore_errors=True)
    unreadable, seen = [], set()
    last = max(4, wanted_runs(100)) - 1
    for turn in range(last + 1):
        daemon = Daemon()
        time.sleep(1.0 + 0.07 * (turn % 10))
        # The last one leaves a segment that has begun.
        while turn == last and clew("info", segments()[-1]).returncode:
            time.sleep(0.01)
        daemon.process.kill()
        daemon.stop()
        for each in set(segments()) - seen:
            done = clew("info", each)
            # It may just have been made.
            if done.returncode and not re.search("not one whole chunk|is empty", done.stderr):
                unreadable.append((each, done.stderr))
        seen.update(segments())
    note(f"{turn + 1} kills, {len(seen)} segments")
    ok(
        len(seen) > 8 and not unreadable, "killed, it leaves segments that can be read",
        (len(seen), unreadable))
    left = [
        name for name in os.listdir(RUN) + os.listdir(f"{RUN}/ring")
        if name not in ("ring", "lock", "log", "control", "ring-path",
                        "recorder.pid") and not name.endswith(".clew")
    ]
    ok(not left, "and no other file", left)
    left = await_detached()
    ok(not left, "and no program and no map in the kernel", left)
    for arguments in ((), (f"{RUN}/ring",)):
        done = asked("snapshot", *arguments, "-o", scratch("left.clew"))
        ok(done.returncode == 2 and f"`clew join {RUN}/ring`" in done.stderr,
           "and clew snapshot says how to read the ring", done.stderr)
    done = asked("join", f"{RUN}/ring", "-o", scratch("left.clew"))
    told = json.loads(clew("info", scratch("left.clew"), "--json").stdout or "{}")
    ok(done.returncode == 0 and told["complete"] is False and told["ledger"]["lost"] in (0, None),
       "so it is read, and nothing that is not known is stated", (done.stderr, told))


def missing_with(bounds):
    """What clew doctor misses with these capabilities."""
    done = run("setpriv", f"--bounding-set={bounds}", "--no-new-privs", CLEW, "doctor", "--json")
    return {each["name"] for each in json.loads(done.stdout)["features"] if not each["available"]}


def test_unit():
    """The unit is right, and the daemon works with what it grants."""
    done = run("make", "-s", "-C", ROOT, "install", f"DESTDIR={scratch('root')}", "PREFIX=/usr")
    unit = scratch("root/usr/lib/systemd/system/clew.service")
    ok(done.returncode == 0 and os.path.exists(unit), "make install installs the unit", done.stderr)
    if shutil.which("systemd-analyze"):
        with open(unit, encoding="ascii") as file:
            text = file.read()
        with open(unit, "w", encoding="ascii") as file:
            file.write(text.replace("ExecStart=/usr/bin/clew", f"ExecStart={CLEW}"))
        done = run("systemd-analyze", "verify", "--man=no", unit)
        said = [line for line in done.stderr.splitlines() if "clew" in line]
        ok(done.returncode == 0 and not said, "systemd-analyze has no complaint", done.stderr)
    else:
        skip("systemd-analyze has no complaint", "there is no systemd-analyze")
    with open(f"{ROOT}/tools/clew.service", encoding="ascii") as file:
        granted = re.search("^CapabilityBoundingSet=(.*)$", file.read(), re.MULTILINE)[1].split()
    bounds = ",".join(["-all"] + ["+" + name[4:].lower() for name in granted])
    daemon = Daemon("setpriv", f"--bounding-set={bounds}", "--no-new-privs")
    told, deadline = status(), time.monotonic() + PATIENCE
    while isinstance(told, dict) and not told["records"] and time.monotonic() < deadline:
        time.sleep(0.1)
        told = status()
    code, error = daemon.stop()
    ok(daemon.ready and code == 0 and isinstance(told, dict) and told["records"],
       "it works with the unit's capabilities", (code, error, told))
    note(f"with {' '.join(granted)}")
    lacking = missing_with(bounds + ",-sys_admin") - missing_with(bounds)
    ok(lacking <= {"user stacks"}, "without CAP_SYS_ADMIN the doctor misses what the docs say",
       lacking)


test_life()
test_watchdog()
test_background()
test_full()
test_shortage()
test_few_threads()
test_killed()
test_unit()
finish()
