#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Captures of workloads as causal traces: consistent, with one dependency for one release,
and, converted to
notation and read again, with the same answers to the byte.
"""

import collections
import json
import re

from _accuracy import measured
from _graph import SLACK
from _live import GUEST, answer, clew, finish, note, ok, record_workload, scratch, skip
from _place import Place

CASES = [("mutex", ""), ("pipe", "threads"), ("tree", ""), ("barrier", ""), ("epoll", ""),
         ("socket", "stream"), ("disk", "fsync-ext4")]
# What converts is the same everywhere, only what was recorded differs, and an
# emulated CPU takes minutes for all.
IN_GUEST = ["disk"]
MOST_THREADS = 12


def record(name, variant, place):
    """The capture's path and the workload's graph, or None and what went wrong."""
    path = scratch(f"{name}-{variant}.clew")
    words = ["--place", place.path] + (["--variant", variant] if variant else [])
    # Notation has no stacks.
    return path, *record_workload(path, name, *words, options=["--no-stacks"])


def commands(graph):
    """Commands whose answers must not change, with their arguments."""
    yield from (["waits", "--idle"], ["edges", "--idle"], ["requests",
                                                           "--idle"], ["waits", "--by",
                                                                       "object"], ["info"],
                ["why", "--slowest",
                 "20"], ["edges", "--type",
                         "wake,fork"], ["why", "--slowest", "5", "--without", "unlock,pipe"])
    for task in graph["tasks"][:MOST_THREADS]:
        yield ["why", "--tid", str(task["tid"])]


def differences(capture, notation, graph):
    wrong, bytes_compared = [], 0
    for command in commands(graph):
        for form in (["--json"], ) if GUEST else ([], ["--json"]):
            first, second = (clew(command[0], path, *command[1:], *form)
                             for path in (capture, notation))
            bytes_compared += len(first.stdout)
            if (first.returncode, first.stdout) != (second.returncode, second.stdout):
                wrong.append(
                    " ".join(command + form) +
                    f" (status {first.returncode} and {second.returncode}, {second.stderr.strip()[:100]})"
                )
    return wrong, bytes_compared


def path_differences(capture, notation, trace):
    """
    `clew path` through the same threads: from the start of one to the end of
    another that it leads to.
    """
    wrong, found = [], 0
    by_path = {span["path"]: span for span in trace["spans"]}
    named = collections.Counter(span["path"] for span in trace["spans"])
    for dependency in trace["dependencies"][:40]:
        if not dependency["origins"] or not dependency["destinations"]:
            continue
        origin, destination = dependency["origins"][0], dependency["destinations"][0]
        # Requests of one place have one name, which says nothing of which one is meant.
        if named[origin["span"]] > 1 or named[destination["span"]] > 1:
            continue
        start = by_path[origin["span"]]["elementary"][origin["es"]]["start"]
        end = by_path[destination["span"]]["elementary"][destination["es"]]["end"]
        positions = ("--from", f"{origin['span']} @ duration({start - FIRST}ns)", "--to",
                     f"{destination['span']} @ duration({end - FIRST}ns)")
        answers = [clew("path", path, *positions, "--json") for path in (capture, notation)]
        found += answers[0].returncode == 0
        if (answers[0].returncode, answers[0].stdout) != (answers[1].returncode, answers[1].stdout):
            wrong.append(f"{origin['span']} to {destination['span']}")
    return wrong, found


def several(trace):
    """Dependencies with several destinations, and those with several origins."""
    return ([d for d in trace["dependencies"] if len(d["destinations"]) > 1],
            [d for d in trace["dependencies"] if d["mode"] == "and"])


def check_barrier(trace, graph):
    """Each release of a barrier is one dependency, to threads of the workload from one of them."""
    names = {f"{task['comm']}-{task['tid']}" for task in graph["tasks"]}
    releases = [d for d in several(trace)[0] if d["type"] == "wake" and len(d["origins"]) == 1]
    inside = [
        d for d in releases if plain(d["origins"][0]["span"]) in names and all(
            plain(to["span"]) in names for to in d["destinations"])
    ]
    ok(
        len(inside) >= 3, "barrier: a release is one dependency with several destinations",
        f"{len(inside)} of {len(releases)}")
    ok(
        max((len(d["destinations"]) for d in inside), default=0) >= 3,
        "barrier: with all who waited", [len(d["destinations"]) for d in inside])


def plain(path):
    """A root span's name without its backslashes."""
    return re.sub(r"\\(.)", r"\1", path)


