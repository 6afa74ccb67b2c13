#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# alone: all recorders have one list of trace events, and functions are dropped by their cost
"""
Functions where the kernel takes no links with many probes (before Linux 6.6): all probes of a file
are one trace event. Counts are the program's as they are with links, thousands are attached in a
second, and nothing is left behind, even by a clew that was killed.
"""

import concurrent.futures
import json
import os
import random
import re
import shutil
import subprocess
import time

import functions
from _live import CLEW, GUEST, PATIENCE, TRIES, WORKLOADS, answer, finish, ok, run, scratch, skip_unless_functions, start_recording, stop_recording, wanted_runs

EVENTS = "/sys/kernel/tracing/uprobe_events"
OPTIONS = ["--trace-events"]
TOGETHER = 1 if GUEST else 5  # that are killed at about the same time
KILLS = 10 if GUEST else TOGETHER * wanted_runs(2)
LIBRARY = "libc.so.6"


def left():
    with open(EVENTS, encoding="utf-8") as file:
        return [line for line in file if ":clew/" in line]


def check_counts():
    functions.OPTIONS += OPTIONS
    own = os.path.join(WORKLOADS, "frames")
    programs = [("c-O2", own)]
    for name, command in functions.VARIANTS[:3]:
        if shutil.which(command[0]):
            programs.append((name, functions.build(name, command)))
    for name, program in programs:
        for seed in range(1, wanted_runs(3) + 1):
            functions.check_run(f"{name}, seed {seed}", program, seed)
    functions.check_loss(own)
    functions.check_process()


def check_path():
    """A path that cannot be written into a trace event."""
    program, capture = scratch("a program: of blanks"), scratch("blanks.clew")
    shutil.copy(os.path.join(WORKLOADS, "frames"), program)
    done = functions.record(capture, program, 5)
    truth, spans = functions.read_truth(done.stdout), answer("spans", capture)
    wrong = functions.differences(truth, spans)
    ok(not wrong, "a path with blanks and colons is probed", "; ".join(wrong[:3]))


def check_dropped():
    """
    What costs too much is detached while the rest goes on. Only this program calls the functions: the
    one all the time for a second and more, the other one 300 times a second, which costs 2 % of a CPU.
    """
    program, capture = os.path.join(WORKLOADS, "dearest"), scratch("dropped.clew")
    done = run(CLEW, "record", "-o", capture, *OPTIONS, "--max-cost", "10", "-f",
               f"{program}:first", "-f", f"{program}:seldom", "--", program, "4")
    if not ok(done.returncode == 0, "a program with a dear function is recorded",
              done.stderr[-300:]):
        return
    spans = answer("spans", capture, "--list")
    dropped = spans["groups_dropped"]
    ok([one["name"] for one in dropped] == ["first"], "a function that costs too much is dropped",
       f"{dropped} {done.stderr[-300:]}")
    called, seen = json.loads(done.stdout)["seldom"], [
        entry["start"] for entry in spans["list"] if entry["name"] == "seldom"
    ]
    ok(dropped and len(seen) == called and max(seen) > dropped[0]["time"], "and the others go on",
       f"{len(seen)} of {called} calls, {dropped}")


def record_many():
    """How long it takes to attach and to detach all functions of the C library."""
    capture = scratch("many.clew")
    start = time.monotonic()
    recording = start_recording(capture, "--no-stacks")
    bare = time.monotonic() - start
    stop_recording(recording)
    start = time.monotonic()
    recording = start_recording(capture, *OPTIONS, "-f", f"{LIBRARY}:*", "--max-functions",
                                "100000", "--returns", "none", "--no-stacks")
    attached = time.monotonic() - start - bare
    probes = len(left())
    start = time.monotonic()
    status, said = stop_recording(recording)
    stopped = time.monotonic() - start
    print(f"# {probes} probes in {LIBRARY}: attached within {attached:.2f} s, "
          f"stopped within {stopped:.2f} s")
    return status == 0 and probes > 1500, attached, stopped, said


def check_many():
    """Thousands are attached at once: it takes little longer than a recording without any."""
    # By the clock, and an emulated guest may have little of the machine. One by one they would take
    # a tenth of a second each to detach. Others have the CPUs, too: the fastest of some tries counts.
    for _ in range(TRIES):
        good, attached, stopped, said = record_many()
        fast = attached < (PATIENCE if GUEST else 8) and stopped < (60 if GUEST else 8)
        if fast or not good:
            break
    ok(good and fast, "all functions of the C library are attached and detached within seconds",
       f"{attached}, {stopped}: {said[-300:]}")


def kill(path, delay):
    """Kills a recording so long after it was begun; whether events are there then."""
    with subprocess.Popen([
            CLEW, "record", "-o", path, *OPTIONS, "-f", f"{LIBRARY}:pthread_*", "--no-stacks"
    ],
                          stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as killed:
        time.sleep(delay)
        killed.kill()
        killed.wait()
        return any(f":clew/p{killed.pid}_" in line for line in left())


def check_killed():
    """The next recording removes what killed ones left."""
    draw = random.Random(1)
    seen = 0
    with concurrent.futures.ThreadPoolExecutor(max_workers=TOGETHER) as pool:
        delays = [draw.random() * (8 if GUEST else 4) for _ in range(KILLS)]
        paths = [scratch(f"killed{turn}.clew") for turn in range(KILLS)]
        seen = sum(pool.map(kill, paths, delays))
    done = run(CLEW,
               "record",
               "-o",
               scratch("after.clew"),
               *OPTIONS,
               "-d",
               "10ms",
               "-f",
               f"{LIBRARY}:getpid",
               timeout=PATIENCE)
    ok(done.returncode == 0 and not left(),
       f"of {KILLS} killed recordings, {seen} with probes, nothing is left", "".join(left())[:300])


def main():
    skip_unless_functions(*OPTIONS)
    check_counts()
    check_path()
    check_dropped()
    check_many()
    check_killed()
    ok(not [line for line in left() if not re.search(r":clew/p\d+_", line)],
       "each event has the process's number in its name", "".join(left())[:300])
    finish()


main()
