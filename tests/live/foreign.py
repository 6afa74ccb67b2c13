#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
What any user can put in a recorder's way, all at once: a FIFO, a link and a device in the place of
mapped files, FUSE servers that stop or never answer, and memory that nobody makes present. Whatever
is recorded, the recording begins, ends at the first signal within two seconds, and says how far it
goes. Neither the device nor what the link leads to is opened.
"""

import concurrent.futures
import contextlib
import ctypes
import fcntl
import functools
import os
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import time

from _live import CLEW, PATIENCE, WORKLOADS, answer, clew, feature, finish, note, ok, ready_socket, run, scratch, skip, skip_all, start_recording

PROGRAM = os.path.join(WORKLOADS, "foreign")
SECONDS = 2  # until the end
IN_OPEN = 0x20
TIOCSPTLCK, TIOCGPTN = 0x40045431, 0x80045430
# Binds a program to a device's path in namespaces of its own and runs it there, again and again.
DEVICE = """
echo ready
while ! read -t 0.02 line; do
    unshare -U -r -m sh -c 'mount --bind "$1" "$2" && exec "$2"' - "$1" "$2" || exit 1
done
"""


class Opened:
    """Whether a file was opened since then."""

    def __init__(self, path):
        libc = ctypes.CDLL(None, use_errno=True)
        self.watch = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        libc.inotify_add_watch(self.watch, os.fsencode(path), IN_OPEN)

    def was(self):
        return bool(select.select([self.watch], [], [], 0)[0])


class Terminal:
    """A device that shows whether anybody has opened it: it hangs up when that one closes it."""

    def __init__(self):
        self.master = os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
        fcntl.ioctl(self.master, TIOCSPTLCK, struct.pack("i", 0))
        number = struct.unpack("I", fcntl.ioctl(self.master, TIOCGPTN, struct.pack("I", 0)))[0]
        self.path = f"/dev/pts/{number}"

    def was_opened(self):
        poll = select.poll()
        poll.register(self.master, 0)
        return any(event & select.POLLHUP for _, event in poll.poll(0))


def begin(*command):
    """Runs a program until it is ready; returns it, or None and why."""
    program = subprocess.Popen(command,
                               stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE,
                               text=True)
    if program.stdout.readline().startswith("ready"):
        return program, ""
    return None, program.communicate()[1].strip()[-200:]


@contextlib.contextmanager
def all_at_once(terminal, target):
    """The programs that are in the way, by name."""
    shutil.copy("/bin/true", scratch("true"))
    os.makedirs(scratch("fifo"), exist_ok=True)
    os.makedirs(scratch("root"), exist_ok=True)
    commands = {
        "a stopped FUSE server": (PROGRAM, "fuse", "stop"), "a FUSE server without an answer":
            (PROGRAM, "fuse", "hold"), "memory on FUSE": (PROGRAM, "memory", "fuse"),
        "memory of userfaultfd": (PROGRAM, "memory", "userfault"),
        "FIFOs": (PROGRAM, "fifo", scratch("fifo")),
        "links": (PROGRAM, "link", scratch("root"), target),
        "a device": ("bash", "-c", DEVICE, "-", scratch("true"), terminal.path)
    }
    programs = {}
    try:
        for name, command in commands.items():
            programs[name], why = begin(*command)
            if not programs[name]:
                skip(name, why)
                del programs[name]
        yield programs
    finally:
        for program in programs.values():
            program.stdin.close()
            try:
                program.wait(timeout=5)
            except subprocess.TimeoutExpired:
                program.kill()
                program.wait()


def end(process, number):
    """Sends one signal; returns the seconds until the end, the status and what it said."""
    before = time.monotonic()
    process.send_signal(number)
    try:
        _, said = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        return PATIENCE, None, "it had to be killed"
    return time.monotonic() - before, process.returncode, said or ""


def started(name, *options):
    """A recording that has begun, and how long that took."""
    before = time.monotonic()
    process = start_recording(scratch(name + ".clew"), *options)
    return process, time.monotonic() - before


def check_end(name, process, number, patience):
    seconds, status, said = end(process, number)
    ok(seconds <= patience and status == 0,
       f"{name}: it ends {SECONDS} s after the first signal at the latest",
       f"{seconds:.2f} s, status {status}: {said[-300:]}")
    return said


def check_file(name, path):
    told = answer("info", path)
    ok(told["complete"] and told["duration_ns"] > 0, f"{name}: its file says how far it goes",
       {key: told.get(key) for key in ("complete", "duration_ns")})


@functools.cache
def processes(path):
    """The processes of a capture."""
    return answer("sql", path, "SELECT pid, comm, command, self FROM tasks WHERE tid = pid")["rows"]


def command_line(path, pid):
    """Of a process in a capture; None: it is unknown."""
    return next((each["command"] for each in processes(path) if each["pid"] == pid), None)


class Daemon:
    """A daemon with stacks that has begun."""

    def __init__(self):
        with open(scratch("clew.conf"), "w", encoding="ascii") as file:
            file.write(f"ring {scratch('ring')}\nincidents {scratch('incidents')}\nstacks yes\n")
        with ready_socket() as (ready, environment):
            ready.settimeout(PATIENCE)
            self.process = subprocess.Popen(
                [CLEW, "daemon", "-c", scratch("clew.conf"), "--foreground"],
                env=dict(os.environ, CLEW_RUN_DIRECTORY=scratch("run"), **environment),
                text=True,
                stderr=subprocess.PIPE)
            ready.recv(64)


def check_recording(name, process, patience, programs):
    path = scratch(name + ".clew")
    said = check_end(name, process, signal.SIGINT, patience)
    served = [n for n in programs if "server" in n]
    late = re.search(r"left out: (\d+) files? that did not open within 2 s", said)
    if served:
        ok(late and int(late.group(1)) >= len(served), f"{name}: it says what it left out", said)
    check_file(name, path)
    for memory in (n for n in programs if n.startswith("memory")):
        pid = programs[memory].pid
        ok(not command_line(path, pid), f"{name}: what is in absent memory is unknown: {memory}",
           command_line(path, pid))
    ok(command_line(path, os.getpid()), f"{name}: other command lines are known")


def children(pid):
    found = set()
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                found.update(int(child) for child in file.read().split())
    return found


def await_replacement(process):
    """
    Has a file come that is late, and others. Returns the helper processes by then; they are those
    from before if there is no FUSE here.
    """
    before = children(process.pid)
    program, _ = begin(PROGRAM, "fuse", "hold")
    if not program:
        return before
    deadline = time.monotonic() + PATIENCE
    while not children(process.pid) - before and time.monotonic() < deadline:
        run("true")
        time.sleep(0.05)
    program.stdin.close()
    program.wait()
    return before | children(process.pid)


def check_own(name, helpers):
    """No helper is somebody else's work, neither one from the start nor one that replaced it."""
    tasks = [each for each in processes(scratch(name + ".clew")) if each["pid"] in helpers]
    others = [task for task in tasks if not task["self"]]
    ok({task["pid"] for task in tasks} == helpers and not others,
       f"{name}: its helpers are clew's own, also those that came later", f"{helpers}: {tasks}")


