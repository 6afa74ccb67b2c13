#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Waits of rare kinds: of each, which dependency ended it, and on what.

Each case is a small program whose thread "sleeper" waits for 30 ms or more until another makes it go on; that waits until it surely sleeps.
"""

import subprocess
import sys

from _live import GUEST, PATIENCE, answer, finish, ok, scratch, start_recording, stop_recording

BEGIN = """
import ctypes, fcntl, os, select, socket, struct, sys, threading, time
library = ctypes.CDLL(None, use_errno=True)
def name(text):
    library.prctl(15, text.encode(), 0, 0, 0)
def sleeper(what, wake):
    def run():
        name("sleeper")
        what()
    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(float(sys.argv[1]))
    wake()
    thread.join()
futex, futex_waitv, bitset, private = 202, 449, 9, 128
def call(number, *arguments):
    return library.syscall(ctypes.c_long(number), *(ctypes.c_long(a) for a in arguments))
memory = ctypes.create_string_buffer(256)
base = ctypes.addressof(memory)
name("waker")
"""

# A mutex of Rust's standard library: the word, whether it is poisoned, and what it guards, here a thread's id and counters.
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
queue = library.mq_open(b"/clew-wakes", os.O_RDWR | os.O_CREAT, 0o600, None)
library.mq_unlink(b"/clew-wakes")
poller = select.epoll() if sys.argv[2] == "epoll" else select.poll()
poller.register(queue, select.POLLIN)
if sys.argv[2] == "poll of two":
    poller.register(os.pipe()[0], select.POLLIN)
print(os.fstat(queue).st_ino)
sleeper(poller.poll, lambda: library.mq_send(queue, b"x", 1, 0))
"""

# What is closed was sent more than the other end has room for, and its owner wants to know that all has come.
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

# One descriptor in poll or select, whose other end is closed: no call of the waker's is on that any more.
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

# Of what is moved between two ends, the sleeper waits for the one that is not ready: empty, or full.
SPLICE = """
splice, tee = 275, 276
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


def record(what, program, *arguments):
    """Records the program; returns the line it said, the sleeper's first long wait and the edge that ended it."""
    path = scratch("wakes.clew")
    recording = start_recording(path)
    words = [sys.executable, "-c", BEGIN + program, "5" if GUEST else "0.3", *arguments]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, timeout=PATIENCE, check=False)
    status, said = stop_recording(recording)
    if not ok(status == 0 and done.returncode == 0, f"{what}: recorded", f"{status}: {said}; {done.returncode}"):
        return None, None, None
    waits = [w for w in answer("waits", path, "--min", "30ms")["waits"] if w["comm"] == "sleeper" and w["open"] is None]
    if not ok(len(waits) >= 1, f"{what}: its wait is there", waits):
        return None, None, None
    ended = [e for e in answer("edges", path, "--tid", waits[0]["tid"])["edges"] if waits[0]["tid"] in [to["tid"] for to in e["to"]]]
    ended = [e for e in ended if waits[0]["end"] in [to["at"] for to in e["to"]]]
    if not ok(len(ended) == 1, f"{what}: one dependency ended it", ended):
        return None, None, None
    return done.stdout.strip(), waits[0], ended[0]


def check(what, kind, sender, program, *arguments):
    """The program's wait ends as it should; returns what the program said and the wait."""
    said, wait, edge = record(what, program, *arguments)
    if wait:
        ended = (edge["type"], edge["evidence"], [origin["comm"] for origin in edge["from"]], wait["ended_by"]["comm"])
        ok(ended == (kind, "exact", [sender], sender), f"{what}: {kind}, from {sender}", ended)
    return said, wait


def check_futexes():
    _, wait = check("a lock that is not glibc's", "wake", "waker", OTHER_MUTEX)
    if wait:
        ok(wait["kind"] == "futex" and not wait["holders"], "a lock that is not glibc's: nobody is said to have held it", wait["holders"])
    for count in (1, 3):
        address, wait = check(f"futex_waitv of {count}", "wake", "waker", VECTOR, str(count))
        if wait:
            seen = {key: (wait["object"] or {}).get(key) for key in ("address", "shared")}
            ok(seen == {"address": address, "shared": False}, f"futex_waitv of {count}: the one that was woken", f"{seen}, not {address}")


def check_pollers():
    inode, wait = check("epoll of epoll", "pipe", "waker", NESTED)
    if wait:
        ok(str((wait["object"] or {}).get("ino")) == inode, "epoll of epoll: the pipe below", f"{wait['object']}, not {inode}")
    path, wait = check("poll of a Unix socket", "socket", "waker", NAMED)
    if wait:
        ok((wait["object"] or {}).get("local") == path, "poll of a Unix socket: its name", f"{wait['object']}, not {path}")
    check("poll of a pidfd", "exit", "child", CHILD)
    for what in ("epoll", "poll", "poll of two"):
        inode, wait = check(f"{what} of a message queue", "ipc", "waker", QUEUE, what)
        if wait:
            ok(str((wait["object"] or {}).get("ino")) == inode, f"{what} of a message queue: it", f"{wait['object']}, not {inode}")
    for what in ("pipe", "full pipe", "unix", "tcp"):
        for how in ("poll", "select"):
            inode, wait = check(f"{how} of a {what} that is closed", "pipe" if "pipe" in what else "socket", "waker", CLOSED, what, how)
            if wait:
                ok(str((wait["object"] or {}).get("ino")) == inode, f"{how} of a {what} that is closed: it", f"{wait['object']}, not {inode}")


def check_splices():
    for what in ("pipe to device", "pipe to socket", "socket to pipe", "socket to full pipe", "tee of empty pipe", "tee to full pipe"):
        inode, wait = check(what, "socket" if what == "socket to pipe" else "pipe", "waker", SPLICE, what)
        if wait:
            ok(str((wait["object"] or {}).get("ino")) == inode, f"{what}: the end that was not ready", f"{wait['object']}, not {inode}")


def check_linger():
    _, wait = check("a close that lingers", "socket", "waker", LINGER)
    if wait:
        ok((wait["kind"], wait["call"]) == ("socket", "close"), "a close that lingers: for a socket", f"{wait['kind']} in {wait['call']}")


def check_terminal():
    path, wait = check("read of a terminal", "work", "waker", TERMINAL)
    if wait:
        seen = (wait["kind"], (wait["object"] or {}).get("name"))
        ok(seen == ("tty", path), "read of a terminal: its path", f"{seen}, not {path}")


check_futexes()
check_pollers()
check_linger()
check_terminal()
check_splices()
check("going on under a tracer", "wake", "waker", TRACED)
finish()