def check_places(name, trace):
    hierarchies = trace["categories"]
    ok(
        list(hierarchies) == ["processes", "cpus", "devices"], name + ": hierarchies",
        list(hierarchies))
    placed = [span for category in hierarchies["processes"] for span in category["spans"]]
    cpus = [span for category in hierarchies["cpus"] for span in category["spans"]]
    ok(
        len(placed) == len(set(placed)) and not set(placed) & set(cpus),
        name + ": a thread is in one process and on no CPU's place")
    ok(
        len(cpus) >= 1 and all(span.startswith("cpu") for span in cpus),
        name + ": a root span a hardware thread", cpus)
    runs = {span["path"]: span["elementary"] for span in trace["spans"] if span["path"] in cpus}
    named = [
        mark["label"] for elementary in runs.values() for es in elementary for mark in es["marks"]
    ]
    unknown = [label for label in named if label not in {plain(span) for span in placed}]
    ok(named and not unknown, name + ": runs are named as their threads", unknown[:3])


def asleep(span, at):
    """Whether a thread waits at a moment: one that was woken and is not on a CPU yet does not."""
    runs = span["elementary"]
    return any(before["end"] < at <= after["start"] - int(after["wait"].get("runqueue", 0))
               for before, after in zip(runs, runs[1:])
               if after["wait"] and after["wait"]["kind"] != "runqueue")


def origins_by_dependency(spans):
    """
    For each dependency the numbers of the spans that it comes from, and of their elementary
    spans. Requests of one place have one name, so that the names of its origins do not say
    which ones are meant.
    """
    found = collections.defaultdict(dict)
    for number, span in enumerate(spans):
        for es, run in enumerate(span["elementary"]):
            if run["out"]:
                found[run["out"]["dep"]][number] = es
    return found


def check_fsync(trace, graph, whole):
    """
    An fsync over k requests waits in the end for all of them: one dependency with k
    origins. What else the call asks
    for, its log or a flush, has them for origins, too. Returns whether there was such an end.
    """
    spans = trace["spans"]
    threads = {plain(span["path"]): span for span in spans}
    names = {task["tid"]: f"{task['comm']}-{task['tid']}" for task in graph["tasks"]}
    origins = origins_by_dependency(spans)
    several, wrong, failed = [], [], set()
    for rule in graph["rules"]:
        if rule["rule"] != "requests" or rule["op"] != "write":
            continue
        wanted = [(first, first + count) for first, count in rule["sectors"]]
        asked = {
            number
            for number, span in enumerate(spans)
            if span["path"].startswith(rule["dev"] + "/") and span["attributes"].get("op") ==
            "write" and span["attributes"].get("submitter") == names[rule["tid"]] and rule["from"] -
            SLACK <= span["start"] <= rule["to"] and any(
                low <= int(span["attributes"]["sector"]) < high for low, high in wanted)
        }
        mine = [d for d in whole if plain(d["destinations"][0]["span"]) == names[rule["tid"]]]
        ends = [d for d in mine if origins[d["dep"]].keys() >= asked]
        if len(asked) < 2 or not asleep(threads[names[rule["tid"]]],
                                        max(spans[number]["end"] for number in asked)):
            continue
        several.append(len(asked))
        if not ends:
            failed.add(len(several))
            near = [sorted(asked - origins[d["dep"]].keys()) for d in mine]
            lacks = min((lack for lack in near if len(lack) < len(asked)), key=len, default=None)
            wrong.append(
                f"{len(asked)} requests: no dependency from all of them, the nearest lacks {lacks and [(spans[number]['path'], spans[number]['start'], spans[number]['end']) for number in lacks]}, "
                f"they end at {sorted(spans[number]['end'] for number in asked)}")
        for end in ends:
            over = [(spans[number]["path"], es, spans[number]["elementary"][es]["end"])
                    for number, es in origins[end["dep"]].items()]
            trigger = end["origins"][0]
            last = max(at for _, _, at in over)
            if (trigger["span"], trigger["es"], last) not in over:
                failed.add(len(several))
                wrong.append(
                    f"{len(asked)} requests: {trigger} triggers, and they are over at {over}")
    measured("dependency request", len(several), len(failed),
             witness="the requests of an fsync that a workload prints")
    # The last of them may be over before anyone sleeps, in a rare run for all:
    # there is nothing to say then.
    ok(
        not wrong,
        f"disk: each fsync over several requests, {several}, is one dependency from all of them that the last triggers",
        wrong[:3])
    return bool(several)


