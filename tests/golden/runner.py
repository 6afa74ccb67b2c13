#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""tests/run itself: programs that pass, fail, die, hang, keep silent or are flaky. Prints TAP."""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "vm"))
loader = importlib.machinery.SourceFileLoader("runner", os.path.join(HERE, "..", "run"))
runner = importlib.util.module_from_spec(importlib.util.spec_from_loader("runner", loader))
loader.exec_module(runner)
import relay  # noqa: E402  pylint: disable=wrong-import-position
import tap  # noqa: E402  pylint: disable=wrong-import-position

# name, output, exit status; passed, failed, skipped
CASES = [("all pass", "1..2\nok 1 - a\nok 2 - b\n", 0, 2, 0, 0),
         ("plan at the end", "ok 1 - a\nok 2 - b\n1..2\n", 0, 2, 0, 0),
         ("one fails", "1..2\nok 1 - a\nnot ok 2 - b: why\n", 1, 1, 1, 0),
         ("a failure without a status", "1..1\nnot ok 1 - b\n", 0, 0, 1, 0),
         ("a skip with its reason", "1..1\nok 1 - a # SKIP no kernel\n", 0, 0, 0, 1),
         ("a skip as cmocka writes it", "1..1\nok 1 # SKIP a\n", 0, 0, 0, 1),
         ("everything skipped", "1..0 # SKIP not root\n", 0, 0, 0, 1), ("silence", "", 0, 0, 1, 0),
         ("only words", "hello\n# ok then\n", 0, 0, 1, 0),
         ("death after results", "1..1\nok 1 - a\n", -11, 1, 1, 0),
         ("a hang", "ok 1 - a\n", None, 1, 1, 0),
         ("fewer than planned", "1..3\nok 1 - a\n", 0, 1, 1, 0),
         ("two groups, the second cut short", "1..1\nok 1 - a\n1..2\nok 1 - b\n", 0, 2, 1, 0),
         ("a status nothing explains", "1..1\nok 1 - a\n", 1, 1, 1, 0),
         ("bail out", "1..1\nok 1 - a\nBail out! no memory\n", 1, 1, 1, 0),
         ("a name that begins like a result", "ok 1 - not ok is a word\nokay\n", 0, 1, 0, 0), ]

# What leaves a process behind that has its output open, and what fails the first time only.
LEAVES = ["sh", "-c", "sleep 60 & echo ok 1 - a"]
FAILS_FIRST = [
    "sh", "-c",
    "echo >>\"$0\"; if test $(wc -l <\"$0\") -gt $1; then echo ok 1 - a; else echo not ok 1 - a; exit 1; fi"
]


def hangs():
    return runner.execute(["sleep", "60"], dict(os.environ), 0.2)[2] is None


def is_left():
    begun = time.monotonic()
    out, _, status = runner.execute(LEAVES, dict(os.environ), 50)
    return status == 0 and out == "ok 1 - a\n" and time.monotonic() - begun < 40


def is_known(text, name):
    """What a list with this text has as the reason of a result; False if it refuses the text."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        try:
            return tap.Known(file.name).reason(name)
        except ValueError:
            return False


def committed():
    """Each entry of tests/flaky is of a live test that is there."""
    known = tap.Known(runner.FLAKY)
    programs = {entry.partition(": ")[0] for entry in known.reasons}
    live = {"live " + name for name, *_ in runner.scripts("tests/live", {}, 0)}
    return programs <= live | {"vm guests"}


def section(programs, text="", **options):
    """A section's run, with a list of flaky results that has this text."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        run = runner.Run(tap.Known(file.name))
    with contextlib.redirect_stdout(io.StringIO()):
        run.section("s", programs, **options)
    return run


def counts(run):
    return [len(run.total.passed), len(run.total.failed), len(run.total.skipped), len(run.flaky)]


