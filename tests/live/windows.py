#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Sums over a capture in windows, each of which is looked at by a process of its own, are those over
the capture in one piece. The load has more tasks than CPUs, so that some are ready for longer than a window.
"""

import json
import os
import subprocess
from itertools import zip_longest

from _load import wait_in_many_ways
from _live import CLEW, answer, finish, ok, run, scratch, start_recording, stop_recording

LENGTH = 5  # s
WINDOWS = 8  # about
HELD = 1.05  # s: a lock, for longer than a window


def work(place, seconds):
    """Waits of many kinds, with locks that are held for long, and more tasks than CPUs."""
    commands = [["timeout", str(seconds), "sh", "-c", "while :; do :; done"]] * 2
    commands.append(["timeout", str(seconds), "sh", "-c", "while :; do echo; done | cat"])
    others = [subprocess.Popen(each, stdout=subprocess.DEVNULL) for each in commands]
    wait_in_many_ways(place, seconds, (0.001, 0.002, HELD), 0)
    for each in others:
        each.wait()


def ask(records, *arguments):
    """Returns status, answer, and errors, with windows of so many records."""
    done = run(CLEW, *arguments, env=dict(os.environ, CLEW_WINDOW_RECORDS=str(records)))
    return done.returncode, done.stdout, done.stderr.splitlines()


def parts(one, other):
    """The fields of two answers that differ, with an example of each."""
    found = []
    for field in sorted(set(one) | set(other)):
        a, b = one.get(field), other.get(field)
        if a == b:
            continue
        if isinstance(a, list) and isinstance(b, list):
            a, b = {json.dumps(each) for each in a}, {json.dumps(each) for each in b}
            found.append("%s: %d and %d of %d, as %s and %s" %
                         (field, len(a - b), len(b - a), len(a | b), sorted(a - b)[:2],
                          sorted(b - a)[:2]))
        else:
            found.append("%s: %s and %s" % (field, a, b))
    return found


def compare(capture, total, command, *arguments):
    """The answer in windows against that in one piece."""
    name = " ".join((command, *arguments))
    whole = ask(1 << 40, command, capture, "--json", *arguments)
    windows = ask(total // WINDOWS, command, capture, "--json", *arguments)
    good = whole[0] == windows[0] == 0
    ok(good, "%s: both ways answer" % name, "%s; %s" % (whole[2], windows[2]))
    if not good:
        return
    one, other = json.loads(whole[1]), json.loads(windows[1])
    # Changes are tried on a capture in one piece, and on one with few runs (docs/answers.md).
    for each in (one, other):
        each.pop("would_help", None)
    size = max((len(each) for each in one.values() if isinstance(each, list)), default=0)
    found = parts(one, other)
    ok(not found and size, "%s: the answer in windows is that in one piece" % name,
       "%d rows; %s" % (size, "; ".join(found)))


def compare_text(capture, total, *arguments):
    """The same of text, if it is about something."""
    name = " ".join(arguments)
    whole = ask(1 << 40, *arguments, capture)
    windows = ask(total // WINDOWS, *arguments, capture)
    rows = zip_longest(whole[1].splitlines(), windows[1].splitlines())
    ok(whole[0] == windows[0] == 0 and whole[1].count("\n") > 20 and whole[1] == windows[1],
       "%s: the text in windows is that in one piece" % name,
       "%s; %s; %s" % (whole[2], windows[2], [row for row in rows if row[0] != row[1]][:3]))


def refuse(capture, total, command, *arguments):
    """What is wrong is told in the same words."""
    whole = ask(1 << 40, command, capture, *arguments)
    windows = ask(total // WINDOWS, command, capture, *arguments)
    ok(whole[0] == windows[0] == 2 and whole[2] == windows[2] and len(whole[2]) == 1,
       "%s %s is refused in the same words" % (command, " ".join(arguments)),
       "%s; %s" % (whole[2], windows[2]))


def main():
    capture, place = scratch("capture"), scratch("place")
    os.makedirs(place)
    # Otherwise its threads are named after the script or after Python, as it was started.
    with open("/proc/self/comm", "w", encoding="ascii") as name:
        name.write("python-work")
    recorder = start_recording(capture)
    try:
        work(place, LENGTH)
    finally:
        stop_recording(recorder)
    total = sum(answer("info", capture)["events"].values())
    ok(total > 20000, "the capture is worth windows", "%d records" % total)
    compare(capture, total, "blame")
    compare(capture, total, "blame", "--victims", "(^python)", "--antagonists", "(^sh-)")
    compare(capture, total, "blame", "--victims",
            "(^python) where suspended_duration > duration(1s)")
    for key in "object", "kind", "task", "call", "holder":
        compare(capture, total, "waits", "--by", key)
    compare(capture, total, "waits", "--by", "kind", "--comm", "python*", "--idle")
    compare(capture, total, "locks")
    compare(capture, total, "latency", "--by", "kind")
    compare(capture, total, "latency", "--by", "operation")
    compare(capture, total, "latency", "--by", "operation", "--group", "cgroup", "--comm", "cat")
    compare(capture, total, "latency", "--by", "call", "--group", "thread", "--idle")
    compare(capture, total, "latency", "--by", "lock", "--group", "comm")
    compare_text(capture, total, "path", "--all", "**", "--operations")
    compare_text(capture, total, "path", "--all", "(^python)", "--operations", "--idle",
                 "poll,pipe,sleep,futex", "--strategy", "predecessor")
    refuse(capture, total, "waits", "--by", "kind", "--comm", "nobody")
    refuse(capture, total, "locks", "--cgroup", "/nothing")
    refuse(capture, total, "latency", "--tid", "4194304")
    compare(capture, total, "io", "--self")
    compare(capture, total, "io", "--cgroup", "/*")
    compare(capture, total, "report")
    compare(capture, total, "report", "--comm", "python*")
    refuse(capture, total, "blame", "--victims", "nobody")
    refuse(capture, total, "blame", "--cgroup", "/nothing")
    finish()


main()
