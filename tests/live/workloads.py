#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Known answers: every workload, many times with different seeds, against clew's edges, waits and why.

Several runs share one recording. Every pair of every edge type must be right: precision and
recall are both 1.0 in all runs, or the test fails. Excused is only what clew itself marks as
blind: some machines hide single switches of certain tasks from every tracer. These are counted
and must be few.

Usage: workloads.py [--runs N] [--only NAME,..]   (runs also from CLEW_LIVE_RUNS; 20)
"""

import argparse
import collections
import concurrent.futures
import json
import os
import time

from _graph import Capture, Score, compare_edges, compare_names, compare_waits, compare_why
from _live import CLEW, GUEST, PATIENCE, WORKLOADS, answer, clew, feature, finish, note, ok, run, scratch, skip
from _place import Place
from _rules import compare_rules

# Program and variant; together: may run beside others (those that do not fill a CPU).
QUIET = [
    "barrier", "chain", "condition", "convoy", "deadlock", "epoll", "execthread", "fault", "ipc,messages", "ipc,semaphores", "ipc,queue",
    "mutex,normal", "mutex,pi", "mutex,robust", "mutex,shared", "mutex,shared-pi", "mutex,pidns", "mutex-32,normal", "pipe,threads",
    "pipe,processes", "pipe-32,threads", "reuse", "rwlock", "semaphore", "signal", "signal-32", "sleep", "sleep-32", "socket,stream",
    "socket,datagram", "socket,sequence", "stop", "tree", "vfork",
    "net,tcp", "net,udp", "net,full", "net,tcp-veth", "net,udp-veth", "net,full-veth", "timer,other", "timer,self", "timer,epoll", "timer,slack",
    "uring,pipe", "uring,other", "work,terminal", "work,refresh", "work,grace", "kernellock,position", "kernellock,inode", "kernellock,directory",
]
# One after the other: they fill CPUs, or have a disk or a group to themselves.
LOUD = [
    "twospan", "spinners", "race,futex", "race,pipe", "timer,hog", "inversion", "deep", "fight,directory", "fight,mapping", "quota,cpu", "quota,memory",
    "kernellock,freeze", "work,loop", "uring,aio-ext4", "uring,aio-xfs", "uring,aio-other-ext4", "uring,file-ext4", "uring,file-xfs", "uring,worker-ext4",
    *(f"disk,{what}-{system}" for system in ("ext4", "xfs", "dm") for what in ("read", "write", "dsync", "cold", "fsync", "fresh")),
]
RUNS_PER_RECORDING = 5


def command(name, seed, directory, place):
    program, _, variant = name.partition(",")
    output = os.path.join(directory, f"{name}.{seed}.json")
    words = [os.path.join(WORKLOADS, program), "--seed", str(seed), "--place", place.path] + (["--variant", variant] if variant else [])
    return f"{' '.join(words)} >'{output}' 2>'{output}.err' || echo $? >'{output}.status'"


def record(names, seeds, directory, place, alone):
    """One recording of all workloads with these seeds, side by side or one by one; returns the capture's path."""
    loud = names if alone else LOUD
    script = os.path.join(directory, "run.sh")
    with open(script, "w", encoding="ascii") as file:
        file.write("cd \"${0%/*}\"\n")
        for seed in seeds:
            for group in ([n for n in names if n not in loud][i::2] for i in range(2)):
                if not group:
                    continue
                file.write("(\n" + "\n".join(command(n, seed, directory, place) for n in group) + "\n) &\n")
            file.write("wait\n")
            file.write("\n".join(command(n, seed, directory, place) for n in names if n in loud) + "\n")
    path = os.path.join(directory, "trace.clew")
    done = clew("record", "-o", path, "--", "/bin/sh", script, timeout=PATIENCE * 5)
    if done.returncode != 0:
        raise RuntimeError(f"clew record: status {done.returncode}: {done.stderr}")
    note(done.stderr.strip())
    return path


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
        for problem in wrong + compare_names(graph, capture) + compare_waits(graph, capture) + compare_rules(graph, capture):
            self.note(name, seed, problem)

    def note(self, name, seed, problem):
        text = f"seed {seed}: {problem}"
        if getattr(problem, "blind", False):
            self.blind.append(f"{name}: {text}")
        else:
            self.wrong[name].append(text)


def explain(path, fact):
    return answer("why", path, "--tid", fact["tid"], "--from", fact["from"], "--to", fact["to"])


def load_requests(results, path, graphs):
    """All requests of a capture, if any workload says something of them; --dev must choose among the same."""
    devices = {rule["dev"] for graph in graphs for rule in graph["rules"] if "dev" in rule}
    if not devices:
        return []
    requests = answer("requests", path)["requests"]
    for device in devices:
        chosen = [r for r in answer("requests", path, "--dev", device)["requests"] if r["dev"] == device]
        if chosen != [r for r in requests if r["dev"] == device]:
            results.requests_differ.append(f"--dev {device}: {len(chosen)} requests, among all {sum(r['dev'] == device for r in requests)}")
    return requests


