#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# alone: it compares times with the program's own clock
"""
`clew latency` on a program that measures each of its calls itself: counts and percentiles, how the
time divides, paths, threads, waits by kind and by lock, and two captures added.
"""

import collections
import json
import math
import os
import re
import signal
import subprocess
import time

from _host import Host
from _live import CLEW, PATIENCE, WORKLOADS, answer, clew, feature, finish, note, ok, run, scratch, skip_all, start_recording, stop_recording

CALLS = 500
FEW = 10  # one call of so many waits for the disk
PROGRAM = os.path.join(WORKLOADS, "latency")
FUNCTIONS = ("spin", "rest", "both", "ask", "take_lock", "put")
PERCENTILES = {"p50_ns": .5, "p90_ns": .9, "p99_ns": .99, "p999_ns": .999}
# The part of a call's time that is largest apart from running and being ready to run.
MOSTLY = {"rest": "other", "take_lock": "lock", "put": "disk", "ask": "network"}
PROBED = 60_000  # ns that a call may seem longer or shorter to the program than to clew
SHARE, LEAST = 0.02, 1_000_000  # of a sum, and ns, that a part may be off

UNIT = 10


def record(name, *arguments):
    path = scratch(name)
    wanted = [word for function in FUNCTIONS for word in ("-f", f"{PROGRAM}:{function}")]
    done = clew("record", "-o", path, *wanted, "--", PROGRAM, *arguments)
    if done.returncode != 0:
        ok(False, "the program is recorded", done.stderr[-500:])
        finish()
    return json.loads(done.stdout)["paths"], path


def by_path(told):
    return {"/".join(group["path"]): group for group in told["groups"]}


def at_share(values, share):
    """The least value that this share of all do not exceed."""
    return sorted(values)[max(math.ceil(share * len(values)), 1) - 1]


def check_counts(truth, groups):
    wrong = [
        f"{name}: {groups[name]['count'] if name in groups else 'none'}"
        for name, told in truth.items()
        if name not in groups or groups[name]["count"] != len(told["lengths"])
    ]
    ok(not wrong, f"{CALLS} calls of each function are counted to the unit", wrong)
    inner = [
        groups[f"both/{name}"]["count"] for name in ("spin", "rest") if f"both/{name}" in groups
    ]
    ok(inner == [CALLS, CALLS], "calls by another caller are groups of their own", inner)


def check_percentiles(truth, groups):
    wrong = []
    for name, told in truth.items():
        for field, share in PERCENTILES.items():
            found, wanted = groups[name][field], at_share(told["lengths"], share)
            if abs(found - wanted) > PROBED + wanted / 1000:
                wrong.append(f"{name} {field}: {found}, {wanted} by its own clock")
    ok(len(wrong) <= 1, "percentiles are those by the program's own clock", wrong)
    if wrong:
        note(wrong[0])


def check_precision(path):
    """Against the activations themselves, whose lengths are exact."""
    listed = [a for a in answer("spans", path, "--list")["list"] if a["closed"] == "returned"]
    for digits in (1, 3, 5):
        groups = answer("latency", path, "--by", "function", "--digits", digits)["groups"]
        wrong = []
        for group in groups:
            lengths = [a["end"] - a["start"] for a in listed if a["name"] == group["path"][0]]
            exact = (group["count"], group["total_ns"], group["min_ns"], group["max_ns"])
            if exact != (len(lengths), sum(lengths), min(lengths), max(lengths)):
                wrong.append(f"{group['path']}: {exact}")
            for field, share in PERCENTILES.items():
                wanted = at_share(lengths, share)
                if not wanted <= group[field] <= wanted * (1 + UNIT**-digits):
                    wrong.append(f"{group['path']} {field}: {group[field]}, not {wanted}")
        ok(groups and not wrong, f"{digits} digits: percentiles are as exact as is told", wrong)


