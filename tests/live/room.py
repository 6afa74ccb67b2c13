#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
A recorder in a memory cgroup: it fits into what the group leaves, or refuses and says what it
needs, and so do commands that read a capture. And what a command leaves behind is told.
"""

import contextlib
import os
import re
import sys
import time

from _live import CLEW, PATIENCE, answer, clew, finish, ok, run, scratch, skip
from _place import Lacking, controller, write

MEBIBYTE = 1 << 20

DAEMON = """
import os, time
told, tell = os.pipe()
if os.fork() == 0:
    os.setsid()
    os.closerange(1, 3)  # nobody reads the output until it ends
    if os.fork() == 0:
        os.write(tell, b"%d" % os.getpid())
        time.sleep({})
    os._exit(0)
os.wait()
pid = int(os.read(told, 20))
{}
"""
# Its new parent may leave it a zombie.
AWAITED = """
def state():
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "X"
while state() not in "ZX":
    time.sleep(0.01)
"""


@contextlib.contextmanager
def group(mebibytes):
    """The path of a new group with a limit."""
    directory, unified = controller("memory")
    path = os.path.join(directory, f"clew-live-{os.getpid()}-room")
    os.makedirs(path)
    try:
        write(f"{path}/memory.max" if unified else f"{path}/memory.limit_in_bytes",
              mebibytes * MEBIBYTE)
        yield path
    finally:
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                os.rmdir(path)
                break
            time.sleep(0.1)


def in_group(path, *arguments):
    """A clew command whose process is in a group."""
    return run("/bin/sh",
               "-c",
               f"echo $$ >{path}/cgroup.procs && exec \"$@\"",
               "sh",
               CLEW,
               *arguments,
               timeout=PATIENCE)


def record_in(path, *arguments):
    capture = scratch("room.clew")
    with contextlib.suppress(OSError):
        os.unlink(capture)
    # The processes that are recorded are outside, those that record inside.
    return in_group(path, "record", "-o", capture, "-d", "1", *arguments), capture


def check_groups():
    usual = 60 + 12 * len(os.sched_getaffinity(0))
    with group(usual + 20) as path:
        done, capture = record_in(path)
        ok(
            done.returncode == 0 and done.stderr.count("no stacks are taken") == 1
            and "ring" not in done.stderr.partition("stacks are taken")[2].partition("\n")[0]
            and clew("waits", capture, "--stacks").returncode == 2,
            "where only stacks do not fit, they alone are left out",
            f"status {done.returncode}: {done.stderr}")
    with group(1024) as path:
        done, _ = record_in(path)
        ok(done.returncode == 0 and "memory cgroup" not in done.stderr,
           "where there is room, a group does not matter", done.stderr)
    with group(24) as path:
        done, capture = record_in(path)
        needed = re.search(r"needs (\d+) MiB.*room for (\d+) MiB", done.stderr)
        ok(
            done.returncode == 3 and needed and int(needed[2]) <= 24 < int(needed[1])
            and not os.path.exists(capture),
            "a recorder that does not fit refuses, and says what it needs",
            f"status {done.returncode}: {done.stderr}")
    if not needed:
        return
    # What is needed, and a little for the shell.
    with group(int(needed[1]) + 4) as path:
        done, capture = record_in(path)
        ok(
            done.returncode == 0 and "no stacks are taken, each CPU's ring has" in done.stderr
            and answer("info", capture)["complete"],
            "with little more than that it records, without stacks and with smaller rings",
            f"status {done.returncode}: {done.stderr}")
        done, _ = record_in(path, "--stacks")
        ok(
            done.returncode == 3
            and int(re.search(r"needs (\d+) MiB", done.stderr)[1]) > int(needed[1]),
            "stacks that were asked for are not left out", f"status {done.returncode}: {done.stderr}")
    with group(int(needed[1]) + 4) as path:
        done, _ = record_in(path, "--ring-size", "64M")
        ok(done.returncode == 3 and "needs" in done.stderr,
           "a ring of a size that was asked for is not made smaller",
           f"status {done.returncode}: {done.stderr}")


PING_PONG = """
import os
to, back = os.pipe(), os.pipe()
if os.fork() == 0:
    for _ in range(40000):
        os.write(back[1], os.read(to[0], 1))
    os._exit(0)