def waits_for_server(pid):
    """Whether a child of the process is where the kernel waits for a FUSE server."""
    for child in children(pid):
        with contextlib.suppress(OSError):
            with open(f"/proc/{child}/wchan", encoding="ascii") as file:
                if "request_wait" in file.read():
                    return True
    return False


def loads(pid):
    """Whether the recorder's programs are being loaded: it looks for signals from there on."""
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/comm", encoding="ascii") as file:
                if file.read().strip() == "clew-interrupt":
                    return True
    return False


def interrupted(is_there):
    """Sends the signal as soon as that is so; returns what end() does."""
    process = subprocess.Popen([CLEW, "record", "-o", scratch(is_there.__name__ + ".clew")],
                               stderr=subprocess.PIPE,
                               text=True)
    deadline = time.monotonic() + PATIENCE
    while not is_there(process.pid) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    return end(process, signal.SIGINT)


def check_beginning(when, ended, patience):
    """The signal came before it recorded."""
    seconds, status, said = ended
    ok(seconds <= patience and status == 1 and "nothing was recorded" in said,
       f"a signal {when} ends it within {SECONDS} s, too",
       f"{seconds:.2f} s, status {status}: {said[-300:]}")


def check_daemon(daemon, patience):
    check_end("daemon", daemon.process, signal.SIGTERM, patience)
    done = clew("join", scratch("ring"), "-o", scratch("joined.clew"))
    if ok(done.returncode == 0, "daemon: its ring can be read", done.stderr):
        check_file("daemon", scratch("joined.clew"))


def usual():
    """How long the end of a recording takes here with nothing in its way, s."""
    return end(started("usual")[0], signal.SIGINT)[0]


def record_all(patience, programs):
    """All kinds of recordings at once, as each waits for the same servers."""
    kinds = {"plain": (started, "plain"), "loads": (interrupted, loads)}
    if any("server" in name for name in programs):
        kinds["waits"] = (interrupted, waits_for_server)
    if feature("stacks of waits")[0]:
        kinds["stacks"] = (started, "stacks", "--stacks", "-f", "libc.so.6:getpid")
        kinds["daemon"] = (Daemon, )
    with concurrent.futures.ThreadPoolExecutor() as pool:
        beginning = {name: pool.submit(*kind) for name, kind in kinds.items()}
        begun = {name: each.result() for name, each in beginning.items()}
    plain, seconds = begun["plain"]
    note(f"begins after {seconds:.2f} s")
    check_beginning("while it loads", begun["loads"], patience)
    if "waits" in begun:
        check_beginning("while it waits for a server", begun["waits"], patience)
    helpers = await_replacement(plain)
    if "daemon" in begun:
        check_daemon(begun["daemon"], patience)
        check_recording("stacks", begun["stacks"][0], patience, programs)
    check_recording("plain", plain, patience, programs)
    check_own("plain", helpers)


def main():
    if os.geteuid():
        skip_all("it needs root")
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background
    terminal, target = Terminal(), scratch("target")
    shutil.copy("/bin/true", target)
    opened = Opened(target)
    patience = max(SECONDS, 2 * usual())
    note(f"it may take {patience:.2f} s to end")
    with all_at_once(terminal, target) as programs:
        record_all(patience, programs)
    ok(not terminal.was_opened(), "the device was not opened")
    ok(not opened.was(), "what the link leads to was not opened")
    finish()


if __name__ == "__main__":
    sys.exit(main())
