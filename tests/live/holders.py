#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Holders of locks against what each thread wrote down by its own clock: for how much of the named time
another one certainly had the lock, for how much the named one was in none of the lock's calls, and
how much of the time in which it was held has a holder. Threads take turns at locks of glibc, of
Rust's library and on a file. Things that are no locks have no holder.
"""

import bisect
import collections
import os
import shutil
import sys

from _accuracy import measured
from _live import ROOT, answer, finish, note, ok, run, scratch, skip, skip_all, start_recording, stop_recording, wanted_runs

SOURCES = os.path.join(ROOT, "tests", "live", "holders")
FILES = ("flock", "ofd")
KINDS = ("mutex", "adaptive", "robust", "pi", "rwlock") + FILES
NO_LOCKS = ("condition", "semaphore", "event")
RUST = ("mutex", "rwlock", "condition")
THREADS, MILLISECONDS = 5, 700

# In percent of the time of holders.
MOST_EXACT = {"another": 0.5, "no call": 0.5}
MOST_OBSERVED = {
    "glibc": {"another": 0.5, "no call": 3},
    # Behind a waiter that was woken and has no CPU others wait on, while the lock is taken and
    # released without a wake.
    "files": {"another": 1, "no call": 3},
    # A release of a word without an owner is known late if its thread loses its CPU before it wakes
    # anybody.
    "Rust": {"another": 5, "no call": 5},
}
# Percent of the time in which somebody else held it alone. No system call shows what threads take and
# release while the one that was woken has no CPU.
LEAST_RECALL = {"glibc": 45, "files": 25, "Rust": 25}


def compile_all():
    """[(name, command)] of what is compiled here."""
    c, found = scratch("holders"), []
    done = run("gcc", "-O2", "-pthread", "-o", c, os.path.join(SOURCES, "holders.c"))
    if done.returncode:
        skip_all(f"no compiler: {done.stderr[-300:]}")
    for kind in KINDS + NO_LOCKS:
        found.append((kind, c, kind))
    compilers = {os.path.realpath(path): path
                 for path in ("/usr/bin/rustc", shutil.which("rustc") or "") if path
                 and os.path.exists(path)}
    for number, compiler in enumerate(compilers.values()):
        version = run(compiler, "--version").stdout.split()[1]
        program = scratch(f"rust{number}")
        done = run(compiler, "-O", "-o", program, os.path.join(SOURCES, "holders.rs"))
        if not ok(done.returncode == 0, f"rustc {version} compiles", done.stderr[-500:]):
            continue
        found += [(f"{kind} of Rust {version}", program, kind) for kind in RUST]
    if not compilers:
        skip("locks of Rust's library", "no rustc")
    return found


class Truth:
    """What one program wrote down."""

    def __init__(self, text):
        self.words, self.holds = [], []
        for line in text.splitlines():
            fields = line.split()
            if fields[0] == "word":
                self.words.append((int(fields[1]), int(fields[2])))
            else:
                self.holds.append(tuple(map(int, fields)))
        self.tids = {hold[0] for hold in self.holds}
        self.alone = sorted((has, to, tid) for tid, _, has, to, _, alone in self.holds if alone)
        self.longest = max(to - has for has, to, _ in self.alone)
        self.calls = collections.defaultdict(list)
        for tid, calls, _, _, done, _ in sorted(self.holds, key=lambda hold: hold[1]):
            self.calls[tid].append((calls, done))

    def held(self, start, end):
        """(from, to, tid) of the holds of one thread alone, as far as they are in start..end."""
        first = bisect.bisect(self.alone, (start - self.longest, ))
        for has, to, tid in self.alone[first:]:
            if has >= end:
                return
            if to > start:
                yield max(has, start), min(to, end), tid

    def in_calls(self, tid, start, end):
        """ns of start..end in which a thread was between its call for the lock and the end of its
        release."""
        calls = self.calls[tid]
        first = max(bisect.bisect(calls, (start, )) - 1, 0)
        ns = 0
        for begin, done in calls[first:]:
            if begin >= end:
                break
            ns += max(min(done, end) - max(begin, start), 0)
        return ns


def compare(truth, waits, sums):
    """Adds up the holders of one program's waits."""
    for wait in waits:
        if wait["tid"] not in truth.tids or wait["end"] is None:
            continue
        if wait["kind"] not in ("futex", "file"):
            continue
        others = [h for h in truth.held(wait["start"], wait["end"]) if h[2] != wait["tid"]]
        sums["held"] += sum(to - start for start, to, _ in others)
        for holder in wait["holders"]:
            start, to, word = holder["from"], holder["to"], holder["evidence"]
            sums[word, "ns"] += to - start
            if holder["tid"] not in truth.tids:
                sums["strangers"] += to - start
                continue
            sums[word, "no call"] += to - start - truth.in_calls(holder["tid"], start, to)
            for begin, end, tid in truth.held(start, to):
                if tid != holder["tid"]:
                    sums[word, "another"] += end - begin
                if tid != wait["tid"]:
                    sums["told"] += end - begin


