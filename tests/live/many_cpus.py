#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# alone: it fills the memory, and all CPUs
"""
The recorder's side in user space on 8, 64 and 192 CPUs: tools/many_cpus.c fills the rings from the
streams of a recording made here. All that had room is stored; in a run of all tests, too: all rings
full at once take less than 600 MiB at 192 CPUs, what a record takes does not grow with the number
of CPUs, and there is a rate without a loss.
"""

import json
import os

from _live import PATIENCE, ROOT, WORKLOADS, clew, finish, note, ok, run, scratch, wanted_runs

TOOL = os.path.join(ROOT, "build", "tools", "many_cpus")
SHORT = wanted_runs(2) == 1
MOST = 600 << 20  # bytes
GROWTH = 3  # by which a record may take more at 192 CPUs than at 64: other threads' cache is cold
SECONDS = 2
RATES = (500, 1000, 2000, 4000, 8000)


def fill(capture, cpus, rate, seconds):
    done = run(TOOL, capture, scratch("many.clew"), cpus, rate, seconds, timeout=PATIENCE)
    if done.returncode:
        ok(False, f"{cpus} CPUs are recorded", f"status {done.returncode}: {done.stderr}")
        finish()
    return json.loads(done.stdout)


def opens(name, told):
    """The file has what the drain stored."""
    info = clew("info", scratch("many.clew"), "--json")
    events = json.loads(info.stdout)["events"] if info.returncode == 0 else {}
    found = sum(count for kind, count in events.items() if kind != "gap")
    ok(told["stored"] == told["put"] == found, f"{name}: all that had room is in the file",
       f"{told} {found} {info.stderr}")


def check_growth(full):
    ok(full[192]["memory"] < MOST, "192 CPUs take less than 600 MiB", full[192]["memory"])
    ok(full[192]["cpu_ns_a_record"] < GROWTH * full[64]["cpu_ns_a_record"],
       "a record takes no more with three times the CPUs",
       [told["cpu_ns_a_record"] for told in full.values()])


def check_rates(capture):
    without = 0
    for rate in RATES:
        told = fill(capture, 192, rate, SECONDS)
        note(
            f"192 CPUs, {rate} records/s each: lost {told['lost']}, {told['memory'] / 1e6:.0f} MB, "
            f"{told['cpu_share_a_cpu'] * 100:.2f} % of a CPU for each")
        if told["lost"]:
            break
        # A busy machine puts less than was asked for.
        without = told["put"] // 192 // SECONDS
        if rate == RATES[0]:
            opens(f"192 CPUs, {rate} records/s each", told)
    ok(without > 0, f"192 CPUs: nothing is lost at {without} records/s each", told)


def main():
    capture = scratch("source.clew")
    work = "; ".join(f"{WORKLOADS}/{name} >{scratch('out')}" for name in ("pipe", "race", "disk"))
    clew("record", "-o", capture, "--", "/bin/sh", "-c", work)
    full = {}
    for cpus in (8, 192) if SHORT else (8, 64, 192):
        name = f"{cpus} CPUs, all rings full at once"
        told = full[cpus] = fill(capture, cpus, 0, 1)
        note(f"{name}: {told['memory'] / 1e6:.0f} MB, of which rings {told['rings'] / 1e6:.0f} MB; "
             f"{told['cpu_ns'] / cpus / 1e6:.1f} ms of CPU time a CPU, "
             f"{told['cpu_ns_a_record']} ns a record")
        opens(name, told)
        ok(told["lost"] == cpus, f"{name}: one record of each had no room", told["lost"])
    if not SHORT:
        check_growth(full)
        check_rates(capture)
    finish()


if __name__ == "__main__":
    main()
