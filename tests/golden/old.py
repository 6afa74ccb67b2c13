#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Captures of earlier formats, in tests/golden/old/, still give their answers. Prints TAP.

A capture is NAME.clew, its answers are NAME.ANSWER.txt.xz and .json.xz, written
once by the clew that recorded it, in JSON by the first one of their format. Text is compared byte by
byte. In JSON a later clew may add fields (docs/answers.md); all that was there must be there
unchanged, whatever its number in a table.

Usage: old.py [--write NAME]    --write: store the answers about a capture that was
recorded just now
"""
import glob
import json
import lzma
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from _trace import CLEW, Tap, resolved  # noqa: E402  pylint: disable=wrong-import-position

OLD = os.path.join(HERE, "old")
# The whole list, in order of time.
WHOLE = ["--idle", "--sort", "start"]
# name of the answer, command and options
ANSWERS = [("info", ["info"]), ("waits", ["waits", *WHOLE]), ("edges", ["edges", "--self", *WHOLE]),
           ("why", ["why", "--slowest", "40"]), ]


def answers(name):
    """(file, output) of each answer, asked where the capture lies, so that no path is in it."""
    for answer, command in ANSWERS:
        for ending, options in (("txt", []), ("json", ["--json"])):
            done = subprocess.run([CLEW, *command, *options, name + ".clew"],
                                  cwd=OLD,
                                  capture_output=True,
                                  timeout=120,
                                  check=False)
            output = done.stdout if done.returncode == 0 else b"exit status %d: %s" % (
                done.returncode, done.stderr)
            yield "%s.%s.%s.xz" % (name, answer, ending), output


def difference(got, expected):
    """The first line that differs."""
    if got == expected:
        return ""
    pairs = zip(got.split(b"\n") + [b""], expected.split(b"\n") + [b""])
    number, (ours, theirs) = next(
        (n, pair) for n, pair in enumerate(pairs, 1) if pair[0] != pair[1])
    at = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b),
              min(len(ours), len(theirs)))
    return "line %d, byte %d: %r instead of %r" % (number, at, ours[max(0, at - 40):at + 40],
                                                   theirs[max(0, at - 40):at + 40])


def lost(got, expected, path="$"):
    """Where a JSON answer lacks something of an earlier one, or says something else; "" nowhere."""
    if isinstance(expected, dict) and isinstance(got, dict):
        for key, value in expected.items():
            if key not in got:
                return "%s.%s is gone" % (path, key)
            found = lost(got[key], value, "%s.%s" % (path, key))
            if found:
                return found
        return ""
    if isinstance(expected, list) and isinstance(got, list) and len(got) == len(expected):
        pairs = enumerate(zip(got, expected))
        return next(filter(None, (lost(a, b, "%s[%d]" % (path, i)) for i, (a, b) in pairs)), "")
    return "" if got == expected else "%s: %.80r instead of %.80r" % (path, got, expected)


def without_tables(answer):
    tables = ("tasks", "objects", "stacks", "hops", "calls", "activities")
    return {key: value for key, value in resolved(answer).items() if key not in tables}


def problem(file, output, expected):
    """What is wrong with an answer; "" nothing."""
    if not file.endswith(".json.xz") or not output.startswith(b"{"):
        return difference(output, expected)
    return lost(*(without_tables(json.loads(answer)) for answer in (output, expected)))


def main():
    if sys.argv[1:2] == ["--write"]:
        for file, output in answers(sys.argv[2]):
            with open(os.path.join(OLD, file), "wb") as out:
                out.write(lzma.compress(output, preset=9 | lzma.PRESET_EXTREME))
        return 0
    tap = Tap()
    for capture in sorted(glob.glob(os.path.join(OLD, "*.clew"))):
        for file, output in answers(os.path.basename(capture)[:-len(".clew")]):
            with open(os.path.join(OLD, file), "rb") as expected:
                tap.report(file[:-len(".xz")],
                           problem(file, output, lzma.decompress(expected.read())))
    tap.report("there is an old capture", "" if tap.count else "none in " + OLD)
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
