#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# alone: rules and metrics are about the whole machine
"""
`clew daemon`: it says when it is ready, refuses a second one, is asked and reloaded while it
records, and stops cleanly. Killed, it leaves segments that can be read and nothing in the kernel.
Its rules fire for waits whose length the waiter's own clock says, and the explanation that lies on
disk names the holder.
"""

import collections
import contextlib
import ctypes
import importlib
import json
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

from _live import CLEW, PATIENCE, ROOT, TRIES, await_detached, clew, finish, note, ok, run, scratch, skip, wanted_runs
from _place import Lacking, Place, controller, write

WAITERS = f"waits-{os.getpid()}"  # no other program of the machine meets their rules
# Waits for a lock on a file. Prints how long that took, by its own clock.
WAITER = f"""
import fcntl, os, sys, time
with open("/proc/self/comm", "w") as file:
    file.write("{WAITERS}")
mine = open(sys.argv[1], "w")
os.write(int(sys.argv[2]), b"x")
before = time.monotonic_ns()
fcntl.flock(mine, fcntl.LOCK_EX)
print(os.getppid(), os.getpid(), before, time.monotonic_ns(), flush=True)
"""
# Holds the lock so long after the waiter was seen asleep in flock(). Prints when it saw that, and
# when it let go. Two further arguments are directories of cgroups, of this one and of the waiter.
HOLDER = """
import fcntl, os, sys, time
path, seconds, groups = sys.argv[2], float(sys.argv[3]), sys.argv[4:]
def enter(group):
    with open(group + "/cgroup.procs", "w") as file:
        file.write("0")
if groups and groups[0]:
    enter(groups[0])
    os.execv(sys.executable, [sys.executable, "-c", sys.orig_argv[2], *sys.argv[1:4], "", groups[1]])
held = open(path, "w")
fcntl.flock(held, fcntl.LOCK_EX)
come, go = os.pipe()
os.set_inheritable(go, True)
waiter = os.fork()
if not waiter:
    if groups:
        enter(groups[1])
    os.execv(sys.executable, [sys.executable, "-c", sys.argv[1], path, str(go)])
os.read(come, 1)
def is_asleep():
    with open(f"/proc/{waiter}/syscall") as file:
        return file.read().startswith("73 ")
while not is_asleep():
    time.sleep(0.001)
asleep = time.monotonic_ns()
time.sleep(seconds)
print(asleep, time.monotonic_ns(), flush=True)
fcntl.flock(held, fcntl.LOCK_UN)
os.wait()
"""
BUSY = """
import os
os.sched_setaffinity(0, {0})
while True:
    pass
"""
# Prints how long it had no CPU, as the kernel counts it: since it was put there, and in all; and for
# how long neither it nor the busy process, its argument, had that CPU.
STARVED = """
import os, sys, time
busy = int(sys.argv[1])
while os.sched_getaffinity(busy) != {0}:
    time.sleep(0.01)
os.sched_setaffinity(0, {0})
def times():
    with open("/proc/self/schedstat") as mine, open(f"/proc/{busy}/schedstat") as other:
        ran, delay = map(int, mine.read().split()[:2])
        return time.monotonic_ns() - ran - int(other.read().split()[0]), delay
before, until = times(), time.monotonic() + 2
while time.monotonic() < until:
    time.sleep(0.002)
    end = time.monotonic() + 0.002
    while time.monotonic() < end:
        pass
after = times()
print((after[1] - before[1]) / 1e9, after[1] / 1e9, (after[0] - before[0]) / 1e9)
"""
# Writes to a file behind the page cache, four pieces at a time, until it is killed. Prints when each
# piece was asked for, and when that was over.
WRITER = """
import mmap, os, sys, time
file = os.open(sys.argv[1], os.O_RDWR | os.O_DIRECT)
piece = mmap.mmap(-1, 1 << 18)
end = time.monotonic() + float(sys.argv[2])
forks = [os.fork() for _ in range(2)]
number = sum(2 ** i for i, pid in enumerate(forks) if pid)
at, told = 0, []
while time.monotonic() < end:
    before = time.monotonic_ns()
    os.pwrite(file, piece, (number * 16 + at % 16) << 18)
    told.append(f"{before} {time.monotonic_ns()}\\n")
    at += 1
for pid in forks if all(forks) else [pid for pid in forks[1:] if pid]:
    os.waitpid(pid, 0)
with open(sys.argv[3], "a") as out:
    out.write("".join(told))
"""
# Reads a block of the file now and then, and prints the same.
READER = """
import mmap, os, sys, time
file = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
block = mmap.mmap(-1, 4096)
end = time.monotonic() + float(sys.argv[2])
at = 0
while time.monotonic() < end:
    before = time.monotonic_ns()
    os.preadv(file, [block], at * 40960 % (1 << 24))
    print(before, time.monotonic_ns())
    at += 1
    time.sleep(0.002)
"""
INCIDENTS = scratch("incidents")
METRICS = scratch("clew.prom")
# The part of the name of prometheus_client's reader that differs between the formats.
TEXT, OPEN = "", ".openmetrics"
CONF = scratch("clew.conf")
RUN = scratch("run")
HERE = dict(os.environ, CLEW_RUN_DIRECTORY=RUN)


