#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# alone: what hurts the machine most has to be the test's
"""
The report of a machine whose CPU is fought for, and lists: what hurts comes first, idle waits and
clew itself are left out unless asked for.
"""

import json
import os
import shutil
import subprocess
import time

from _live import answer, clew, finish, ok, scratch, start_recording

SCRIPT = "#!/bin/bash\nwhile :; do :; done\n"
SECONDS = 1.5


def name_of(pid):
    with open(f"/proc/{pid}/comm", encoding="ascii") as file:
        return file.read().strip()


def record():
    """Three programs that compute on one CPU, and one that sleeps."""
    programs = []
    for name in ("victim", "hog", "hog"):
        path = scratch(name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(SCRIPT)
        os.chmod(path, 0o755)
        programs.append(subprocess.Popen(["taskset", "-c", "0", path]))
    # Others may run a sleep of theirs.
    shutil.copy(shutil.which("sleep"), scratch("sleeper"))
    programs.append(subprocess.Popen([scratch("sleeper"), "60"]))
    for program, name in zip(programs, ("victim", "hog", "hog", "sleeper")):
        while name_of(program.pid) != name:
            time.sleep(0.01)
    capture = scratch("report.clew")
    recording = start_recording(capture, "-d", f"{SECONDS}s")
    status, said = stop_recording_at_end(recording)
    for program in programs:
        program.kill()
        program.wait()
    ok(status == 0, "recorded", said)
    return capture


def stop_recording_at_end(recording):
    _, said = recording.communicate(timeout=120)
    return recording.returncode, said


def check_report(capture):
    report = answer("report", capture)
    programs = {p["name"]: p for p in report["programs"] if not p["kernel"]}
    hog, victim = programs.get("hog"), programs.get("victim")
    if not ok(hog and victim, "the programs are in the report", sorted(programs)):
        return
    ok(hog["tasks"] == 2 and victim["tasks"] == 1, "processes of one name are one program")
    ok(all(sum(p["spent_ns"].values()) == p["total_ns"] for p in report["programs"]),
       "each program's parts add up to its time")
    life = report["to"] - report["from"]
    ok(
        abs(victim["total_ns"] - life) < life // 20
        and abs(hog["total_ns"] - 2 * life) < life // 10,
        "who computes all the time has all of the time", (life, victim, hog))
    shares = [p["spent_ns"]["ready"] / p["total_ns"] for p in (hog, victim)]
    ok(all(0.45 < share < 1 for share in shares), "three on one CPU are ready for most of it",
       shares)
    ok("was ready to run but had no CPU" in report["headline"] and "ran (" in report["headline"],
       "the headline says so, and who ran", report["headline"])
    ok(hog["had_cpu_ns"] > victim["had_cpu_ns"] > 0, "two hogs had more of the CPU than one victim",
       (hog, victim))
    ok("sleeper" not in programs, "who sleeps is left out", sorted(programs))
    middle = (report["from"] + report["to"]) // 2
    parts = [answer("report", capture, "--to", middle), answer("report", capture, "--from", middle)]
    for name, whole in (("victim", victim), ("hog", hog)):
        halves = [p for part in parts for p in part["programs"] if p["name"] == name]
        ok(
            sum(p["total_ns"] for p in halves) == whole["total_ns"]
            and sum(p["spent_ns"]["ready"] for p in halves) == whole["spent_ns"]["ready"],
            f"{name}: the halves add up to the whole", halves)
    text = clew("report", capture).stdout
    ok(report["headline"].split()[0] == text.splitlines()[2].split()[0], "text begins with it")
    ok(
        max(map(len, text.splitlines())) <= 80, "it fits 80 columns", max(text.splitlines(),
                                                                          key=len))


def length(wait, end):
    return (wait["end"] or end) - wait["start"]


def check_lists(capture):
    end = answer("report", capture)["to"]
    whole = answer("waits", capture)["waits"]
    shown = json.loads(clew("waits", capture, "--json").stdout)
    lengths = [length(wait, end) for wait in shown["waits"]]
    ok(lengths == sorted(lengths, reverse=True), "waits: the longest first")
    ok(
        not any(wait["kind"] in ("poll", "sleep", "idle", "signal") and not wait["in_exchange"]
                for wait in shown["waits"])
        and not any(wait["comm"] == "sleeper" for wait in shown["waits"]), "waits: none is idle",
        [wait for wait in shown["waits"] if wait["kind"] in ("poll", "sleep", "idle")][:1])
    ok(
        len(shown["waits"]) + shown["left_out"]["idle"] == len(whole)
        and shown["left_out"]["idle"] > 0, "waits: what is left out is counted",
        (len(shown["waits"]), shown["left_out"], len(whole)))
    for key in ("object", "kind", "task", "call"):
        sums = answer("waits", capture, "--by", key)["sums"]
        ok(
            sum(row["count"] for row in sums) == len(whole)
            and sum(row["total_ns"] for row in sums) == sum(length(wait, end) for wait in whole)
            and all(row["p50_ns"] <= row["p99_ns"] <= row["max_ns"] <= row["total_ns"]
                    for row in sums), f"waits by {key}: nothing is lost or twice")
    kinds = {row["name"]: row for row in answer("waits", capture, "--by", "kind")["sums"]}
    for kind, row in kinds.items():
        lengths = sorted(length(wait, end) for wait in whole if wait["kind"] == kind)
        if (row["max_ns"], row["p50_ns"]) != (lengths[-1], lengths[(len(lengths) + 1) // 2 - 1]):
            ok(False, f"waits by kind: {kind}", (row, lengths[-3:]))
    edges = json.loads(clew("edges", capture, "--json").stdout)
    own = {wait["tid"]
           for wait in answer("waits", capture, "--self")["waits"]
           } - {wait["tid"]
                for wait in whole}
    ok(
        own and not any(side["tid"] in own for edge in edges["edges"]
                        for side in edge["from"] + edge["to"]), "edges: none is clew's own", own)
    requests = json.loads(clew("requests", capture, "--json").stdout)
    ok(
        len(requests["requests"]) + requests["left_out"]["idle"] +
        requests["left_out"]["self"] == len(answer("requests", capture)["requests"]),
        "requests: what is left out is counted", requests["left_out"])


def check_moments(capture):
    """The same interval in each form of a moment."""
    info = answer("info", capture)
    middle, start, end = info["start"] + 500_000_000, info["start"], info["end"]
    clock = info["clocks"][0]
    wall = clock["wall"] + middle - clock["monotonic"]
    zone = int(subprocess.check_output(["date", "+%z"], text=True))
    local = wall // 10**9 + (abs(zone) // 100 * 3600 +
                             abs(zone) % 100 * 60) * (1 if zone >= 0 else -1)
    day = f"{local // 3600 % 24:02}:{local // 60 % 60:02}:{local % 60:02}.{wall % 10**9:09}"
    texts = [middle, "0.5s", f"-{end - middle}ns", day]
    answers = [
        json.loads(clew("waits", capture, f"--from={text}", "--json").stdout or "{}")
        for text in texts
    ]
    ok(all(said == answers[0] and said for said in answers), "a moment is the same in each form",
       texts)
    ok(start < middle < end, "the recording is long enough")


def main():
    capture = record()
    check_report(capture)
    check_lists(capture)
    check_moments(capture)
    finish()


if __name__ == "__main__":
    main()
