#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# alone: it swaps, freezes and syncs, and each edge has to be right
"""
Known answers: every workload, many times with different seeds, against clew's edges,
waits and why.

Several runs share one recording. Every pair of every edge type must be right: precision and
recall are both 1.0 in all runs, or the test fails. Excused is only what clew itself marks as
blind: some machines hide single switches of certain tasks from every tracer. These are counted
and must be few.

Recording and comparing may be done on two machines: a guest that is emulated is slow at the latter.

Usage: workloads.py [--runs N] [--only NAME+..] [--record DIR | --compare DIR [--wrong
FILE] [--again DIR]..]
       (runs also from CLEW_LIVE_RUNS; 20)
"""

import argparse
import collections
import concurrent.futures
import json
import os
import re
import time

from _accuracy import measured
from _graph import Capture, Score, compare_edges, compare_names, compare_waits, compare_why
from _live import CLEW, GUEST, PATIENCE, TRIES, WORKLOADS, answer, clew, feature, finish, note, ok, run, scratch, skip, wanted_runs
from _place import Place
from _rules import compare_rules

# Program and variant; together: may run beside others (those that do not fill a CPU).
QUIET = [
    "barrier", "chain", "condition", "convoy", "deadlock", "deadlock,timed", "epoll", "execthread", "fault",
    "hops,threads", "hops,processes", "hops,stopped", "ipc,messages", "ipc,semaphores", "ipc,queue",
    "mutex,normal", "mutex,pi", "mutex,robust", "mutex,shared", "mutex,shared-pi", "mutex,pidns",
    "mutex,flock", "mutex,posix", "mutex-32,normal", "mutex-32,posix", "pipe,threads",
    "pipe,processes", "pipe-32,threads", "reopen", "reuse", "rwlock", "semaphore", "signal",
    "signal-32", "sleep", "sleep-32", "socket,stream", "socket,datagram", "socket,sequence", "stop",
    "tree", "vfork", "net,tcp", "net,udp", "net,full", "net,tcp-veth", "net,udp-veth",
    "net,full-veth", "net,tcp-bridge", "net,udp-bridge", "net,full-bridge", "net,tcp-routed",
    "net,udp-routed", "net,full-routed", "owner,like", "owner,pidns", "owner,memory", "backlog",
    "outside,tcp", "outside,udp", "outside,tcp-bridge", "outside,udp-bridge", "timer,other",
    "timer,self", "timer,wall", "timer,epoll", "timer,slack", "uring,pipe", "uring,other",
    "ringwork,pipe", "ringwork,deferred", "work,terminal", "work,refresh", "work,grace",
    "kernellock,position", "kernellock,inode", "kernellock,directory",
]
# One after the other: they fill CPUs, or have a disk or a group to themselves.
LOUD = [
    "twospan", "nested", "spinners", "deadline", "contend,woken",
    *(f"contend,{what}"
      for what in ("mutex", "adaptive", "robust", "pi", "shared", "timed", "rwlock", "word")),
    "race,futex", "race,pipe", "timer,hog", "inversion", "deep", "fight,directory", "fight,mapping",
    "quota,cpu", "quota,memory", "limit,write", "limit,read", "limit,cold", "limit,sync", "swap",
    "kernellock,freeze", "work,loop", "uring,aio-ext4", "uring,aio-xfs", "uring,aio-other-ext4",
    "uring,file-ext4", "uring,file-xfs", "uring,worker-ext4", "uring,polled", "ringwork,sync-ext4",
    "direct,scattered", "direct,huge", "direct,row",
    *(f"disk,{what}-{system}" for system in ("ext4", "xfs", "dm")
      for what in ("read", "write", "dsync", "cold", "fsync", "fresh")), "disk,splice-ext4",
    "disk,send-ext4",
]
RUNS_PER_RECORDING = 5
PASSES = 1 if GUEST else 3  # so often in a row by itself, after it disagreed beside others
# An emulated CPU takes milliseconds for a stack, which the workloads' own clocks would show.
RECORD = ["record", "--no-stacks"] if GUEST else ["record"]
# By which factor amounts may be off in a guest where a workload measures them
# by a thread's own clock, which leaves interrupts out.
LOOSE = {"spinners": 2.5, "quota": 1.3, "deadline": 1.3, "chain": 1.3, "twospan": 1.3}


