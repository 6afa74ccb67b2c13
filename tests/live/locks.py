#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
`clew locks` on workloads that know who had a lock: how long by their own clock, in which order
it was handed over, a convoy, a priority inversion, a circle, what holders did meanwhile, and what
locks are called.
"""

import bisect
import collections
import fcntl
import json
import os
import subprocess
import sys
import time

from _live import WORKLOADS, answer, clew, feature, finish, note, ok, run, scratch, skip, skip_all, start_recording, stop_recording, wanted_runs

LATE = 1_000_000  # ns: a clock was read this much before or after the event, at most
MOST_OF_OTHERS = 0.02  # of the time in which an exact hold is told: somebody else had the lock
LEAST_RECALL = 0.9  # of the hand-overs to threads that slept for the lock

LOCKER = """
import fcntl, sys, time
with open(sys.argv[1], "r+") as file:
    print(time.monotonic_ns(), flush=True)
    fcntl.flock(file, fcntl.LOCK_EX)
"""
FLOCK = 73 if os.uname().machine == "x86_64" else 32  # the call's number

# Its order of hand-overs is known to the workload: the edges that it prints.
ORDERED = ("mutex,normal", "mutex,pi", "mutex,posix", "convoy", "condition")
OF_WORKLOADS = ("futex", "fcntl")  # kinds of locks: the kernel's own, as of an address space, have others


class Run:
    """What one workload printed, and what `clew locks` says of its tasks."""

    def __init__(self, name, seed):
        program, _, variant = name.partition(",")
        done = run(os.path.join(WORKLOADS, program), "--seed", seed,
                   *(("--variant", variant) if variant else ()))
        self.graph = json.loads(done.stdout) if done.returncode == 0 else {"skip": done.stderr}
        self.skip = self.graph.get("skip")
        self.tids = {task["tid"] for task in self.graph.get("tasks", ())}
        self.tids |= {hold[0] for hold in self.graph.get("holds", ())}
        self.locks, self.cycles = [], []

    def take(self, told):
        self.locks = [
            lock for lock in told["locks"] if {hold["tid"]
                                               for hold in lock["holds"]} & self.tids
        ]
        self.cycles = [c for c in told["cycles"] if {step["tid"] for step in c} & self.tids]


def record(names, seed, path):
    """Runs workloads one after the other in one recording."""
    available, reason = feature("functions")
    program = os.path.join(WORKLOADS, "convoy")
    functions = ("-f", f"{program}:hold", "-f", f"{program}:wait_for_it") if available else ()
    process = start_recording(path, *functions)
    runs = {name: Run(name, seed) for name in names}
    flock = lock_file()
    status, said = stop_recording(process)
    if not ok(status == 0, "recorded", said):
        finish()
    told = answer("locks", path)
    for one in runs.values():
        one.take(told)
    return runs, told, flock, reason if not available else ""


def is_consistent(told):
    """Sums that must be equal whatever was recorded."""
    for lock in told["locks"]:
        held = sum(h["to"] - h["from"] for h in lock["holds"])
        if held + lock["unheld_ns"] != lock["contended_ns"]:
            return f"{held} + {lock['unheld_ns']} ns are not {lock['contended_ns']}"
        for holder in lock["holders"]:
            if sum(d["ns"] for d in holder["doing"]) != holder["held_ns"]:
                return f"what {holder['tid']} did is not {holder['held_ns']} ns"
    return ""


# ---- order ----


def compare_order(told):
    """The hand-overs of the workload's locks are its releases, and no others."""
    wanted = sorted((e["at_min"], e["at_max"], e["from"], e["to"][0]) for e in told.graph["edges"]
                    if e["type"] == ["unlock"] and not e["optional"])
    found = sorted((h["at"], h["from"]["tid"], h["to"]["tid"]) for lock in told.locks
                   if lock["kind"] in OF_WORKLOADS for h in lock["handovers"])
    if not wanted or [w[2:] for w in wanted] != [f[1:] for f in found]:
        return f"{[f[1:] for f in found]}, not {[w[2:] for w in wanted]}"
    late = [f for w, f in zip(wanted, found) if not w[0] - LATE <= f[0] <= w[1] + LATE]
    return f"at another time: {late}" if late else ""


def check_order(runs):
    for name in ORDERED:
        why = runs[name].skip or compare_order(runs[name])
        ok(not why, f"{name}: hand-overs in their order", why)
    told = runs["mutex,normal"]
    ok(not any(lock["convoy"] for lock in told.locks), "two waiters are no convoy", told.locks)
    ok(not told.cycles, "no circle where nobody waits for a waiter", told.cycles)


