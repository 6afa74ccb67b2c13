#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# alone: who has a CPU is named, and nobody else may have it
"""
`clew blame` on workloads that know who keeps whom waiting: for a CPU, for a lock, in a
disk's queue.

Who is named must be who the workload says, and nobody else: a bystander is busy beside
them all the time, on another
CPU or another disk. The time must be that of the victim's own waits: for a lock exactly,
for a CPU exactly as `clew why`
has it, in a disk's queue no more than the waits and than the workload saw, and at least
half of that.
"""

import collections
import os
import re
import subprocess
import sys

from _graph import SLACK
from _live import GUEST, answer, clew, finish, note, ok, record_workload, scratch, skip, skip_all
from _place import Place

SEEDS = (1, 2)
# One disk does its requests one after the other, the other one several at once.
SYSTEMS = ("xfs", "ext4")


def record(name, seed, *arguments):
    """The capture's path and what the workload printed, or None and why."""
    path = scratch(f"{name}-{seed}.clew")
    # Notation has no stacks.
    return path, *record_workload(path,
                                  name,
                                  "--seed",
                                  seed,
                                  *arguments,
                                  options=["--no-stacks"])


def tid_of(path):
    """The thread whose span this is; a request's path for what no thread asked for."""
    found = re.search(r"-(\d+)$", re.sub(r"\\(.)", r"\1", path))
    return int(found.group(1)) if found and "/" not in re.sub(r"\\.", "", path) else path


def blame(path, tid):
    """[(kind, resource, antagonist, ns)] of one thread as victim."""
    return [(p["kind"], p["resource"], tid_of(p["antagonist"]), p["ns"])
            for p in answer("blame", path, "--victims", f"(-{tid}$)")["pairs"]]


def by_antagonist(pairs, kind):
    sums = collections.Counter()
    for other, _, tid, ns in pairs:
        if other == kind:
            sums[tid] += ns
    return sums


def check_text(name, path, tid, antagonist, kind):
    """Text has the pairs of JSON, in their order, this one among them."""
    said = [(t, k) for k, _, t, _ in blame(path, tid)]
    done = clew("blame", path, "--victims", f"(-{tid}$)", "--top", len(said))
    # A line is broken after 80 columns, and goes on two columns further right.
    text = done.stdout.replace("\n" + 16 * " ", " ")
    lines = [
        re.match(r" *\S+ \S+  .*?-(\d+)(?: \(inside \d+\))?(?: of .*)? by (.*?), (\S+)", line)
        for line in text.splitlines()
    ]
    # A thread of another name than its process's: "worker-12 of server".
    found = [(tid_of(re.sub(r"( \(inside \d+\))?( of .*)?$", "", line.group(2))), line.group(3))
             for line in lines if line and int(line.group(1)) == tid]
    ok(done.returncode == 0 and found == said and (antagonist, kind) in found,
       f"{name}: text says the same", f"{found}, not {said}; {done.stderr}")


# ---- CPUs ----


def cpu_waits(path, tid, *interval):
    """Who had the CPU while a thread was ready, by clew why; and all of that time."""
    sums, total = collections.Counter(), 0
    for segment in answer("why", path, "--tid", tid, *interval)["segments"]:
        if segment["kind"] == "runqueue" and segment["tid"] == tid:
            by = (segment["object"] or {}).get("by")
            total += segment["ns"]
            if by and by["tid"]:
                sums[by["tid"]] += segment["ns"]
    return sums, total


def check_spinner(name, path, fact, cpu, bystander):
    charge = next(c for c in fact["charges"] if "by" in c)
    tid, others = fact["tid"], set(charge["by"])
    pairs = blame(path, tid)
    charged = by_antagonist(pairs, "cpu")
    expected, total = cpu_waits(path, tid)
    ok(
        charged == expected,
        f"{name}: to the nanosecond what clew why says of {total / 1e6:.1f} ms in the run queue", {
            other: (charged.get(other), expected.get(other))
            for other in set(charged) | set(expected) if charged.get(other) != expected.get(other)
        })
    # The workload speaks of the time in which it spun; before that a spinner
    # may have been ready on the bystander's CPU.
    since, _ = cpu_waits(path, tid, "--from", fact["from"], "--to", fact["to"])
    before = sum(expected[other] - since[other] for other in others)
    spun = sum(charged[other] for other in others)
    there = {
        antagonist
        for kind, resource, antagonist, _ in pairs if kind == "cpu" and resource == f"cpu{cpu}"
    }
    ok(charge["min"] <= spun - before <= charge["max"] and (others <= there or not charge["min"]),
       f"{name}: {spun / 1e6:.1f} ms of spinner {tid} are the others'",
       f"{spun} - {before}, not {charge['min']}..{charge['max']}: {charged.most_common(6)}")
    ok(bystander not in there and bystander not in since,
       f"{name}: who spins on another CPU is not to blame", charged[bystander])
    return charged


