#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# alone: records come as fast as they can, and none may be missed
"""
`clew latency --live` under more callsite paths than it keeps: its memory does not grow any more,
each call is in its own group or in none, and how many are in none is told. The program knows how
often each path was there.
"""

import json
import os
import signal
import subprocess
import time

from _live import CLEW, PATIENCE, WORKLOADS, feature, finish, note, ok, scratch, skip_all

PROGRAM = os.path.join(WORKLOADS, "bushy")
CHAINS = 12000
GROUPS = 16384  # the most that are kept
GROWTH = 16 << 10  # KiB: histograms of the groups that are there may get more places
LAPS = 3  # tries to have every record, and a memory that others' tasks and records leave alone


def resident(pid):
    """KiB of a process's own memory."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("RssAnon"))


def last_answer(path):
    with open(path, encoding="utf-8") as file:
        lines = [line for line in file if line.endswith("\n")]
    return json.loads(lines[-1]) if lines else None


def wait_for(path, wanted):
    """The first answer that is as wanted."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        found = last_answer(path)
        if found and wanted(found):
            return found
        time.sleep(.2)
    raise RuntimeError("no answer is as wanted")


def calls_in(found):
    return sum(group["count"] for group in found["groups"]) + found["unplaced"]


def live_lap():
    """The last answer, how often each path was there, and by how many KiB the memory grew."""
    lines = scratch("bounded.jsonl")
    words = ["-f", f"{PROGRAM}:left", "-f", f"{PROGRAM}:right", "--max-cost", "1000"]
    words += ["--digits", "1", "--top", str(GROUPS)]
    with open(lines, "w", encoding="utf-8") as file, subprocess.Popen(
        [CLEW, "latency", "--live", "--json", *words],
            stdout=file,
            stderr=subprocess.PIPE,
            text=True) as live:
        wait_for(lines, lambda found: True)
        with subprocess.Popen([PROGRAM, str(CHAINS)], stdout=subprocess.PIPE, text=True) as program:
            wait_for(lines, lambda found: len(found["groups"]) == GROUPS)
            before = resident(live.pid)
            truth = json.loads(program.communicate(timeout=PATIENCE)[0])
        time.sleep(2)  # the last calls are in an answer by then
        grown = resident(live.pid) - before
        live.send_signal(signal.SIGINT)
        said = live.communicate(timeout=PATIENCE)[1]
    ok(live.returncode == 0, "it ends with an interrupt", said[-300:])
    return last_answer(lines), truth, grown


def check(found, truth, grown):
    counts = {"".join(name[0] for name in g["path"]): g["count"] for g in found["groups"]}
    wrong = {
        path: (count, truth.get(path))
        for path, count in counts.items() if count != truth.get(path)
    }
    ok(
        len(truth) > 2 * GROUPS and len(counts) == GROUPS, "there are more paths than groups",
        (len(truth), len(counts)))
    ok(not wrong, "each path that has a group has all its calls there", list(wrong.items())[:5])
    ok(
        calls_in(found) == sum(truth.values()), "and all the others are told to be in none",
        (calls_in(found), sum(truth.values()), found["unplaced"]))
    note(f"{grown} KiB more for {found['unplaced']} calls in no group")
    ok(grown < GROWTH, "memory does not grow with calls or paths", f"{grown} KiB")


def main():
    available, reason = feature("functions")
    if not available:
        skip_all(reason)
    # What grows with calls or paths grows in each lap. The rest of the machine is recorded, too, and
    # what it does can only add to that.
    whole = []
    for _ in range(LAPS):
        found, truth, grown = live_lap()
        if found["missed"]:
            note(f"{found['missed']} records came too fast for the live side")
            continue
        whole.append((grown, found, truth))
        if grown < GROWTH:
            break
        note(f"{grown} KiB more, of calls in no group and of what else the machine did")
    if ok(whole, "every record comes to the live side in one of the tries"):
        grown, found, truth = min(whole, key=lambda lap: lap[0])
        check(found, truth, grown)
    finish()


main()
