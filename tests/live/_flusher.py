# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
What the kernel itself says of its flushers, as a witness: which worker was at what order,
for what reason, and who woke it.

It comes from tracefs, in an instance of its own, and not by way of clew. Nothing depends on when a
pass happens: it has the reason that the kernel gave it, whatever the test meant it to be.
"""

import collections
import glob
import os
import re

from _graph import SLACK

TRACING = "/sys/kernel/tracing"
EVENTS = ("writeback_start", "writeback_written", "writeback_wake_background",
          "balance_dirty_pages")
# What clew may call an order that the kernel calls so.
WORDS = {
    "background": ("background", "throttled"), "vmscan": ("memory", ), "sync": ("sync", ),
    "periodic": ("periodic", )
}
# What only a flusher's order can be a reason for.
ORDERS = {word for words in WORDS.values() for word in words}
LINE = re.compile(r"^ *.*-(\d+) +\[\d+\] .{4,6} +([0-9.]+): (\w+): bdi ([^ ]+):?(.*)$")
LATE = 10**9  # ns
ROUND = 1000  # ns: its times are in us

Stint = collections.namedtuple("Stint", "began ended reason disk left pages")


def _write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def _left(text):
    return int(re.search(r"nr_pages=(-?\d+)", text)[1])


def _remove_killed():
    """Instances of tests that were killed."""
    for path in glob.glob(f"{TRACING}/instances/clew-live-*"):
        pid = path.rpartition("-")[2]
        if pid == str(os.getpid()) or not os.path.exists(f"/proc/{pid}"):
            os.rmdir(path)


class Watch:
    """
    Keeps what happens within it; `lines` afterwards, None where the kernel has
    no tracefs for us.
    """

    def __init__(self):
        self.path = f"{TRACING}/instances/clew-live-{os.getpid()}"
        self.lines = None

    def __enter__(self):
        try:
            _remove_killed()
            os.mkdir(self.path)
            _write(f"{self.path}/trace_clock", "mono")
            _write(f"{self.path}/buffer_size_kb", "4096")
            _write(f"{self.path}/events/writeback/balance_dirty_pages/filter", "pause > 0")
            for event in EVENTS:
                _write(f"{self.path}/events/writeback/{event}/enable", "1")
        except OSError:
            self._remove()
            self.path = None
        return self

    def __exit__(self, *_):
        if not self.path:
            return
        for event in EVENTS:
            _write(f"{self.path}/events/writeback/{event}/enable", "0")
        with open(f"{self.path}/trace", encoding="utf-8", errors="replace") as file:
            lines = [line.rstrip("\n") for line in file if not line.startswith("#")]
        # With a part of it missing it says something that was not so.
        if not any(self._overruns()):
            self.lines = lines
        self._remove()

    def _overruns(self):
        for path in glob.glob(f"{self.path}/per_cpu/cpu*/stats"):
            with open(path, encoding="ascii") as file:
                yield int(re.search(r"^overrun: (\d+)", file.read(), re.MULTILINE)[1])

    def _remove(self):
        try:
            os.rmdir(self.path)
        except OSError:
            pass


class Flushers:
    """
    Stints of flushers, in order: each from when it begins with some pages of an
    order until these are written.
    """

    def __init__(self, lines):
        self.known = lines is not None
        self.stints = collections.defaultdict(list)
        self.wakes = collections.defaultdict(list)
        self.pauses = collections.defaultdict(list)  # of who dirties too much
        for line in lines or ():
            match = LINE.match(line)
            if not match:
                continue
            tid, at, event, disk = int(
                match[1]), round(float(match[2]) * 1e6) * 1000, match[3], match[4].rstrip(":")
            stints = self.stints.get(tid)
            if event == "writeback_start":
                self.stints[tid].append(
                    Stint(at - ROUND, None,
                          re.search(r"reason=(\w+)", match[5])[1], disk, _left(match[5]), 0))
            elif event == "writeback_written" and stints and stints[-1].ended is None:
                stints[-1] = stints[-1]._replace(ended=at + ROUND,
                                                 pages=stints[-1].left - _left(match[5]))
            elif event == "balance_dirty_pages" and int(re.search(r" pause=(-?\d+)",
                                                                  match[5])[1]) > 0:
                self.pauses[tid].append(at)
            elif event == "writeback_wake_background":
                self.wakes[disk].append((at, tid))

    def at(self, tid, at):
        """
        The stints that a task may be in at that moment: none, one, or two where
        it is at their border.
        """
        return [
            s for s in self.stints.get(tid, ())
            if s.began - SLACK <= at and (s.ended is None or at <= s.ended + SLACK)
        ]

    def words(self, tid, at):
        """What may be said of a write that this task queues; None: it is at no order."""
        found = self.at(tid, at)
        return {word
                for stint in found
                for word in WORDS.get(stint.reason, ("unknown", ))} if found else None

    def woken_by(self, tid, at):
        """Tasks that may have woken this flusher for what it does then."""
        return {
            by
            for stint in self.at(tid, at) for moment, by in self.wakes[stint.disk]
            if moment <= stint.began + 2 * ROUND
        }

    def lately(self, at):
        """What may be said of a write by a worker that was given it up to a second ago."""
        return {
            word
            for stints in self.stints.values() for s in stints
            if s.began - SLACK <= at and (s.ended is None or at <= s.ended + LATE)
            for word in WORDS.get(s.reason, ())
        }

    def says(self, words, disks):
        """Whether any of them wrote pages of these disks for a reason that may be called so."""
        return any(s.pages > 0 and (s.disk in disks or s.disk.startswith("btrfs")) and set(words)
                   & set(WORDS.get(s.reason, ())) for stints in self.stints.values()
                   for s in stints)