def fails_first(failures, text="", tries=2):
    """Passed, failed, skipped and flaky where a program fails that often first."""
    with tempfile.TemporaryDirectory() as directory:
        command = FAILS_FIRST + [os.path.join(directory, "been"), str(failures)]
        return counts(section([("p", command, {}, 10)], text, tries=tries))


def says_flaky(text=""):
    """The same where the program says itself that a result is flaky."""
    return counts(section([("p", ["echo", "ok 1 - a: 3 runs # FLAKY a was late"], {}, 10)], text))


def summed_up():
    """The last line counts, and flaky results and slow tests are named before it."""
    run = section([("p", ["echo", "ok 1 - a # FLAKY was late"], {}, 10)])
    with contextlib.redirect_stdout(io.StringIO()) as out:
        run.summary(runner.Stopwatch())
    lines = out.getvalue().splitlines()
    flaky = [line for line in lines if "s p: a: failed first: was late" in line]
    slow = lines[lines.index("== slowest") + 1]
    return lines[-1] == "0 passed, 1 failed, 0 skipped" and flaky and slow.endswith(": s p")


def relayed(*tries):
    """TAP of a guest's test, tried so often."""
    first = {}
    with contextlib.redirect_stdout(io.StringIO()) as out:
        for number, lines in enumerate(tries, 1):
            one = relay.Relay("6.1", relay.Tap(), number < len(tries), first)
            for line in ["# file t.py", *lines]:
                one.line(line)
            one.tell()
            first = one.again
    return [line for line in out.getvalue().splitlines() if not line.startswith("#")]


PASSES_THEN = ["ok 1 - 6.1: t.py: a # FLAKY 6.1: t.py: a: late", "ok 2 - 6.1: t.py: b"]
ENTRY = "s p: a  it is slow\n"
MORE = [
    ("a hanging program is ended", hangs), ("who outlives a program is not waited for", is_left),
    ("a section without a program fails", lambda: counts(section([])) == [0, 1, 0, 0]),
    ("a program that fails is not tried again",
     lambda: fails_first(1, ENTRY, tries=1) == [0, 1, 0, 0]),
    ("unless its section says so; what passes then fails", lambda: fails_first(1) == [0, 1, 0, 1]),
    ("or passes if it is listed", lambda: fails_first(1, ENTRY) == [1, 0, 0, 1]),
    ("what fails twice fails, listed or not", lambda: fails_first(2, ENTRY) == [0, 1, 0, 0]),
    ("a program may say that it tried again", lambda: says_flaky() == [0, 1, 0, 1]),
    ("and passes if that is listed", lambda: says_flaky(ENTRY) == [1, 0, 0, 1]),
    ("flaky and slow tests are named at the end", summed_up),
    ("an entry is for names that go on after it",
     lambda: is_known(ENTRY, "s p: a: 3 runs") == "it is slow"),
    ("but not for other names", lambda: is_known(ENTRY, "s p: ab") is None),
    ("an entry without a reason is refused", lambda: is_known("s p: a\n", "s p: a") is False),
    ("so is one without a result", lambda: is_known("s p  why\n", "s p: a") is False),
    ("the list's entries are of tests that are there", committed),
    ("a guest's test that passes is printed at once",
     lambda: relayed(["ok 1 - a"], []) == ["ok 1 - 6.1: t.py: a"]),
    ("one that passes on a second try is flaky",
     lambda: relayed(["not ok 1 - a: late"], ["ok 1 - a", "ok 2 - b"]) == PASSES_THEN),
    ("one that fails twice fails",
     lambda: relayed(["not ok 1 - a: late"], ["not ok 1 - a"]) == ["not ok 1 - 6.1: t.py: a"]),
]


def main():
    failed = 0
    print("1..%d" % (len(CASES) + len(MORE)))
    for number, (name, output, status, *expected) in enumerate(CASES, 1):
        results = tap.parse(output, status)
        got = [len(results.passed), len(results.failed), len(results.skipped)]
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
