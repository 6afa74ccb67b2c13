# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
A daemon of `clew daemon` in the foreground, with a configuration and a run directory of its own, and
waits for a lock that its rules meet.
"""

import collections
import json
import os
import signal
import socket
import subprocess
import sys
import time

from _live import CLEW, PATIENCE, clew, run, scratch

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
INCIDENTS = scratch("incidents")
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
