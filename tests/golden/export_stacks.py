#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Folded stacks and profiles for pprof have the time that `clew waits` and `why` tell, in the
functions and behind the tasks that these name. Prints TAP.
"""
import collections
import glob
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from _export import SHOWN, ask, clew, export, hostile, altered, made, object_of  # noqa: E402  pylint: disable=wrong-import-position
from _pprof import Profile  # noqa: E402  pylint: disable=wrong-import-position
from _trace import HERE, Tap  # noqa: E402  pylint: disable=wrong-import-position

tap = Tap()


def in_line(name):
    """A name as a frame of a line has it."""
    return re.sub("[\x00-\x1f\x7f-\x9f]", " ", name.replace(";", ","))


def folded(capture, kind, *arguments):
    """(frames, value) of each line."""
    text = export(capture, "folded", "--stacks", kind, *arguments).decode()
    lines = [line.rpartition(" ") for line in text.splitlines()]
    return [(tuple(frames.split(";")), int(value)) for frames, _, value in lines]


def end_of(capture, wait):
    return ask(capture, "info")["end"] if wait["end"] is None else wait["end"]


def test_off_cpu(name, capture):
    """The innermost frame is the wait, the outermost ones are the task."""
    told = collections.Counter()
    for wait in ask(capture, "waits")["waits"]:
        task = [wait["process"]] if wait["process"] else []
        task += [wait["comm"]] if wait["comm"] != wait["process"] else []
        leaf = " ".join([wait["kind"]] + [object_of(wait)] * bool(wait["object"]))
        told[tuple(map(in_line, task)), in_line(leaf)] += end_of(capture, wait) - wait["start"]
    shown = collections.Counter()
    for frames, value in folded(capture, "off-cpu"):
        depth = 2 if (frames[:2], frames[-1]) in told else 1
        shown[frames[:depth], frames[-1]] += value
    tap.same("%s: off-cpu" % name, shown, +told)


def test_wake(name, capture):
    """The time of each wait is all told, by what others did."""
    waited = collections.Counter()
    for frames, value in folded(capture, "off-cpu"):
        waited[frames[0]] += value
    chains = collections.Counter()
    for frames, value in folded(capture, "wake"):
        chains[frames[0]] += value
    tap.same("%s: wake" % name, chains, waited)


def test_critical(name, capture):
    operations = ask(capture, "why", "--slowest", "10")["operations"]
    told = collections.Counter()
    for operation in operations:
        for segment in operation["segments"]:
            told[segment["kind"]] += segment["ns"]
    profile = Profile(export(capture, "pprof", "--stacks", "critical"))
    shown = collections.Counter()
    for _, values, labels in profile.samples:
        shown[labels["kind"]] += values[1]
        tap.same("%s: blocked and running" % name, values[2] + values[3], values[1])
    tap.same("%s: critical" % name, shown, told)
    tap.same("%s: running" % name, sum(values[3] for _, values, _ in profile.samples),
             told["running"])


def test_both(name, capture, kind, value):
    """A profile has the stacks of the folded ones."""
    profile = Profile(export(capture, "pprof", "--stacks", kind))
    shown = {
        tuple(map(in_line, frames)): values[value]
        for frames, values, _ in profile.samples if values[value]
    }
    tap.same("%s: pprof of %s" % (name, kind), shown, dict(folded(capture, kind)))


for records in sorted(glob.glob(os.path.join(HERE, "*.records"))):
    title = os.path.basename(records)[:-len(".records")]
    if title in ("empty", "own"):
        continue
    test_off_cpu(title, made(title))
    test_wake(title, made(title))
    test_critical(title, made(title))
    test_both(title, made(title), "off-cpu", 1)
    test_both(title, made(title), "wake", 1)

FUTEX = "futex futex Pool::lock+0x8"
CODE = ("libc.so.6+0x500", "serve", "handle_request", "server+0x1400", "Pool::take",
        "pthread_mutex_lock")
tap.same("the code of waits", sorted(folded(made("stacks"), "off-cpu")),
         [(("server", "log writer", "jbd2_log_wait_commit [jbd2]_[k]", "schedule_[k]",
            "fsync /var/lib/server/log"), 990000),
          (("server", "worker") + CODE +
           ("0xffffffff81000400_[k]", "futex_wait_queue_[k]", "schedule_[k]", FUTEX), 1200000), ])
tap.same("chains of waits", sorted(folded(made("stacks"), "wake")),
         [(("server", "log writer", "fsync /var/lib/server/log"), 990000),
          (("server", "worker", FUTEX, "[unlock] log writer", "fsync /var/lib/server/log"), 990000),
          (("server", "worker", FUTEX, "[unlock] log writer", "running"), 200000),
          (("server", "worker", FUTEX, "[unlock] log writer", "runqueue"), 10000), ])
tap.same("whole operations", sorted(folded(made("stacks"), "critical")),
         [(("server", "worker", FUTEX, "[unlock] log writer", "fsync /var/lib/server/log"), 990000),
          (("server", "worker", FUTEX, "[unlock] log writer", "running"), 200000),
          (("server", "worker", FUTEX, "[unlock] log writer", "runqueue"), 10000),
          (("server", "worker", "running"), 300000),
          (("server", "worker", "runqueue behind cc1"), 300000),
          (("server", "worker", "runqueue behind client"), 10000), ])
LAST = "user waited 1000001800000"
SAMPLE = "user sample 10000015%05d task=%d user=%d kernel=%d end=1\n"
sampled = altered("stacks", "sampled", (LAST, SAMPLE % (1, 2, 101, 0) + SAMPLE %
                                        (2, 2, 101, 0) + SAMPLE % (3, 4, 101, 103) + LAST))
tap.same(
    "samples", sorted(folded(sampled, "on-cpu")),
    [(("server", "log writer") + CODE + ("jbd2_log_wait_commit [jbd2]_[k]", "schedule_[k]"), 1),
     (("server", "worker") + CODE, 2), ])
test_both("sampled", sampled, "on-cpu", 0)
tap.same("the types of a profile",
         [(profile.types, profile.default)
          for profile in (Profile(export(sampled, "pprof", "--stacks", kind))
                          for kind in ("critical", "off-cpu", "on-cpu"))],
         [([("segments", "count"), ("critical", "nanoseconds"), ("blocked", "nanoseconds"),
            ("cpu", "nanoseconds")], "critical"),
          ([("waits", "count"), ("blocked", "nanoseconds")], "blocked"),
          ([("samples", "count")], "samples")])
done = clew("export", made("locks"), "--to", "folded", "--stacks", "on-cpu")
tap.same("no samples", (done.returncode, b"--stacks" in done.stderr), (2, True))

whole, idle = (sum(value for _, value in folded(made("names"), "off-cpu", *more))
               for more in ((), ("--idle", )))
tap.same(
    "--idle", idle - whole,
    sum(
        end_of(made("names"), wait) - wait["start"]
        for wait in ask(made("names"), "waits", "--idle")["waits"]) - sum(
            end_of(made("names"), wait) - wait["start"]
            for wait in ask(made("names"), "waits")["waits"]))

tap.same("folded: hostile names",
         [{in_line(SHOWN) in frames[0],
           in_line("/" + SHOWN) in frames[-1]} for frames, _ in folded(hostile(), "off-cpu")
          if "/a" in frames[-1]][:1], [{True}])
tap.same("pprof: hostile names", [{SHOWN in frames[0], "/" + SHOWN in frames[-1]}
                                  for frames, _, _ in Profile(export(hostile(), "pprof")).samples
                                  if "/a" in frames[-1]][:1], [{True}])
sys.exit(tap.end())
