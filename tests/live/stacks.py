#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Stacks of waits are the chains of functions that a program says it waits in, frame for frame:
optimised, stripped and static; in signal handlers, in calls that libc makes, below deep recursion.
A wait that is long enough has a stack, and no other wait has one. Waits that began before the
recording or go on at its end, and programs whose file is gone, have theirs as well.
"""

import json
import os
import shutil
import subprocess
import time

from _accuracy import measured
from _live import (WORKLOADS, answer, clew, finish, note, ok, require_stacks, scratch,
                   start_recording, stop_recording)

LEAST = 1000000  # ns, of a wait that has a stack
STEP = 2100  # ns: the length is known in steps of 1,024 ns
LONG = 15000000  # ns: the wait that a case is about is longer
MOST = 127  # frames
SLACK = 10000  # ns, by which the kernel's clock may be off
RECORDINGS = 4  # at most, until no switch of a case's wait was hidden


def said(text):
    return {row["tid"]: row for row in map(json.loads, text.splitlines())}


def waits_of(path):
    return answer("waits", path, "--stacks")["waits"]


def length(wait):
    return wait["end"] - wait["start"] + wait["runqueue_ns"]


def own(stack, program):
    return [f for f in stack["frames"] if os.path.basename(f["object"] or "") == program]


def same(row, stack, program, named):
    """What differs from the chain that the program printed, or nothing."""
    chain, frames = row["chain"], own(stack, program)
    names = [f["name"] for f in chain]
    # Those of libc are in the same file if the program is static.
    frames = [f for f in frames if not named or f["name"] in set(names)]
    want_end = "deep" if row["case"] == "too-deep" else "root"
    if row["case"] == "too-deep":
        chain = chain[:len(frames)]
        names = names[:len(frames)]
        if len(stack["frames"]) != MOST or len(frames) < MOST - 8:
            return f"{len(stack['frames'])} frames, {len(frames)} its own"
    if stack["end"] != want_end:
        return f"it ended {stack['end']}: {stack['frames'][-1:]}"
    if named and [f["name"] for f in frames] != names:
        return f"{[f['name'] for f in frames]}, not {names}"
    if not named and len(frames) != len(chain):
        return f"{len(frames)} frames, not {len(chain)}"
    for frame, told in zip(frames, chain):
        if not named and (frame["name"] or told["at"] not in (None, frame["offset"])):
            return f"{frame}, not {told}"
    if not stack["kernel"]:
        return "it has no kernel stack"
    return ""


def record_cases(program):
    """Each case's row, its waits, and the one that it is about or None; then all waits."""
    path = scratch(program + ".clew")
    # A first stack that leads into a file may come before the file's table.
    done = clew("record", "--stacks", "-o", path, "--", "sh", "-c",
                '"$0" > /dev/null; sleep 0.5; exec "$0"', os.path.join(WORKLOADS, program))
    if done.returncode != 0:
        ok(False, f"{program}: it is recorded", done.stderr[-500:])
        return [], []
    cases, waits = [], waits_of(path)
    for tid, row in said(done.stdout).items():
        # Before, a fault on its new stack may have waited for long, and its end may do after.
        mine = [w for w in waits if w["tid"] == tid and w["start"] >= row["said"] - SLACK]
        if row["case"] != "short":
            cases.append((row, mine, next((w for w in mine if length(w) >= LONG), None)))
    return cases, waits


def is_hidden(waits, wait):
    """True if the kernel hid a switch at which the stack of a case's wait is taken."""
    return any(w["blind"] for w in ([wait] if wait else waits))


def check_cases(program, named):
    for turn in range(RECORDINGS):
        cases, waits = record_cases(program)
        hidden = sum(is_hidden(mine, wait) for _, mine, wait in cases)
        if not hidden:
            break
        note(f"{program}: recording {turn + 1}: switches of {hidden} cases are hidden")
    for row, mine, wait in cases:
        name = f"{program}: {row['case']}"
        if wait is None:
            ok(False, name, f"its wait is not there: {mine}")
            continue
        wrong = "it has none" if not wait["stack"] else same(row, wait["stack"], program, named)
        measured("stacks waits",
                 1,
                 bool(wrong and wait["stack"]),
                 not wait["stack"],
                 witness="chains of calls that a program has by heart")
        ok(not wrong, f"{name}: the stack is the chain", wrong)
    if cases:
        check_lengths(program, waits)


