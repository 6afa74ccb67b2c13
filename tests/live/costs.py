#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# alone: it compares what calls cost
"""
What `clew functions` measures that a probe costs is what a program's calls take more
under the probes of another tracer.
"""

import json
import os
import shutil
import signal
import statistics
import subprocess
import time

from _live import CLEW, GUEST, PATIENCE, WORKLOADS, finish, note, ok, skip, skip_all

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
        # It may miss a signal that comes while it attaches.
        for _ in range(PATIENCE):
            tracer.send_signal(signal.SIGINT)
            try:
                tracer.communicate(timeout=1)
                break
            except subprocess.TimeoutExpired:
                pass
        else:
            tracer.kill()
            tracer.communicate()


def check_classes(answer):
    """Each class of instruction is named, and has a cost that was measured."""
    by_name = {function["name"]: function for function in answer["functions"]}
    for name, word in CLASSES.items():
        entry = by_name["costs_" + name]["entry"]
        # Kernels before 6.18 step such a nop.
        ok(entry["class"] == word or (word == "nop5" and entry["class"] == "stepped"),
           f"a function that begins with {name} is {word}", str(entry))
    calibration = answer["calibration"]
    note(calibration)
    ok(
        calibration["measured"] and 0 < calibration["emulated_ns"] < calibration["stepped_ns"]
        and 0 < calibration["nop5_ns"],
        "a probe that is emulated costs less than one that is stepped", str(calibration))
    stepped = by_name["costs_nop5"]["entry"]["class"] == "stepped"
    ok(
        stepped == (2 * calibration["nop5_ns"] >
                    calibration["emulated_ns"] + calibration["stepped_ns"]),
        "a nop of 5 bytes is stepped where that is what it costs", str(calibration))


def compare():
    """With what a program's calls take more under another tracer."""
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


answered = functions()
if answered["calibration"]["measured"]:
    check_classes(answered)
    if shutil.which("bpftrace") and not GUEST:
        compare()
    else:
        skip("costs under another tracer", "bpftrace is not here")
else:
    skip_all("nobody may probe here")
finish()
