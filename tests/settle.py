# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Decides whether a live result that failed fails the run.

A result that tests/flaky lists may fail twice, and one pass is enough. Any other one may fail once,
and has to pass three times in a row after that: it is unsettled. It does not fail the run, but the
next commit adds it to tests/unsettled. A result of another run of the program is the same if its
name is; one that is printed only when it fails has passed where nothing failed.
"""
import datetime
import re

PASSES = 3  # in a row, after a failure
LISTED_FAILURES = 2  # a listed result may fail so often
MOST_RUNS = 9  # of a program, whatever fails
OLDEST = 14  # days, of an entry


class _Failed:
    """A result that failed once, or is listed and failed twice."""

    def __init__(self, line, listed):
        self.line = line  # what it said first
        self.failures = 1
        self.may_fail = LISTED_FAILURES if listed else 1
        self.needs = 1 if listed else PASSES
        self.passes = 0  # since the last failure

    def settled(self):
        return self.passes >= self.needs


def like(lines, name):
    """The results of this name, or whose name begins so."""
    return [line for line in lines if line == name or line.startswith((name + ":", name + " "))]


class Attempts:
    """The runs of one program. `is_listed(line)`: whether tests/flaky has such a result."""

    def __init__(self, is_listed):
        self.is_listed = is_listed
        self.names = set()  # of results that passed in any run
        self.failed = []  # _Failed
        self.flaky = []  # what the program itself said in earlier runs
        self.runs = 0
        self.last = None

    def _name(self, line):
        """The name of a result that failed, without the reason behind it."""
        known = [name for name in self.names if line == name or line.startswith(name + ":")]
        return max(known, key=len, default=line.partition(": ")[0])

    def add(self, results):
        """The program has run once more."""
        if self.last:
            self.flaky += self.last.flaky
        self.runs += 1
        self.last = results
        self.names.update(results.passed)
        failed = {self._name(line): line for line in results.failed}
        for one in self.failed:
            name = self._name(one.line)
            if name in failed:
                del failed[name]
                one.failures += 1
                one.passes = 0
            elif like(results.passed, name) or not results.failed + like(results.skipped, name):
                one.passes += 1
        self.failed += [_Failed(line, self.is_listed(line)) for line in failed.values()]

    def goes_on(self):
        """Whether another run may decide."""
        return self.runs < MOST_RUNS and any(not one.settled() for one in self.failed) and all(
            one.failures <= one.may_fail for one in self.failed)

    def results(self):
        """The last run's results, with what the others made flaky, unsettled or failed."""
        results = self.last
        for one in self.failed:
            name = self._name(one.line)
            if one.settled() and one.failures <= one.may_fail:
                results.failed_before(name, one.line, one.passes)
            elif name not in map(self._name, results.failed):
                results.take_back(name)
                results.failed.append("%s (failed %d of %d times)" %
                                      (one.line, one.failures, self.runs))
        for name, *rest in self.flaky:
            if name not in [other for other, *_ in results.flaky]:
                results.failed_before(name, *rest)
        return results


class Unsettled:
    """
    The entries of tests/unsettled: lines "YYYY-MM-DD SECTION PROGRAM: RESULT  WHAT WAS SEEN", with
    RESULT as in tests/flaky. Raises ValueError.
    """

    def __init__(self, text):
        self.entries = {}  # "SECTION PROGRAM: RESULT" -> when it was added
        for number, line in enumerate(text.splitlines(), 1):
            if not line or line.startswith("#"):
                continue
            name, _, seen = line.partition("  ")
            match = re.match(r"(\d{4}-\d\d-\d\d) (\S+ \S+: \S.*)$", name)
            if not match or not seen.strip():
                raise ValueError(
                    "unsettled:%d: not YYYY-MM-DD SECTION PROGRAM: RESULT  WHAT WAS SEEN" % number)
            try:
                self.entries[match.group(2)] = datetime.date.fromisoformat(match.group(1))
            except ValueError as error:
                raise ValueError("unsettled:%d: %s" % (number, error)) from error

    def wrong(self, today):
        """The entries that are too old, or of a day to come, in words."""
        return [
            "%s: of %s, %s" %
            (name, day, "in the future" if day > today else "older than %d days" % OLDEST)
            for name, day in self.entries.items() if not 0 <= (today - day).days <= OLDEST
        ]

    def line(self, name, first):
        """What is said of a result that is unsettled now: its entry, as it is or is to be."""
        program, _, result = name.partition(": ")
        for entry, day in self.entries.items():
            if like([name], entry):
                return "%s %s  %s (it has an entry)" % (day, entry, first)
        # Counts at the end of a name differ from run to run.
        return "%s %s: %s  %s" % (datetime.date.today(), program, re.split(r": \d",
                                                                           result)[0], first)
