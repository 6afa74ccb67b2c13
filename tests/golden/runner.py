#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""tests/run itself: what it makes of programs that pass, fail, die, hang or keep silent. Prints TAP."""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
loader = importlib.machinery.SourceFileLoader("runner", os.path.join(HERE, "..", "run"))
runner = importlib.util.module_from_spec(importlib.util.spec_from_loader("runner", loader))
loader.exec_module(runner)

# name, output, exit status; passed, failed, skipped
CASES = [
    ("all pass", "1..2\nok 1 - a\nok 2 - b\n", 0, 2, 0, 0),
    ("plan at the end", "ok 1 - a\nok 2 - b\n1..2\n", 0, 2, 0, 0),
    ("one fails", "1..2\nok 1 - a\nnot ok 2 - b: why\n", 1, 1, 1, 0),
    ("a failure without a status", "1..1\nnot ok 1 - b\n", 0, 0, 1, 0),
    ("a skip with its reason", "1..1\nok 1 - a # SKIP no kernel\n", 0, 0, 0, 1),
    ("a skip as cmocka writes it", "1..1\nok 1 # SKIP a\n", 0, 0, 0, 1),
    ("everything skipped", "1..0 # SKIP not root\n", 0, 0, 0, 1),
    ("silence", "", 0, 0, 1, 0),
    ("only words", "hello\n# ok then\n", 0, 0, 1, 0),
    ("death after results", "1..1\nok 1 - a\n", -11, 1, 1, 0),
    ("a hang", "ok 1 - a\n", None, 1, 1, 0),
    ("fewer than planned", "1..3\nok 1 - a\n", 0, 1, 1, 0),
    ("two groups, the second cut short", "1..1\nok 1 - a\n1..2\nok 1 - b\n", 0, 2, 1, 0),
    ("a status nothing explains", "1..1\nok 1 - a\n", 1, 1, 1, 0),
    ("bail out", "1..1\nok 1 - a\nBail out! no memory\n", 1, 1, 1, 0),
    ("a name that begins like a result", "ok 1 - not ok is a word\nokay\n", 0, 1, 0, 0),
]


# What leaves a process behind that has its output open, and what fails the first time only.
LEAVES = ["sh", "-c", "sleep 60 & echo ok 1 - a"]
FAILS_FIRST = ["sh", "-c", "echo >>\"$0\"; if test $(wc -l <\"$0\") -gt $1; then echo ok 1 - a; else echo not ok 1 - a; exit 1; fi"]


def hangs():
    return runner.execute(["sleep", "60"], dict(os.environ), 0.2)[2] is None


def is_left():
    begun = time.monotonic()
    out, _, status = runner.execute(LEAVES, dict(os.environ), 50)
    return status == 0 and out == "ok 1 - a\n" and time.monotonic() - begun < 40


def last_counts(patient, failures):
    """Whether a section passes whose program fails that often first."""
    with tempfile.TemporaryDirectory() as directory, contextlib.redirect_stdout(io.StringIO()):
        run = runner.Run()
        run.section("s", [("p", FAILS_FIRST + [os.path.join(directory, "been"), str(failures)], {}, 10)], patient=patient)
    return not run.total.failed and run.total.passed == 1 and len(run.again) == failures


MORE = [
    ("a hanging program is ended", hangs),
    ("who outlives a program is not waited for", is_left),
    ("a patient section runs again what failed", lambda: last_counts(True, 1)),
    ("and once more", lambda: last_counts(True, 2)),
    ("but not for ever", lambda: not last_counts(True, 3)),
    ("others do not", lambda: not last_counts(False, 1)),
]


def main():
    failed = 0
    print("1..%d" % (len(CASES) + len(MORE)))
    for number, (name, output, status, *expected) in enumerate(CASES, 1):
        results = runner.parse(output, status)
        got = [results.passed, len(results.failed), len(results.skipped)]
        if got == expected:
            print("ok %d - %s" % (number, name))
        else:
            failed += 1
            print("not ok %d - %s: %r instead of %r" % (number, name, got, expected))
    for number, (name, test) in enumerate(MORE, len(CASES) + 1):
        good = test()
        failed += not good
        print("%sok %d - %s" % ("" if good else "not ", number, name))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