for _ in range(40000):
    os.write(to[1], b".")
    os.read(back[0], 1)
os.wait()
"""


def most_used(path):
    """MiB, of a group so far."""
    for name in ("memory.peak", "memory.max_usage_in_bytes"):
        with contextlib.suppress(FileNotFoundError):
            with open(os.path.join(path, name), encoding="ascii") as file:
                return -(-int(file.read()) // MEBIBYTE)
    raise Lacking("a group does not say how much it took")


def check_verifying():
    """Several programs are verified at once, each of which takes memory: not where there is none."""
    cpus = os.sched_getaffinity(0)
    if len(cpus) < 2:
        skip("programs are verified one by one where memory is short", "there is one CPU")
        return
    with group(1024) as path:
        os.sched_setaffinity(0, {min(cpus)})
        try:
            alone = in_group(path, "doctor")
        finally:
            os.sched_setaffinity(0, cpus)
        used = most_used(path)
    with group(used + 4) as path:
        done = in_group(path, "doctor")
    ok(alone.returncode == 0 and done.returncode == 0 and done.stdout == alone.stdout,
       "programs are verified one by one where memory is short",
       f"{used} MiB; status {done.returncode}: {done.stderr}")


def check_readers():
    """A capture that cannot be read in the memory that is left is not begun."""
    capture = scratch("long.clew")
    run(CLEW, "record", "-o", capture, "--", sys.executable, "-c", PING_PONG, timeout=PATIENCE)
    count = sum(answer("info", capture)["events"].values())
    with group(24) as path:
        for arguments in (["blame", "--all-running"], ["slack"], ["check"]):
            done = in_group(path, *arguments, capture)
            told = re.search(r"at least (\d+) MiB of memory, and (\d+) MiB are left: choose less",
                             done.stderr)
            ok(
                done.returncode == 3 and not done.stdout and done.stderr.count("\n") == 1 and told
                and int(told[2]) <= 24 < int(told[1]) < count * 500 / MEBIBYTE,
                f"{arguments[0]} of {count} records does not begin in 24 MiB", done.stderr)
    with group(1024) as path:
        done = in_group(path, "blame", capture)
        ok(done.returncode == 0 and "by" in done.stdout, "where there is room, it is read",
           done.stderr)


def check_left_behind():
    cases = (("a daemon", DAEMON.format(20, ""), 1), ("two jobs of a shell", None, 2),
             ("nothing", "pass", 0), ("a process that ends with it", DAEMON.format(0, AWAITED), 0))
    for what, program, count in cases:
        command = ["/usr/bin/python3", "-c", program
                   ] if program else ["/bin/sh", "-c", "exec >/dev/null 2>&1; sleep 20 & (setsid sleep 20 &)"]
        done = run(CLEW, "record", "-o", scratch("left.clew"), "--", *command, timeout=PATIENCE)
        told = re.search(r"left (\d+) process\w* running: (.*?): the recording", done.stderr)
        pids = [int(name.rpartition("-")[2]) for name in told[2].split(", ")] if told else []
        living = [pid for pid in pids if os.path.exists(f"/proc/{pid}")]
        ok(done.returncode == 0 and len(living) == count and (int(told[1]) if told else 0) == count,
           f"left behind: {what}", done.stderr)
        for pid in living:
            with contextlib.suppress(OSError):
                os.kill(pid, 9)


def main():
    check_left_behind()
    try:
        check_groups()
        check_verifying()
        check_readers()
    except (Lacking, OSError) as error:
        skip("a recorder in a memory group", str(error))
    finish()


if __name__ == "__main__":
    main()