def command(name, seed, directory, place):
    program, _, variant = name.partition(",")
    output = os.path.join(directory, f"{name}.{seed}.json")
    words = [os.path.join(WORKLOADS, program), "--seed",
             str(seed), "--place", place.path] + (["--variant", variant] if variant else [])
    return f"{' '.join(words)} >'{output}' 2>'{output}.err' || echo $? >'{output}.status'"


def record(names, seeds, directory, place, alone):
    """
    One recording of all workloads with these seeds, side by side or one by one:
    trace.clew in `directory`.
    """
    loud = names if alone else LOUD
    script = os.path.join(directory, "run.sh")
    with open(script, "w", encoding="ascii") as file:
        file.write("cd \"${0%/*}\"\n")
        for seed in seeds:
            for group in ([n for n in names if n not in loud][i::2] for i in range(2)):
                if not group:
                    continue
                file.write("(\n" + "\n".join(command(n, seed, directory, place)
                                             for n in group) + "\n) &\n")
            file.write("wait\n")
            file.write("\n".join(command(n, seed, directory, place)
                                 for n in names if n in loud) + "\n")
    path = os.path.join(directory, "trace.clew")
    done = clew(*RECORD, "-o", path, "--", "/bin/sh", script, timeout=PATIENCE * 5)
    if done.returncode != 0:
        raise RuntimeError(f"clew record: status {done.returncode}: {done.stderr}")
    note(done.stderr.strip())


def load(name, seed, directory):
    """The graph a run printed, or why there is none."""
    path = os.path.join(directory, f"{name}.{seed}.json")
    if os.path.exists(path + ".status"):
        with open(path + ".err", encoding="utf-8", errors="replace") as file:
            return None, f"the workload failed: {file.read().strip()}"
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file), ""
    except (OSError, ValueError) as error:
        return None, f"the workload printed no graph: {error}"


class Results:

    def __init__(self, names):
        self.score = Score()
        self.scores = {name: Score() for name in names}
        self.wrong = collections.defaultdict(list)
        self.facts = collections.Counter()
        self.waits = collections.Counter()
        self.rules = collections.Counter()
        self.counts = collections.Counter()  # as of compare_waits()
        self.requests_differ = []
        self.skipped = {}
        self.blind = []  # where clew says that the kernel hid something from it

    def take(self, name, seed, graph, capture):
        score, wrong = compare_edges(graph, capture)
        self.score.add(score)
        self.scores[name].add(score)
        self.waits[name] += len(graph["waits"])
        self.facts[name] += len(graph["why"])
        self.rules[name] += len(graph["rules"])
        for problem in wrong + compare_names(graph, capture) + compare_waits(
                graph, capture, self.counts) + compare_rules(graph, capture, self.counts):
            self.note(name, seed, problem)

    def note(self, name, seed, problem):
        text = f"seed {seed}: {problem}"
        if getattr(problem, "blind", False):
            self.blind.append(f"{name}: {text}")
        else:
            self.wrong[name].append(text)


def explain(path, fact):
    """The answer, or why there is none."""
    try:
        return answer("why", path, "--tid", fact["tid"], "--from", fact["from"], "--to",
                      fact["to"])
    except RuntimeError as error:
        return str(error)


def load_requests(results, path, graphs):
    """
    All requests of a capture, if any workload says something of them; --dev
    must choose among the same.
    """
    devices = {rule["dev"] for graph in graphs for rule in graph["rules"] if "dev" in rule}
    if not devices:
        return []
    requests = answer("requests", path)["requests"]
    for device in devices:
        chosen = [
            r for r in answer("requests", path, "--dev", device)["requests"] if r["dev"] == device
        ]
        if chosen != [r for r in requests if r["dev"] == device]:
            results.requests_differ.append(
                f"--dev {device}: {len(chosen)} requests, among all {sum(r['dev'] == device for r in requests)}"
            )
    return requests