def configure(*lines):
    with open(CONF, "w", encoding="ascii") as file:
        file.write("\n".join((f"ring {RUN}/ring", f"incidents {INCIDENTS}", *lines)) + "\n")


def asked(*arguments):
    return clew(*arguments, env=HERE)


def status():
    done = asked("daemon", "status", "--json")
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr


class Daemon:
    """A daemon in the foreground, and the service manager that it speaks to."""

    def __init__(self, *before, watchdog=None):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind("")
        self.socket.settimeout(0.1)
        self.said = []
        more = {"WATCHDOG_USEC": str(watchdog)} if watchdog else {}
        name = "@" + self.socket.getsockname()[1:].decode()
        # A test that runs in the background has SIGINT ignored.
        self.process = subprocess.Popen(
            [*before, CLEW, "daemon", "-c", CONF, "--foreground"],
            env=dict(HERE, NOTIFY_SOCKET=name, **more),
            text=True,
            stderr=subprocess.PIPE,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        self.ready = self.hears("READY=1")

    def hears(self, text, seconds=PATIENCE):
        """Whether it says that from now on; all that it says is kept."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                self.said.append(self.socket.recv(256).decode())
                if self.said[-1].startswith(text):
                    return True
            except TimeoutError:
                if self.process.poll() is not None:
                    return False
        return False

    def tell(self, number):
        """
        Sends a signal. First it reads what has come: a socket holds ten messages, and to a full one
        the daemon says nothing.
        """
        self.hears("nothing", 0.1)
        self.process.send_signal(number)

    def stop(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.tell(number)
        error = self.process.communicate(timeout=PATIENCE)[1]
        self.hears("nothing", 0.1)
        self.socket.close()
        return self.process.returncode, error


def segments():
    names = os.listdir(f"{RUN}/ring") if os.path.isdir(f"{RUN}/ring") else []
    return sorted(f"{RUN}/ring/{name}" for name in names if name.endswith(".clew"))


def test_life():
    configure("rotate 500ms  # short", "", "keep 3s,64M")
    daemon = Daemon(watchdog=900000)
    ok(daemon.ready, "it says that it is ready", daemon.said)
    second = asked("daemon", "-c", CONF, "--foreground")
    ok(
        second.returncode == 3 and f"process {daemon.process.pid}" in second.stderr
        and second.stderr.count("\n") == 1,
        "a second one is refused in a line that names the first", second.stderr)
    time.sleep(4)
    told = status()
    ok(
        isinstance(told, dict) and told["pid"] == daemon.process.pid and told["lost"] == 0
        and told["records"] > 0 and 4 <= told["segments"] <= 9
        and 2_000_000_000 < told["window_ns"] < 5_000_000_000, "it says what it keeps", told)
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
    time.sleep(2.5)
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
    daemon = Daemon(watchdog=1500000)
    came = sum(daemon.hears("WATCHDOG=1", 1.5) for _ in range(4))
    ok(came == 4, "the watchdog is told in time while all is well", daemon.said)
    for name, does in (("clew-drain", "empties the rings"), ("clew-live", "feeds the builder")):
        with stopped(thread_of(daemon.process.pid, name)):
            # The socket delivers earlier messages first, and one more is due: the thread may have
            # gone round after the last one.
            for _ in range(4):
                if not daemon.hears("WATCHDOG=1", 1.5):
                    break
            heard = daemon.hears("WATCHDOG=1", 3)
            told = status()
        ok(not heard and isinstance(told, dict),
           f"not when the thread that {does} stands still, although the main one goes on",
           (heard, told, daemon.said))
        ok(daemon.hears("WATCHDOG=1", 5), f"again when it goes on: {name}", daemon.said)
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


# A wait that began between `before` and `asleep`, and ended between `let_go` and `after`.
Held = collections.namedtuple("Held", "asleep let_go holder waiter before after")


def hold(seconds, *groups):
    """Holds a lock for so long while another process waits for it."""
    done = run(sys.executable, "-c", HOLDER, WAITER, scratch("lock"), seconds, *groups)
    return Held(*map(int, done.stdout.split()))


def incidents():
    """Those that are whole, the oldest first."""
    names = os.listdir(INCIDENTS) if os.path.isdir(INCIDENTS) else []
    return sorted((name for name in names if "." not in name), key=lambda name: name[-4:])


def await_incidents(count, seconds=20):
    """Waits for so many incidents; returns them."""
    deadline = time.monotonic() + seconds
    while len(incidents()) < count and time.monotonic() < deadline:
        time.sleep(0.005)
    return incidents()


def told_of(name):
    files = {}
    for file in os.listdir(f"{INCIDENTS}/{name}"):
        if file.endswith((".txt", ".json")):
            with open(f"{INCIDENTS}/{name}/{file}", encoding="utf-8") as text:
                files[file] = text.read()
    return files


def check_fired(seconds, known):
    """A lock that is held so long fires the rule; `known`: incidents that there are."""
    held = hold(seconds)
    fired = await_incidents(known + 1)
    late = time.monotonic_ns() - held.after
    name = f"a wait of {seconds} s"
    if not ok(len(fired) == known + 1, name + " fires", fired):
        return
    files = told_of(fired[-1])
    modes = {oct(os.stat(f"{INCIDENTS}/{fired[-1]}/{each}").st_mode & 0o777)
             for each in (*os.listdir(f"{INCIDENTS}/{fired[-1]}"), ".")}
    ok(modes == {"0o600", "0o700"}, name + ": nobody else may read it", modes)
    trigger = json.loads(files["trigger.json"])
    note("the explanation lies on disk %.2f s after the end" % (late / 1e9))
    ok(
        trigger["tid"] == held.waiter and trigger["name"] == "held"
        and held.before <= trigger["start"] <= held.asleep
        and held.let_go <= trigger["end"] <= held.after
        and trigger["ns"] == trigger["end"] - trigger["start"],
        name + " has the length that its clock says", (trigger, held))
    ok(f"-{held.holder}, holding" in " ".join(files["why.txt"].split()),
       name + ": the explanation names the holder", files["why.txt"])
    why = json.loads(files["why.json"])
    ok(why["tid"] == held.waiter and why["total_ns"] == trigger["ns"], name + ": also for programs", why)
    ok(late < 5_000_000_000, name + ": it is there soon", late)
    capture = f"{INCIDENTS}/{fired[-1]}/capture.clew"
    again = clew("trigger", "test", capture, trigger["rule"], "--json")
    same = [each["tid"] for each in json.loads(again.stdout)["fired"]]
    ok(held.waiter in same, name + ": clew trigger test finds it in the capture", again.stdout)


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
    return len(os.listdir(f"/proc/{pid}/fd"))


def test_shortage():
    """Processes that ran code of their own are forgotten; without descriptors it goes on."""
    configure("rotate 500ms", "keep 5s", "stacks yes", "memory 8M")
    daemon = Daemon()
    pid = daemon.process.pid
    run(sys.executable, "-c", JITTED, 20)
    before = descriptors_of(pid)
    run(sys.executable, "-c", JITTED, 120)
    deadline = time.monotonic() + 20
    while descriptors_of(pid) > before + 20 and time.monotonic() < deadline:
        time.sleep(0.1)
    ok(descriptors_of(pid) <= before + 20, "no descriptor is kept of processes that have ended",
       (before, descriptors_of(pid)))
    limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (descriptors_of(pid) + 8, limits[1]))
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


def parent_of(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return int(file.read().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def opens_files(pid):
    """Whether it is a process that opens others' files for the daemon."""
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        return b"__opener" in file.read()


def test_triggers():
    rule = f"lock wait > 150ms where comm {WAITERS}"
    configure("rotate 700ms", "keep 20s", f"trigger held: {rule}")
    daemon = Daemon()
    time.sleep(0.5)
    hold(0.02)
    check_fired(0.3, 0)
    maker, = [int(pid) for pid in os.listdir("/proc")
              if pid.isdigit() and parent_of(pid) == daemon.process.pid and not opens_files(pid)]
    held = [os.readlink(f"/proc/{maker}/fd/{fd}") for fd in os.listdir(f"/proc/{maker}/fd")
            if int(fd) > 2]
    ok(len(held) == 1 and held[0].startswith("socket:"),
       "the process that makes incidents has the daemon's question alone open", held)
    # Over several segments.
    check_fired(1.6, 1)
    for _ in range(3):
        hold(0.2)
    await_incidents(3)
    time.sleep(1.5)
    told = status()["triggers"]
    ok(
        len(incidents()) == 3 and told
        == [{"name": "held", "rule": rule, "fired": 3, "suppressed": 2, "made": 3, "failed": 0}],
        "it fires three times in three minutes, and counts the rest", (incidents(), told))
    listed = json.loads(asked("incidents", "--json").stdout)["incidents"]
    ok([each["id"] for each in listed] == incidents()
       and all(" took " in each["headline"] for each in listed), "clew incidents lists them",
       listed)
    one = asked("incidents", "2")
    ok("Where the time went" in one.stdout and incidents()[1] in one.stdout,
       "and prints the explanation of one", one.stdout + one.stderr)
    check_quota(daemon)
    code, error = daemon.stop()
    ok(code == 0, "it stops", error)


def check_quota(daemon):
    """Another rule, as the first has fired often enough, and room for two."""
    configure("rotate 700ms", "keep 20s", "quota-count 2",
              f"trigger slow-call: call flock > 150ms where comm {WAITERS}")
    daemon.tell(signal.SIGHUP)
    daemon.hears("READY=1")
    hold(0.2)
    deadline = time.monotonic() + 20
    # They go one after the other.
    while time.monotonic() < deadline:
        left = incidents()
        unfinished = [name for name in os.listdir(INCIDENTS) if "." in name]
        if len(left) == 2 and left[-1].endswith("-slow-call-0004") and not unfinished:
            break
        time.sleep(0.05)
    ok(
        len(left) == 2 and left[-1].endswith("-slow-call-0004"),
        "the oldest go when the quota is full", left)
    ok(not unfinished, "nothing unfinished is left", unfinished)


# By name; the second one is also met while the wait goes on.
RULES = {
    "ended": f"call flock > 150ms where comm {WAITERS}", "goes-on":
    f"lock wait > 300ms where comm {WAITERS}", "many":
    f"p90(call flock) > 100ms over 3s where comm {WAITERS}", "much": "sum(file) > 30% of * over 2s",
    "disk": "request write * > 1us where comm asker", "disks":
    "p50(request *) > 1us over 2s where comm asker",
}
SAME = ("tid", "kind", "start", "end", "open", "at", "value", "request")


def ask_disk():
    """Writes a file and has it on disk; returns the times around that, and the disk's number."""
    file, program = scratch("asked"), scratch("asker")
    shutil.copy(shutil.which("dd"), program)
    before = time.monotonic_ns()
    run(program, "if=/dev/zero", f"of={file}", "bs=1M", "count=4", "conv=fsync")
    device = os.stat(file).st_dev
    return (before, time.monotonic_ns()), f"{os.major(device)}:{os.minor(device)}"


def check_slow_requests(live, between, number):
    """What fired for requests is asker's, and the explanation begins with the request."""
    if number.startswith("0:"):
        skip("a request fires its rule", "the test's files are on no disk")
        return
    fired = [each for each in live if each["name"] == "disk"]
    ok(
        fired and all(each["comm"] == "asker" and each["kind"] == "request"
                      and between[0] < each["start"] < each["end"] <= between[1]
                      and each["request"]["op"] == "write" and each["request"]["bytes"] > 0
                      for each in fired), "a request fires its rule, for the thread that asked",
        (fired, between))
    for each in fired[:1]:
        asked_of, told = each["request"], told_of(each["id"])["why.txt"]
        begin = f"write of {asked_of['bytes']} bytes at sector {asked_of['sector']} of "
        # A line is broken after 80 columns.
        head = " ".join(told.partition("\n\n")[0].split()) + " "
        ok(
            head.startswith(begin) and f", for asker-{each['tid']} " in head
            and "Where the time went" in told, "its explanation begins with the request", told)
        listed = clew("incidents", "--directory", INCIDENTS, "--json")
        heads = {one["id"]: one["headline"] for one in json.loads(listed.stdout)["incidents"]}
        ok(heads[each["id"]].startswith(begin), "which is its headline", heads)


def test_rules():
    """The same rules are met at the same times by the daemon and in what it has recorded."""
    shutil.rmtree(INCIDENTS, ignore_errors=True)
    shutil.rmtree(f"{RUN}/ring", ignore_errors=True)
    configure("rotate 2s", "keep 60s", *(f"trigger {name}: {rule}" for name, rule in RULES.items()))
    daemon = Daemon()
    hold(0.2)
    hold(0.05)
    asked_for, number = ask_disk()
    held = hold(4)
    time.sleep(3)
    told = status()["triggers"]
    # They are made at nice 19, one at a time.
    await_incidents(sum(each["fired"] for each in told), 90)
    daemon.stop()
    live = [json.loads(told_of(name)["trigger.json"]) for name in incidents()]
    early = [each for each in live if each["name"] == "goes-on" and each["tid"] == held.waiter]
    ok(
        len(early) == 1 and early[0]["open"] and held.before <= early[0]["start"] <= held.asleep
        and early[0]["at"] == early[0]["start"] + 2_300_000_000 < held.let_go,
        "a wait that goes on meets its rule once, before its end", (early, held, live))
    check_slow_requests(live, asked_for, number)
    whole = scratch("whole.clew")
    joined = clew("join", *segments(), "-o", whole)
    for name, rule in RULES.items():
        found = json.loads(clew("trigger", "test", whole, rule, "--json").stdout or "{}")
        expected = [[each[key] for key in SAME] for each in live if each["name"] == name]
        got = [[each[key] for key in SAME] for each in found.get("fired", [])]
        ok((expected or "request" in rule and number.startswith("0:"))
           and sorted(got, key=str) == sorted(expected, key=str),
           f"{rule}: the same live and from the file", (got, expected, joined.stderr))


def parsed(text, of_format):
    """What metrics say, by the format's strict reader: {(name, labels): value}."""
    read = importlib.import_module(f"prometheus_client{of_format}.parser")
    families = list(read.text_string_to_metric_families(text))
    types = ("counter", "gauge", "histogram")
    untyped = [family.name for family in families if family.type not in types]
    assert not untyped and all(family.documentation for family in families), untyped
    return {(sample.name, frozenset(sample.labels.items())): sample.value
            for family in families for sample in family.samples}


def value_of(found, metric, **labels):
    return found.get((metric, frozenset(labels.items())), 0)


def await_metrics(since):
    """Waits for a file that is younger."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if os.path.exists(METRICS) and os.stat(METRICS).st_mtime_ns > since:
            with open(METRICS, encoding="utf-8") as file:
                return parsed(file.read(), TEXT)
        time.sleep(0.1)
    return {}


@contextlib.contextmanager
def made_groups(*names):
    """Directories of cgroups of the unified hierarchy, or None."""
    place = scratch("cgroups")
    os.makedirs(place, exist_ok=True)
    if run("mount", "-t", "cgroup2", "none", place).returncode:
        yield None
        return
    groups = [f"{place}/clew-{name}-{os.getpid()}" for name in names]
    for group in groups:
        os.mkdir(group)
    try:
        yield groups
    finally:
        for group in groups:
            os.rmdir(group)
        run("umount", place)


def starve(antagonist, victim):
    """
    One group keeps a CPU busy on which the other one wants to run. How long that waited, s: then,
    and in all; and how long others had the CPU then.
    """
    processes = []
    for group, code in ((antagonist, BUSY), (victim, STARVED)):
        more = processes[0].pid if processes else ""
        inside = f"echo 0 >{group}/cgroup.procs; exec {sys.executable} -c '{code}' {more}"
        processes.append(subprocess.Popen(["sh", "-c", inside], stdout=subprocess.PIPE, text=True))
    waited = [float(word) for word in processes[1].communicate(timeout=60)[0].split()]
    processes[0].kill()
    processes[0].communicate()
    return waited


def check_blame():
    """Returns its waits for a lock."""
    with made_groups("holder", "waiter") as groups:
        if not groups:
            skip("who kept whom waiting", "cgroups of version 2 cannot be mounted")
            return []
        # Too short for the rule.
        pairs = [hold(0.05, *groups) for _ in range(5)]
        least = sum(held.let_go - held.asleep for held in pairs) / 1e9
        most = sum(held.after - held.before for held in pairs) / 1e9
        then, in_all, others = starve(*groups)
    time.sleep(2)
    found = await_metrics(time.time_ns())
    holder, waiter = ("/" + os.path.basename(group) for group in groups)
    blamed = value_of(found,
                      "clew_blame_seconds_total",
                      victim=waiter,
                      antagonist=holder,
                      kind="file")
    ok(least <= blamed <= most, "who kept whom waiting is as long as the waiters' clocks say",
       (blamed, least, most, [each for each in found if each[0].startswith("clew_blame")]))
    blamed = value_of(found,
                      "clew_blame_seconds_total",
                      victim=waiter,
                      antagonist=holder,
                      kind="runqueue")
    note(f"{blamed:.3f} s of {in_all:.3f} s without a CPU are the group's that ran, "
         f"{others:.3f} s at most are of others")
    ok(0.5 * max(then - others, 0) < blamed < 1.03 * in_all + 0.005,
       "who had the CPU is charged with what the kernel says one waited for it",
       (blamed, then, in_all, others))
    waited = value_of(found, "clew_wait_seconds_total", cgroup=waiter, kind="file")
    ok(least <= waited < most + 0.02, "so is what the waiters' group waited",
       (waited, least, most))
    return pairs


def on_disk(group, code, file, *more):
    """A program that asks a disk, in a group."""
    inside = f'echo 0 >{group}/cgroup.procs; exec "$@"'
    return subprocess.Popen(
        ["sh", "-c", inside, "sh", sys.executable, "-c", code, file, "2", *more],
        stdout=subprocess.PIPE,
        text=True)


def times_of(text):
    return [tuple(map(int, line.split())) for line in text.splitlines()]


def behind(reads, writes):
    """How long each read had a write before it that was asked for earlier, at most, ns."""
    known = 0
    for begin, end in reads:
        over = max((over for asked, over in writes if asked < end and over > begin), default=begin)
        known += max(min(over, end) - begin, 0)
    return known


def ask_disks(place, groups):
    """Two groups ask one disk and a third one asks another; what the reads and the writes took."""
    for system in ("ext4", "xfs"):
        with open(f"{place}/{system}/blame", "wb") as file:
            file.write(bytes(1 << 24))
            os.fsync(file.fileno())
    written = scratch("written")
    programs = [
        on_disk(groups[0], WRITER, f"{place}/ext4/blame", written),
        on_disk(groups[1], READER, f"{place}/ext4/blame"),
        on_disk(groups[2], WRITER, f"{place}/xfs/blame", scratch("beside"))
    ]
    told = [program.communicate(timeout=PATIENCE)[0] for program in programs]
    with open(written, encoding="ascii") as file:
        return times_of(told[1]), times_of(file.read())


def check_disk_blame():
    with contextlib.ExitStack() as stack:
        place = stack.enter_context(Place(only=["ext4", "xfs"]))
        groups = stack.enter_context(made_groups("writer", "reader", "beside"))
        lacking = place.lacks.get("ext4") or place.lacks.get("xfs")
        if lacking or not groups:
            skip("who was ahead at a disk", lacking or "cgroups of version 2 cannot be mounted")
            return
        reads, writes = ask_disks(place.path, groups)
    # The last waits are charged a second later.
    time.sleep(2)
    found = await_metrics(time.time_ns())
    writer, reader, beside = ("/" + os.path.basename(group) for group in groups)
    blamed, other = (value_of(found,
                              "clew_blame_seconds_total",
                              victim=reader,
                              antagonist=each,
                              kind="disk") for each in (writer, beside))
    most = behind(reads, writes) / 1e9
    whole = sum(end - begin for begin, end in reads) / 1e9
    # Without the time that the reader then had no CPU.
    waited = value_of(found, "clew_wait_seconds_total", cgroup=reader, kind="read")
    note(f"{len(reads)} reads took {whole:.3f} s and waited {waited:.3f} s, {blamed:.3f} s of that "
         f"behind the writer, {most:.3f} s at most by its clock")
    ok(
        len(reads) > 20 and 0.6 * min(most, waited) < blamed <= min(most, waited) + 0.005,
        "who was ahead at a disk is charged with what a read waited for it",
        (blamed, most, waited, [each for each in found if ("kind", "disk") in each[1]]))
    ok(other == 0, "who asked another disk is not", other)


@contextlib.contextmanager
def quota():
    """The directory of a group that has 4 ms of CPU time in 20 ms, or None."""
    try:
        directory, unified = controller("cpu")
        group = f"{directory}/clew-quota-{os.getpid()}"
        os.mkdir(group)
    except (Lacking, OSError):
        yield None
        return
    try:
        if unified:
            write(f"{group}/cpu.max", "4000 20000")
        else:
            write(f"{group}/cpu.cfs_period_us", 20000)
            write(f"{group}/cpu.cfs_quota_us", 4000)
        yield group
    finally:
        os.rmdir(group)


def throttled(group):
    """How long the kernel says that the group was kept off its CPUs, s."""
    with open(f"{group}/cpu.stat", encoding="ascii") as file:
        stat = dict(line.split() for line in file)
    return int(stat["throttled_usec"]) / 1e6 if "throttled_usec" in stat else int(
        stat["throttled_time"]) / 1e9


def check_quota_blame():
    with quota() as group:
        if not group:
            skip("a group is charged for its own quota", "no group with a quota can be made")
            return
        # One thread, so that the group's time is the thread's.
        busy = "import time; end = time.monotonic() + 2\nwhile time.monotonic() < end: pass"
        run("sh", "-c", f"echo $$ >{group}/cgroup.procs; exec {sys.executable} -c '{busy}'")
        known = throttled(group)
    time.sleep(0.5)
    found = await_metrics(time.time_ns())
    charged = {
        labels: value
        for (metric, labels), value in found.items()
        if metric == "clew_blame_seconds_total" and ("kind", "throttle") in labels
    }
    blamed = sum(value for labels, value in charged.items()
                 if dict(labels)["antagonist"].endswith(os.path.basename(group)))
    note(f"{blamed:.3f} s of {known:.3f} s that a quota kept its group off a CPU are charged")
    ok(known > 0.5 and 0.9 * known < blamed < 1.05 * known + 0.02,
       "a group is charged for what its quota took, as the kernel counts it",
       (blamed, known, charged))
    kept = sum(value for (metric, labels), value in found.items()
               if metric == "clew_quota_seconds_total"
               and dict(labels)["cgroup"].endswith(os.path.basename(group)))
    ok(0.9 * known < kept < 1.05 * known + 0.02,
       "and its threads have that time in a metric of its own", (kept, known))


def ask(address, accepted):
    """The answer by HTTP: its type and its text."""
    request = urllib.request.Request(f"http://{address}/metrics", headers={"Accept": accepted})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.headers["Content-Type"], answer.read().decode()


def ask_open(address):
    return ask(address, "application/openmetrics-text;version=1.0.0")[1]


def sums_by(found, metric, label):
    """{value of the label: sum of all series that have it}"""
    sums = collections.Counter()
    for (name, labels), value in found.items():
        if name == metric:
            sums[dict(labels)[label]] += value
    return sums


def unlike(one, other):
    return {key for key in {*one, *other} if abs(one.get(key, 0) - other.get(key, 0)) > 1e-6}


def are_cumulative(found, metric):
    """Whether the buckets of each series of a histogram grow up to its count."""
    series = collections.defaultdict(list)
    for (name, labels), value in found.items():
        if name == metric + "_bucket":
            bound = float(dict(labels)["le"])
            series[frozenset(each for each in labels if each[0] != "le")].append((bound, value))
    counts = {labels: value for (name, labels), value in found.items() if name == metric + "_count"}
    return series.keys() == counts.keys() and all(
        sorted(value for _, value in buckets) == [value for _, value in sorted(buckets)]
        and max(buckets) == (float("inf"), counts[labels]) and len(buckets) == 20
        for labels, buckets in series.items())


def check_lengths(address):
    """
    What the histogram says of all groups together is what the counters say of each. Returns its
    waits for a lock.
    """
    held = [hold(0.02) for _ in range(5)]
    time.sleep(1)
    found = parsed(ask_open(address), OPEN)
    length = "clew_wait_length_seconds"
    counts = sums_by(found, length + "_count", "kind")
    ok(
        counts["file"] >= 5 and counts["runqueue"] > 100
        and not unlike(counts, sums_by(found, "clew_waits_total", "kind")),
        "the lengths of waits count as many as have ended in all groups", counts)
    sums = sums_by(found, length + "_sum", "kind")
    ok(not unlike(sums, sums_by(found, "clew_wait_seconds_total", "kind")),
       "they are as long together", sums)
    ok(are_cumulative(found, length), "a bucket has all that the shorter ones have",
       [each for each in found.items() if each[0][0].startswith(length)])
    return held


def examples(text):
    """{bound of the bucket: (incident, value, timestamp)} of waits for files."""
    read = importlib.import_module("prometheus_client.openmetrics.parser")
    return {
        float(sample.labels["le"]): (sample.exemplar.labels["incident"], sample.exemplar.value,
                                     float(sample.exemplar.timestamp))
        for family in read.text_string_to_metric_families(text) for sample in family.samples
        if sample.exemplar and sample.labels["kind"] == "file"
    }


def check_examples(address):
    """The last incident for a wait of some length is named beside the bucket of that length."""
    deadline = time.monotonic() + 30
    while status()["triggers"][0]["made"] < 3 and time.monotonic() < deadline:
        time.sleep(0.1)
    expected = {}
    for name in incidents():
        if "-held-" in name:
            trigger = json.loads(told_of(name)["trigger.json"])
            ended = (trigger["wall"] - (trigger["at"] - trigger["end"])) / 1e9
            least = min(bound for bound in (0.25, 0.5, 1, 2.5) if trigger["ns"] <= bound * 1e9)
            expected[least] = (name, trigger["ns"] / 1e9, ended)
    text = ask_open(address)
    found = examples(text)
    ok(
        expected and found.keys() == expected.keys() and all(
            each[0] == expected[bound][0] and abs(each[1] - expected[bound][1]) < 1e-6
            and abs(each[2] - expected[bound][2]) < 1e-3 for bound, each in found.items()),
        "a bucket names the last incident for a wait of its length", (found, expected))
    ok("# {" in text and "# {" not in ask(address, "*/*")[1], "in OpenMetrics alone")


def check_requests(address):
    """Each block that is written behind the page cache is one request, and they follow another."""
    name = "requests of a disk are counted with what they took"
    with Place(only=["ext4"]) as place:
        if place.lacks.get("ext4"):
            skip(name, place.lacks["ext4"])
            return
        file = f"{place.path}/ext4/requests"
        with open(file, "wb") as made:
            made.write(bytes(64 * 4096))
            os.fsync(made.fileno())
        device = os.stat(file).st_dev
        labels = {
            "dev": f"{os.major(device)}:{os.minor(device)}", "op": "write", "reason": "direct"
        }
        # Some machines hide single completions from every tracer.
        for _ in range(TRIES):
            told = [parsed(ask_open(address), OPEN)]
            before = time.monotonic()
            done = run("dd", "if=/dev/zero", f"of={file}", "bs=4k", "count=64", "oflag=direct",
                       "conv=notrunc")
            took = time.monotonic() - before
            time.sleep(2)
            told.append(parsed(ask_open(address), OPEN))
            count, seconds = (
                value_of(told[1], metric, **labels) - value_of(told[0], metric, **labels)
                for metric in ("clew_request_seconds_count", "clew_request_seconds_sum"))
            if not 60 <= count < 64:
                break
    ok(count == 64 and 0 < seconds < took, name, (count, seconds, took, done.stderr, labels))
    ok(are_cumulative(told[1], "clew_request_seconds"), "in buckets that have all shorter ones")


def await_open(address, met):
    """Waits until `met` is true of how many waits for a file go on and how long the oldest has."""
    deadline = time.monotonic() + 30
    while True:
        found = parsed(ask_open(address), OPEN)
        told = [
            value_of(found, metric, kind="file")
            for metric in ("clew_open_waits", "clew_longest_wait_seconds")
        ]
        if met(*told) or time.monotonic() > deadline:
            return told
        time.sleep(0.1)


def check_open(address):
    """A wait for a lock is in the gauges while it goes on, with its age, and not behind that."""
    name = "a wait that goes on is counted, with its age"
    if await_open(address, lambda *_: True)[0]:
        skip(name, "something else waits for a file")
        return
    command = [sys.executable, "-c", HOLDER, WAITER, scratch("lock"), "8"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        count, longest = await_open(address, lambda _, longest: longest >= 3)
        seen = time.monotonic_ns()
        held = Held(*map(int, process.communicate(timeout=PATIENCE)[0].split()))
    ok(count == 1 and 3 <= longest <= (seen - held.before) / 1e9 and seen < held.after, name,
       (count, longest, seen, held))
    told = await_open(address, lambda *told: not any(told))
    ok(not any(told), "and no more when it has ended", told)


def check_http(address):
    host, port = address.split(":")
    mute = socket.create_connection((host, int(port)))
    names = []
    for accepted, of_format, expected in (("*/*", TEXT, "text/plain; version=0.0.4"),
                                          ("application/openmetrics-text;version=1.0.0", OPEN,
                                           "application/openmetrics-text; version=1.0.0")):
        kind, text = ask(address, accepted)
        names.append({name for name, _ in parsed(text, of_format)})
        ok(
            kind.startswith(expected) and names[-1],
            f"they are there by HTTP for {accepted}, while another client says nothing",
            (kind, text))
    ok(names[0] <= names[1], "with the same names in both formats", names)
    mute.settimeout(10)
    ok(mute.recv(1) == b"", "who says nothing is dropped")
    mute.close()
    try:
        urllib.request.urlopen(f"http://{address}/other", timeout=10)
        ok(False, "nothing else is there")
    except urllib.error.HTTPError as error:
        ok(error.code == 404, "nothing else is there", error)


def check_promtool():
    """tools/deps does not install it: its package starts a server that listens."""
    if not shutil.which("promtool"):
        skip("promtool finds nothing wrong in the file", "no promtool: install prometheus")
        return
    with open(METRICS, encoding="utf-8") as file:
        done = run("promtool", "check", "metrics", stdin=file)
    ok(done.returncode == 0, "promtool finds nothing wrong in the file", done.stdout + done.stderr)


def test_metrics():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = "127.0.0.1:%d" % free.getsockname()[1]
    configure("rotate 1s", "keep 20s", f"metrics-file {METRICS}", f"metrics-address {address}",
              f"trigger held: lock wait > 150ms where comm {WAITERS}")
    daemon = Daemon()
    before = await_metrics(0)
    ok(bool(before), "metrics are in the file, for a strict reader")
    check_http(address)
    check_promtool()
    waits = check_blame()
    check_disk_blame()
    check_quota_blame()
    waits += check_lengths(address)
    check_requests(address)
    waits += [hold(0.2) for _ in range(4)]
    time.sleep(2)
    after = await_metrics(time.time_ns())
    results = {
        result: value_of(after, "clew_triggers_total", name="held", result=result)
        for result in ("fired", "suppressed", "failed")
    }
    # A short wait lasts longer where the machine has no CPU for its holder.
    surely = sum(held.let_go - held.asleep > 150_000_000 for held in waits)
    perhaps = sum(held.after - held.before > 150_000_000 for held in waits)
    ok(
        results["fired"] == 3 and results["failed"] == 0
        and surely <= 3 + results["suppressed"] <= perhaps, "so are the results of rules",
        (results, surely, perhaps))
    ok(
        value_of(after, "clew_lost_records_total") == 0
        and value_of(after, "clew_records_total") > 0
        and 5 < value_of(after, "clew_window_seconds") < 26
        and value_of(after, "clew_cost_cpu_seconds_total", part="user") > 0
        and value_of(after, "clew_forgotten_writers_total") == 0
        and value_of(after, "clew_memory_bytes") > 1e6, "so are losses, the cost and the window",
        after)
    check_examples(address)
    check_open(address)
    code, error = daemon.stop()
    # While it runs it may be just about to replace the file.
    left = [name for name in os.listdir(os.path.dirname(METRICS)) if name.startswith("clew.prom.")]
    ok(code == 0 and not left, "it stops, and leaves nothing beside the file", (error, left))


def test_killed():
    configure("rotate 300ms", "keep 60s")
    shutil.rmtree(f"{RUN}/ring", ignore_errors=True)
    unreadable, seen = [], set()
    for turn in range(max(4, wanted_runs(100))):
        daemon = Daemon()
        time.sleep(1.0 + 0.07 * (turn % 10))
        daemon.stop(signal.SIGKILL)
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
    time.sleep(1.5)
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
test_triggers()
test_rules()
test_metrics()
test_killed()
test_unit()
finish()
