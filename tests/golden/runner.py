#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""tests/run itself: what it makes of programs that pass, fail, die, hang or keep silent. Prints TAP."""
import importlib.machinery
import importlib.util
import os
import sys

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


def main():
    failed = 0
    print("1..%d" % (len(CASES) + 1))
    for number, (name, output, status, *expected) in enumerate(CASES, 1):
        results = runner.parse(output, status)
        got = [results.passed, len(results.failed), len(results.skipped)]
        if got == expected:
            print("ok %d - %s" % (number, name))
        else:
            failed += 1
            print("not ok %d - %s: %r instead of %r" % (number, name, got, expected))
    _, _, status = runner.execute(["sleep", "60"], dict(os.environ), 0.2)
    if status is None:
        print("ok %d - a hanging program is ended" % (len(CASES) + 1))
    else:
        failed += 1
        print("not ok %d - a hanging program is ended: status %r" % (len(CASES) + 1, status))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