def check_recording(results, names, seeds, directory, place, alone=False):
    begun = time.monotonic()
    path = record(names, seeds, directory, place, alone)
    recorded = time.monotonic()
    info = answer("info", path)
    ledger = info["ledger"]
    if ledger["lost"] or ledger["missed"] or not ledger["balanced"]:
        note(f"ledger: lost {ledger['lost']}, missed {ledger['missed']}, balanced {ledger['balanced']}")
    loaded = {(name, seed): load(name, seed, directory) for name in names for seed in seeds}
    requests = load_requests(results, path, [graph for graph, _ in loaded.values() if graph])
    capture = Capture(answer("edges", path)["edges"], answer("waits", path)["waits"], requests)
    capture.passes_on = place.direct
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
        for (name, seed, fact), why in zip(questions, pool.map(lambda q: explain(path, q[2]), questions)):
            # An emulated CPU's clock of a thread's own time and the wall clock drift apart.
            for problem in compare_why(fact, why, capture, 2.5 if GUEST and name == "spinners" else 1.0):
                results.note(name, seed, problem)
    note(f"recorded in {recorded - begun:.0f} s, compared in {time.monotonic() - recorded:.0f} s, {len(questions)} explanations")


def may_skip(name, reason):
    """Whether what a workload lacks is really lacking."""
    if name.endswith("-32") or "-32," in name:
        return not feature("32-bit calls")[0]
    if name.startswith("race"):
        return os.cpu_count() < 2
    return "refused" in reason or "no such" in reason


def runs_here(name):
    """A 32-bit program may be refused by the kernel."""
    program = os.path.join(WORKLOADS, name.partition(",")[0])
    try:
        return run(program, "--seed", 1, timeout=PATIENCE).returncode == 0
    except OSError:
        return False


def try_again(results, names, seeds, place):
    """
    A few that disagreed run once more, each by itself: side by side on two CPUs, under an emulator too, some of the
    workloads' own assumptions about time fail. Many at once are no accident, and are not tried again.
    """
    wrong = [name for name in names if results.wrong[name]]
    if not wrong or len(wrong) > max(1, len(names) // 8):
        return None
    second = Results(wrong)
    second.waits_of = set(wrong)
    directory = scratch("again")
    os.makedirs(directory)
    check_recording(second, wrong, [seed + 10000 for seed in seeds], directory, place, alone=True)
    return second


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=int(os.environ.get("CLEW_LIVE_RUNS", "20")))
    parser.add_argument("--only", default="")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    names = options.only.split("+") if options.only else QUIET + LOUD
    results = Results(names)
    for name in [n for n in names if "-32" in n]:
        if not runs_here(name):
            names.remove(name)
            available, reason = feature("32-bit calls")
            if available and not GUEST:
                ok(False, f"workload {name}", "this machine does not run the program")
            else:
                skip(f"workload {name}", reason or "this kernel runs no 32-bit programs")
    seeds = list(range(options.seed, options.seed + options.runs))
    with Place() as place:
        for name in list(names):
            reason = place.needs(name)
            if reason:
                names.remove(name)
                # A guest is made with all that is needed.
                (ok(False, f"workload {name}", reason) if GUEST else skip(f"workload {name}", reason))
        for first in range(0, len(seeds), RUNS_PER_RECORDING):
            directory = scratch(f"run{first}")
            os.makedirs(directory)
            check_recording(results, names, seeds[first:first + RUNS_PER_RECORDING], directory, place)
        second = try_again(results, names, seeds, place)
    for line in results.score.table():
        note(line)
    for problem in results.blind[:20]:
        note("blind: " + problem)
    ok(not results.requests_differ, "requests of one device are the same among all", results.requests_differ[:2])
    total = sum(results.score.right.values()) + sum(results.waits.values())
    ok(len(results.blind) <= total / 500, f"clew is blind in {len(results.blind)} of {total} cases", "more than 0.2 %")
    for name in names:
        pairs = sum(results.scores[name].right.values())
        title = f"workload {name}: {options.runs} runs, {pairs} pairs, {results.waits[name]} waits, {results.facts[name]} explanations, {results.rules[name]} rules"
        if name in results.skipped and not results.wrong[name]:
            if may_skip(name, results.skipped[name]):
                skip(f"workload {name}", results.skipped[name])
            else:
                ok(False, title, "skipped itself: " + results.skipped[name])
            continue
        for problem in results.wrong[name][:8]:
            note(f"{name}: {problem}")
        if second and name in second.waits_of and not second.wrong[name]:
            ok(True, title + f"; disagreed beside others, agreed in {options.runs} more runs by itself")
            continue
        for problem in second.wrong[name][:8] if second else []:
            note(f"{name}, by itself: {problem}")
        ok(not results.wrong[name], title, f"{len(results.wrong[name])} disagree, first: {(results.wrong[name] or [''])[0]}")
    finish()


if __name__ == "__main__":
    assert os.path.exists(CLEW), "clew is not built"
    main()
