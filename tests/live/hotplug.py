#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
A CPU that is taken away while it is recorded, and one that comes only then.
Only in a guest: it would be taken from everybody.
"""

import os
import subprocess
import sys
import time

from _live import GUEST, answer, finish, ok, scratch, skip_all, start_recording, stop_recording

SWITCH = "/sys/devices/system/cpu/cpu1/online"
# Answers each byte on the second descriptor that comes on the first; pinned to CPU 1 if told so.
ECHO = """
import os, sys
if sys.argv[3] == "1":
    os.sched_setaffinity(0, {1})
print("here", flush=True)
while True:
    byte = os.read(int(sys.argv[1]), 1)
    if not byte:
        break
    os.write(int(sys.argv[2]), byte)
"""


def set_online(on):
    with open(SWITCH, "w", encoding="ascii") as file:
        file.write("1" if on else "0")


class Echo:
    """A process that answers, and how often it was asked."""

    def __init__(self, pinned):
        there, back = os.pipe(), os.pipe()
        self.to, self.back = there[1], back[0]
        self.process = subprocess.Popen(
            [sys.executable, "-c", ECHO,
             str(there[0]),
             str(back[1]), "1" if pinned else "0"],
            stdout=subprocess.PIPE,
            pass_fds=(there[0], back[1]))
        os.close(there[0])
        os.close(back[1])
        self.process.stdout.readline()
        self.asked = 0

    def ask(self, seconds):
        """Asks every now and then."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(0.01)
            os.write(self.to, b"x")
            os.read(self.back, 1)
            self.asked += 1

    def end(self):
        os.close(self.to)
        self.process.wait()
        self.process.stdout.close()
        os.close(self.back)


def check(name, path, echo):
    """
    Who answers waits for each byte, but for one now and then that is there
    first, and is woken by this.
    """
    ledger = answer("info", path)["ledger"]
    ok(ledger["balanced"] and not ledger["lost"] and not ledger["missed"],
       f"{name}: nothing is lost", ledger)
    waits = [
        w for w in answer("waits", path)["waits"]
        if w["tid"] == echo.process.pid and w["kind"] == "pipe" and w["open"] is None
    ]
    woken = [
        w for w in waits if w["ended_by"] and w["ended_by"]["tid"] == os.getpid()
        and w["ended_by"]["context"] == "task"
    ]
    ok(0.8 * echo.asked <= len(woken) <= echo.asked + 1 and len(waits) == len(woken),
       f"{name}: each wait of who answers is there, and who ended it",
       f"asked {echo.asked} times, {len(waits)} waits, {len(woken)} woken from here")


def taken_away():
    path = scratch("away.clew")
    echo = Echo(True)
    recorder = start_recording(path)
    echo.ask(0.3)
    set_online(False)
    echo.ask(0.3)
    set_online(True)
    echo.ask(0.3)
    echo.end()
    status, said = stop_recording(recorder)
    ok(status == 0, "a CPU is taken away and comes back: recorded", said)
    check("taken away", path, echo)


def comes():
    path = scratch("comes.clew")
    set_online(False)
    recorder = start_recording(path)
    early = Echo(False)
    early.ask(0.3)
    early.end()
    set_online(True)
    echo = Echo(True)
    echo.ask(0.3)
    echo.end()
    status, said = stop_recording(recorder)
    ok(status == 0, "a CPU comes: recorded", said)
    check("comes, before", path, early)
    check("comes", path, echo)


if not GUEST:
    skip_all("takes a CPU from everybody, so it runs in guests only")
if not os.path.exists(SWITCH):
    skip_all("CPU 1 cannot be taken away")
taken_away()
comes()
finish()
