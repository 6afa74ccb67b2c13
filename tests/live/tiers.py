#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# alone: it measures what a call costs
"""
The ways to see functions of the kernel: each that this kernel has sees each call once, and says how
much longer a call takes, and how many returns it sees of calls that go on at the same time.
docs/kernels.md has the figures.
"""

import json
import os
import sys

from _live import GUEST, ROOT, feature, finish, note, ok, run, skip, skip_all

TIERS = os.path.join(ROOT, "build", "tiers")
# What doctor calls the feature that a way alone gives.
DOCTOR = {"fentry": "fentry"}


def check(way):
    name = way["way"]
    if not way["calls"]:
        skip(name, "this kernel does not have it")
        return
    note(f"{name}: a call of {way['plain_ns']} ns takes {way['entry_ns']} ns longer with its entry, "
         f"{way['pair_ns']} ns with its return, too; of {way['together']} calls at the same time "
         f"{way['together_entries']} entries and {way['together_returns']} returns")
    ok(way["entries"] == way["returns"] == way["calls"],
       f"{name}: each of {way['calls']} calls is seen once, and its return", way)
    ok(way["together_entries"] == way["together"], f"{name}: each of {way['together']} calls "
       "at the same time is seen", way)
    ok(0 < way["together_returns"] <= way["together"],
       f"{name}: no return is seen twice", way)


def main():
    if not os.access(TIERS, os.X_OK):
        if GUEST:
            skip_all("the program is not in the guest")
        ok(False, "there is the program", f"{TIERS} is missing: make unit")
        finish()
    done = run(TIERS)
    ways = [json.loads(line) for line in done.stdout.splitlines()]
    ok(done.returncode == 0 and len(ways) == 3, "all ways are tried", done.stderr)
    for way in ways:
        check(way)
        if way["way"] in DOCTOR:
            ok(feature(DOCTOR[way["way"]])[0] == bool(way["calls"]),
               f"{way['way']}: doctor says whether there is", way)
    finish()


if __name__ == "__main__":
    sys.exit(main())
