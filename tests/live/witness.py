#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# alone: a sample has to find the state that is known for that moment
"""
An independent witness: /proc/PID/task/TID/{syscall,wchan,stat}, 100 times a second,
against clew's waits.

PostgreSQL under pgbench, and a parallel build. A sample agrees if clew knows such a state at any
moment between the clock readings around it. Outside idle waits 98 % must, and 95 % for each kind;
the rest is printed. Where the kernel's function tells a narrower kind than the call (a journal's
commit, say), that is right too; kernel locks it does not tell. Of the time in waits of 1
ms or more,
`other` and `unknown` are below 2 %, and 95 % is in waits whose end is joined to a task, a
request, a
timer or a peer.
"""

import bisect
import collections
import os
import re
import subprocess
import threading
import time

from _accuracy import measured
from _live import GUEST, ROOT, answer, finish, note, ok, scratch, skip, skip_all, start_recording, stop_recording, wanted_runs
from _postgres import Cluster, Refused, programs

SECONDS = 6
BUILD_SECONDS = 8 * wanted_runs(15)  # at most: a build that ends earlier is done
PERIOD = 0.01
PLAIN_KINDS = {
    202: "futex", 449: "futex", 35: "sleep", 230: "sleep", 34: "signal", 130: "signal", 128:
    "signal", 61: "child", 247: "child", 7: "poll", 271: "poll", 23: "poll", 270: "poll", 232:
    "poll", 281: "poll", 441: "poll", 58: "vfork", 65: "ipc", 220: "ipc", 64: "ipc", 70: "ipc", 69:
    "ipc", 242: "ipc", 243: "ipc", 74: "fsync", 75: "fsync", 277: "fsync", 26: "fsync", 162:
    "fsync", 306: "fsync", 56: "vfork", 435: "vfork", 57: "vfork", 426: "io_uring", 208: "io_uring",
    42: "socket", 43: "socket", 288: "socket", 44: "socket", 45: "socket", 46: "socket", 47:
    "socket"
}
READS = {0, 17, 19, 295, 327}
WRITES = {1, 18, 20, 296, 328}
FILES = {
    2, 257, 437, 87, 263, 82, 264, 316, 83, 258, 84, 78, 217, 4, 5, 6, 262, 332, 59, 322, 21, 269,
    439, 76, 77, 285, 86, 265, 88, 266, 89, 267, 80, 81, 90, 91, 268, 92, 93, 94, 260, 235, 280, 3,
    16, 72, 73, 40, 221, 187
}
# What the kernel is about, where that is narrower than the call: by the function in wchan.
NARROWER = ((re.compile(r"jbd2_|start_this_handle|add_transaction_credits|wait_transaction|xlog_"),
             "journal"),
            (re.compile(r"balance_dirty_pages|rq_qos_wait|handle_over_high|blk_throtl|wbt_wait"),
             "throttle"), (re.compile(r"shrink_|reclaim_|compact|swap_read|throttle_direct"),
                           "memory"), (re.compile(r"flush_work|wait_for_completion"),
                                       "work"), (re.compile(r"rcu"), "rcu"))
# Calls whose wait is what it says: no lock of the kernel's is mistaken for it.
PLAIN = {"sleep", "poll", "signal", "child", "vfork"}
IDLE = {("poll", n)
        for n in (7, 271, 23, 270, 232, 281, 441)} | {("socket", n)
                                                      for n in (43, 288, 45, 47, 0)} | {("pipe", 0)}


def descriptor_kind(pid, number, writing):
    try:
        target = os.readlink(f"/proc/{pid}/fd/{number}")
    except OSError:
        return None
    for prefix, kind in (("pipe:", "pipe"), ("socket:", "socket"),
                         ("anon_inode:[eventfd", "eventfd"), ("anon_inode:[timerfd", "sleep"),
                         ("/dev/pts", "tty"), ("/dev/tty", "tty"), ("anon_inode:", "other")):
        if target.startswith(prefix):
            return kind
    return "write" if writing else "read"


def kind_of(pid, words):
    """The wait kind that a line of /proc/PID/syscall tells, and the call's number."""
    if words[0] == "running":
        return "running", None
    number = int(words[0])
    if number < 0:
        return "fault", number
    if number in PLAIN_KINDS:
        return PLAIN_KINDS[number], number
    if number in READS or number in WRITES:
        return descriptor_kind(pid, int(words[1], 16) & 0xffffffff, number in WRITES), number
    if number in FILES:
        return "file", number
    return "other", number