def check_split(truth, groups, stolen):
    """`stolen`: ns for which CPUs ran nothing. The program's CPU clock leaves them out."""
    wrong = []
    for name, told in truth.items():
        group = groups[name]
        may = SHARE * group["total_ns"] + LEAST + stolen
        split = group["split"]
        off = split["running"] - told["running"]
        rest = sum(ns for part, ns in split.items()
                   if part not in ("running", "runqueue", MOSTLY.get(name)))
        # A call's probes run outside of it, too, and are in the program's CPU time.
        if abs(off) > may + CALLS * PROBED / 2:
            wrong.append(f"{name} ran {split['running']} ns, {told['running']} by its own clock")
        if name not in ("both", "spin") and rest > may:
            wrong.append(f"{name}: {split}")
    ok(not wrong, "time divides as the program knows", wrong)


def check_sums(path):
    wrong, seen = [], 0
    for by in ("path", "function", "kind", "call", "device", "lock", "operation"):
        for level in ((), ("--group", "thread"), ("--group", "process"), ("--group", "comm"),
                      ("--group", "cgroup")):
            told = answer("latency", path, "--by", by, "--idle", *level)
            seen += len(told["groups"])
            wrong += [(by, *level, group["path"]) for group in told["groups"]
                      if sum(group["split"].values()) != group["total_ns"]]
    ok(seen and not wrong, f"each split adds up to its total, in {seen} groups", wrong[:3])


def check_waits(path, truth):
    pid = answer("spans", path, "--list")["list"][0]["pid"]
    kinds = by_path(answer("latency", path, "--by", "kind", "--idle", "--pid", pid))
    counts = collections.Counter(w["kind"] for w in answer("waits", path, "--pid", pid)["waits"])
    told = {kind: group["count"] + group["open"] for kind, group in kinds.items()}
    ok(told == counts, "by kind, every wait is counted once", f"{told}, not {counts}")
    locks = answer("latency", path, "--by", "lock", "--comm", "latency")["groups"]
    mutex = max(locks, key=lambda group: group["total_ns"])
    # On a busy machine the lock may be free before it is asked for, and who waited for it be ready.
    waited = sum(length > PROBED for length in truth["take_lock"]["lengths"])
    asleep = mutex["total_ns"] - mutex["split"]["runqueue"]
    ok(mutex["count"] >= waited * .9 and waited and mutex["split"]["lock"] >= asleep * .8,
       "the mutex has its waits",
       f"{mutex['path']}: {mutex['count']} waits of {waited}, {mutex['split']}")
    threads = answer("latency", path, "--group", "thread")["groups"]
    tids = {group["properties"].get("tid") for group in threads}
    ok(len(tids) == 1 and all(t and t.isdigit() for t in tids), "all calls are of one thread", tids)


def check_sum(first, second):
    """Two captures added have the counts of both."""
    one, other = (by_path(answer("latency", path)) for path in (first, second))
    both = by_path(answer("latency", first, second))
    wrong = []
    for name in set(one) | set(other) | set(both):
        parts = [groups[name] for groups in (one, other) if name in groups]
        for field in ("count", "total_ns", "probe_ns"):
            if both[name][field] != sum(part[field] for part in parts):
                wrong.append(f"{name}: {field}")
        if {part["id"] for part in parts} != {both[name]["id"]}:
            wrong.append(f"{name}: another id")
        if both[name]["max_ns"] != max(part["max_ns"] for part in parts):
            wrong.append(f"{name}: another maximum")
    ok(both and not wrong, "two captures added have the counts and sums of both", wrong)
    again = by_path(answer("latency", second, first))
    ok({n: g["count"] for n, g in again.items()} == {n: g["count"] for n, g in both.items()}
       and all(again[n]["p99_ns"] == both[n]["p99_ns"] for n in both), "in any order")


