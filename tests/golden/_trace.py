# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Traces in notation and what the analyses say of them, for the golden tests. Prints TAP."""
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from resolved import resolved  # noqa: E402,F401  pylint: disable=wrong-import-position

CLEW = os.path.abspath(os.environ.get("CLEW", os.path.join(HERE, "..", "..", "clew")))

TRACE1 = """
hierarchy structural causal
category structural p0/t0.0/r0.0.0
category structural p0/t0.1/r0.1.0
category structural p1/t1.0/r1.0.0
span s0.0.0 [0,100] in structural:p0/t0.0/r0.0.0
span s0.0.0/0 [10,90]
span s0.0.0/0/3 [40,70]
span s0.1.0 [30,70] in structural:p0/t0.1/r0.1.0
span s1.0.0 [30,50] in structural:p1/t1.0/r1.0.0
mark s0.0.0 start@0
mark s0.0.0 end@100
dep spawn s0.0.0/0@20 -> s0.1.0@30
dep spawn s0.0.0/0@30 -> s1.0.0@30
dep send s1.0.0@35 -> s0.1.0@40
dep signal s0.1.0@50 -> s0.0.0/0/3@(50~60)
simplify
"""
SHORT = {"s0.0.0": "A", "s0.0.0/0": "B", "s0.0.0/0/3": "C", "s0.1.0": "D", "s1.0.0": "E"}


class Tap:
    """Counts and prints results."""

    def __init__(self):
        self.count = self.failed = 0

    def report(self, name, problem):
        self.count += 1
        self.failed += bool(problem)
        print("%s %d - %s%s" %
              ("not ok" if problem else "ok", self.count, name, ": " + problem if problem else ""),
              flush=True)

    def skip(self, name, reason):
        self.count += 1
        print("ok %d - %s # SKIP %s" % (self.count, name, reason), flush=True)

    def same(self, name, got, expected):
        self.report(name, "" if got == expected else "%r instead of %r" % (got, expected))

    def end(self):
        print("1..%d" % self.count)
        return 1 if self.failed else 0


def run(trace, arguments):
    """Runs a command on a trace; (exit status, output, what it said)."""
    done = subprocess.run([CLEW, arguments[0], "-"] + arguments[1:],
                          input=trace.encode(),
                          capture_output=True,
                          timeout=60,
                          check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def ask(trace, arguments):
    """The JSON answer, or the exit status."""
    status, out, err = run(trace, arguments + ["--json"])
    if status or err:
        return "exit status %d: %s" % (status, err.strip())
    return json.loads(out)


def elements(answer):
    """The ESs of a path as "A0 B1"."""
    if isinstance(answer, str):
        return answer
    return " ".join("%s%d" % (SHORT.get(e["span"], e["span"]), e["es"]) for e in answer["elements"])
