#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""tests/run itself: programs that pass, fail, die, hang, keep silent or are flaky. Prints TAP."""
import argparse
import contextlib
import datetime
import glob
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
import beside  # noqa: E402  pylint: disable=wrong-import-position
import lanes  # noqa: E402  pylint: disable=wrong-import-position
import relay  # noqa: E402  pylint: disable=wrong-import-position
import settle  # noqa: E402  pylint: disable=wrong-import-position
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
# Each run prints the next of the lines, or pieces that have lines of their own; the last one again
# and again.
PRINTS = [
    "sh", "-c", """f=$0; echo >>"$f"; n=$(wc -l <"$f"); if test $n -gt $#; then n=$#; fi
shift $((n - 1)); printf "$1\\n"; case $1 in *not*) exit 1;; esac"""
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
    """Each entry of tests/flaky and tests/unsettled is of a live test that is there."""
    names = [*tap.Known(runner.FLAKY).reasons, *runner.read_unsettled().entries]
    live = {"live " + name for name, *_ in runner.scripts("tests/live", {}, 0)}
    return {name.partition(": ")[0] for name in names} <= live | {"vm guests"}


def none_too_old():
    wrong = runner.read_unsettled().wrong(datetime.date.today())
    print("\n".join("# " + line for line in wrong))
    return not wrong


def section(programs, text="", unsettled="", **options):
    """A section's run, with lists of flaky and unsettled results that have these texts."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        run = runner.Run(tap.Known(file.name), settle.Unsettled(unsettled))
    with contextlib.redirect_stdout(io.StringIO()):
        run.section("s", programs, **options)
    return run


def counts(run):
    return [
        len(lines) for lines in (run.total.passed, run.total.failed, run.total.skipped, run.flaky,
                                 run.unsettled)
    ]


def runs(*outputs, text="", again=True):
    """The run of one program that prints these one after the other, and how often it ran."""
    with tempfile.TemporaryDirectory() as directory:
        been = os.path.join(directory, "been")
        run = section([("p", [*PRINTS, been, *outputs], {}, 10)], text, again=again)
        with open(been, encoding="ascii") as file:
            return run, len(file.readlines())


def tried(*outputs, **options):
    """The same, counted: passed, failed, skipped, flaky and unsettled, and the runs."""
    run, count = runs(*outputs, **options)
    return [*counts(run), count]


def says(word, text=""):
    """The counts where the program says itself that a result failed first."""
    return counts(section([("p", ["echo", f"ok 1 - a: 3 runs # {word} a was late"], {}, 10)], text))


def entry_of(unsettled):
    """What is said of a result that is unsettled, with this list."""
    return settle.Unsettled(unsettled).line("live t.py: workload a: 1 runs, 30 pairs", "late")


def is_entry(line, days=0):
    """Whether a list takes this line, so many days after 2026-03-01; False if it refuses it."""
    try:
        listed = settle.Unsettled(line + "\n")
    except ValueError:
        return None
    return not listed.wrong(datetime.date(2026, 3, 1) + datetime.timedelta(days))


def chosen(*words):
    """What the runner answers to names and options, without running anything."""
    options = argparse.Namespace(names=[word for word in words if word != "--times"],
                                 times=2 * ("--times" in words))
    try:
        return runner.find_programs(options)
    except ValueError:
        return False


def loaded():
    """The load is there for as long as its block, and no longer."""
    with beside.load(2):
        children = runner.execute(
            ["ps", "-o", "args=", "--ppid", str(os.getpid())], dict(os.environ), 10)[0]
    left = runner.execute(
        ["ps", "-o", "args=", "--ppid", str(os.getpid())], dict(os.environ), 10)[0]
    return children.count("beside.py") == 2 and "beside.py" not in left


# Leaves for each run of it "NAME begins" and "NAME ends". Fails at its first run where it is told to,
# and waits for another program to begin.
NOTES = """cd "$0"; n=$1; test -e $n.ran; first=$?; : >$n.ran; echo $n begins >>notes
i=0; while test -n "$3" -a ! -e "$3.ran" -a $i -lt 200; do sleep 0.05; i=$((i + 1)); done
sleep 0.1; echo $n ends >>notes; test $2$first = fails1 && echo not ok - $n: late && exit 1
echo ok - $n"""


def laned(*programs, again=False):
    """What programs (name, whether it fails first, whom it waits for) left; x and y have it alone."""
    with tempfile.TemporaryDirectory() as directory:
        commands = [(name, ["sh", "-c", NOTES, directory, name, *rest], {}, 30)
                    for name, *rest in programs]
        run = section(commands,
                      together=2,
                      again=again,
                      is_alone=lambda program: program[0] in "xy")
        with open(os.path.join(directory, "notes"), encoding="ascii") as file:
            return [line.split() for line in file], run


def most_at_once(notes):
    """{name: how many ran at once, at most, while it did}"""
    running, most = set(), {}
    for name, what in notes:
        (running.add if what == "begins" else running.discard)(name)
        for one in running:
            most[one] = max(most.get(one, 0), len(running))
    return most


def in_lanes():
    """Two at a time, and no third one; who has the machine alone comes last."""
    notes, run = laned(("x", "", ""), ("a", "", "b"), ("b", "", "a"), ("c", "", ""), ("y", "", ""))
    most = most_at_once(notes)
    return max(most.values()) == most["a"] == most["b"] == 2 and most["x"] == most[
        "y"] == 1 and [name for name, _ in notes[-4:]] == ["x", "x", "y", "y"] and len(
            run.total.passed) == 5


def alone_again():
    """What failed runs again when nothing else does."""
    notes, run = laned(("a", "fails", "b"), ("b", "", "a"), ("x", "", ""), again=True)
    return notes[4:] == [[name, what] for name in "xaaa"
                         for what in ("begins", "ends")] and counts(run) == [3, 0, 0, 0, 1]


def reasons():
    """Each program that has the machine alone says why, and live programs have an order."""
    live = runner.scripts("tests/live", {}, 0)
    said = [lanes.reason(path) for path in glob.glob(os.path.join(ROOT, "tests/live/*"))
            if os.path.isfile(path)]
    return "" not in said and any(said) and None in said and sorted(live) == sorted(
        lanes.ordered(live)) and lanes.ordered(live) == lanes.ordered(live[::-1])


def summed_up():
    """The last line counts, and flaky results and slow tests are named before it."""
    run = section([("p", ["printf",
                          "ok - a # FLAKY was late\\nok - b # UNSETTLED b: slow"], {}, 10)])
    with contextlib.redirect_stdout(io.StringIO()) as out:
        run.summary(runner.Stopwatch())
    lines = out.getvalue().splitlines()
    flaky = [line for line in lines if "s p: a: failed first: was late" in line]
    slow = lines[lines.index("== slowest") + 1]
    unsettled = lines[-3] == "   %s s p: b  b: slow" % datetime.date.today()
    return lines[-1] == "1 passed, 1 failed, 0 skipped" and flaky and unsettled and slow.endswith(
        ": s p")


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
A, NOT_A, SKIP_A = "ok - a\\n", "not ok - a: late\\n", "ok - a # SKIP hidden\\n"
B, NOT_B, FLAKY_B = "ok - b\\n", "not ok - b: late\\n", "ok - b # FLAKY late\\n"
MORE = [
    ("a hanging program is ended", hangs), ("who outlives a program is not waited for", is_left),
    ("a section without a program fails", lambda: counts(section([])) == [0, 1, 0, 0, 0]),
    ("a program that fails is not tried again",
     lambda: tried(NOT_A, A, text=ENTRY, again=False) == [0, 1, 0, 0, 0, 1]),
    ("unless its section says so: three passes in a row settle it",
     lambda: tried(NOT_A, A) == [1, 0, 0, 0, 1, 4]),
    ("an entry is printed for it",
     lambda: runs(NOT_A, A)[0].unsettled == ["%s s p: a  a: late" % datetime.date.today()]),
    ("but not two", lambda: tried(NOT_A, A, A, NOT_A, A) == [0, 1, 0, 0, 0, 4]),
    ("what fails twice fails at once", lambda: tried(NOT_A) == [0, 1, 0, 0, 0, 2]),
    ("another result has to pass three times by itself",
     lambda: tried(NOT_A + B, A + NOT_B, A + B) == [2, 0, 0, 0, 2, 5]),
    ("what had no time to pass so often fails with the other one",
     lambda: tried(NOT_A + B, A + NOT_B, A + NOT_B) == [0, 2, 0, 0, 0, 3]),
    ("a result that is skipped then has not passed",
     lambda: tried(NOT_A, SKIP_A) == [0, 1, 1, 0, 0, 9]),
    ("a death is settled by runs to the end",
     lambda: tried("1..2\\n" + A, "1..2\\n" + A + B) == [3, 0, 0, 0, 1, 4]),
    ("and by no other ones", lambda: tried("1..2\\n" + A)[1] == 1),
    ("what only a failure prints, too", lambda: tried(NOT_A, B) == [2, 0, 0, 0, 1, 4]),
    ("a listed result has to pass once", lambda: tried(NOT_A, A, text=ENTRY) == [1, 0, 0, 1, 0, 2]),
    ("and may fail twice", lambda: tried(NOT_A, NOT_A, A, text=ENTRY) == [1, 0, 0, 1, 0, 3]),
    ("but not three times", lambda: tried(NOT_A, text=ENTRY) == [0, 1, 0, 0, 0, 3]),
    ("what each run says of a result counts once",
     lambda: tried(NOT_A + FLAKY_B, A + FLAKY_B) == [1, 1, 0, 1, 1, 4]),
    ("what an earlier run says of another result stays",
     lambda: tried(NOT_A + FLAKY_B, A + B) == [1, 1, 0, 1, 1, 4]),
    ("a program may say that it tried again", lambda: says("FLAKY") == [0, 1, 0, 1, 0]),
    ("and passes if that is listed", lambda: says("FLAKY", ENTRY) == [1, 0, 0, 1, 0]),
    ("or if it passed three times", lambda: says("UNSETTLED") == [1, 0, 0, 0, 1]),
    ("which is flaky, too, where it is listed",
     lambda: says("UNSETTLED", ENTRY) == [1, 0, 0, 1, 0]),
    ("an entry of the unsettled has a day, a result and what was seen",
     lambda: is_entry("2026-03-01 live t.py: a b  late") and all(
         is_entry(line) is None
         for line in ("live t.py: a  late", "2026-03-01 live t.py: a", "2026-02-30 live t.py: a  x",
                      "2026-03-01 live t.py  late"))),
    ("it holds for 14 days",
     lambda: [is_entry("2026-03-01 live t.py: a  late", days)
              for days in (-1, 0, 14, 15)] == [False, True, True, False]),
    ("no entry is older", none_too_old),
    ("an unsettled result's entry is without counts",
     lambda: entry_of("") == "%s live t.py: workload a  late" % datetime.date.today()),
    ("and the one that is there is found", lambda: entry_of("2026-03-01 live t.py: workload a  x")
     == "2026-03-01 live t.py: workload a  late (it has an entry)"),
    ("programs are chosen by name", lambda: chosen("where.py", "test_map") ==
     ["where.py", "test_map"] and chosen("live") is None and chosen() is None),
    ("or all of a section, to run them several times",
     lambda: "runner.py" in chosen("golden", "--times") and chosen("vm", "--times") is False),
    ("other names are refused", lambda: chosen("nowhere.py") is False),
    ("a load lasts as long as the run", loaded),
    ("programs run in lanes, but for those that are alone", in_lanes),
    ("what failed runs again when the lanes are empty", alone_again),
    ("who has the machine alone says why", reasons),
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
