#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
`clew path --all --operations` over PostgreSQL's work under pgbench: where the time of
thousands of operations went.

The operations are found once more here, from clew's waits alone. Their paths' time is
theirs to the nanosecond,
by kind and by thread; within a backend (--strategy predecessor) the time by kind and by
object is that of its waits.
"""

import bisect
import collections
import re
import time

from _live import GUEST, answer, clew, finish, note, ok, scratch, skip_all, start_recording, stop_recording
from _postgres import Cluster, Refused, programs

SECONDS = 4
CLIENTS = 6
LEAST = 1000
RECEIVES = {"read", "readv", "accept", "accept4", "recvfrom", "recvmsg", "recvmmsg"}
BACKENDS = ("--all", "(^postgres-)", "--operations")


def plain(path):
    return re.sub(r"\\(.)", r"\1", path)


def is_idle(wait):
    # A backend that waits for another one's row lock polls, too.
    if wait["in_exchange"]:
        return False
    return wait["kind"] == "poll" or (wait["kind"] == "socket" and wait["call"] in RECEIVES) or (
        wait["kind"] == "pipe" and wait["call"] in ("read", "readv"))


def operations_of(waits):
    """
    {tid: [(from, to), ..]} in order of time: what is between two idle waits
    that are not in the same call.
    """
    found, last = collections.defaultdict(list), {}
    for wait in sorted(waits, key=lambda w: w["start"]):
        # Where a switch was hidden, a wait may have no time: a causal trace has none.
        if not is_idle(wait) or wait["end"] == wait["start"] and wait["runqueue_ns"] == 0:
            continue
        before = last.get(wait["tid"])
        if before and before["call_id"] != wait["call_id"] and before["end"] < wait["start"]:
            found[wait["tid"]].append((before["end"], wait["start"]))
        last[wait["tid"]] = wait
    return found


def inside(waits, operations):
    """The waits that are in an operation of their thread."""
    starts = {tid: [start for start, _ in ranges] for tid, ranges in operations.items()}
    for wait in waits:
        at = bisect.bisect_right(starts.get(wait["tid"], ()), wait["start"]) - 1
        if at >= 0 and wait["end"] is not None and wait["end"] <= operations[wait["tid"]][at][1]:
            yield wait


def ask(name, path, *arguments):
    begun = time.monotonic()
    found = answer("path", path, *BACKENDS, *arguments)
    note(
        f"{name}: {time.monotonic() - begun:.2f} s, {len(found['elements'])} elements, {len(found['segments'])} segments"
    )
    return found


def check_sums(name, found, operations):
    instances = found["instances"]
    got = collections.defaultdict(list)
    for instance in instances:
        got[int(plain(instance["span"]).rpartition("-")[2])].append(
            (instance["start"], instance["end"]))
    ok({tid: sorted(ranges)
        for tid, ranges in got.items()
        } == {tid: ranges
              for tid, ranges in operations.items()
              if ranges}, f"{name}: {len(instances)} operations, the same as between idle waits",
       f"{len(instances)}, not {sum(map(len, operations.values()))}")
    total = sum(end - start for ranges in operations.values() for start, end in ranges)
    sums = {key: sum(row["ns"] for row in found["totals"][key]) for key in ("kinds", "threads")}
    ok(found["total_ns"] == total and sums == {"kinds": total, "threads": total},
       f"{name}: all of their {total / 1e9:.3f} s is accounted for, once",
       f"{total} ns: {found['total_ns']}, {sums}")
    at, wrong = 0, []
    for instance in instances:
        moment = instance["start"]
        for segment in found["segments"][at:at + instance["segments"]]:
            if segment["start"] != moment or segment["end"] <= moment:
                wrong.append(segment)
            moment = segment["end"]
        at += instance["segments"]
        if moment != instance["end"]:
            wrong.append(instance)
    ok(not wrong and at == len(found["segments"]),
       f"{name}: an operation's segments follow each other from its start to its end", wrong[:2])
    return total


def check_waits(found, waits, operations, total):
    """What a backend waited for itself, against the list of waits."""
    expected, objects = collections.Counter(), collections.Counter()
    for wait in inside(waits, operations):
        expected[wait["kind"]] += wait["end"] - wait["start"]
        if (wait["object"] or {}).get("kind") == "file" and wait["object"]["path"]:
            objects[(wait["kind"], wait["object"]["path"])] += wait["end"] - wait["start"]
    got = {
        row["kind"]: row["ns"]
        for row in found["totals"]["kinds"] if row["kind"] not in ("running", "runqueue")
    }
    # Some machines hide single switches from every tracer: of the time behind
    # one nothing is known, and there is no wait.
    hidden = got.pop("unknown", 0) - expected.pop("unknown", 0)
    ok(0 <= hidden <= 0.01 * total,
       f"within a backend: {100 * hidden / total:.2f} % of the time is hidden", hidden)
    ok(got == {kind: ns
               for kind, ns in expected.items() if ns},
       "within a backend: the time by kind is that of its waits", f"{got}, not {dict(expected)}")
    files = {(row["kind"], row["object"].partition(":")[2]): row["ns"]
             for row in found["totals"]["objects"]
             if row["object"].startswith(("file:", "path:")) and not row["object"].startswith("file:inode")}
    differ = {
        key: (files.get(key), objects.get(key))
        for key in set(files) | set(objects) if files.get(key) != objects.get(key)
    }
    ok(not differ, "within a backend: and the time by file", list(differ.items())[:3])
    log = sum(ns for (kind, path), ns in files.items()
              if kind in ("fsync", "journal") and "/pg_wal/" in path)
    waited = sum(ns for (kind, path), ns in objects.items()
                 if kind in ("fsync", "journal") and "/pg_wal/" in path)
    ok(0 < log == waited,
       f"{100 * log / total:.1f} % of the operations' time is waiting for the log file's fsync",
       f"{log} ns, by the waits {waited} ns")


def check_text(path, found):
    begun = time.monotonic()
    done = clew("path", path, *BACKENDS)
    note(f"text: {time.monotonic() - begun:.2f} s")
    for line in done.stdout.splitlines():
        note(line)
    # On a busy machine locks take more of the time than the log does: only the first are printed.
    objects = sorted(found["totals"]["objects"], key=lambda row: -row["ns"])
    words = [
        "over", "operations", "by kind", "by thread", "by function", "by object", "% running",
        *(row["object"] for row in objects[:3])
    ]
    # A long path is broken, too.
    text = "".join(done.stdout.split())
    missing = [word for word in words if "".join(word.split()) not in text]
    ok(done.returncode == 0 and not missing,
       "shares are printed by kind, thread, function and object", missing or done.stderr)


def check(path):
    waits = answer("waits", path, "--comm", "postgres")["waits"]
    operations = operations_of(waits)
    classes = answer("why", path, "--comm", "postgres", "--slowest", "1")["classes"]
    known = sum(c["count"] for c in classes if c["kind"] in ("request", "served", "work"))
    count = sum(map(len, operations.values()))
    # clew why also has what lies before a thread's first idle wait and behind its last one.
    edges = 2 * len({wait["tid"] for wait in waits})
    ok(count >= LEAST and count <= known <= count + edges,
       f"{count} operations, at least {LEAST}, and clew why knows these", known)
    found = ask("the most work", path)
    whole = check_sums("the most work", found, operations)
    check_text(path, found)
    device = sum(row["ns"] for row in found["totals"]["kinds"] if row["kind"] == "device")
    log = sum(row["ns"] for row in found["totals"]["objects"]
              if row["kind"] == "device" and "/pg_wal/" in row["object"])
    ok(0 < log <= device < whole,
       f"through requests: {100 * log / whole:.1f} % of the time the disk had the log",
       f"{log} of {device} ns")
    found = ask("within a backend", path, "--strategy", "predecessor")
    check_sums("within a backend", found, operations)
    check_waits(found, waits, operations, whole)


def main():
    if GUEST:
        skip_all("big programs are left out in a guest")
    if not programs():
        skip_all("PostgreSQL is not installed")
    path = scratch("postgres.clew")
    try:
        with Cluster(2, "shared_buffers=64MB") as cluster:
            recording = start_recording(path)
            cluster.bench(CLIENTS, SECONDS).wait()
            status, said = stop_recording(recording)
    except Refused as error:
        ok(False, "a cluster is made", error)
        finish()
    if ok(status == 0, "PostgreSQL under pgbench is recorded", said):
        check(path)
    finish()


if __name__ == "__main__":
    main()
