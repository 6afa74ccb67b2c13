#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
A traced program computes what it computes alone, whatever instructions its probes are on:
those that no probe may be on
are left alone and counted, the others are heard.
"""

import json
import os
import re
import shutil
import subprocess

from _live import PATIENCE, WORKLOADS, answer, clew, feature, finish, ok, run, scratch, skip, skip_all, start_recording, stop_recording

SITES = os.path.join(WORKLOADS, "sites")
SAFE = ["nop", "nops", "wide", "first", "behind"]
NOP5 = ["nop5",
        "apart"]  # inside a function, or reached with the function's data below the stack pointer
LAYER = 'layer sites "probes on several instructions"\n' + "".join(
    f"call usdt sites:{name} number=arg0\n" for name in SAFE + NOP5 + ["vex"])


def heard(capture, pid):
    """How often each probe of the process was heard."""
    lines = [line for line in clew("dump", capture).stdout.splitlines() if f" tid={pid} " in line]
    counts = {}
    for name in re.findall(r" \.sites \.(\w+) ", lines[0] if lines else ""):
        counts[name] = counts.get(name, 0) + 1
    return counts


def check(way, capture, said, truth, path):
    """What a recording did to the program, heard of it, and says of it."""
    # A kernel that leaves such nops as they are does the program no harm.
    alone = {
        f"sites:{name}": "nop5"
        for name in ([] if feature("probes on 5-byte nops")[0] else NOP5)
    }
    alone["sites:vex"] = "vex"
    wrong = {name: count for name, count in truth["wrong"].items() if count}
    ok(not wrong, f"{way}: each result is that of an untraced run", f"{wrong} of {truth['calls']}")
    expected = {name: truth["calls"] for name in SAFE + NOP5 if f"sites:{name}" not in alone}
    counts = heard(capture, truth["pid"])
    ok(counts == expected, f"{way}: each call of a probe that may be there is heard",
       f"{counts} instead of {expected}")
    rows = [row for row in answer("info", capture).get("left_alone", []) if row["path"] == path]
    found = {row["probe"]: row["reason"] for row in rows}
    ok(found == alone and all(row["sites"] == 1 for row in rows),
       f"{way}: the capture says what was left alone", f"{rows} instead of {alone}")
    lines = [line for line in said.splitlines() if path + " left alone" in line]
    ok(
        len(lines) == 1 and f"clew: {len(alone)} probe" in lines[0]
        and all(f"{probe} ({reason})" in lines[0] for probe, reason in alone.items()),
        f"{way}: one line of record says so", said)
    ok(any(f" {path} left alone" in line for line in clew("info", capture).stdout.splitlines()),
       f"{way}: info says so")
    return rows


def record(way, program, layer):
    capture = scratch(way.replace(" ", "-") + ".clew")
    done = clew("record", "-o", capture, "--layer", layer, "--", program)
    if not ok(done.returncode == 0, f"{way}: recorded",
              f"status {done.returncode}: {done.stderr.strip()[-300:]}"):
        return None, None
    return capture, check(way, capture, done.stderr, json.loads(done.stdout), program)


def record_running(layer):
    """A program that was there before the recording, under a name of its own."""
    way, program, capture = "a program from before", scratch("sites-before"), scratch("before.clew")
    shutil.copy(SITES, program)
    with subprocess.Popen([program, "--await"],
                          stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE,
                          text=True) as process:
        recording = start_recording(capture, "--layer", layer)
        text, _ = process.communicate("\n", timeout=PATIENCE)
        status, said = stop_recording(recording)
    if ok(status == 0, f"{way}: recorded", said):
        check(way, capture, said, json.loads(text), program)


def main():
    available, reason = feature("announcements")
    if not available:
        skip_all(reason)
    if os.uname().machine != "x86_64":
        skip_all("the instructions are those of x86-64")
    truth = json.loads(run(SITES).stdout)
    ok(not any(truth["wrong"].values()), "the program alone has no wrong results", truth["wrong"])
    layer = scratch("sites.layer")
    with open(layer, "w", encoding="utf-8") as file:
        file.write(LAYER)
    capture, rows = record("the program", SITES, layer)
    if capture:
        notation = scratch("sites.ctrace")
        converted = clew("convert", capture, "-o", notation)
        same = converted.returncode == 0 and [
            row for row in answer("info", notation).get("left_alone", []) if row["path"] == SITES
        ] == rows
        ok(same, "its notation says what was left alone", converted.stderr)
    if shutil.which("strip"):
        stripped = scratch("sites-stripped")
        run("strip", "-o", stripped, SITES)
        record("a stripped program", stripped, layer)
    else:
        skip("a stripped program", "no strip here")
    record_running(layer)
    finish()


main()
