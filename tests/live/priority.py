#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# alone: a real-time thread takes a CPU from everybody
"""
How threads are scheduled is said beside their names: one with a real-time priority that has the
CPU, a nice one that waits for it, and one whose policy changes while it is recorded.
"""

import ctypes
import os
import signal
import time

from _live import CLEW, answer, finish, ok, run, scratch, start_recording, stop_recording

PR_SET_NAME = 15
MS = 1e-3

libc = ctypes.CDLL(None)


def child(name, body):
    """Runs `body` in a process of that name on the last CPU. Returns its pid."""
    pid = os.fork()
    if not pid:
        libc.prctl(PR_SET_NAME, name.encode(), 0, 0, 0)
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        body()
        os._exit(0)
    return pid


def spin(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def naps(seconds, least=0):
    """For so long, and so many of them: who is nice gets a CPU late on a busy machine."""
    end = time.monotonic() + seconds
    while time.monotonic() < end or least > 0:
        time.sleep(MS)
        least -= 1


def now():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def hog():
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
    time.sleep(100 * MS)
    spin(150 * MS)
    time.sleep(100 * MS)


def polite(write):
    os.nice(19)
    # clew sees the new value at the next switch to the task.
    time.sleep(MS)
    time.sleep(MS)
    os.write(write, b"%d " % now())
    naps(400 * MS)


STEPS = [(os.SCHED_OTHER, 0, None), (os.SCHED_RR, 10, ("RR", 10)), (os.SCHED_OTHER, 0, None),
         (os.SCHED_IDLE, 0, ("idle", 0)), (os.SCHED_BATCH, 0, ("batch", 0)),
         (os.SCHED_FIFO, 1, ("FIFO", 1)), (os.SCHED_OTHER, 0, None)]


def changer(write):
    for policy, priority, _ in STEPS:
        os.sched_setscheduler(0, policy, os.sched_param(priority))
        # clew sees the new policy at the next switch to the task, which may sleep once before.
        naps(0, 3)
        begun = now()
        naps(50 * MS, 5)
        os.write(write, b"%d %d " % (begun, now()))


def scheduled(task):
    if "policy" not in task:
        return None
    return (task["policy"], task.get("priority", task.get("nice")))


def check_hog(path, hog_pid, polite_pid, nice_since):
    waits = answer("waits", path, "--tid", polite_pid)["waits"]
    waits = [w for w in waits if w["start"] > nice_since]
    ok(waits and all(scheduled(w) == ("other", 19) for w in waits), "a nice thread is told as such",
       waits[:1])
    why = answer("why", path, "--tid", polite_pid)
    ready = [s for s in why["segments"] if s["kind"] == "runqueue" and s["ns"] > 10e6]
    by = [s["object"]["by"] for s in ready if s["object"]["by"]]
    hogs = [b for b in by if b["tid"] == hog_pid]
    ok(hogs and all(scheduled(b) == ("FIFO", 50) for b in hogs),
       "it was ready while one with a real-time priority had the CPU", ready[:2])
    text = " ".join(run(CLEW, "why", path, "--tid", polite_pid).stdout.split())
    ok(f"hog-{hog_pid} (FIFO 50)" in text, "the text says so", text[:600])
    ok("was ready to run (nice 19) but had no CPU" in text, "and that it is nice itself",
       text[:600])


def check_changer(path, pid, times):
    waits = answer("waits", path, "--tid", pid)["waits"]
    for i, (_, _, expected) in enumerate(STEPS):
        begun, end = times[2 * i:2 * i + 2]
        within = [w for w in waits if begun <= w["start"] and w["end"] <= end]
        ok(within and all(scheduled(w) == expected for w in within),
           f"step {i}: waits are those of a task with {expected or 'the usual policy'}",
           (len(within), [scheduled(w) for w in within[:3]]))


def main():
    path = scratch("priority.clew")
    # The test may itself run at another nice value.
    os.setpriority(os.PRIO_PROCESS, 0, 0)
    times, write = os.pipe()
    since, tell = os.pipe()
    before = child("before", lambda: (os.nice(5), naps(60)))
    time.sleep(50 * MS)
    recording = start_recording(path)
    pids = {"polite": child("polite", lambda: polite(tell))}
    nice_since = int(os.read(since, 100))
    pids["hog"] = child("hog", hog)
    for pid in pids.values():
        os.waitpid(pid, 0)
    changing = child("changer", lambda: changer(write))
    os.waitpid(changing, 0)
    stop_recording(recording)
    os.kill(before, signal.SIGKILL)
    os.waitpid(before, 0)
    check_hog(path, pids["hog"], pids["polite"], nice_since)
    check_changer(path, changing, [int(t) for t in os.read(times, 4096).split()])
    waits = answer("waits", path, "--tid", before)["waits"]
    ok(waits and all(scheduled(w) == ("other", 5) for w in waits),
       "one that was nice before the recording is told as such", waits[:1])
    back = scratch("priority.trace")
    ok(
        run(CLEW, "convert", path, "-o", back).returncode == 0
        and answer("waits", back, "--tid", changing) == answer("waits", path, "--tid", changing),
        "a converted capture says the same")
    finish()


if __name__ == "__main__":
    main()
