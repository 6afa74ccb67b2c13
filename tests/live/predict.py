#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""clew what-if against reality: sleeps, and a lock's section, of a recorded program are shortened in a prediction, and really; both take as long. Prints TAP."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import _live  # noqa: E402  pylint: disable=wrong-import-position

TOLERANCE = 0.05
TRIES = 3

# What is run, with a delay; the delay before and after; by what the sleeps of that length are scaled.
CASES = [
    ("children that sleep one after the other", "for i in 1 2 3 4 5 6 7 8; do sleep %s; done; :", "0.2", "0.1", ".5"),
    ("a lock's section", "f=$(mktemp); flock $f sleep %s & flock $f sleep %s & flock $f sleep %s; wait; rm $f", "0.4", "0.2", ".5"),
    ("a child that sleeps longer than another one", "sleep %s & wait; sleep %s & sleep 0.1; wait; :", "0.8", "0.4", ".5"),
]


def taken(answer, shell):
    """ns from the start of the shell's first child to the shell's end."""
    spans = {s["path"]: s for s in answer["spans"]}
    children = [e["span"] for d in answer["dependencies"] if d["type"] == "fork" and d["origins"] and d["origins"][0]["span"] == shell
                for e in d["destinations"]]
    return spans[shell]["end"] - min(spans[child]["start"] for child in children)


def record(name, command):
    """Records a shell; returns the capture and the path of its span."""
    capture = _live.scratch(name + ".clew")
    done = _live.clew("record", "-o", capture, "--", "sh", "-c", "echo $$; " + command)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return capture, "sh-" + done.stdout.split()[0]


def attempt(number, command, before, after, factor):
    """The predicted and the real time."""
    capture, shell = record("%d-before" % number, command.replace("%s", before))
    program = "scale waits(sleep) spans(%s => * where total_duration > duration(150ms)) by %s;" % (shell, factor)
    predicted = taken(_live.answer("what-if", capture, program), shell)
    recorded = taken(_live.answer("dump", capture), shell)
    capture, shell = record("%d-after" % number, command.replace("%s", after))
    return recorded, predicted, taken(_live.answer("dump", capture), shell)


def main():
    if _live.GUEST:
        _live.skip_all("an emulated machine is too slow to keep times by")
    for number, (name, command, before, after, factor) in enumerate(CASES):
        # The machine may be busy with something else at one of both times.
        for _ in range(TRIES):
            recorded, predicted, real = attempt(number, command, before, after, factor)
            _live.note("%s: %.1f ms, predicted %.1f ms, really %.1f ms" % (name, recorded / 1e6, predicted / 1e6, real / 1e6))
            if abs(predicted - real) <= TOLERANCE * real:
                break
        _live.ok(abs(predicted - real) <= TOLERANCE * real and predicted < recorded * 0.9, name + ": as predicted within 5 %",
                 "predicted %d ns, really %d ns" % (predicted, real))
    _live.finish()


if __name__ == "__main__":
    main()