def descendants(root):
    children = collections.defaultdict(list)
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] not in "ZX":
            children[int(fields[1])].append(int(pid))
    found, at = [root], 0
    while at < len(found):
        found += children[found[at]]
        at += 1
    return found


class Sampler(threading.Thread):
    """Samples all threads below some processes until told to stop."""

    def __init__(self, roots):
        super().__init__(daemon=True)
        self.roots = roots
        self.samples = []
        self.done = threading.Event()

    def sample(self, pid, tid):
        now = time.clock_gettime_ns
        try:
            # The function first: it explains a disagreement, but is not between the clock readings.
            with open(f"/proc/{pid}/task/{tid}/wchan", encoding="ascii") as file:
                function = file.read()
            before = now(time.CLOCK_MONOTONIC)
            with open(f"/proc/{pid}/task/{tid}/syscall", encoding="ascii") as file:
                words = file.read().split()
            after = now(time.CLOCK_MONOTONIC)
        except OSError:
            return
        if not words:
            return
        kind, number = kind_of(pid, words)
        if kind:
            self.samples.append((tid, before, after, kind, number, function))

    def run(self):
        while not self.done.wait(PERIOD):
            for root in self.roots:
                for pid in descendants(root):
                    try:
                        tids = os.listdir(f"/proc/{pid}/task")
                    except OSError:
                        continue
                    for tid in tids:
                        self.sample(pid, int(tid))

    def stop(self):
        self.done.set()
        self.join()


def kinds_seen(kind, function):
    """The kinds that may be right where /proc says this: the narrowest that is proven wins."""
    kinds = {kind} | {narrower for pattern, narrower in NARROWER if pattern.search(function)}
    return kinds if kind in PLAIN or kind == "running" else kinds | {"lock"}


class Timeline:
    """Clew's waits of one thread, found by time."""

    def __init__(self, waits):
        self.waits = sorted(waits, key=lambda w: w["start"])
        self.starts = [w["start"] for w in self.waits]

    def between(self, before, after):
        """Kinds of the states that touch an interval; `running` where no wait covers it whole."""
        at = bisect.bisect_right(self.starts, after)
        states, covered = set(), False
        for wait in reversed(self.waits[max(0, at - 64):at]):
            end = wait["end"] if wait["end"] is not None else 1 << 63
            if end < before:
                break
            states.add(wait["kind"])
            covered |= wait["start"] <= before and end >= after
        return states if covered else states | {"running"}


def judge(name, path, samples):
    info = answer("info", path)
    begin, end = info["start"], info["start"] + info["duration_ns"]
    threads = collections.defaultdict(list)
    for wait in answer("waits", path)["waits"]:
        threads[wait["tid"]].append(wait)
    ends = {(to["tid"], to["at"])
            for edge in answer("edges", path)["edges"] if edge["type"] != "wake"
            for to in edge["to"]}
    sampled = {s[0] for s in samples}
    lines = {tid: Timeline(waits) for tid, waits in threads.items() if tid in sampled}
    good, bad, why = collections.Counter(), collections.Counter(), collections.Counter()
    for tid, before, after, kind, number, function in samples:
        if before < begin or after > end or (kind, number) in IDLE:
            continue
        states = lines[tid].between(before, after) if tid in lines else {"running"}
        if states & kinds_seen(kind, function):
            good[kind] += 1
        else:
            bad[kind] += 1
            why[(kind, number, function, tuple(sorted(states)))] += 1
    for kind in sorted(set(good) | set(bad)):
        note(f"{name}: {kind:<8} {good[kind]:>6} agree, {bad[kind]:>4} do not")
    for (kind, number, function, states), count in why.most_common(12):
        note(
            f"{name}: {count} times /proc says {kind} (call {number}, in {function}), clew {' or '.join(states)}"
        )
    for kind in set(good) | set(bad):
        # A sample in which a thread runs is none of a wait.
        subject = "running" if kind == "running" else f"wait {kind}"
        measured(subject, good[kind] + bad[kind], bad[kind],
                 witness=f"/proc 100 times a second, {name}", unit="samples")
    total, agree = sum(good.values()) + sum(bad.values()), sum(good.values())
    ok(total >= 100 and agree >= 0.98 * total,
       f"{name}: {agree} of {total} samples outside idle waits agree",
       f"{100 * agree / max(total, 1):.2f} %")
    low = [
        f"{k}: {good[k]} of {good[k] + bad[k]}" for k in sorted(set(good) | set(bad))
        if good[k] + bad[k] >= 20 and good[k] < 0.95 * (good[k] + bad[k])
    ]
    ok(not low, f"{name}: 95 % of each kind agree", low)
    long_waits(name, [w for tid in sampled for w in threads.get(tid, ())], ends)