def percent(part, whole):
    return 100 * part / whole if whole else 0


def check(name, sums):
    recall = percent(sums["told"], sums["held"])
    for evidence, most in (("exact", MOST_EXACT), ("observed", MOST_OBSERVED[name])):
        ns = sums[evidence, "ns"]
        for what, bound in most.items():
            found = percent(sums[evidence, what], ns)
            ok(found <= bound, f"{name}: {evidence}: {what}: at most {bound} %",
               f"{found:.2f} % of {ns / 1e6:.0f} ms")
    ok(not sums["strangers"], f"{name}: only tasks that took it are named",
       f"{sums['strangers'] / 1e6:.1f} ms")
    least = LEAST_RECALL[name]
    ok(recall >= least, f"{name}: {least} % of what was held has a holder", f"{recall:.1f} %")


def take_accuracy(name, sums):
    """The time of holders, by their evidence, and the time of what was held."""
    where = {"witness": f"what each thread wrote down, {name}", "unit": "ms"}
    for evidence in ("exact", "observed", "candidate"):
        measured(f"holder {evidence}", round(sums[evidence, "ns"] / 1e6),
                 round(sums[evidence, "another"] / 1e6, 1), **where)
    measured("holder any", round(sums["held"] / 1e6), 0,
             round(max(0, sums["held"] - sums["told"]) / 1e6), **where)


def describe(name, sums):
    words = [f"{name}: {percent(sums['told'], sums['held']):.0f} % of what was held has a holder"]
    for evidence in ("exact", "observed", "candidate"):
        ns = sums[evidence, "ns"]
        if ns:
            words.append(f"{evidence} {ns / 1e6:.0f} ms, "
                         f"{percent(sums[evidence, 'another'], ns):.2f} % another's, "
                         f"{percent(sums[evidence, 'no call'], ns):.2f} % in no call")
    note("; ".join(words))


def check_no_lock(name, truth, waits):
    """The waits for what is no lock, and of who joins the threads, have no holder."""
    for_it = [
        w for w in waits if w["tid"] in truth.tids and w["kind"] == "futex" and any(
            first <= int(w["object"]["address"], 16) < end for first, end in truth.words)
    ]
    pids = {w["pid"] for w in for_it}
    joins = [w for w in waits if w["tid"] == w["pid"] in pids and w["kind"] == "futex"]
    for what, those in (("has", for_it), ("its joins have", joins)):
        held = [w for w in those if w["holders"] or w.get("coming")]
        ok(those and not held, f"{name}: {what} no holder",
           f"{len(held)} of {len(those)}: {held[:1]}")


def check_sums(capture, waits):
    """Only what somebody held counts as held."""
    told = collections.Counter()
    for wait in waits:
        for holder in wait["holders"]:
            told[holder["tid"]] += holder["to"] - holder["from"]
    sums = answer("waits", capture, "--by", "holder")["sums"]
    found = {one["tid"]: one["total_ns"] for one in sums}
    wrong = [(tid, ns, found.get(tid)) for tid, ns in told.items() if found.get(tid) != ns]
    ok(told and not wrong, "waits --by holder: as long as their holders had it", wrong[:3])


def main():
    if os.geteuid() != 0:
        skip_all("it needs root")
    programs = compile_all()
    file = scratch("file")
    with open(file, "w", encoding="ascii"):
        pass
    for turn in range(wanted_runs(1)):
        capture = scratch(f"{turn}.clew")
        recording = start_recording(capture, "--no-stacks")
        printed = {name: run(program, kind, THREADS, MILLISECONDS, file)
                   for name, program, kind in programs}
        status, said = stop_recording(recording)
        if not ok(status == 0, "recorded", said):
            finish()
        waits = answer("waits", capture)["waits"]
        groups = collections.defaultdict(collections.Counter)
        for name, done in printed.items():
            truth = Truth(done.stdout)
            sums = collections.Counter()
            if name.split()[0] in NO_LOCKS:
                check_no_lock(name, truth, waits)
                continue
            compare(truth, waits, sums)
            describe(name, sums)
            groups["Rust" if "Rust" in name else "files" if name in FILES else "glibc"].update(sums)
        for group, sums in groups.items():
            describe(f"all of {group}", sums)
            check(group, sums)
            take_accuracy(group, sums)
        check_sums(capture, waits)
        ok(not answer("locks", capture)["cycles"], "nobody waits in a circle")
    finish()


main()