def check_convoy(told, unavailable):
    lock, (charge, ) = told.locks[0], told.graph["why"][0]["charges"]
    top = lock["holders"][0]
    slept = sum(d["ns"] for d in top["doing"] if d["kind"] == "sleep" and d["tid"] == top["tid"])
    # The holder also naps while the waiters come, one after the other.
    longest = (min(e["at_max"] for e in told.graph["edges"] if e["type"] == ["unlock"]) -
               min(w["start_min"] for w in told.graph["waits"] if w["kind"] == ["futex"]))
    ok(lock["convoy"] and lock["most_at_once"] == lock["waiters"], "a convoy is one",
       f"{lock['waiters']} waiters, {lock['most_at_once']} at once")
    ok(top["tid"] == charge["tid"] and charge["min"] <= slept <= longest,
       "its holder slept as long as by its own clock",
       f"{top['tid']} slept {slept} ns, not {charge}, at most {longest} ns")
    if unavailable:
        skip("functions of waiters and holders", unavailable)
        return
    doing = top["doing"][0]
    ok(
        lock["function"] == "wait_for_it" and doing["function"] == "hold"
        and doing["kind"] == "sleep",
        "in which function it was waited for, and in which it was held",
        f"{lock['function']}, {doing}")


# ---- random moments ----


def others(truth, starts, hold):
    """ns of a hold in which another task had the lock by its own clock."""
    first = max(bisect.bisect(starts, hold["from"]) - 1, 0)
    ns = 0
    for start, end, tid in truth[first:]:
        if start >= hold["to"]:
            break
        if tid != hold["tid"]:
            ns += max(min(end, hold["to"]) - max(start, hold["from"]), 0)
    return ns


def check_contend(name, told):
    lock, graph = told.locks[0], told.graph
    truth = sorted((start, end, tid) for tid, start, end in graph["holds"])
    starts = [start for start, _, _ in truth]
    holds = [h for h in lock["holds"] if not h["coming"] and h["evidence"] == "exact"]
    ns = sum(h["to"] - h["from"] for h in holds)
    wrong = sum(others(truth, starts, h) for h in holds)
    ok(ns and wrong <= ns * MOST_OF_OTHERS, f"{name}: holders had the lock by their own clocks",
       f"{wrong} ns of {ns} are another's")
    # A thread that got the lock without sleeping may have had it between.
    own = {}
    for start, end, tid in truth:
        own.setdefault(tid, []).append((start, end))
    odd, late = [], 0
    for handover in lock["handovers"]:
        giver, at = own.get(handover["from"]["tid"], ()), handover["at"]
        takes = [start for start, _ in own.get(handover["to"]["tid"], ())]
        # It reads the clock before it releases the lock, and may lose its CPU in between.
        late += not any(abs(end - at) <= LATE for _, end in giver)
        has_it = [hold for hold in giver if hold[0] + LATE < at < hold[1] - LATE]
        if not giver or at < giver[0][1] - LATE or has_it or not any(start >= at - LATE
                                                                     for start in takes):
            odd.append((handover["from"]["tid"], handover["to"]["tid"], at))
    ok(100 * late <= len(lock["handovers"]), f"{name}: hand-overs are at a release by its own clock",
       f"{late} of {len(lock['handovers'])}")
    ok(not odd, f"{name}: hand-overs are from a release to a take", odd[:3])
    if name == "contend,pi":
        found = collections.Counter((h["from"]["tid"], h["to"]["tid"]) for h in lock["handovers"])
        wanted = collections.Counter((a[2], b[2]) for a, b in zip(truth, truth[1:]) if a[2] != b[2])
        met = sum((found & wanted).values())
        ok(met >= LEAST_RECALL * sum(wanted.values()) and met >= LEAST_RECALL * sum(found.values()),
           f"{name}: as often between each two as by their own clocks",
           f"{met} of {sum(wanted.values())}, {sum(found.values())} are told")
    note(f"{name}: {100 * wrong / ns:.1f} % of {ns / 1e6:.0f} ms of holds are another's, "
         f"{len(lock['handovers'])} hand-overs, {lock['barged']} takes past a woken thread")


# ---- trouble ----


