#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Functions in answers: a program says for how long it ran in which function and waited for a lock.
`why` says the same, from which function the wait came, and in which one the holder was, of the
capture and of its notation.
"""

import json
import os

from _live import WORKLOADS, clew, finish, ok, resolved, scratch, skip_unless_functions

MS = 1_000_000
TRIES = 5  # to have a recording without a hidden switch
UNSEEN = 2 * MS  # stolen from its CPU, and too short for a tick of the host's count
PROGRAM = os.path.join(WORKLOADS, "functions")


def record(capture):
    """What the program printed."""
    functions = [
        word for name in ("parse", "store", "flush") for word in ("-f", f"{PROGRAM}:{name}")
    ]
    done = clew("record", "--no-stacks", "--max-cost", "1000000", "-o", capture, *functions, "--", PROGRAM,
                scratch("file"))
    if done.returncode != 0:
        raise RuntimeError(f"record: status {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def why(trace, told, *options):
    """The answer about the program's main thread, from its first clock to its last."""
    done = clew("why", trace, "--tid", told["tid"], "--from", told["begin"], "--to", told["end"],
                *options)
    if done.returncode != 0:
        raise RuntimeError(f"why: status {done.returncode}: {done.stderr}")
    return done.stdout


def running(answer, tid):
    """ns and ns of probes by function, of a thread's own running time."""
    sums = {}
    for segment in answer["segments"]:
        if segment["kind"] != "running" or segment["tid"] != tid:
            continue
        for function in segment["functions"]:
            ns, probe = sums.get(function["name"], (0, 0))
            sums[function["name"]] = (ns + function["self_ns"], probe + function["probe_ns"])
    return sums


def check_sums(answer):
    wrong = [
        s for s in answer["segments"]
        if s["kind"] == "running" and sum(f["self_ns"] for f in s["functions"]) != s["ns"]
    ]
    ok(not wrong, "functions add up to the segment, to the ns", str(wrong[:2]))
    total = sum(f["probe_ns"] for s in answer["segments"] for f in s.get("functions", []))
    ok(answer["probe_ns"] == total, "probe_ns is the sum", f"{answer['probe_ns']}, {total}")


def check_running(answer, told):
    sums = running(answer, told["tid"])
    for name, expected in (("parse", told["parse"]), (None, told["outside"])):
        ns, probe = sums.get(name, (0, 0))
        ok(expected - MS <= ns <= expected + MS + probe + told["stolen"] + UNSEEN,
           f"it ran in {name or 'none of them'} as it says",
           f"{ns} ns, it says {expected}, probes {probe}, stolen {told['stolen']}")
    ok("flush" not in sums, "it was not in the other thread's function", str(sums))


def time_in(segment, tid, name):
    """ns of a segment in which a thread was in a function, awake or not."""
    if segment["tid"] != tid:
        return segment["ns"] * any(h["tid"] == tid and h.get("from") == [name]
                                   for h in segment["hops"])
    if segment["kind"] == "running":
        return sum(f["self_ns"] for f in segment["functions"] if f["name"] == name)
    return segment["ns"] * (segment["from"] == [name])


def check_wait(answer, told):
    segments, holder = answer["segments"], told["holder"]
    ns = sum(time_in(s, told["tid"], "store") for s in segments)
    expected = told["wait_to"] - told["wait_from"]
    ok(
        abs(ns - expected) <= MS, "it was in store() while it waited for the lock",
        f"{ns} ns, it says {expected}")
    lock = [s for s in segments if s["via"] and s["hops"][0].get("from") == ["store"]]
    ok(lock and all(holder in (s["tid"], *s["chain"]) for s in lock), "it waited for the holder",
       str([s["chain"] for s in lock]))
    ns = sum(time_in(s, holder, "flush") for s in lock)
    last = max(s["end"] for s in lock)
    expected = min(told["flush_to"], last) - max(told["flush_from"], lock[0]["start"])
    ok(
        abs(ns - expected) <= MS, "the holder was in flush() meanwhile",
        f"{ns} ns, it says {expected}")
    ok(any(s["from"] == ["flush"] for s in lock if s["kind"] != "running"),
       "the holder waited for the disk in flush()", str(lock[:3]))
    texts = [c["text"] for c in answer["causes"]]
    ok(any("wanted in store()" in t and t.endswith("in flush()") for t in texts),
       "a cause names both functions", "\n".join(texts[:5]))


def check_span(capture, told):
    done = clew("why", capture, "--span", "store", "--json")
    answer = json.loads(done.stdout)
    operation = answer["operations"][0]
    ok(
        answer["total"] == 1 and operation["instance"]["function"] == "store"
        and operation["from"] <= told["wait_from"] and operation["to"] >= told["wait_to"],
        "--span finds the activation", f"{operation['from']}..{operation['to']}: {told}")


def hides_switches(answer, told):
    """
    Some virtual machines hide a switch of either thread from every tracer: what came then is told
    as unknown.
    """
    return any(s["kind"] == "unknown" and s["tid"] in (told["tid"], told["holder"])
               for s in answer["segments"])


def main():
    skip_unless_functions()
    capture, notation = scratch("f.clew"), scratch("f.ctrace")
    for _ in range(TRIES):
        told = record(capture)
        answer = resolved(json.loads(why(capture, told, "--json")))
        if not hides_switches(answer, told):
            break
    check_sums(answer)
    check_running(answer, told)
    check_wait(answer, told)
    check_span(capture, told)
    done = clew("convert", capture, "-o", notation)
    ok(done.returncode == 0, "convert", done.stderr)
    for options in ([], ["--json"], ["--steps", "--all"]):
        ok(
            why(capture, told, *options) == why(notation, told, *options),
            " ".join(["its notation gives the same answer", *options]))
    done = clew("check", capture)
    ok(done.returncode == 0, "the causal trace is consistent", done.stdout + done.stderr)
    rows = json.loads(
        clew("blame", capture, "--by", "function", "--victims", f"functions-{told['tid']}",
             "--json").stdout)["functions"]
    ok(
        any(r["kind"] == "futex" and r["victim_function"] == "store"
            and r["antagonist_function"] == "flush" for r in rows), "blame names both functions",
        str(rows[:4]))
    done = clew("path", capture, "--from", f"functions-{told['tid']} @ {told['begin']}", "--to",
                f"functions-{told['tid']} @ {told['end']}", "--json")
    names = {
        f.get("function") or f.get("name")
        for f in json.loads(done.stdout)["totals"]["functions"]
    }
    ok({"parse", "store"} <= names, "path sums by function", str(names))
    finish()


if __name__ == "__main__":
    main()
