#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# alone: it compares shares of time
"""
What a running thread ran in, against a program that runs in one known thing at a time:
how much of its time in the kernel is told, and that nothing is told that was not.
"""

import collections
import ctypes
import json
import os
import signal

from _live import CLEW, TRIES, WORKLOADS, answer, clew, feature, finish, note, ok, run, scratch, skip_all

LOOPS = {"getrandom": "getrandom", "read": "readv"}
MS = 1000000
PR_SET_NAME = 15

libc = ctypes.CDLL(None)


def told_in(capture, phase):
    """
    ns of running by (call, evidence) in a phase, (None, None) for none; page faults; and when it
    spun for a lock.
    """
    told, faults, spins = {}, 0, []
    why = answer("why", capture, "--tid", phase["tid"], "--from", phase["begin"], "--to",
                 phase["end"])
    for segment in why["segments"]:
        if (segment["object"] or {}).get("type") == "spinlock":
            spins.append(segment)
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
    return told, faults, spins


def sure(told, call=None):
    """ns told as exact or observed, in `call` or any."""
    return sum(ns for (name, evidence), ns in told.items()
               if evidence in ("exact", "observed") and call in (None, name))


def in_call(told, call):
    return sum(ns for (name, _), ns in told.items() if name == call)


def check_loop(phase, told):
    """
    A thread that others keep from its CPU is told less: its pieces are shorter than from one tick to
    the next. Such a phase is recorded again.
    """
    call = LOOPS[phase["name"]]
    for left in reversed(range(TRIES)):
        running = sum(told.values())
        share = in_call(told, call) / running
        others = sum(ns for (name, _), ns in told.items() if name not in (None, call))
        alone = running / (phase["end"] - phase["begin"])
        if share >= 0.4 or others or alone >= 0.9 or not left:
            break
        note(f"once more: {share:.2f} are told, and the thread had its CPU for {alone:.2f}")
        phase, told, _ = again(phase["name"])
    ok(share >= 0.4, f"{call} in a loop: two fifths of its running are told",
       f"{share:.2f}, it had its CPU for {alone:.2f}")
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


def check_path(capture, phase, told, spins):
    """
    A path that stays within the thread tells the same as why, for which a thread that spins for a
    lock does not run.
    """
    span = f'"inside-{phase["tid"]}"'
    path = answer("path", capture, "--strategy", "predecessor", "--from",
                  f"{span} @ {phase['begin']}", "--to", f"{span} @ {phase['end']}")
    found, spun = collections.Counter(), collections.Counter()
    for segment in path["segments"]:
        inside = segment.get("in") or {"evidence": None}
        if inside["evidence"]:
            spun[inside["call"], inside["evidence"]] += common([segment], spins)
            found[inside["call"], inside["evidence"]] += segment["ns"]
    found.subtract(spun)
    sums = collections.Counter()
    for total in path["totals"]["calls"]:
        if total["call"]:
            sums[total["call"], total["evidence"]] += total["ns"]
    sums.subtract(spun)
    expected = {key: ns for key, ns in told.items() if key[1]}
    ok(found == expected and sums == expected, f"{phase['name']}: path tells the same as why",
       (dict(found), dict(sums), expected))


def be(name, action):
    """A child that does nothing else than `action`, on the first CPU."""
    child = os.fork()
    if not child:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        libc.prctl(PR_SET_NAME, name.encode(), 0, 0, 0)
        while True:
            action()
    return child


def common(queue, stays):
    """ns that two lists of intervals have in common."""
    return sum(
        max(0,
            min(q["end"], s["end"]) - max(q["start"], s["start"])) for q in queue for s in stays)


def check_blame():
    """A thread that kept another one from its CPU is told with the call that it ran in."""
    capture = scratch("where-blame.clew")
    children = [be("call-loop", lambda: os.getrandom(1 << 16)), be("beside-it", lambda: None)]
    done = clew("record", "-o", capture, "-d", "1s")
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    if not ok(done.returncode == 0, "recorded", done.stderr):
        return
    loop, beside = (answer("why", capture, "--tid", child)["segments"] for child in children)
    queue = [
        s for s in beside
        if s["kind"] == "runqueue" and (s["object"]["by"] or {}).get("tid") == children[0]
    ]
    stays = [s for s in loop if s["tid"] == children[0] and (s.get("in") or {}).get("evidence")]
    by_call = collections.Counter()
    for stay in stays:
        by_call[stay["in"]["call"], stay["in"]["evidence"]] += common(queue, [stay])
    expected, most = max(by_call.items(), key=lambda item: item[1], default=((None, None), 0))
    pairs = [
        p for p in answer("blame", capture)["pairs"]
        if p["kind"] == "cpu" and p["victim"] == f"beside-it-{children[1]}"
        and p["antagonist"] == f"call-loop-{children[0]}"
    ]
    told = [(p["in"]["call"], p["in"]["evidence"]) for p in pairs if "in" in p]
    took = sum(p["in"]["ns"] for p in pairs if "in" in p)
    note(f"blame: {told} {took / MS:.1f} ms of {sum(p['ns'] for p in pairs) / MS:.1f} ms")
    ok(expected[0] == "getrandom" and told == [expected] and abs(took - most) <= 0.02 * most,
       "blame: who had the CPU ran in its call", (told, took, expected, most))


def again(name):
    """A phase in a recording of its own, and what is told of it: by call, and page faults."""
    capture = scratch("where-again.clew")
    done = clew("record", "-o", capture, "--", os.path.join(WORKLOADS, "inside"))
    phase = next(phase for phase in json.loads(done.stdout) if phase["name"] == name)
    told, faults, _ = told_in(capture, phase)
    return phase, told, faults


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
    told, faults, spins = {}, {}, {}
    for name, phase in phases.items():
        told[name], faults[name], spins[name] = told_in(capture, phase)

    for name in LOOPS:
        check_loop(phases[name], told[name])
    named = in_call(told["user"], None)
    ok(named == sum(told["user"].values()), "user mode alone: no call is told", told["user"])
    ok(
        sure(told["mixed"]) <= 0.1 * sum(told["mixed"].values()),
        "short calls between work in user mode: hardly any time is surely in one", told["mixed"])
    check_fork(phases["fork"], told["fork"])
    # Faults since the last tick are not counted yet, and faults before the first one in no phase.
    # A busy machine has few ticks in this short phase.
    counted, real = faults["faults"], phases["faults"]["faults"]
    for _ in range(TRIES - 1):
        if counted >= 0.5 * real:
            break
        phase, _, counted = again("faults")
        real = phase["faults"]
    ok(0.5 * real <= counted <= real, "page faults are counted, none twice", f"{counted} of {real}")
    ok(sure(told["faults"]) == 0, "page faults: no call is told", told["faults"])
    ok({name
        for name, _ in told["exec"]} <= {None, "execve", "write"}, "exec: no other call is told",
       told["exec"])
    ok(in_call(told["exec"], "execve") > 0, "exec of a large process is told", told["exec"])
    for name in ("read", "fork", "faults"):
        check_path(capture, phases[name], told[name], spins[name])
    check_blame()
    ok(yields_told(capture, phases["yield"]), "a thread that yields is named as such", "")
    finish()


if __name__ == "__main__":
    main()
