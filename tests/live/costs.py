#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
What `clew functions` measures that a probe costs is what a program's calls take more
under the probes of another tracer.
"""

import json
import os
import shutil
import statistics
import subprocess
import time

from _live import CLEW, PATIENCE, WORKLOADS, finish, note, ok, skip_all

COSTS = os.path.join(WORKLOADS, "costs")
CLASSES = {"push": "emulated", "nop5": "nop5", "move": "stepped"}
ROUNDS = 5
# Each figure is the fastest of some rounds, and the tracer's program does more than nothing.
AT_LEAST, AT_MOST = 0.4, 2.5


def functions():
    done = subprocess.run([CLEW, "functions", COSTS, "costs_*", "--json"],
                          capture_output=True,
                          text=True,
                          timeout=PATIENCE,
                          check=True)
    return json.loads(done.stdout)


class Program:
    """The workload, asked again and again."""

    def __init__(self):
        self.process = subprocess.Popen([COSTS],
                                        stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE,
                                        text=True)

    def ask(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.communicate(timeout=PATIENCE)


def probed(program):
    """What calls take under bpftrace's probes."""
    script = "BEGIN { printf(\"on\\n\"); } " + " ".join(f"uprobe:{COSTS}:costs_{name} {{ @ = 1; }}"
                                                        for name in CLASSES)
    tracer = subprocess.Popen(["bpftrace", "-B", "line", "-e", script],
                              stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE,
                              text=True)
    try:
        while True:
            line = tracer.stdout.readline()
            if not line:
                raise RuntimeError(tracer.stderr.read())
            if line.strip() == "on":
                break
        # All probes are attached before BEGIN's line, or soon after it.
        time.sleep(0.5)
        return program.ask()
    finally:
        tracer.terminate()
        tracer.communicate(timeout=PATIENCE)


def main():
    if not shutil.which("bpftrace"):
        skip_all("bpftrace is not installed")
    answer = functions()
    if not answer["calibration"]["measured"]:
        skip_all("nobody may probe here")
    by_name = {function["name"]: function for function in answer["functions"]}
    for name, word in CLASSES.items():
        entry = by_name["costs_" + name]["entry"]
        ok(entry["class"] == word or (word == "nop5" and entry["class"] == "stepped"),
           f"a function that begins with {name} is {word}", str(entry))
    program = Program()
    program.ask()
    measured = {name: [] for name in CLASSES}
    said = {name: [] for name in CLASSES}
    for _ in range(ROUNDS):
        alone, under, calibration = program.ask(), probed(program), functions()["calibration"]
        for name, word in CLASSES.items():
            measured[name].append(under[name] - alone[name])
            said[name].append(calibration[word + "_ns"])
    program.close()
    for name, word in CLASSES.items():
        here, there = statistics.median(said[name]), statistics.median(measured[name])
        note(f"{word}: {here:.0f} ns, {there:.0f} ns under bpftrace")
        ok(AT_LEAST <= here / there <= AT_MOST, f"a probe's cost, {word}, is what it takes",
           f"{here:.0f} ns, but {there:.0f} ns under bpftrace")
    ok(
        statistics.median(said["push"]) < statistics.median(said["move"]),
        "a probe that is emulated costs less than one that is stepped", str(said))


main()
finish()