def check_command():
    """Recorded and answered about at once: the command's output and status stay its own."""
    words = [word for function in FUNCTIONS for word in ("-f", f"{PROGRAM}:{function}")]
    script = f"{PROGRAM} {CALLS // FEW} {scratch('')} && exit 7"
    kept = scratch("kept")
    os.mkdir(kept)
    done = clew("latency", "--json", *words, "--", "sh", "-c", script, cwd=kept)
    first, _, rest = done.stdout.partition("\n")
    answered = done.returncode == 7 and rest.startswith('{"format"')
    if not ok(answered, "the answer follows the command's output",
              f"status {done.returncode}: {done.stdout[-200:]} {done.stderr[-300:]}"):
        return
    truth, told = json.loads(first)["paths"], json.loads(rest)
    groups = by_path(told)
    wrong = [name for name in truth if groups[name]["count"] != len(truth[name]["lengths"])]
    ok(not wrong and told["ledger"]["complete"], "and has all of its calls", wrong)
    file = scratch("answer.json")
    # A sleep may begin a little before its thread leaves the CPU.
    words = ["--by", "kind", "--idle", "--", "sleep", "0.1"]
    done = clew("latency", "--json", "-o", file, *words, cwd=kept)
    with open(file, encoding="utf-8") as answered:
        told = by_path(json.load(answered))
    ok(done.returncode == 0 and not done.stdout and told["sleep"]["max_ns"] >= 50_000_000,
       "-o has the answer, and standard output nothing", done.stdout)
    done = clew("latency", "-d", "200ms", "--json", cwd=kept)
    told = json.loads(done.stdout or "{}")
    ok(done.returncode == 0 and told.get("ledger", {}).get("complete"), "-d alone records so long",
       done.stderr[-300:])
    left = os.listdir(kept)
    ok(
        len(left) == 3 and all(re.fullmatch(r"clew-\d{6}(-\d)?\.clew", name) for name in left),
        "each recording is kept under a name of its own", left)


def check_live():
    """While it is recorded: partial answers, each within the next, and a final one."""
    with open(scratch("said"), "w", encoding="utf-8") as said:
        live = subprocess.Popen(
            [CLEW, "latency", "--live", "--json", "--idle", "--comm", "latency"],
            stdout=subprocess.PIPE,
            stderr=said,
            text=True)
    # Some machines hide single switches from every tracer: a capture says of how many waits.
    path = scratch("sleeps.clew")
    beside = start_recording(path, "--no-stacks")
    lines = [live.stdout.readline()]
    done = run(PROGRAM, CALLS, scratch(""))
    stop_recording(beside)
    hidden = sum(w["blind"] for w in answer("waits", path, "--comm", "latency")["waits"])
    lines.append(live.stdout.readline())
    live.send_signal(signal.SIGINT)
    # communicate() would lose the lines that readline() has read ahead.
    answers = [json.loads(line) for line in lines + live.stdout.readlines()]
    live.wait(PATIENCE)
    with open(scratch("said"), encoding="utf-8") as file:
        said = file.read()
    if not ok(
            done.returncode == 0 and live.returncode == 0 and len(answers) > 2,
            "each line of a live answer is a document", said[-300:]):
        return
    final = answers[-1]
    ok([a["partial"] for a in answers] == [True] * (len(answers) - 1) + [False],
       "all but the last one are partial")
    wrong = []
    for before, after in zip(answers, answers[1:]):
        later = {group["id"]: group for group in after["groups"]}
        wrong += [
            group["path"] for group in before["groups"]
            if group["count"] > later.get(group["id"], {"count": 0})["count"]
            or group["total_ns"] > later[group["id"]]["total_ns"]
        ]
    ok(not wrong, "no partial answer has more than the next one", wrong)
    groups = by_path(final)
    found = groups["sleep"]["count"] if "sleep" in groups else 0
    slept = json.loads(done.stdout)["sleeps"]
    ok(final["missed"] or abs(found - slept) <= hidden,
       "all sleeps that gave the CPU up are counted",
       f"{found} of {slept}, {final['missed']} records missed, {hidden} hidden")
    ok(hidden <= slept / 100, "hardly any is hidden", hidden)
    # In rest() and both(), and the threads that hold the lock and that answer.
    ok(slept >= 0.98 * 4 * CALLS, f"nearly all of {4 * CALLS} do", slept)
    wrong = [g["path"] for g in final["groups"] if sum(g["split"].values()) != g["total_ns"]]
    ok(groups and not wrong, "each live split adds up to its total", wrong)


def start_live(*arguments):
    """A live answer that records already."""
    path = scratch("live.jsonl")
    with open(path, "w", encoding="utf-8") as file:
        live = subprocess.Popen([CLEW, "latency", "--live", "--json", *arguments],
                                stdout=file,
                                stderr=subprocess.PIPE,
                                text=True)
    wait_for_lines(path, 1)
    return live, path


