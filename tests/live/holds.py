#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
`record --lock-holds`: a program measures itself how often and how long it has mutexes of all sorts,
an rwlock, and a mutex between waits for a condition; `clew locks` says the same, those included
that nobody waited for. A static program has its own functions. A writer that starves behind readers of
an rwlock is held up by each in turn.
"""

import json
import os

from _live import ROOT, WORKLOADS, answer, clew, finish, note, ok, run, scratch, skip_all

NAPS = ("quiet_lock", "robust_lock", "inherit_lock")
NAP = 149_000_000  # ns: the program sleeps a little longer while it has a lock


def taken_of(path, comm):
    """What `clew locks` says of takes, by the lock's address."""
    said = answer("locks", path, "--comm", comm)
    found = {int(lock["address"], 16): lock for lock in said["uncontended"]}
    for lock in said["locks"]:
        if lock["taken"]:
            found[int(lock["address"], 16)] = dict(lock["taken"],
                                                   name=lock["name"],
                                                   waits=lock["waits"])
    return found


def problems(truth, found):
    for name, want in truth.items():
        said = found.get(want["address"])
        if not said:
            yield f"{name}: not there"
            continue
        for field in ("takes", "shared", "refused"):
            if said[field] != want[field]:
                yield f"{name}: {field} {said[field]}, not {want[field]}"
        if not want["least"] <= said["held_ns"] <= want["most"]:
            yield f"{name}: {want['least']} <= {said['held_ns']} <= {want['most']}"
        if want["longest"] > said["max_held_ns"]:
            yield f"{name}: the longest is {said['max_held_ns']}, not {want['longest']}"
        if said["name"] != f"futex {name}":
            yield f"{name}: is called {said['name']}"
        if sum(taker["takes"] for taker in said["takers"]) != said["takes"]:
            yield f"{name}: {said['takers']} for {said['takes']} takes"


def check(program, holds):
    path = scratch(program + ".clew")
    done = clew("record", "--lock-holds", holds, "-o", path, "--", os.path.join(WORKLOADS, program))
    if "no link with many probes" in done.stderr:
        skip_all("this kernel takes no links with many probes")
    if done.returncode != 0:
        ok(False, f"{program} is recorded", done.stderr[-300:])
        return None
    ok("a call takes" in done.stderr, f"{program}: what a call costs is said", done.stderr)
    truth = json.loads(done.stdout)
    found = taken_of(path, program[:15])
    wrong = list(problems(truth, found))
    ok(not wrong, f"{program}: all locks, how often and how long each was held", wrong[:4])
    # On a busy machine a hold without a nap may be longer by chance.
    napped = [found[truth[name]["address"]]["longest"]["doing"] for name in NAPS]
    ok(
        any(sum(each["ns"] for each in doing if each["kind"] == "sleep") > NAP for doing in napped),
        f"{program}: locks that nobody waited for say what their longest holds were for", napped)
    unequal = [
        lock for lock in found.values()
        if sum(each["ns"] for each in lock["longest"]["doing"]) != lock["max_held_ns"]
    ]
    ok(not unequal, f"{program}: what went on in the longest holds is all of them", unequal[:2])
    note(f"{program}: {sum(lock['takes'] for lock in found.values())} takes of {len(found)} locks")
    return path


def check_text(path):
    text = clew("locks", path, "--comm", "holds").stdout
    plain = " ".join(text.split())
    ok(
        "locks that nobody waited for" in plain and "mutex quiet_lock of holds-" in plain
        and "taken 500 times" in plain and "(300 shared)" in plain and "refused 40 times" in plain,
        "text says it, too", text[-1500:])
    # Half of the recording has the same holds or less.
    start, end = (answer("info", path)[key] for key in ("start", "end"))
    half = answer("locks", path, "--comm", "holds", "--to", f"{(end - start) // 2}ns")
    whole = answer("locks", path, "--comm", "holds")
    sums = [
        sum(lock["held_ns"] for lock in said["uncontended"] if lock["pid"])
        for said in (half, whole)
    ]
    ok(0 < sums[0] < sums[1], "a window has less", sums)


def check_readers(path):
    """Readers that never wait make no system call."""
    program = scratch("starved")
    built = run("gcc", "-O1", "-pthread", "-o", program,
                os.path.join(ROOT, "tests", "live", "questions", "starved_writer.c"))
    done = clew("record", "--lock-holds", "libc.so.6", "-o", path, "--", program)
    if not ok(done.returncode == 0, "the starved writer is recorded", built.stderr + done.stderr[-300:]):
        return
    truth = json.loads(done.stdout)
    window = ("--from", str(truth["from"]), "--to", str(truth["to"]))
    waits = answer("waits", path, "--comm", truth["comm"], *window)["waits"]
    holders = max(waits, key=lambda wait: wait["end"] - wait["start"])["holders"]
    had = {}
    for holder in holders:
        had[holder["tid"]] = had.get(holder["tid"], 0) + holder["to"] - holder["from"]
    length = truth["to"] - truth["from"]
    ok(
        len(had) >= 2 and max(had.values()) < 0.9 * length and sum(had.values()) > 0.9 * length
        and all(holder["comm"] == "reader" and holder["evidence"] == "exact" for holder in holders),
        "a writer that starves: each reader has its part of the wait", (had, length))
    named = {segment["tid"] for segment in answer("why", path, "--comm", truth["comm"], *window)["segments"]
             if segment["comm"] == "reader"}
    ok(named >= set(had), "why follows each of them", (named, had))


def check_without(path):
    clew("record", "-o", path, "--", "true")
    said = answer("locks", path)
    ok(said["uncontended"] is None and all(lock["taken"] is None for lock in said["locks"]),
       "without the option nothing is said of takes")
    done = clew("record", "--lock-holds", "/bin/true", "-o", path, "--", "true")
    ok(done.returncode == 2 and done.stderr.count("\n") == 1 and "--lock-holds" in done.stderr,
       "a program without such functions is refused in one line", done.stderr)


def main():
    path = check("holds", "libc.so.6")
    check("holds-static", os.path.join(WORKLOADS, "holds-static"))
    if path:
        check_text(path)
        check_readers(scratch("starved.clew"))
    check_without(scratch("without.clew"))
    finish()


if __name__ == "__main__":
    main()
