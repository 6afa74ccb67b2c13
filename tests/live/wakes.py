#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Waits of rare kinds: of each, which dependency ended it, and on what.

Each case is a small program whose thread "sleeper" waits for 30 ms or more until another
makes it go on; that waits until it surely sleeps.
All are recorded at once, so their threads have the case's number behind their names.
"""

import os
import subprocess
import sys

from _accuracy import measured
from _live import GUEST, PATIENCE, answer, finish, ok, scratch, start_recording, stop_recording

BEGIN = """
import ctypes, fcntl, os, select, socket, struct, sys, threading, time
library = ctypes.CDLL(None, use_errno=True)
def name(text):
    library.prctl(15, (text + os.environ["CASE"]).encode(), 0, 0, 0)
def sleeper(what, wake):
    def run():
        name("sleeper")
        what()
    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(float(sys.argv[1]))
    wake()
    thread.join()
on_arm64 = os.uname().machine == "aarch64"
futex, futex_waitv, bitset, private = 98 if on_arm64 else 202, 449, 9, 128
def call(number, *arguments):
    return library.syscall(ctypes.c_long(number), *(ctypes.c_long(a) for a in arguments))
memory = ctypes.create_string_buffer(256)
base = ctypes.addressof(memory)
name("waker")
"""

# A mutex of Rust's standard library: the word, whether it is poisoned, and what
# it guards, here a thread's id and counters.
OTHER_MUTEX = """
memory[0:24] = struct.pack("6I", 2, 0, os.getpid(), 3, 1, 0)
sleeper(lambda: call(futex, base, bitset | private, 2, 0, 0, 0xffffffff), lambda: call(futex, base, 1 | private, 1))
"""

# It waits for three words, or for one, and is woken on the last.
VECTOR = """
count = int(sys.argv[2])
entries = ctypes.create_string_buffer(b"".join(struct.pack("QQII", 0, base + 64 * i, 2 | private, 0) for i in range(count)))
print(hex(base + 64 * (count - 1)))
sleeper(lambda: call(futex_waitv, ctypes.addressof(entries), count, 0, 0, 0),
        lambda: call(futex, base + 64 * (count - 1), 1 | private, 1))
"""

# An epoll instance that another one watches: what is ready there is what the poller waited for.
NESTED = """
ends = [os.pipe() for _ in range(3)]
inner, outer = select.epoll(), select.epoll()
for end in ends:
    inner.register(end[0], select.EPOLLIN)
outer.register(inner.fileno(), select.EPOLLIN)
print(os.fstat(ends[1][0]).st_ino)
sleeper(lambda: outer.poll(), lambda: os.write(ends[1][1], b"x"))
"""

# A POSIX message queue, alone or beside another descriptor.
QUEUE = """
own = ("/clew-wakes-" + os.environ["CASE"]).encode()
queue = library.mq_open(own, os.O_RDWR | os.O_CREAT, 0o600, None)
library.mq_unlink(own)
poller = select.epoll() if sys.argv[2] == "epoll" else select.poll()
poller.register(queue, select.POLLIN)
if sys.argv[2] == "poll of two":
    poller.register(os.pipe()[0], select.POLLIN)
print(os.fstat(queue).st_ino)
sleeper(poller.poll, lambda: library.mq_send(queue, b"x", 1, 0))
"""

# What is closed was sent more than the other end has room for, and its owner
# wants to know that all has come.
LINGER = """
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
listener.bind(("127.0.0.1", 0))
listener.listen()
own = socket.create_connection(listener.getsockname())
other = listener.accept()[0]
own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 60))
own.setblocking(False)
try:
    while True:
        own.send(bytes(65536))
except BlockingIOError:
    pass
def take():
    while other.recv(65536):
        pass
sleeper(own.close, take)
"""

# One descriptor in poll or select, whose other end is closed: no call of the
# waker's is on that any more.
CLOSED = """
what, how = sys.argv[2:]
listener = socket.create_server(("127.0.0.1", 0))
near, far = socket.socketpair()
if what == "tcp":
    far = socket.create_connection(listener.getsockname())
    near = listener.accept()[0]
if what == "pipe":
    own, other = os.pipe()
elif what == "full pipe":
    other, own = os.pipe()
    os.write(own, bytes(fcntl.fcntl(own, 1031, 4096)))
else:
    own, other = near.detach(), far.detach()
def poll():
    poller = select.poll()
    poller.register(own, select.POLLOUT if what == "full pipe" else select.POLLIN)
    poller.poll()