def wait_for_lines(path, count):
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        with open(path, encoding="utf-8") as file:
            if file.read().count("\n") >= count:
                return
        time.sleep(.1)


def stop_live(live, path):
    """All its answers."""
    live.send_signal(signal.SIGINT)
    said = live.communicate(timeout=PATIENCE)[1]
    ok(live.returncode == 0, "the live answer ends with an interrupt", said[-300:])
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def check_growing(answers):
    """Each answer is within the next one, and what is open is in none."""
    wrong = []
    for before, after in zip(answers, answers[1:]):
        later = by_path(after)
        for path, group in by_path(before).items():
            found = later.get(path, {"count": 0, "total_ns": 0, "max_ns": 0})
            wrong += [(path, field) for field in ("count", "total_ns", "max_ns")
                      if group[field] > found[field]]
    ok(not wrong, "no partial answer about calls has more than the next one", wrong[:3])
    wrong = [g["path"] for a in answers for g in a["groups"]
             if sum(g["split"].values()) != g["total_ns"]]
    ok(not wrong, "each split of calls adds up, in all answers", wrong[:3])


def check_live_calls():
    """One run of the program, recorded and live at once."""
    words = [word for function in FUNCTIONS for word in ("-f", f"{PROGRAM}:{function}")]
    live, lines = start_live(*words)
    with Host() as host:
        truth, path = record("beside.clew", CALLS, scratch(""))
    answers = stop_live(live, lines)
    final, recorded = by_path(answers[-1]), by_path(answer("latency", path))
    check_growing(answers)
    if answers[-1]["missed"]:
        note("records came too fast for the live side")
        return
    counts = {name: group["count"] for name, group in final.items()}
    ok(counts == {name: group["count"] for name, group in recorded.items()}
       and all(counts[name] == len(told["lengths"]) for name, told in truth.items()),
       "live, each path has the calls that a recording has", counts)
    ok({g["id"] for g in final.values()} == {g["id"] for g in recorded.values()},
       "and the same ids")
    wrong = []
    for name, told in truth.items():
        for field, share in PERCENTILES.items():
            wanted = at_share(told["lengths"], share)
            # Two recorders have probes there.
            if abs(final[name][field] - wanted) > 2 * PROBED + wanted / 1000:
                wrong.append(f"{name} {field}: {final[name][field]}, {wanted} by its own clock")
    ok(len(wrong) <= 1, "and percentiles by the program's own clock", wrong)
    check_split(truth, final, host.stolen)


def check_live_functions():
    """By function, and a function that is called all the time is dropped and named."""
    program = os.path.join(WORKLOADS, "dearest")
    names = ("first", "second", "third", "steady", "seldom")
    words = [word for name in names for word in ("-f", f"{program}:{name}")]
    live, lines = start_live("--by", "function", "--max-cost", "10", *words)
    done = run(program, 4)  # the first three for more than a second each
    last = stop_live(live, lines)[-1]
    told = json.loads(done.stdout)
    ok([d["name"] for d in last["groups_dropped"]] == ["first", "second", "third"],
       "live, functions that cost too much are dropped", last["groups_dropped"])
    counts = {group["path"][0]: group["count"] for group in last["groups"]}
    wrong = [name for name in ("steady", "seldom") if counts.get(name) != told[name]]
    ok(last["missed"] or not wrong, "and the others are counted to the unit",
       f"{counts}, {told['steady']}, {told['seldom']}")


def main():
    available, reason = feature("functions")
    if not available:
        skip_all(reason)
    with Host() as host:
        truth, path = record("first.clew", CALLS, scratch(""))
    told = answer("latency", path)
    groups = by_path(told)
    ok(told["by"] == "path" and told["partial"] is False and told["unplaced"] == 0,
       "calls by path, if functions were recorded", told["by"])
    check_counts(truth, groups)
    check_percentiles(truth, groups)
    check_precision(path)
    check_split(truth, groups, host.stolen)
    check_sums(path)
    check_waits(path, truth)
    check_command()
    check_live()
    check_live_calls()
    check_live_functions()
    check_sum(path, record("second.clew", CALLS // FEW, scratch(""))[1])
    finish()


main()
