# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
`tools/bench cost WORKLOAD`: what recording takes from a program that goes on for the whole run.

Each arm's rate is compared with those right before and after it, in turn, so that what drifts on
the machine falls out. Nanoseconds and CPU time are what judges a change of half a percent; the rate
decides at the end.
"""
import argparse
import collections
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

from cost.arms import Broken, all_arms, statistics_on, system_switches
from cost.work import WORKLOADS, Missing

STATISTICS_SECONDS = 2
ROW = "%-34s %10s %20s %9s %10s %9s %8s"


class Arms:
    """What each arm took, round by round."""

    def __init__(self, arm):
        self.arm = arm
        self.changes = []  # of the rate, as a share
        self.used = []  # (Used, seconds, switches of the machine)
        self.runs = collections.Counter()  # by program
        self.nanoseconds = collections.Counter()
        self.counted = 0  # switches of the machine while those were counted
        self.counted_seconds = 0

    def median(self, figure):
        values = [figure(*one) for one in self.used]
        return statistics.median(values) if values else None

    def cpu(self):
        """User side: seconds of CPU a second."""
        return self.median(lambda used, seconds, _: sum(used.cpu.values()) / seconds)

    def threads(self):
        """[(CPU a second, thread)], most first."""
        names = {name for used, *_ in self.used for name in used.cpu}
        by_name = [(self.median(lambda used, seconds, _, n=name: used.cpu.get(n, 0) / seconds),
                    name) for name in names]
        return sorted((one for one in by_name if one[0] >= 0.0005), reverse=True)

    def switches(self):
        return self.median(lambda used, seconds, _: used.switches / seconds)

    def bytes(self):
        return self.median(lambda used, _, switches: used.written / max(1, switches))

    def programs(self):
        """[(share, name, runs a switch, ns a run)], most first; None if nothing was counted."""
        whole = sum(self.nanoseconds.values())
        if not whole:
            return None
        return [(spent / whole, name, self.runs[name] / self.counted, spent / self.runs[name])
                for name, spent in self.nanoseconds.most_common() if self.runs[name]]

    def programs_cpu(self):
        """Programs: seconds of CPU a second of all CPUs."""
        if not self.counted_seconds or not self.runs:
            return None
        return sum(self.nanoseconds.values()) / 1e9 / self.counted_seconds

    def change(self):
        """The median change of the rate, the least and the greatest; None without a rate."""
        if not self.changes:
            return None
        return statistics.median(self.changes), min(self.changes), max(self.changes)


def measure_once(work, figures, options, place):
    """One arm, started, warmed up, measured and ended; returns the rate."""
    with figures.arm(place) as arm:
        time.sleep(options.warm)
        before, switches, begun = arm.used(), system_switches(), time.monotonic()
        rate = work.rate(options.seconds)
        used, seconds = arm.used().since(before), time.monotonic() - begun
        figures.used.append((used, seconds, system_switches() - switches))
        if arm.ours and not options.no_programs:
            count_programs(figures)
    return rate


def count_programs(figures):
    with statistics_on():
        old, switches, begun = figures.arm.programs(), system_switches(), time.monotonic()
        time.sleep(STATISTICS_SECONDS)
        new = figures.arm.programs()
        figures.counted += system_switches() - switches
        figures.counted_seconds += time.monotonic() - begun
    for key, (name, runs, spent) in new.items():
        _, runs_before, spent_before = old.get(key, (name, 0, 0))
        if runs > runs_before:
            figures.runs[name] += runs - runs_before
            figures.nanoseconds[name] += spent - spent_before


def measure(work, arms, options, place, say):
    work.rate(options.warm)
    before = work.rate(options.seconds)
    for turn in range(options.rounds):
        for figures in arms if turn % 2 == 0 else reversed(arms):
            say("round %d of %d: %s" % (turn + 1, options.rounds, figures.arm.name))
            with_it = measure_once(work, figures, options, place)
            after = work.rate(options.seconds)
            if with_it is not None:
                figures.changes.append(2 * with_it / (before + after) - 1)
            before = after
    return before


def percent(share, form="%.1f %%"):
    return "-" if share is None else form % (100 * share)


def print_table(options, unit, rate, arms):
    uname = os.uname()
    print("%s, %d CPUs, Linux %s%s; %d rounds of %g s each" %
          (options.workload, os.cpu_count(), uname.release,
           "" if rate is None else ", %.0f %s a second without a tracer" %
           (rate, unit), options.rounds, options.seconds))
    print()
    print(ROW % ("", unit or "rate", "from .. to", "user side", "programs", "bytes", "switched"))
    print(ROW % ("", "", "", "1 CPU", "1 CPU", "a switch", "a second"))
    for figures in arms:
        change = figures.change()
        spread = "-" if change is None else "%+.1f .. %+.1f" % (100 * change[1], 100 * change[2])
        print(ROW % (figures.arm.name, percent(change and change[0], "%+.1f %%"), spread,
                     percent(figures.cpu()), percent(figures.programs_cpu()),
                     "%.1f" % figures.bytes(), "%.0f" % figures.switches()))
    for figures in arms:
        if figures.arm.ours and figures.threads() and not figures.arm.stopped:
            print("\n%s, threads: %s" %
                  (figures.arm.name, ", ".join("%s %s" % (name, percent(cpu))
                                               for cpu, name in figures.threads())))
        if figures.arm.ours and figures.programs():
            print_programs(figures)
    print()
    for figures in arms:
        if figures.arm.version:
            print("%s: %s" % (figures.arm.name, figures.arm.version))


def print_programs(figures):
    whole = sum(figures.nanoseconds.values())
    print("\n%s, programs: %.0f ns a switch" % (figures.arm.name, whole / figures.counted))
    print("  %-26s %14s %10s %7s" % ("", "runs a switch", "ns a run", "share"))
    for share, name, runs, spent in figures.programs()[:12]:
        print("  %-26s %14.3f %10.0f %7s" % (name, runs, spent, percent(share)))


def as_json(options, unit, rate, arms):
    return {
        "workload":
        options.workload, "unit":
        unit, "rate":
        rate, "rounds":
        options.rounds, "seconds":
        options.seconds, "kernel":
        os.uname().release, "cpus":
        os.cpu_count(), "arms": [{
            "name":
            figures.arm.name, "version":
            figures.arm.version, "changes":
            figures.changes, "user_cpu":
            figures.cpu(), "programs_cpu":
            figures.programs_cpu(), "bytes_a_switch":
            figures.bytes(), "switched_a_second":
            figures.switches(), "threads": {name: cpu
                                            for cpu, name in figures.threads()}, "programs":
            [{"name": name, "runs_a_switch": runs, "ns": spent}
             for _, name, runs, spent in figures.programs() or []]
        } for figures in arms]
    }


def parse(arguments):
    parser = argparse.ArgumentParser(prog="tools/bench cost", description=__doc__.split("\n\n")[0])
    parser.add_argument("workload", choices=sorted(WORKLOADS))
    parser.add_argument("--rounds", type=int, default=5, help="each arm so often (5)")
    parser.add_argument("--seconds", type=float, default=6, help="of each measurement (6)")
    parser.add_argument("--warm", type=float, default=3, help="seconds before it (3)")
    parser.add_argument("--arm",
                        action="append",
                        default=[],
                        metavar="TEXT",
                        help="only arms whose name ends so, as 'clew record'")
    parser.add_argument("--no-programs",
                        action="store_true",
                        help="do not count the programs' runs and time")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser.parse_args(arguments)


def main(arguments):
    options = parse(arguments)
    arms = [
        Arms(arm) for arm in all_arms()
        if arm.version is not None and (not options.arm or arm.name.endswith(tuple(options.arm)))
    ]
    if not arms:
        print("tools/bench: no such arm: there are %s" % ", ".join(arm.name for arm in all_arms()),
              file=sys.stderr)
        return 2

    def say(line):
        if sys.stderr.isatty():
            print("\r\033[K" + line, end="", file=sys.stderr, flush=True)

    try:
        with tempfile.TemporaryDirectory(prefix="clew-cost-", dir="/var/tmp") as place, \
                WORKLOADS[options.workload]() as work:
            rate = measure(work, arms, options, place, say)
            unit = work.unit
    except (Broken, Missing, OSError, subprocess.SubprocessError) as error:
        print("tools/bench: cost: %s" % error, file=sys.stderr)
        return 1
    say("")
    if options.json:
        print(json.dumps(as_json(options, unit, rate, arms), indent=1))
    else:
        print_table(options, unit, rate, arms)
    return 0
