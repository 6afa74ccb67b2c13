#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
What a running thread ran in, against a program that runs in one known thing at a time:
how much of its time in the kernel is told, and that nothing is told that was not.
"""

import json
import os

from _live import CLEW, WORKLOADS, answer, clew, feature, finish, note, ok, run, scratch, skip_all

LOOPS = {"getrandom": "getrandom", "read": "readv"}
MS = 1000000


def told_in(capture, phase):
    """ns of running by (call, evidence) in a phase, (None, None) for none; and page faults."""
    told, faults = {}, 0
    why = answer("why", capture, "--tid", phase["tid"], "--from", phase["begin"], "--to",
                 phase["end"])
    for segment in why["segments"]:
        if segment["kind"] != "running" or segment["tid"] != phase["tid"]:
            continue
        inside = segment.get("in") or {"call": None, "evidence": None, "faults": 0}
        faults += inside["faults"]
        # Without evidence `call` is but the one that most ticks met.
        key = (inside["call"] if inside["evidence"] else None, inside["evidence"])
        told[key] = told.get(key, 0) + segment["end"] - segment["start"]
    note(phase["name"] + ": " + ", ".join(f"{call or 'unknown'} {evidence or ''} {ns / MS:.2f} ms"
                                          for (call, evidence), ns in told.items()) +
         f", {faults} faults")
    return told, faults


def sure(told, call=None):
    """ns told as exact or observed, in `call` or any."""
    return sum(ns for (name, evidence), ns in told.items()
               if evidence in ("exact", "observed") and call in (None, name))


def in_call(told, call):
    return sum(ns for (name, _), ns in told.items() if name == call)


def check_loop(phase, told):
    call = LOOPS[phase["name"]]
    running = sum(told.values())
    share = in_call(told, call) / running
    ok(share >= 0.4, f"{call} in a loop: two fifths of its running are told", f"{share:.2f}")
    others = sum(ns for (name, _), ns in told.items() if name not in (None, call))
    ok(others == 0, f"{call} in a loop: no other call is told", told)


def check_fork(phase, told):
    exact = sum(ns for (name, evidence), ns in told.items()
                if evidence == "exact" and name and name.startswith("clone"))
    ok(exact > 0, "fork of a large process: its copying is exact", told)
    others = {name for name, _ in told} - {None, "clone", "clone3"}
    ok(not others, "fork of a large process: no other call is told", told)
    ok(
        in_call(told, "clone") + in_call(told, "clone3") <= phase["end"] - phase["begin"],
        "fork of a large process: it is not longer than it was", told)


def yields_told(capture, phase):
    said = run(CLEW, "why", capture, "--tid", phase["tid"], "--from", phase["begin"], "--to",
               phase["end"], "--all")
    return "by sched_yield" in " ".join(said.stdout.split())


def main():
    available, reason = feature("ticks")
    if not available:
        skip_all(reason)
    capture = scratch("where.clew")
    done = clew("record", "-o", capture, "--", os.path.join(WORKLOADS, "inside"))
    if not ok(done.returncode == 0, "recorded", done.stderr):
        finish()
    phases = {phase["name"]: phase for phase in json.loads(done.stdout)}
    phases["exec"]["end"] = phases.pop("became")["begin"]
    told, faults = {}, {}
    for name, phase in phases.items():
        told[name], faults[name] = told_in(capture, phase)

    for name in LOOPS:
        check_loop(phases[name], told[name])
    named = in_call(told["user"], None)
    ok(named == sum(told["user"].values()), "user mode alone: no call is told", told["user"])
    ok(
        sure(told["mixed"]) <= 0.1 * sum(told["mixed"].values()),
        "short calls between work in user mode: hardly any time is surely in one", told["mixed"])
    check_fork(phases["fork"], told["fork"])
    # Faults since the last tick are not counted yet, and faults before the first one in no phase.
    counted, real = faults["faults"], phases["faults"]["faults"]
    ok(0.5 * real <= counted <= real, "page faults are counted, none twice", f"{counted} of {real}")
    ok(sure(told["faults"]) == 0, "page faults: no call is told", told["faults"])
    ok({name
        for name, _ in told["exec"]} <= {None, "execve", "write"}, "exec: no other call is told",
       told["exec"])
    ok(in_call(told["exec"], "execve") > 0, "exec of a large process is told", told["exec"])
    ok(yields_told(capture, phases["yield"]), "a thread that yields is named as such", "")
    finish()


if __name__ == "__main__":
    main()
