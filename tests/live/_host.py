# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
How long the machine ran nothing on one of its CPUs while a test recorded: a host takes CPUs away
from a virtual machine, mostly without a word of it in /proc/stat. A process on each CPU that goes
before all others wakes again and again, and comes late then.
"""

import ctypes
import os
import signal
import time

from _live import TRIES, note

STEP = 5_000_000  # ns between two looks at the clock
FIRST = 90  # real-time priority, above that of clew's own threads
LATE = 1_000_000  # ns: what a CPU takes for by itself is shorter
AWAY = 10_000_000  # ns: who lacks a CPU for longer is disturbed
PR_SET_PDEATHSIG = 1


def _look(cpu, write):
    """Writes each delay, ns; is killed."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    os.sched_setaffinity(0, {cpu})
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(FIRST))
    except OSError:
        return  # without it, it would be late for others' sake
    time.sleep(STEP / 1e9)
    while True:
        begun = time.monotonic_ns()
        time.sleep(STEP / 1e9)
        late = time.monotonic_ns() - begun - STEP
        if late > LATE:
            os.write(write, b"%d\n" % late)


class Host:
    """
    Within it the CPUs are watched. `away`: for how many ns one of them ran nothing, at most;
    `stolen`: for how many all of them, in sum.
    """

    def __init__(self):
        self.away, self.stolen, self.children, self.read = 0, 0, [], None

    def __enter__(self):
        self.read, write = os.pipe()
        for cpu in sorted(os.sched_getaffinity(0)):
            child = os.fork()
            if not child:
                try:
                    _look(cpu, write)
                finally:
                    os._exit(0)
            self.children.append(child)
        os.close(write)
        return self

    def __exit__(self, *_):
        for child in self.children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        with os.fdopen(self.read, encoding="ascii") as told:
            delays = [int(delay) for delay in told.read().split()]
        self.away, self.stolen = max(delays, default=0), sum(delays)


def undisturbed(attempt, is_bad):
    """
    What a function returns. It is called once more if that is bad and the host took a CPU away
    meanwhile.
    """
    for _ in range(TRIES):
        with Host() as host:
            found = attempt()
        if not is_bad(found) or host.away < AWAY:
            break
        note("once more: a CPU ran nothing for %.1f ms" % (host.away / 1e6))
    return found
