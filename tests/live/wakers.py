#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
A thread that ends a long sleep has a stack, from where in its code it did so: the chain of
functions that the program says, on the edge and beside the wait, in JSON and in words. A wake after
a short sleep has none, and neither has one by a timer.
"""

import json
import os
import re

from _live import WORKLOADS, answer, clew, finish, note, ok, require_stacks, scratch

LEAST = 1000000  # ns, of a sleep whose waker has a stack
STEP = 2100  # ns: the length is known in steps of 1,024 ns
LONG = 15000000  # ns: the sleep that a case is about is longer
PROGRAM = os.path.join(WORKLOADS, "waker")


def own(stack):
    """Names of the program's own functions, innermost first."""
    return [f["name"] for f in stack["frames"] if os.path.basename(f["object"] or "") == "waker"]


def record(path):
    # A first stack that leads into a file may come before the file's table.
    done = clew("record", "-o", path, "--", "sh", "-c", '"$0" > /dev/null; sleep 2; exec "$0"',
                PROGRAM)
    if done.returncode != 0:
        raise RuntimeError(f"record: status {done.returncode}: {done.stderr[-500:]}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def same(stack, chain):
    """What differs from the chain, or nothing."""
    if not stack:
        return "it has none"
    # The first function of a thread is called by libc; main's names are not there.
    if own(stack)[:len(chain)] != chain or stack["end"] != "root":
        return f"{own(stack)} to {stack['end']}, not {chain}"
    return ""


def check_case(row, waits, edges, text):
    mine = [w for w in waits if w["tid"] == row["sleeper"]]
    wait = max(mine, key=lambda w: w["end"] - w["start"], default=None)
    if not wait or wait["end"] - wait["start"] < LONG:
        ok(False, f"{row['case']}: its sleep is there", wait)
        return
    ok(not same(wait["stack"], row["asleep"]), f"{row['case']}: the sleeper's stack is its chain",
       same(wait["stack"], row["asleep"]))
    waker = wait["ended_by"]["stack"]
    to = [
        e for e in edges if wait["ended_by"]["raw_at"] in [f["at"] for f in e["from"]]
        and row["sleeper"] in [t["tid"] for t in e["to"]]
    ]
    if not row["waking"]:
        ok(waker is None and not [e for e in to if e["waker_stack"]],
           f"{row['case']}: nobody has a stack", f"{waker}, {to}")
        return
    ok(not same(waker, row["waking"]), f"{row['case']}: the waker's stack is its chain",
       same(waker, row["waking"]))
    kernel = waker["kernel"] if waker else []
    ok(kernel[:1] == ["try_to_wake_up"] and "do_syscall_64" in kernel,
       f"{row['case']}: its kernel stack leads to the wake", kernel)
    ok(
        len(to) == 1 and to[0]["waker_stack"] == waker
        and [f["tid"] for f in to[0]["from"]] == [row["waker"]],
        f"{row['case']}: the edge has the same", to)
    # The function of the C library that the chain called may come first.
    said = r"woken in (\w+ <- )?" + re.escape(" <- ".join(row["waking"]))
    ok(re.search(said, text), f"{row['case']}: waits says it", said)


def check_lengths(waits):
    """Each wake in task context is judged by the length of the sleep that it ended."""
    ended = [
        w for w in waits if w["open"] is None and not w["blind"] and w["ended_by"]
        and w["ended_by"]["context"] == "task" and w["ended_by"]["tid"]
    ]
    asleep = lambda w: w["ended_by"]["raw_at"] - w["start"]  # noqa: E731
    long = [w for w in ended if asleep(w) >= LEAST + STEP]
    short = [w for w in ended if asleep(w) < LEAST - STEP]
    without = [w for w in long if not w["ended_by"]["stack"]]
    note(f"{len(long)} wakes after long sleeps, {len(without)} without a stack; "
         f"{len(short)} after short ones")
    ok(
        len(long) >= 8 and len(without) <= len(long) * 0.02, "wakes after long sleeps have stacks",
        without[:2])
    with_stack = [w for w in short if w["ended_by"]["stack"]]
    ok(len(short) > 100 and not with_stack, "those after short ones have none", with_stack[:2])


def main():
    require_stacks()
    path = scratch("wakers.clew")
    rows = record(path)
    waits = answer("waits", path, "--stacks", "--idle")["waits"]
    edges = answer("edges", path, "--idle")["edges"]
    text = " ".join(clew("waits", path, "--stacks", "--idle").stdout.split())
    for row in rows:
        if row["case"] != "short":
            check_case(row, waits, edges, text)
    check_lengths(waits)
    finish()


if __name__ == "__main__":
    main()
