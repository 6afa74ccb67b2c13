#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# alone: what is slow has to be the program's, and not a neighbour's
"""
The two questions that people ask first, `why --comm NAME --slowest` and `report --comm NAME`,
about programs in which something is slow for a known reason.

An answer to the first is right if its operation covers at least 70 % of the slow time, and is
at most twice as long; an answer to the second if its headline has the true class of time and the
program. Programs that wait for work, keep connections or subscribe have no slow operation.

Usage: questions.py [--keep DIR] [PROGRAM ..]; with --keep the captures stay in a directory.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time

from _live import ROOT, answer, clew, finish, note, ok, run, scratch, skip, start_recording, stop_recording, wanted_runs

PROGRAMS = os.path.join(ROOT, "tests", "live", "questions")
NETWORK = "waited at sockets"
THREADS = "waited for other threads"
COVERED, TOO_LONG = 0.7, 2
QUIET = 50_000_000  # ns: nothing that a quiet program does takes as long

# The programs of one row run side by side, in one recording. Each has the words of its headline.
RECORDINGS = (
    {
        "busy_server.py": NETWORK,
        "event_loop.py": NETWORK,
        "pool_slot.py": NETWORK,  # the larger part: its own answer, behind the slot
        "stopped_terminal.py": "pipes and terminals",
        "late_service.py": NETWORK,
    },
    {
        "blocked_loop.py": NETWORK,
        "stdio_lock.c": THREADS,
        "starved_writer.c": THREADS,
        "socket_pair.c": NETWORK,
        "children.c": "children or other processes",
        "busy_database.py": "waited for locks",
        "late_port.py": NETWORK,
    },
)
# These need what tools/deps --all installs, and run where all runs are made. The threads of Go's
# runtime hand their work to each other at futexes: its headline is not right yet.
FURTHER = {"locked_map.go": None, "login.js": NETWORK, "executor.rs": NETWORK}
COMPILERS = {".go": "go", ".js": "node", ".rs": "rustc"}
# Words of the answer to the first question: who kept the program from what it tried.
SAID = {
    "busy_database.py": r"retried fcntl on \S+/busy\.db \d+ times, which dbwriter-\d+ had locked",
    "late_service.py":
        r"retried connect to \S+ \d+ times: nobody listened; latesvc-\d+ did later",
    "late_port.py": r"retried connect to 127\.0\.0\.1:\d+ \d+ times: nobody listened; latetcp-\d+ did later",
}


def command_of(program):
    """The words that start a program; one that is no script is compiled first."""
    path, (stem, kind) = os.path.join(PROGRAMS, program), os.path.splitext(program)
    if kind in (".py", ".js"):
        return [sys.executable if kind == ".py" else "node", path, scratch()]
    binary = scratch(stem)
    compiler = {
        ".c": ["gcc", "-std=gnu11", "-O1", "-pthread"], ".go": ["go", "build"], ".rs":
        ["rustc", "-O"]
    }[kind]
    done = run(*compiler, "-o", binary, path)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return [binary] if kind == ".c" else [binary, scratch()]


def further():
    """Those of the further programs whose language is here."""
    found = {}
    for program, words in FURTHER.items():
        compiler = COMPILERS[os.path.splitext(program)[1]]
        if shutil.which(compiler):
            found[program] = words
        else:
            skip(program, f"no {compiler} here: tools/deps --all installs it")
    return found


class Quiet:
    """The programs that have no slow operation, from before the recordings on."""

    NAMES = ("quietidle", "subscriber", "keptpool", "keptsvc")

    def __init__(self):
        self.process = subprocess.Popen(command_of("quiet.py"), stdin=subprocess.PIPE)
        while not all(self.sleeping(name) for name in self.NAMES):
            time.sleep(0.01)

    def sleeping(self, name):
        """Whether a child of that name sleeps in what it does to the end."""
        children = run("pgrep", "-P", self.process.pid, "-x", name).stdout.split()
        if not children:
            return False
        with open(f"/proc/{children[0]}/syscall", encoding="ascii") as file:
            call = file.read().split()[0]
        return call in {
            "quietidle": ("230", ), "subscriber": ("45", ), "keptpool": ("232", ),
            "keptsvc": ("230", )
        }[name]

    def end(self):
        self.process.communicate(b"\n")


def record(capture, programs):
    """Records the programs side by side; what each says of its slow thing."""
    commands = {program: command_of(program) for program in programs}
    recording = start_recording(capture)
    running = {
        program: subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        for program, command in commands.items()
    }
    truths = {
        program: json.loads(process.communicate(timeout=60)[0])
        for program, process in running.items()
    }
    stop_recording(recording)
    return truths


def judge_slowest(capture, truth):
    """Whether the operation is the slow thing, and what was said."""
    done = clew("why", capture, "--comm", truth["comm"], "--slowest", "--json")
    if done.returncode:
        return False, done.stderr.strip()
    said = json.loads(done.stdout)
    first = said["operations"][0]
    length = truth["to"] - truth["from"]
    covered = min(first["to"], truth["to"]) - max(first["from"], truth["from"])
    good = covered >= COVERED * length and first["to"] - first["from"] <= TOO_LONG * length
    return good, "%.1f ms, %.1f of %.1f ms covered, %s" % (
        (first["to"] - first["from"]) / 1e6, covered / 1e6, length / 1e6, said["class"]["text"])


def judge_headline(capture, truth, words):
    headline = answer("report", capture, "--comm", truth["comm"])["headline"]
    return words in headline and truth["comm"] in headline, headline


def check_quiet(capture):
    for name in Quiet.NAMES:
        done = clew("why", capture, "--comm", name, "--slowest", "--json")
        said = json.loads(done.stdout) if done.stdout else {"operations": []}
        longest = max((one["to"] - one["from"] for one in said["operations"]), default=0)
        ok(longest < QUIET, f"{name} has no slow operation",
           f"{longest / 1e6:.1f} ms, {said.get('class')}")


def check(capture, programs, wanted):
    """Asks both questions of each program; how many answers to each were right."""
    found = headed = 0
    truths = record(capture, programs)
    for program, truth in truths.items():
        if wanted and program not in wanted:
            continue
        good, said = judge_slowest(capture, truth)
        found += ok(good, f"{program}: the slowest operation is the slow thing", said)
        if program in SAID:
            said = " ".join(clew("why", capture, "--comm", truth["comm"], "--slowest").stdout.split())
            ok(re.search(SAID[program], said), f"{program}: who kept it from what it tried", said)
        if not programs[program]:
            continue
        good, said = judge_headline(capture, truth, programs[program])
        headed += ok(good, f"{program}: the headline is true", said)
    return found, headed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--keep")
    parser.add_argument("programs", nargs="*")
    options = parser.parse_args()
    found = headed = total = 0
    recordings = RECORDINGS + ((further(), ) if wanted_runs(2) > 1 else ())
    quiet = Quiet()
    try:
        for number, programs in enumerate(recordings):
            capture = os.path.join(options.keep or scratch(), f"questions-{number}.clew")
            right = check(capture, programs, options.programs)
            found, headed = found + right[0], headed + right[1]
            total += sum(program in options.programs or not options.programs
                         for program in programs)
            check_quiet(capture)
    finally:
        quiet.end()
    note(f"{found} of {total} found by --slowest, {headed} of {total} headlines right")
    finish()


if __name__ == "__main__":
    main()
