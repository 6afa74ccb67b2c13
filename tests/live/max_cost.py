#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# alone: functions are dropped by what they cost
"""
`--max-cost`: functions whose calls cost too much are dropped while they are recorded and named, and
no call of the others is missed or counted twice. The program counts its calls itself.
"""

import json
import os

from _host import undisturbed
from _live import WORKLOADS, answer, clew, feature, finish, ok, scratch, skip_all

PROGRAM = os.path.join(WORKLOADS, "dearest")
SECONDS = 6
HOT = ("first", "second", "third")
ALL = HOT + ("steady", "seldom")
LIMIT = 10  # percent of a CPU: below what calls of such a function cost on a busy machine
WITHIN = 2_000_000_000  # ns in which a function has to be dropped
FASTER = 10  # times: calls of a function without probes against those with them
STEP = 50_000_000  # ns between two of the program's notes, at most


def record(*options, seconds=SECONDS):
    path = scratch("dearest.clew")
    wanted = [word for name in ALL for word in ("-f", f"{PROGRAM}:{name}")]
    done = clew("record", "-o", path, *options, *wanted, "--", PROGRAM, seconds)
    if done.returncode != 0:
        ok(False, "the program is recorded", done.stderr[-500:])
        finish()
    return json.loads(done.stdout), answer("latency", path), path, done.stderr


def begins(notes, place):
    """When the program called that function first, as far as its notes go."""
    return max([note[0] for note in notes if note[1 + place] == 0], default=notes[0][0])


def calls_at(notes, place, time):
    """How often it had been called at least and at most."""
    before = [note for note in notes if note[0] <= time - STEP]
    after = [note for note in notes if note[0] >= time + STEP]
    return before[-1][1 + place] if before else 0, after[0][1 + place] if after else 1 << 60


def check_dropped(truth, told, said):
    notes = truth["notes"]
    dropped = {entry["name"]: entry for entry in told["groups_dropped"]}
    ok([entry["name"] for entry in told["groups_dropped"]] == list(HOT),
       "each function that is called all the time is dropped, no other one", dropped)
    missing = [name for name in HOT if f"dropped {name}:" not in said]
    ok(not missing, "the recording's last lines name them", missing)
    late, miscounted, slow = [], [], []
    for place, name in enumerate(HOT):
        if name not in dropped:
            continue
        time = dropped[name]["time"]
        if time - begins(notes, place) > WITHIN:
            late.append(f"{name}: {time - begins(notes, place)} ns")
        group = next((g for g in told["groups"] if g["path"] == [name]), None)
        least, most = calls_at(notes, place, time)
        counted = group["count"] + group["open"] if group else 0
        if not least <= counted <= most:
            miscounted.append(f"{name}: {counted}, not {least} to {most}")
        rate = dropped[name]["calls_per_s"]
        if truth[name] - most < FASTER * rate * .5:
            slow.append(f"{name}: {truth[name] - most} calls after it, {rate} a second before")
    ok(not late, f"within {WITHIN / 1e9:.0f} s", late)
    ok(not miscounted, "their calls until then are counted", miscounted)
    ok(not slow, "and cost nothing from then on", slow)


def check_kept(truth, told):
    groups = {"/".join(group["path"]): group for group in told["groups"]}
    for name, path in (("steady", "steady"), ("seldom", "steady/seldom")):
        count = groups[path]["count"] if path in groups else None
        ok(count == truth[name], f"all calls of {name} are counted, once each",
           f"{count}, {truth[name]} by its own count")


def main():
    available, reason = feature("functions")
    if not available:
        skip_all(reason)
    truth, told, path, said = undisturbed(lambda: record("--max-cost", LIMIT),
                                          lambda found: not found[1]["ledger"]["complete"])
    ok(told["ledger"]["complete"], "nothing was lost", told["ledger"])
    check_dropped(truth, told, said)
    check_kept(truth, told)
    dropped = answer("spans", path)["groups_dropped"]
    ok(dropped == told["groups_dropped"], "clew spans names them, too", dropped)
    truth, told, path, said = record("--max-cost", 100_000, seconds=2)
    ok(not told["groups_dropped"] and "dropped" not in said, "no function is dropped below the limit",
       told["groups_dropped"])
    groups = {"/".join(group["path"]): group for group in told["groups"]}
    wrong = [name for name in HOT if groups[name]["count"] != truth[name]]
    ok(not wrong or not told["ledger"]["complete"], "and all their calls are counted", wrong)
    finish()


main()
