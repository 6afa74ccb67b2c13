# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a test program's TAP says, and the list of results that are known to be flaky.

A flaky result failed first and passed on a later try. A program says so itself by
"ok N - NAME # FLAKY WHAT FAILED FIRST", or the runner finds it out by running the program again
(tests/settle.py). With UNSETTLED instead of FLAKY it passed three times in a row. A flaky result
counts as passed only if tests/flaky lists it, or if it is unsettled.
"""
import os
import re
import signal

import settle

RESULT = re.compile(r"(not )?ok\b[ \t]*(\d*)[ \t]*(?:-[ \t]*)?(.*)$")
SKIP = re.compile(r"#[ \t]*skip\b[ \t:]*(.*)$", re.IGNORECASE)
FLAKY = re.compile(r"[ \t]*# (FLAKY|UNSETTLED)\b[ \t]*(.*)$")
PLAN = re.compile(r"1\.\.(\d+)[ \t]*(?:#[ \t]*skip\S*[ \t]*(.*))?$", re.IGNORECASE)
TOOK = re.compile(r"# (\S.*?) took (\d+) s\b")


class Results:
    """The results of one or several test programs."""

    def __init__(self):
        self.passed = []  # names
        self.failed = []  # "name: why"
        self.skipped = []  # "name: reason"
        self.flaky = []  # (name, what failed first, how often it passed in a row then)

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.flaky += other.flaky

    def count(self):
        return len(self.passed) + len(self.failed) + len(self.skipped) + len(self.flaky)

    def text(self):
        counts = "%d passed, %d failed, %d skipped"
        counts %= len(self.passed), len(self.failed), len(self.skipped)
        return counts + (", %d flaky" % len(self.flaky) if self.flaky else "")

    def label(self, label):
        """Puts the program's name before each result."""
        self.failed = ["%s: %s" % (label, line) for line in self.failed]
        self.skipped = ["%s: %s" % (label, line) for line in self.skipped]
        self.flaky = [("%s: %s" % (label, name), *rest) for name, *rest in self.flaky]

    def take_back(self, name):
        """Forgets that a result passed, of which this is the name or its beginning."""
        same = settle.like(self.passed, name)
        if same:
            self.passed.remove(min(same, key=len))

    def failed_before(self, name, line, passes):
        """This result failed in an earlier run, with that line, and passed so often since."""
        self.take_back(name)
        self.flaky.append((name, line, passes))


def _take(results, line):
    """Adds what one line of TAP says; returns how many results it announces."""
    plan = PLAN.match(line)
    if plan:
        if plan.group(1) == "0":
            results.skipped.append("all: " + (plan.group(2) or "no reason given"))
        return int(plan.group(1))
    if line.startswith("Bail out!"):
        results.failed.append(line)
        return 0
    match = RESULT.match(line)
    if not match:
        return 0
    name = match.group(3)
    skip, flaky = SKIP.search(name), FLAKY.search(name)
    if skip and not flaky:
        # cmocka writes "ok 1 # SKIP name", everyone else "ok 1 - name # SKIP reason".
        before = name[:skip.start()].strip() or skip.group(1)
        reason = skip.group(1) if name[:skip.start()].strip() else "the test says so"
        results.skipped.append("%s: %s" % (before, reason))
    elif match.group(1):
        results.failed.append(name or "test %s" % match.group(2))
    elif flaky:
        passes = settle.PASSES if flaky.group(1) == "UNSETTLED" else 1
        results.flaky.append((name[:flaky.start()], flaky.group(2), passes))
    else:
        results.passed.append(name)
    return 0


def parse(output, status):
    """
    Results of one program from its standard output and exit status. A negative status is the
    signal that ended the program; None means that it did not end in time.
    """
    results = Results()
    planned = sum(_take(results, line.rstrip()) for line in output.splitlines())
    problem = None
    if status is None:
        problem = "did not end in time"
    elif status < 0:
        problem = "was ended by signal %d (%s)" % (-status, signal.Signals(-status).name)
    elif results.count() == 0:
        problem = "printed no result, exit status %d" % status
    elif results.count() < planned:
        problem = "printed %d results of %d, exit status %d" % (results.count(), planned, status)
    elif status and not results.failed:
        problem = "no failed test, but exit status %d" % status
    if problem:
        results.failed.append(problem)
    return results


def parts(output):
    """What a program says of the time that its parts took: (name, seconds)."""
    found = [TOOK.match(line) for line in output.splitlines()]
    return [(match.group(1).replace(" # ", " "), int(match.group(2))) for match in found if match]


class Known:
    """
    The results that may be flaky, from a file of lines "SECTION PROGRAM: RESULT  REASON". RESULT is
    a result's name, or its beginning up to a colon or a space. Lines that begin with # are
    comments. Raises ValueError.
    """

    def __init__(self, path):
        self.reasons = {}
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
        for number, line in enumerate(lines, 1):
            if not line or line.startswith("#"):
                continue
            name, _, reason = line.partition("  ")
            if not re.match(r"\S+ \S+: \S", name) or not reason.strip():
                raise ValueError("%s:%d: not SECTION PROGRAM: RESULT  REASON" %
                                 (os.path.basename(path), number))
            self.reasons[name] = reason.strip()

    def reason(self, name):
        """Why a result of this name may be flaky, or None."""
        return next(
            (reason for known, reason in self.reasons.items() if settle.like([name], known)), None)