def check_disk(trace, graph):
    """A wait for several requests has them all for origins, and each request its submitter."""
    children = {span["path"] for span in trace["spans"] if "/" in span["path"]}
    whole = [
        d for d in several(trace)[1]
        if d["type"] == "request" and all(o["span"] in children for o in d["origins"])
    ]
    waited = check_fsync(trace, graph, whole)
    ok(whole or not waited, "disk: a wait for several requests is one dependency with several origins",
       f"{len(several(trace)[1])} with several")
    ok(all(d["origins"][0]["trigger"] for d in whole), "disk: the last of them triggers")
    begun = {
        d["destinations"][0]["span"]
        for d in trace["dependencies"]
        if d["type"] == "request" and d["destinations"][0]["span"] in children
    }
    ok((whole or not waited) and all(o["span"] in begun for d in whole for o in d["origins"]),
       "disk: each request comes from who submitted it")


def check(name, variant, place):
    global FIRST  # pylint: disable=global-statement

    label = f"{name} {variant}".strip()
    reason = place.needs(f"{name},{variant}")
    if reason:
        skip(label, reason)
        return
    capture, graph, problem = record(name, variant, place)
    if not ok(graph is not None, label + ": is recorded", problem):
        return
    notation = scratch(f"{name}-{variant}.ctrace")
    done = clew("convert", capture, "-o", notation)
    if not ok(done.returncode == 0, label + ": is converted", done.stderr):
        return
    checked = clew("check", capture, "--json")
    errors = [p for p in json.loads(checked.stdout)["problems"] if p["severity"] == "error"]
    ok(checked.returncode == 0 and not errors, label + ": nothing in it contradicts itself",
       errors[:2])
    trace = answer("dump", capture)
    FIRST = min(span["start"] for span in trace["spans"])
    ok(answer("dump", notation) == trace, label + ": notation is the same causal trace")
    check_places(label, trace)
    wrong, compared = differences(capture, notation, graph)
    ok(not wrong, label + ": notation answers as the capture", wrong[:3])
    found = 0
    if not GUEST:
        wrong, found = path_differences(capture, notation, trace)
        ok(not wrong and (found or not trace["dependencies"]),
           label + ": and leads along the same paths", wrong[:3] or "no path at all")
    note(
        f"{label}: {len(trace['spans'])} spans, {len(trace['dependencies'])} dependencies, {compared} bytes of answers compared, {found} paths"
    )
    if name == "barrier":
        check_barrier(trace, graph)
    if name == "disk":
        check_disk(trace, graph)


def main():
    with Place(["ext4"]) as place:
        for name, variant in (case for case in CASES if not GUEST or case[0] in IN_GUEST):
            check(name, variant, place)
    finish()


FIRST = 0
main()
