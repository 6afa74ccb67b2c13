#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
`tools/bench cost` computes its table from what is measured: medians over the rounds, each arm's rate
beside those before and after it, and programs by the switches of the machine. Prints TAP.
"""
import os
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path[:0] = [os.path.join(ROOT, "tools"), os.path.dirname(os.path.abspath(__file__))]
from _trace import Tap  # noqa: E402  pylint: disable=wrong-import-position
from cost import table  # noqa: E402  pylint: disable=wrong-import-position
from cost.arms import Used  # noqa: E402  pylint: disable=wrong-import-position

tap = Tap()


class Paced:
    """A workload whose rates are given; the last without a tracer is left for the next round."""
    unit = "units"

    def __init__(self, rates):
        self.rates = list(rates)

    def rate(self, _):
        return self.rates.pop(0)


class Tracer:
    """An arm that takes one more second of CPU each time that it is asked."""
    name, version, ours, stopped = "clew record", "", True, False

    def __init__(self):
        self.asked = 0

    def __call__(self, _):
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def used(self):
        self.asked += 1
        return Used({"clew-encode": self.asked, "clew": 0.5}, 7 * self.asked, 100 * self.asked)


options = table.parse(["idle", "--rounds", "3", "--seconds", "2", "--warm", "0", "--no-programs"])
figures = table.Arms(Tracer())
# The first is the warm-up's; then without, with and without a tracer, in turn.
work = Paced([1, 100, 90, 100, 60, 100, 80, 60])
table.measure(work, [figures], options, "", lambda line: None)
tap.same("each rate without a tracer serves the arms on both sides of it", work.rates, [])
tap.same("a change is that to the mean of the rates before and after", figures.changes,
         [90 / 100 - 1, 60 / 100 - 1, 80 / 80 - 1])
tap.same("the median, the least and the most", figures.change(),
         (90 / 100 - 1, 60 / 100 - 1, 80 / 80 - 1))

figures.used = [(Used({"clew-encode": 1.0, "clew": 0.5}, 20, 300), 2, 100),
                (Used({"clew-encode": 3.0}, 40, 500), 2, 100),
                (Used({"clew-encode": 2.0}, 30, 400), 2, 100)]
tap.same("CPU, switches and bytes are medians by second and by switch",
         (figures.cpu(), figures.switches(), figures.bytes()), (1.0, 15, 4.0))
tap.same("a thread is named by its median, zeros left out", figures.threads(),
         [(1.0, "clew-encode")])

figures.runs.update({"clew_waited": 100, "clew_sample": 10})
figures.nanoseconds.update({"clew_waited": 20000, "clew_sample": 60000})
figures.counted, figures.counted_seconds = 200, 0.5
tap.same("programs: share, runs a switch, nanoseconds a run, most first", figures.programs(),
         [(0.75, "clew_sample", 0.05, 6000.0), (0.25, "clew_waited", 0.5, 200.0)])
tap.same("programs: seconds of CPU a second", figures.programs_cpu(), 0.00016)

done = subprocess.run(
    [sys.executable, os.path.join(ROOT, "tools", "bench"), "cost", "mysql"],
    capture_output=True,
    text=True,
    check=False)
tap.report("an unknown workload: the ones that there are",
           "" if done.returncode == 2 and "pgbench" in done.stderr else done.stderr)
sys.exit(tap.end())