def check_inversion(told):
    if told.skip:
        skip("a priority inversion", told.skip)
        return
    (fact, ) = told.graph["why"]
    (charge, ) = fact["charges"]
    lock = next((lock for lock in told.locks if lock["inversions"]), None)
    # Whoever has the CPU when the holder wakes keeps it for some microseconds more.
    found = lock and [(i["waiter"]["tid"], i["holder"]["tid"], i["by"]["tid"])
                      for i in lock["inversions"] if i["ns"] >= 1_000_000]
    ok(
        found == [(fact["tid"], charge["tid"], charge["by"][0])]
        and charge["min"] <= lock["inversions"][0]["ns"] <= charge["max"],
        "a priority inversion: who waited for whom because who ran, and how long",
        f"{lock and lock['inversions']}, not {fact}")


def check_circle(name, told):
    waits = [w for w in told.graph["waits"] if w["holders"]]
    wanted = {w["tid"]: w["holders"][0]["tid"] for w in waits}
    good = len(told.cycles) == 1 and len(told.cycles[0]) == 2
    if good:
        first, second = told.cycles[0]
        good = {first["tid"]: second["tid"], second["tid"]: first["tid"]} == wanted
        # Both had to be asleep, until one of them was not.
        good &= max(w["start_min"] for w in waits) <= first["from"] + LATE
        good &= first["from"] <= max(w["start_max"] for w in waits) + LATE
        over = min(waits, key=lambda w: w["end_max"])
        good &= over["end_min"] - LATE <= first["to"] <= over["end_max"] + LATE
    ok(good, f"{name}: a circle: who waited for whom, and when", f"{told.cycles}, not {waits}")


# ---- names, and what holders did ----


def check_kernel(told):
    if told.skip:
        skip("a kernel lock", told.skip)
        return
    lock = told.locks[0]
    ok(lock["name"].startswith("i_rwsem of ") and lock["object"]["path"],
       "a kernel lock has its name and its path", lock["name"])
    top = lock["holders"][0]
    away = sum(d["ns"] for d in top["doing"] if d["tid"] != top["tid"])
    ok(away > top["held_ns"] // 2, "its holder waited for the one that brought the page",
       f"{away} of {top['held_ns']} ns")


def lock_file():
    """
    Holds a lock on a file that a process waits for. Its pid, the path, how long at least and at
    most.
    """
    path = scratch("locked")
    with open(path, "w+", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with subprocess.Popen([sys.executable, "-c", LOCKER, path], stdout=subprocess.PIPE,
                              text=True) as waiter:
            asks = int(waiter.stdout.readline())
            while True:
                with open(f"/proc/{waiter.pid}/syscall", encoding="ascii") as call:
                    if call.read().split()[0] == str(FLOCK):
                        break
                time.sleep(0.005)
            began = time.monotonic_ns()
            time.sleep(0.1)
            took = time.monotonic_ns() - began
            fcntl.flock(file, fcntl.LOCK_UN)
            most = time.monotonic_ns() - asks
    return waiter.pid, path, took, most


def check_file(capture, flock):
    pid, path, took, most = flock
    locks = answer("locks", capture, "--pid", pid)["locks"]
    lock = next((lock for lock in locks if lock["kind"] == "flock"), None)
    ok(lock and lock["object"]["path"] == path and lock["waiters"] == 1,
       "flock: the lock has the file's path", lock and lock["object"])
    holder = lock and lock["holders"][0]
    ok(
        holder and holder["tid"] == os.getpid() and took <= holder["held_ns"] <= most + LATE
        and holder["doing"][0]["kind"] == "sleep", "flock: held as long as by this test's clock",
        f"{holder}, not {took} to {most} ns")


def check_text(capture, unavailable):
    said = " ".join(clew("locks", capture, "--top", 1000).stdout.split())
    for words in ("convoy: ", "priority inversion: ", "deadlock for ", " cost most: ",
                  "It was ") + (() if unavailable else ("taken in wait_for_it()", "in hold()")):
        ok(words in said, f"text has {words.strip()!r}", said[:2000])


def main():
    if os.geteuid() != 0:
        skip_all("it needs root")
    names = (*ORDERED, "contend", "contend,pi", "inversion", "deadlock", "deadlock,timed",
             "kernellock,inode")
    for seed in range(1, wanted_runs(1) + 1):
        capture = scratch(f"{seed}.clew")
        runs, told, flock, unavailable = record(names, seed, capture)
        why = is_consistent(told)
        ok(told["locks"] and not why, "sums are exact", why)
        check_order(runs)
        check_convoy(runs["convoy"], unavailable)
        for name in ("contend", "contend,pi"):
            check_contend(name, runs[name])
        check_inversion(runs["inversion"])
        for name in ("deadlock", "deadlock,timed"):
            check_circle(name, runs[name])
        check_kernel(runs["kernellock,inode"])
        check_file(capture, flock)
        check_text(capture, unavailable)
    finish()


main()
