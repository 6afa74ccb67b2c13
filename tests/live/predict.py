#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# alone: it compares times of two runs
"""
clew what-if against reality: sleeps, and a lock's section, of a recorded
program are shortened in a prediction, and really, and a CPU is added; both take
as long. Prints TAP.
"""
import os
import shutil
import statistics
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import _live  # noqa: E402  pylint: disable=wrong-import-position

TOLERANCE = 0.05

# What is run, with a delay; the delay before and after; by what the sleeps of
# that length are scaled.
CASES = [("children that sleep one after the other",
          "for i in 1 2 3 4 5 6 7 8; do sleep %s; done; :", "0.2", "0.1", ".5"),
         ("a lock's section",
          "f=$(mktemp); flock $f sleep %s & flock $f sleep %s & flock $f sleep %s; wait; rm $f",
          "0.4", "0.2", ".5"),
         ("a child that sleeps longer than another one",
          "sleep %s & wait; sleep %s & sleep 0.1; wait; :", "0.8", "0.4", ".5"), ]

# Processes that compute, each for as long on a CPU, together on the CPUs given.
# They go before all else, so that who else
# is there does not matter; where that is not allowed they go with it.
BURNERS = """
import os, sys, time
count, seconds = int(sys.argv[1]), float(sys.argv[2])
os.sched_setaffinity(0, [int(cpu) for cpu in sys.argv[3].split(",")])
def first(priority):
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(priority))
    except OSError:
        pass
first(20)
print(os.getpid(), int(os.sched_rr_get_interval(0) * 1e9), flush=True)
for _ in range(count):
    if os.fork() == 0:
        first(10)
        while time.process_time() < seconds:
            pass
        os._exit(0)
for _ in range(count):
    os.wait()
"""
ROUNDS, MOST_ROUNDS = 3, 9


def taken(answer, shell):
    """ns from the start of the shell's first child to the shell's end."""
    spans = {s["path"]: s for s in answer["spans"]}
    children = [
        e["span"] for d in answer["dependencies"]
        if d["type"] == "fork" and d["origins"] and d["origins"][0]["span"] == shell
        for e in d["destinations"]
    ]
    return spans[shell]["end"] - min(spans[child]["start"] for child in children)


# A shell goes before all else in the same way.
FIRST = ["chrt", "-r", "10"]
if not shutil.which(FIRST[0]) or _live.run(*FIRST, "true").returncode != 0:
    FIRST = []


def record(name, command):
    """Records a shell; returns the capture and the path of its span."""
    capture = _live.scratch(name + ".clew")
    done = _live.clew("record", "-o", capture, "--", *FIRST, "sh", "-c", "echo $$; " + command)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return capture, "sh-" + done.stdout.split()[0]


def attempt(number, command, before, after, factor):
    """The predicted and the real time."""
    capture, shell = record("%d-before" % number, command.replace("%s", before))
    program = "scale waits(sleep) spans(%s => * where total_duration > duration(150ms)) by %s;" % (
        shell, factor)
    predicted = taken(_live.answer("what-if", capture, program), shell)
    recorded = taken(_live.answer("dump", capture), shell)
    capture, shell = record("%d-after" % number, command.replace("%s", after))
    return recorded, predicted, taken(_live.answer("dump", capture), shell)


def burn(number, count, cpus):
    """
    Records processes that compute on some CPUs; the capture, the pid of their
    parent, and the kernel's slice for them in ns.
    """
    capture = _live.scratch("cpus-%d.clew" % number)
    done = _live.clew("record", "-o", capture, "--", sys.executable, "-c", BURNERS, count, "0.3",
                      ",".join(map(str, cpus)))
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return (capture, *done.stdout.split())


def parent(answer, pid):
    return next(s["path"] for s in answer["spans"] if s["path"].endswith("-" + pid))


def one_more_cpu(name, count, cpus):
    """
    Computing on one CPU, predicted on two, and really on two; and how far what
    two CPUs give is from what was recorded on them.
    """
    recorded, predicted, real, again = [], [], [], []
    for number in range(MOST_ROUNDS):
        capture, pid, slices = burn(number, count, cpus[:1])
        answer = _live.answer("dump", capture)
        path = parent(answer, pid)
        program = "set cpus to 2 for spans(%s, %s => *) slice duration(" + slices + "ns);"
        recorded.append(taken(answer, path))
        predicted.append(taken(_live.answer("what-if", capture, program % (path, path)), path))
        capture, pid, slices = burn(number, count, cpus)
        answer = _live.answer("dump", capture)
        path = parent(answer, pid)
        real.append(taken(answer, path))
        again.append(taken(_live.answer("what-if", capture, program % (path, path)), path))
        _live.note(
            "%s: %.1f ms, predicted %.1f ms, really %.1f ms, and of that with as many CPUs %.1f ms"
            % (name, recorded[-1] / 1e6, predicted[-1] / 1e6, real[-1] / 1e6, again[-1] / 1e6))
        before, then, now, same = (statistics.median(times)
                                   for times in (recorded, predicted, real, again))
        good = abs(then - now) <= TOLERANCE * now and then < before * 0.75
        # The machine may be busy: what three rounds do not show more may.
        if number + 1 >= ROUNDS and good and abs(same - now) <= TOLERANCE * now:
            break
    _live.ok(good, name + ": as predicted within 5 %",
             "predicted %d ns, really %d ns, before %d ns" % (then, now, before))
    _live.ok(
        abs(same - now) <= TOLERANCE * now,
        name + ": with as many CPUs as there were it takes as long",
        "%d ns instead of %d ns" % (same, now))


def main():
    if _live.GUEST:
        _live.skip_all("an emulated machine is too slow to keep times by")
    for number, (name, command, before, after, factor) in enumerate(CASES):
        first = ""
        # The machine may be busy with something else at one of both times.
        for _ in range(_live.TRIES):
            recorded, predicted, real = attempt(number, command, before, after, factor)
            times = "%.1f ms, predicted %.1f ms, really %.1f ms"
            times %= recorded / 1e6, predicted / 1e6, real / 1e6
            _live.note("%s: %s" % (name, times))
            good = abs(predicted - real) <= TOLERANCE * real and predicted < recorded * 0.9
            if good:
                break
            first = first or times
        _live.ok(good, name + ": as predicted within 5 %", times, first)
    cpus = sorted(os.sched_getaffinity(0))
    for count in (2, 3):
        name = "one CPU more for %d processes that compute" % count
        if len(cpus) < 2:
            _live.skip(name, "there is one CPU")
        else:
            one_more_cpu(name, count, cpus[-2:])
    _live.finish()


if __name__ == "__main__":
    main()
