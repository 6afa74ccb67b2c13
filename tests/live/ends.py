#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Who has the other end of a wait that never ends: waits from before the start and
from later, with and without a filter, and told alike by the causal trace.
"""

import os
import re
import subprocess
import time

from _live import (WORKLOADS, answer, clew, feature, finish, ok, scratch, skip_all, start_recording,
                   stop_recording)

LINE = re.compile(r"(\S+) waiter (\d+), followed (\d+), holders ?([\d ]*)$")
TYPES = {"full": "pipe", "fifo": "pipe", "poll": "pipe", "polls": "pipe", "pipe": "pipe"}


def start(late):
    """The workload, and name -> (waiter, followed, holders)."""
    process = subprocess.Popen([os.path.join(WORKLOADS, "ends")] + (["late"] if late else []),
                               stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE,
                               text=True)
    truth = {}
    for line in process.stdout:
        if line == "ready\n":
            break
        name, waiter, followed, holders = LINE.match(line).groups()
        truth[name] = int(waiter), int(followed), [int(tid) for tid in holders.split()]
    time.sleep(0.5)
    return process, truth


def is_told(name, wait, holders):
    """Whether `waits` says who has the end, and no one else."""
    ends = wait.get("other_end")
    if ends is None or sorted(end["tid"] for end in ends) != sorted(holders):
        return False
    evidence = {1: {"observed"}, 2: {"candidate"}}.get(len(holders), set())
    return ({end["evidence"]
             for end in ends} == evidence
            and all(end["listens"] == ("backlog" in name) for end in ends)
            and all(end["self"] == (name.endswith("alone") or name.endswith("thread"))
                    for end in ends))


def is_followed(name, path, waiter, followed):
    """Whether `why` goes on with that task and no other."""
    last = answer("why", path, "--tid", str(waiter))["segments"][-1]
    if not followed:
        return last["tid"] == waiter and last["chain"] == [waiter] and last["via"] is None, last
    kind = name.split("-", maxsplit=1)[0]
    kind = TYPES.get(kind, "eventfd" if kind == "eventfd" else "socket")
    evidence = "candidate" if name.endswith("forked") else "observed"
    via = last["via"] or {"type": None, "evidence": None}
    return (last["tid"] == followed and last["chain"][:1] == [waiter]
            and (via["type"], via["evidence"]) == (kind, evidence)
            and any(end["tid"] == followed for end in last["other_end"])), last


def wchan(tid):
    with open(f"/proc/{tid}/wchan", encoding="ascii") as file:
        return file.read()


def check(path, truth, functions, what):
    wrong, missing, where = [], [], []
    waits = {wait["tid"]: wait for wait in answer("waits", path)["waits"] if wait["end"] is None}
    for name, (waiter, followed, holders) in truth.items():
        wait = waits.get(waiter)
        if not wait or not is_told(name, wait, holders):
            wrong.append((name, wait and wait.get("other_end"), holders))
        elif wait.get("function") != functions[waiter]:
            where.append((name, wait.get("function"), functions[waiter]))
        good, last = is_followed(name, path, waiter, followed)
        if not good:
            missing.append((name, followed, last))
    ok(not wrong, f"{what}: {len(truth)} waits name who has the other end, and no one else", wrong)
    ok(not missing, f"{what}: why goes on with the one who has it", missing)
    ok(not where, f"{what}: the function is that of /proc/PID/wchan", where)


def record(late):
    process, truth = start(late)
    path = scratch(f"ends-{late}.clew")
    recording = start_recording(path)
    if late:
        process.stdin.write("\n")
        process.stdin.flush()
    time.sleep(1)
    functions = {waiter: wchan(waiter) for waiter, _, _ in truth.values()}
    stop_recording(recording)
    check(path, truth, functions, "begun later" if late else "begun before")
    return process, truth, path


def main():
    lacking = feature("other ends")[1]
    if lacking:
        skip_all(lacking)
    process, truth, path = record(False)
    waiter, holder, _ = truth["pipe-one"]
    said = clew("waits", path, "--tid", str(waiter)).stdout
    ok(f"the other end is open in ends-{holder}" in said, "waits says who has it", said)
    said = clew("why", path, "--tid", str(waiter)).stdout
    ok("has the other end of pipe:[" in said, "why says who has it", said)
    converted = scratch("ends.ctrace")
    clew("convert", path, "-o", converted)
    ok(
        answer("waits", path) == answer("waits", converted) and answer(
            "why", path, "--tid", str(waiter)) == answer("why", converted, "--tid", str(waiter)),
        "the causal trace answers the same")
    filtered = scratch("ends-filtered.clew")
    recording = start_recording(filtered, "-p", str(waiter))
    time.sleep(0.5)
    stop_recording(recording)
    good, last = is_followed("pipe-one", filtered, waiter, holder)
    ok(good, "a recording of one process finds the other end in another", last)
    process.communicate()
    process, _, _ = record(True)
    process.communicate()
    finish()


if __name__ == "__main__":
    main()
