#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Answers about an interval, for which only a part of the capture is kept: each list has what the
list of the whole capture has there, field for field. Prints TAP.
"""
import json
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from _export import ask, clew, made  # noqa: E402  pylint: disable=wrong-import-position
from _trace import Tap  # noqa: E402  pylint: disable=wrong-import-position

NAMES = [
    "calls", "containers", "crowd", "devices", "discard", "disk", "doubt", "filelock", "life",
    "locks", "memory", "mutex", "names", "own", "pages", "peer", "reused", "slices", "swap",
    "timers", "work"
]
EACH = 4  # intervals of a capture
FOREVER = 1 << 63
tap = Tap()


def waits(answer):
    """(start, end, row) of each; one that is not over has no end."""
    return [(row["start"], row["end"] or FOREVER, row) for row in answer["waits"]]


def requests(answer):
    """A request's number among those that were read, and those below it, differ."""
    return [(row["queued"] or 0, row["completed"], dict(row, index=0, lower=len(row["lower"])))
            for row in answer["requests"] if row["completed"]]


def edges(answer):
    return [(min(end["at"] or 0 for end in row["from"]), max(end["at"] for end in row["to"]), row)
            for row in answer["edges"] if row["type"] != "call"]


def chosen(rows, start, end):
    return sorted(
        json.dumps(row, sort_keys=True) for begin, until, row in rows
        if begin <= end and until >= start)


def compare(name, capture, command, rows_of, options):
    """Returns how many rows were the same, 0 after a report of a difference."""
    whole = rows_of(ask(capture, command, *options))
    info = ask(capture, "info")
    draw = random.Random(name)
    found = 0
    for _ in range(EACH):
        start, end = sorted(draw.sample(range(info["start"], info["end"] + 1), 2))
        got = rows_of(ask(capture, command, *options, "--from", str(start), "--to", str(end)))
        got = chosen(got, 0, FOREVER)
        expected = chosen(whole, start, end)
        if got != expected:
            tap.report(
                "%s of %s from %d to %d" % (command, name, start, end), "%d instead of %d; %s" %
                (len(got), len(expected), list(set(got) ^ set(expected))[:2]))
            return 0
        found += len(got)
    return found


def unnumbered(answer):
    """What a path leads through; a part numbers elements and dependencies anew."""
    if isinstance(answer, dict):
        return {key: unnumbered(value) for key, value in answer.items() if key not in ("es", "dep")}
    return [unnumbered(value) for value in answer] if isinstance(answer, list) else answer


def compare_paths(name, capture):
    """
    Between two elements of each thread: ends that are no moments take all of the capture. Returns how
    many paths were the same.
    """
    spans = ask(capture, "dump")["spans"]
    first = min(span["start"] for span in spans)
    found = 0
    for span in spans:
        ran = [part for part in span["elementary"] if part["end"] > part["start"]]
        if len(ran) < 2 or "/" in span["path"]:
            continue
        ends = ran[0]["start"], ran[-1]["end"] - 1
        for command in "path", "slack":
            whole, part = (run(
                command, capture, "--json",
                *("%s=%s @ %s" % (option, span["path"], form(at))
                  for option, at in zip(("--from", "--to"), ends)))
                           for form in (lambda at: "duration(%dns)" % (at - first), str))
            if whole != part:
                tap.report("%s of %s in %s" % (command, span["path"], name),
                           "%r instead of %r" % (part, whole))
            found += whole == part and whole[0] == 0
    return found


def run(command, *arguments):
    done = clew(command, *arguments, stdout=subprocess.PIPE)
    return done.returncode, (unnumbered(json.loads(done.stdout)) if not done.returncode else None)


def main():
    total = {}
    for name in NAMES:
        capture = made(name)
        for command, rows_of, options in (("waits", waits, ["--idle", "--self"]),
                                          ("edges", edges, ["--idle"]), ("requests", requests,
                                                                         ["--idle"])):
            total[command] = total.get(command, 0) + compare(name, capture, command, rows_of,
                                                             options)
    total["path and slack"] = sum(compare_paths(name, made(name)) for name in NAMES)
    for command, count in total.items():
        tap.report("%s of intervals are as those of the whole captures" % command,
                   "" if count >= 40 else "only %d were compared" % count)
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