def idle(wait):
    call = wait["call"]
    return wait["kind"] in ("poll", "idle") or (wait["kind"] == "socket" and call in ("accept", "accept4", "recvfrom", "recvmsg", "read", "recvmmsg")) \
        or (wait["kind"] == "pipe" and call == "read")


def joined_to(wait, ends):
    """What a wait's end is joined to, or None. `ends`: where an edge of a named type ends."""
    by = wait["ended_by"]
    if not by:
        return None
    if by["tid"] is not None:
        return "task"
    if (wait["tid"], wait["end"]) in ends:
        return "request"
    if by["context"] == "timer":
        return "timer"
    return "peer" if (wait["object"] or {}).get("peer") else None


def long_waits(name, waits, ends):
    """Waits of 1 ms or more that are not idle: what is known of them."""
    chosen = [
        w for w in waits if w["end"] is not None and w["end"] - w["start"] >= 10**6 and not idle(w)
    ]
    total = sum(w["end"] - w["start"] for w in chosen)
    vague = sum(w["end"] - w["start"] for w in chosen if w["kind"] in ("other", "unknown"))
    joined = collections.Counter()
    loose = collections.Counter()
    for wait in chosen:
        joined[joined_to(wait, ends)] += wait["end"] - wait["start"]
        if joined_to(wait, ends) is None:
            loose[(wait["kind"], wait["call"],
                   (wait["ended_by"] or {}).get("context"))] += wait["end"] - wait["start"]
    whole = total - joined.pop(None, 0)
    times = collections.Counter()
    for wait in chosen:
        times[(wait["kind"], wait["call"])] += wait["end"] - wait["start"]
    note(f"{name}: {len(chosen)} waits of 1 ms or more, {total / 1e9:.2f} s: " +
         ", ".join(f"{k} in {c} {ns / 1e6:.0f} ms" for (k, c), ns in times.most_common(8)))
    ok(
        total > 0 and vague < 0.02 * total,
        f"{name}: other and unknown are {100 * vague / max(total, 1):.2f} % of the time in waits of 1 ms or more",
        [key for key in times if key[0] in ("other", "unknown")][:4])
    note(f"{name}: joined to " + ", ".join(f"a {what} {ns / 1e6:.0f} ms"
                                           for what, ns in joined.most_common()))
    for (kind, call, context), ns in loose.most_common(5):
        note(f"{name}: not joined: {kind} in {call}, context {context}, {ns / 1e6:.0f} ms")
    ok(
        whole >= 0.95 * total,
        f"{name}: {100 * whole / max(total, 1):.2f} % of that time ends joined to a task, request, timer or peer",
        "below 95 %")


def observe(name, roots, load):
    """Records and samples while `load` runs."""
    path = scratch(f"{name}.clew")
    recording = start_recording(path)
    sampler = Sampler(list(roots))
    sampler.start()
    load(sampler)
    sampler.stop()
    status, said = stop_recording(recording)
    if ok(status == 0, f"{name}: recorded", said):
        judge(name, path, sampler.samples)


def postgres():
    if not programs():
        skip("PostgreSQL", "it is not installed")
        return
    try:
        with Cluster(5, "shared_buffers=16MB") as cluster:

            def load(sampler):
                bench = cluster.bench(6, SECONDS)
                sampler.roots.append(bench.pid)
                bench.wait()

            observe("PostgreSQL", [cluster.server.pid], load)
    except Refused as error:
        ok(False, "PostgreSQL: a cluster is made", error)


def build():
    place = scratch("build")

    def load(sampler):
        make = subprocess.Popen(["make", "-s", "-j4", f"B={place}", f"{place}/libclew.a"],
                                cwd=ROOT,
                                stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)
        sampler.roots.append(make.pid)
        try:
            make.wait(BUILD_SECONDS)
        except subprocess.TimeoutExpired:
            make.terminate()
            make.wait()

    observe("parallel build", [], load)


def main():
    if GUEST:
        skip_all("big programs are left out in a guest")
    postgres()
    build()
    finish()


if __name__ == "__main__":
    main()