def check_spinners(seed):
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        skip("spinners", "one CPU has no bystanders on another one")
        return
    name = f"spinners, seed {seed}"
    with subprocess.Popen([sys.executable, "-c", "while True: pass"],
                          preexec_fn=lambda: os.sched_setaffinity(0, cpus[:1])) as bystander:
        path, graph, problem = record("spinners", seed)
        bystander.kill()
    if not ok(graph is not None, f"{name}: recorded", problem):
        return
    for fact in graph["why"]:
        charged = check_spinner(name, path, fact, cpus[-1], bystander.pid)
    check_text(name, path, fact["tid"], charged.most_common(1)[0][0], "cpu")


# ---- locks ----


def check_convoy(seed):
    name = f"convoy, seed {seed}"
    path, graph, problem = record("convoy", seed)
    if not ok(graph is not None, f"{name}: recorded", problem):
        return
    convoy = [wait for wait in graph["waits"] if "holders" in wait and len(wait["holders"]) > 0]
    for said in convoy:
        tid, holders = said["tid"], [h["tid"] for h in said["holders"]]
        waits = [
            w for w in answer("waits", path, "--tid", tid, "--kind", "futex")["waits"]
            if w["holders"]
        ]
        held = collections.Counter()
        for wait in waits:
            for holder in wait["holders"]:
                held[holder["tid"]] += holder["to"] - holder["from"]
        charged = by_antagonist(blame(path, tid), "futex")
        ok(
            set(charged) == set(holders) and charged == held,
            f"{name}: {tid} is kept by {len(holders)} holders, each as long as he held the lock",
            f"{dict(charged)}, not {dict(held)} of {holders}")
        coming = sum(c["to"] - c["from"] for w in waits for c in w.get("coming", ()))
        ok(
            sum(charged.values()) + coming == sum(w["end"] - w["start"] for w in waits),
            f"{name}: with those that were coming that is all of its wait",
            (sum(charged.values()), coming))
    # The holder sleeps with the lock for milliseconds; nobody else keeps it that long, unless the
    # machine has no CPU for him: the workload knows how long he had it at most.
    last = max(convoy, key=lambda wait: len(wait["holders"]))
    holder = last["holders"][0]
    least = holder["to_min"] - last["start_max"] - SLACK
    charged = by_antagonist(blame(path, last["tid"]), "futex")
    longer = {
        after["tid"]
        for before, after in zip(last["holders"], last["holders"][1:])
        if after["to_max"] - before["to_min"] >= least
    }
    most = charged.most_common(1)[0][0]
    ok(
        most in {holder["tid"], *longer} and charged[holder["tid"]] >= least,
        f"{name}: who sleeps with the lock is most to blame",
        f"{charged.most_common(2)}, not {holder['tid']} for {least}, or {longer}")
    check_text(name, path, last["tid"], holder["tid"], "futex")


# ---- a disk's queue ----


def check_queue(place, system, seed):
    name = f"queue of {system}'s disk, seed {seed}"
    lacking = place.lacks.get("ext4") or place.lacks.get("xfs")
    if lacking:
        skip(name, lacking)
        return
    path, graph, problem = record("queue", seed, "--variant", system, "--place", place.path)
    if not ok(graph is not None, f"{name}: recorded", problem):
        return
    rule = graph["rules"][0]
    waits = [
        w for w in answer("waits", path, "--tid", rule["tid"], "--kind", "read")["waits"]
        if w["end"] is not None
    ]
    waited = sum(w["end"] - w["start"] for w in waits)
    if not ok(
            len(waits) >= rule["reads"] * 0.9 and waited <= rule["whole"],
            f"{name}: {len(waits)} waits of the reader", f"{waited} ns of {rule['whole']}"):
        return
    pairs = blame(path, rule["tid"])
    charged = by_antagonist(pairs, "read")
    note(
        f"{name}: {waited / 1e6:.1f} ms of waits, {charged[rule['writer']] / 1e6:.1f} ms behind the writer, {rule['least'] / 1e6:.1f}..{rule['most'] / 1e6:.1f} ms by the workload; "
        f"all: {sorted(pairs, key=lambda p: -p[3])[:5]}")
    writer = charged.pop(rule["writer"], 0)
    # A request is over before the workload can tell, sometimes long before.
    ok(0.5 * rule["least"] <= writer <= min(waited, rule["most"] + len(waits) * SLACK),
       f"{name}: {100 * writer / waited:.0f} % of that is the writer's, who was ahead",
       f"{writer} ns, by the workload {rule['least']}..{rule['most']} of {waited} ns")
    ok(rule["bystander"] not in charged, f"{name}: who writes to another disk is not to blame",
       charged.get(rule["bystander"]))
    ok(not {task["tid"]
            for task in graph["tasks"]} & set(charged),
       f"{name}: nor is anyone else of the workload", dict(charged))
    devices = {
        resource
        for kind, resource, tid, _ in pairs if kind == "read" and tid == rule["writer"]
    }
    ok(rule["dev"] in devices, f"{name}: the resource is that disk", devices)
    check_text(name, path, rule["tid"], rule["writer"], "read")


def main():
    if GUEST:
        skip_all(
            "who is to blame follows from waits and requests, which workloads.py compares in a guest, too; here it takes minutes"
        )
    for seed in SEEDS:
        check_spinners(seed)
        check_convoy(seed)
    with Place() as place:
        for system in SYSTEMS:
            for seed in SEEDS:
                check_queue(place, system, seed)
    finish()


if __name__ == "__main__":
    main()