def choose():
    select.select([own], [own] if what == "full pipe" else [], [own])
print(os.fstat(own).st_ino)
sleeper(poll if how == "poll" else choose, lambda: os.close(other))
"""

# The number of the descriptor is the place of a bit in a set.
SELECTED = """
own, other = os.pipe()
number = os.dup2(own, int(sys.argv[2]))
print(os.fstat(own).st_ino, number)
sleeper(lambda: select.select([number], [], []), lambda: os.write(other, b"x"))
"""

# Of what is moved between two ends, the sleeper waits for the one that is not
# ready: empty, or full.
SPLICE = """
splice, tee = (76, 77) if on_arm64 else (275, 276)
def pipe(full=False):
    ends = os.pipe()
    if full:
        os.write(ends[1], bytes(fcntl.fcntl(ends[1], 1031, 4096)))
    return ends
def move(number, source, to):
    call(number, *((source, 0, to, 0) if number == splice else (source, to)), 4096, 0)
near, far = socket.socketpair()
null = os.open("/dev/null", os.O_WRONLY)
ready, idle, full = pipe(), pipe(), pipe(full=True)
os.write(ready[1], b"x")
number, source, to, awaited, wake = {
    "pipe to device": lambda: (splice, idle[0], null, idle[0], lambda: os.write(idle[1], b"x")),
    "pipe to socket": lambda: (splice, idle[0], near.fileno(), idle[0], lambda: os.write(idle[1], b"x")),
    "socket to pipe": lambda: (splice, near.fileno(), idle[1], near.fileno(), lambda: far.send(b"x")),
    "socket to full pipe": lambda: (splice, near.fileno(), full[1], full[1], lambda: os.read(full[0], 4096)),
    "tee of empty pipe": lambda: (tee, idle[0], ready[1], idle[0], lambda: os.write(idle[1], b"x")),
    "tee to full pipe": lambda: (tee, ready[0], full[1], full[1], lambda: os.read(full[0], 4096)),
}[sys.argv[2]]()
if sys.argv[2] == "socket to full pipe":
    far.send(b"x")
print(os.fstat(awaited).st_ino)
sleeper(lambda: move(number, source, to), wake)
"""

# Who polls a Unix socket has never slept in a call on it; its name fills all the room there is.
NAMED = r"""
listener, far = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
path = "n" * 107
listener.bind("\0" + path)
listener.listen()
far.connect("\0" + path)
near, _ = listener.accept()
print("@" + path)
poller = select.poll()
poller.register(near, select.POLLIN)
sleeper(lambda: poller.poll(), lambda: far.send(b"x"))
"""

TERMINAL = """
import pty, tty
master, terminal = pty.openpty()
tty.setraw(terminal)
print(os.ttyname(terminal))
sleeper(lambda: os.read(terminal, 1), lambda: os.write(master, b"x"))
"""

CHILD = """
ends = os.pipe()
child = os.fork()
if child == 0:
    name("child")
    os.read(ends[0], 1)
    os._exit(0)
poller = select.poll()
poller.register(os.pidfd_open(child), select.POLLIN)
sleeper(lambda: poller.poll(), lambda: os.write(ends[1], b"x"))
os.waitpid(child, 0)
"""

# A tracer lets its child go on: no signal is sent for that.
TRACED = """
child = os.fork()
if child == 0:
    name("sleeper")
    library.ptrace(0, 0, 0, 0)
    os.kill(os.getpid(), 19)
    os._exit(0)