def compare(results, directory, about):
    """
    Compares what one recording holds with what its workloads printed. `about`:
    what take_down() wrote of it.
    """
    begun = time.monotonic()
    path = os.path.join(directory, "trace.clew")
    names, seeds = about["names"], about["seeds"]
    info = answer("info", path)
    ledger = info["ledger"]
    if ledger["lost"] or ledger["missed"] or not ledger["balanced"]:
        note(
            f"ledger: lost {ledger['lost']}, missed {ledger['missed']}, balanced {ledger['balanced']}"
        )
    loaded = {(name, seed): load(name, seed, directory) for name in names for seed in seeds}
    requests = load_requests(results, path, [graph for graph, _ in loaded.values() if graph])
    capture = Capture(answer("edges", path)["edges"], answer("waits", path)["waits"], requests)
    capture.passes_on = about["direct"]
    questions = []
    for name in names:
        for seed in seeds:
            graph, problem = loaded[(name, seed)]
            if graph is None:
                results.note(name, seed, problem)
            elif "skip" in graph:
                results.skipped[name] = graph["skip"]
            else:
                results.take(name, seed, graph, capture)
                questions += [(name, seed, fact) for fact in graph["why"]]
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        for (name, seed, fact), why in zip(questions,
                                           pool.map(lambda q: explain(path, q[2]), questions)):
            if isinstance(why, str):
                results.note(name, seed, why)
                continue
            # An emulated CPU's clock of a thread's own time and the wall clock drift apart.
            for problem in compare_why(fact, why, capture,
                                       LOOSE.get(name.partition(",")[0], 1.0) if GUEST else 1.0):
                results.note(name, seed, problem)
    note(
        f"recorded in {about['seconds']:.0f} s, compared in {time.monotonic() - begun:.0f} s, {len(questions)} explanations"
    )


def take_down(top, names, seeds, alone):
    """
    Records all workloads and keeps under `top` what compare() needs: a directory a
    recording, and about.json. It may
    be looked at on another machine.
    """
    os.makedirs(top, exist_ok=True)
    about = {
        "kernel": os.uname().release, "names": [], "left_out": [], "cpus": os.cpu_count(), "runs": len(seeds), "recordings": [],
        "bits32": feature("32-bit calls")
    }
    for name in names:
        if "-32" in name and not runs_here(name):
            # Whose fault it is that the program does not run, its kernel's own word tells.
            about["left_out"].append([
                name,
                "this machine does not run the program" if about["bits32"][0] and not GUEST else "",
                about["bits32"][1] or "this kernel runs no 32-bit programs"
            ])
        else:
            about["names"].append(name)
    with Place() as place:
        for name in list(about["names"]):
            reason = place.needs(name)
            if reason:
                about["names"].remove(name)
                # A guest is made with all that is needed.
                about["left_out"].append([name, reason if GUEST else "", reason])
        for first in range(0, len(seeds), RUNS_PER_RECORDING):
            some = seeds[first:first + RUNS_PER_RECORDING]
            directory = os.path.join(top, f"run{first}")
            os.makedirs(directory)
            begun = time.monotonic()
            record(about["names"], some, directory, place, alone)
            about["recordings"].append({
                "directory": f"run{first}", "names": about["names"], "seeds": some, "direct":
                place.direct, "seconds": time.monotonic() - begun
            })
    with open(os.path.join(top, "about.json"), "w", encoding="ascii") as file:
        json.dump(about, file)


def look_at(top):
    """What take_down() left under `top`, compared: (about, Results)."""
    with open(os.path.join(top, "about.json"), encoding="ascii") as file:
        about = json.load(file)
    results = Results(about["names"])
    for recording in about["recordings"]:
        compare(results, os.path.join(top, recording["directory"]), recording)
    return about, results


def may_skip(name, reason, about):
    """Whether what a workload lacks is really lacking."""
    if name.endswith("-32") or "-32," in name:
        return not about["bits32"][0]
    if name.startswith("race"):
        return about["cpus"] < 2
    return "refused" in reason or "no such" in reason


def runs_here(name):
    """A 32-bit program may be refused by the kernel."""
    program = os.path.join(WORKLOADS, name.partition(",")[0])
    try:
        return run(program, "--seed", 1, timeout=PATIENCE).returncode == 0
    except OSError:
        return False