def check_lengths(program, waits):
    """A wait that was seen from its begin to its end is judged by its length."""
    whole = [w for w in waits if w["open"] is None and not w["blind"]]
    long = [w for w in whole if length(w) >= LEAST + STEP]
    short = [w for w in whole if length(w) < LEAST - STEP]
    without = [w for w in long if w["stack"] is None]
    note(f"{program}: {len(long)} long waits, {len(without)} without a stack; {len(short)} short")
    ok(
        len(long) > 10 and len(without) <= len(long) * 0.02, f"{program}: long waits have stacks",
        without[:3])
    ok(short and not [w for w in short if w["stack"]], f"{program}: short waits have none",
       [w for w in short if w["stack"]][:3])


def check_ends():
    """Waits that one end of the recording cuts."""
    program = os.path.join(WORKLOADS, "stack")
    with subprocess.Popen([program, "--hang"], stdout=subprocess.PIPE, text=True) as hang, \
            subprocess.Popen([program, "--await"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             text=True) as awaits:
        rows = [json.loads(hang.stdout.readline()), json.loads(awaits.stdout.readline())]
        time.sleep(0.1)
        path = scratch("ends.clew")
        recording = start_recording(path, "--stacks")
        time.sleep(0.3)
        awaits.stdin.close()
        awaits.wait()
        time.sleep(0.2)
        status, why = stop_recording(recording)
        hang.kill()
    if status != 0:
        ok(False, "a recording that ends while a thread waits", why[-300:])
        return
    waits = waits_of(path)
    for row, name in zip(rows, ("a wait that never ends", "a wait that began before")):
        # After its wait it may wait for something else, on a busy machine for long.
        mine = [
            w for w in waits
            if w["tid"] == row["tid"] and w["stack"] and w["open"] in ("start", "both")
        ]
        wrong = "it has no stack" if len(mine) != 1 else same(row, mine[0]["stack"], "stack", True)
        ok(not wrong, f"{name}: the stack is the chain", wrong)


def check_gone():
    """The file is deleted before the wait, and the process is gone at the stop."""
    program, path = scratch("gone"), scratch("gone.clew")
    shutil.copy(os.path.join(WORKLOADS, "stack"), program)
    with ready_program(program) as process:
        recording = start_recording(path, "--stacks")
        os.unlink(program)
        row = json.loads(process.stdout.readline())
        time.sleep(0.2)
        process.stdin.close()
        process.wait()
        time.sleep(0.3)
        status, why = stop_recording(recording)
    mine = [
        w for w in waits_of(path) if w["tid"] == row["tid"] and w["stack"] and length(w) >= LONG
    ] if not status else []
    wrong = why[-300:] if len(mine) != 1 else ""
    if not wrong:
        stack = mine[0]["stack"]
        for frame in stack["frames"]:
            frame["object"] = (frame["object"] or "").removesuffix(" (deleted)")
        wrong = same(row, stack, "gone", True)
    ok(not wrong, "a deleted program: the stack is the chain", wrong)


def ready_program(program):
    return subprocess.Popen([program, "--await"],
                            stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE,
                            text=True)


def check_refused():
    path = scratch("none.clew")
    clew("record", "--no-stacks", "-o", path, "--", "sleep", "0.01")
    done = clew("waits", path, "--stacks")
    ok(done.returncode == 2 and done.stderr.count("\n") == 1 and "no stacks" in done.stderr,
       "a capture without stacks is refused in one line", done.stderr)
    done = clew("record", "--no-stacks", "--stack-min", "1ms", "-d", "1s")
    ok(done.returncode == 2 and done.stderr.count("\n") == 1, "stacks and none at once are refused",
       done.stderr)
    # Others may sleep as well, and until after the recording.
    path, sleeper = scratch("default.clew"), scratch("sleeper")
    shutil.copy(shutil.which("sleep"), sleeper)
    clew("record", "-o", path, "--", sleeper, "0.02")
    sleeps = [w for w in waits_of(path) if w["comm"] == "sleeper" and w["kind"] == "sleep"]
    ok(sleeps and all(w["stack"] for w in sleeps), "stacks are taken without being asked for",
       sleeps)
    path = scratch("implied.clew")
    clew("record", "--stack-min", "5ms", "-o", path, "--", sleeper, "0.02")
    sleeps = [
        w for w in waits_of(path)
        if w["comm"] == "sleeper" and w["kind"] == "sleep" and w["open"] is None
    ]
    ok(len(sleeps) == 1 and sleeps[0]["stack"], "--stack-min alone takes stacks", sleeps)


def main():
    require_stacks()
    for program, named in (("stack", True), ("stack-stripped", False), ("stack-static", True)):
        check_cases(program, named)
    check_ends()
    check_gone()
    check_refused()
    finish()


if __name__ == "__main__":
    main()