os.waitpid(child, 0x40000000)
time.sleep(float(sys.argv[1]))
library.ptrace(7, child, 0, 0)
os.waitpid(child, 0)
"""

CASES = []


def case(what, kind, sender, program, *arguments, then=None):
    """
    The program's wait ends by an exact dependency of this kind, from its thread
    of this name; `then` looks closer at what it said and the wait.
    """
    CASES.append((what, kind, sender, program, arguments, then))


def inode(said, wait):
    """The object is the one whose inode the program said."""
    return str((wait["object"] or {}).get("ino")) == said, f"{wait['object']}, not {said}"


def numbered_inode(said, wait):
    seen = [str((wait["object"] or {}).get(key)) for key in ("ino", "descriptor")]
    return seen == said.split(), f"{seen}, not {said}"


def word(said, wait):
    seen = {key: (wait["object"] or {}).get(key) for key in ("address", "shared")}
    return seen == {"address": said, "shared": False}, f"{seen}, not {said}"


def terminal(said, wait):
    seen = (wait["kind"], (wait["object"] or {}).get("name"))
    return seen == ("tty", said), f"{seen}, not {said}"


case("a lock that is not glibc's",
     "wake",
     "waker",
     OTHER_MUTEX,
     then=lambda _, wait: (wait["kind"] == "futex" and not wait["holders"], wait["holders"]))
for number in ("1", "3"):
    case(f"futex_waitv of {number}", "wake", "waker", VECTOR, number, then=word)
case("epoll of epoll", "pipe", "waker", NESTED, then=inode)
case("poll of a Unix socket",
     "socket",
     "waker",
     NAMED,
     then=lambda said, wait:
     ((wait["object"] or {}).get("local") == said, f"{wait['object']}, not {said}"))
case("poll of a pidfd", "exit", "child", CHILD)
for poller in ("epoll", "poll", "poll of two"):
    case(f"{poller} of a message queue", "ipc", "waker", QUEUE, poller, then=inode)
for closed in ("pipe", "full pipe", "unix", "tcp"):
    for poller in ("poll", "select"):
        case(f"{poller} of a {closed} that is closed",
             "pipe" if "pipe" in closed else "socket",
             "waker",
             CLOSED,
             closed,
             poller,
             then=inode)
for number in ("0", "63", "64", "255"):
    case(f"select of descriptor {number}", "pipe", "waker", SELECTED, number, then=numbered_inode)
case("a close that lingers",
     "socket",
     "waker",
     LINGER,
     then=lambda _, wait: ((wait["kind"], wait["call"]) ==
                           ("socket", "close"), f"{wait['kind']} in {wait['call']}"))
case("read of a terminal", "work", "waker", TERMINAL, then=terminal)
for ends in ("pipe to device", "pipe to socket", "socket to pipe", "socket to full pipe",
             "tee of empty pipe", "tee to full pipe"):
    case(ends, "socket" if ends == "socket to pipe" else "pipe", "waker", SPLICE, ends, then=inode)
case("going on under a tracer", "wake", "waker", TRACED)


def run_all(path):
    """
    Records all programs at once, each with names of its own; returns what each
    said, None where it failed.
    """
    recording = start_recording(path)
    running = []
    for number, (_, _, _, program, arguments, _) in enumerate(CASES):
        words = [sys.executable, "-c", BEGIN + program, "10" if GUEST else "1", *arguments]
        running.append(
            subprocess.Popen(words,
                             stdout=subprocess.PIPE,
                             text=True,
                             env=dict(os.environ, CASE=str(number))))
    said = []
    for process in running:
        text, _ = process.communicate(timeout=PATIENCE)
        said.append(text.strip() if process.returncode == 0 else None)
    status, problem = stop_recording(recording)
    ok(status == 0, "recorded", problem)
    return said


def check(number, said, waits, edges):
    what, kind, sender, _, _, then = CASES[number]
    names = [f"{name}{number}" for name in ("sleeper", sender)]
    waits = [w for w in waits if w["comm"] == names[0] and w["open"] is None]
    if not ok(said is not None and waits, f"{what}: its wait is there", said):
        return
    wait = max(waits, key=lambda w: w["end"] - w["start"])
    ended = [
        e for e in edges if (wait["tid"], wait["end"]) in [(to["tid"], to["at"]) for to in e["to"]]
    ]
    named = len(ended) == 1 and ended[0]["type"] == kind and [
        origin["comm"] for origin in ended[0]["from"]] == [names[1]]
    measured(f"dependency {kind}", 1, bool(ended) and not named, not ended,
             witness="pairs of which one wakes the other")
    if not ok(len(ended) == 1, f"{what}: one dependency ended it", ended):
        return
    edge = ended[0]
    seen = (edge["type"], edge["evidence"], [origin["comm"]
                                             for origin in edge["from"]], wait["ended_by"]["comm"])
    ok(seen == (kind, "exact", [names[1]], names[1]), f"{what}: {kind}, from {names[1]}", seen)
    if then:
        good, why = then(said, wait)
        ok(good, f"{what}: what it waited for", why)


def main():
    path = scratch("wakes.clew")
    said = run_all(path)
    waits, edges = answer("waits", path, "--min", "30ms")["waits"], answer("edges", path)["edges"]
    for number, text in enumerate(said):
        check(number, text, waits, edges)
    finish()


if __name__ == "__main__":
    main()