def to_try_again(results, alone):
    """
    Of those that disagreed, also in what was tried `alone`, what shall run once more,
    each by itself: side by side on two CPUs,
    under an emulator too, some of the workloads' own assumptions about time fail. Many at
    once are no accident, and are
    not tried again.
    """
    wrong = [name for name in results.scores if results.wrong[name]]
    if len(wrong) > max(1, len(results.scores) // 8):
        return []
    return [name for name in wrong if not decided(agreements(name, alone))]


def agreements(name, alone):
    """Whether a workload that disagreed beside others agreed by itself, for each try of that."""
    return [not tried.wrong[name] for tried in alone if name in tried.scores]


def decided(agreed):
    """Whether no further try is needed: what only agrees does so often enough in a row."""
    if all(agreed):
        return len(agreed) >= PASSES
    return any(agreed) or len(agreed) >= TRIES - 1


# A workload knows by its own clock how long a part of an explanation is, and since when a
# thread has a lock. In an emulated machine a thread beside others may have no CPU for a whole slice
# before it reads its clock: these must hold for the workload by itself.
BOUND = re.compile(r": why .*: \d+ ns, not \d+\.\.\d+|: rule holds of .* are another's")


def take_accuracy(about, results):
    """What was found in the first pass, also of what agrees by itself."""
    where = {"witness": "graphs that workloads print", "kernel": about["kernel"]}
    score = results.score
    for kind in {*score.right, *score.wrong, *score.missed, *score.blind}:
        wrong = score.wrong[kind] + score.missed[kind]
        measured(f"dependency {kind}", score.right[kind] + wrong + score.blind[kind],
                 wrong + score.differs[kind], score.blind[kind], **where)
    for kind in {kind for kind, _ in results.counts if kind}:
        subject = "requests" if kind == "request" else f"wait {kind}"
        measured(subject, *(results.counts[kind, what] for what in ("checked", "wrong", "unknown")),
                 **where)


def report(about, results, alone):
    take_accuracy(about, results)
    for name, wrong, reason in about["left_out"]:
        if wrong:
            ok(False, f"workload {name}", wrong)
        else:
            skip(f"workload {name}", reason)
    for line in results.score.table():
        note(line)
    for problem in results.blind[:20]:
        note("blind: " + problem)
    ok(not results.requests_differ, "requests of one device are the same among all",
       results.requests_differ[:2])
    total = sum(results.score.right.values()) + sum(results.waits.values()) + sum(
        results.rules.values())
    ok(
        len(results.blind) <= total / 500,
        f"clew is blind in {len(results.blind)} of {total} cases", "more than 0.2 %")
    for name in about["names"]:
        runs = about["runs"]
        pairs = sum(results.scores[name].right.values())
        title = f"workload {name}: {runs} runs, {pairs} pairs, {results.waits[name]} waits, {results.facts[name]} explanations, {results.rules[name]} rules"
        if name in results.skipped and not results.wrong[name]:
            if may_skip(name, results.skipped[name], about):
                skip(f"workload {name}", results.skipped[name])
            else:
                ok(False, title, "skipped itself: " + results.skipped[name])
            continue
        for problem in results.wrong[name][:8]:
            note(f"{name}: {problem}")
        for tried in alone:
            for problem in tried.wrong[name][:8]:
                note(f"{name}, by itself: {problem}")
        agreed = agreements(name, alone)
        if any(agreed):
            short = GUEST and all(BOUND.search(problem) for problem in results.wrong[name])
            ok(True,
               title,
               first="" if short else f"beside others {results.wrong[name][0]}",
               unsettled=not GUEST and all(agreed))
            continue
        ok(not results.wrong[name], title,
           f"{len(results.wrong[name])} disagree, first: {(results.wrong[name] or [''])[0]}")
    finish()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=wanted_runs(20))
    parser.add_argument("--only", default="")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--alone", action="store_true", help="each by itself")
    parser.add_argument("--few-task-slots",
                        action="store_true",
                        help="most tasks find no slot for their state")
    parser.add_argument("--record", metavar="DIR", help="record only")
    parser.add_argument("--compare", metavar="DIR", help="what --record left there")
    parser.add_argument("--again",
                        metavar="DIR",
                        action="append",
                        default=[],
                        help="with --compare: a further recording of those that disagreed")
    parser.add_argument(
        "--wrong",
        metavar="FILE",
        help="with --compare: if some disagree that may be tried again, say only which, there")
    options = parser.parse_args()
    names = options.only.split("+") if options.only else QUIET + LOUD
    if options.few_task_slots:
        RECORD.append("--few-task-slots")
    seeds = list(range(options.seed, options.seed + options.runs))
    if options.record:
        take_down(options.record, names, seeds, options.alone)
        ok(True, f"{len(names)} workloads recorded")
        finish()
    top = options.compare or scratch("first")
    if not options.compare:
        take_down(top, names, seeds, options.alone)
    about, results = look_at(top)
    alone = [look_at(directory)[1] for directory in options.again]
    again = to_try_again(results, alone)
    if again and options.wrong:
        with open(options.wrong, "w", encoding="ascii") as file:
            file.write("+".join(again))
        return
    while again and not options.compare:
        place = scratch(f"again{len(alone)}")
        take_down(place, again, [seed + 10000 * (len(alone) + 1) for seed in seeds], True)
        alone.append(look_at(place)[1])
        again = to_try_again(results, alone)
    report(about, results, alone)


if __name__ == "__main__":
    assert os.path.exists(CLEW), "clew is not built"
    main()
