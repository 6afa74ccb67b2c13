#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Edges of one type dropped before the builder: what was reached only through one of them
becomes one
unknown segment of the same length, and nothing else changes.
"""

import json
import os

from _graph import check_cover
from _live import GUEST, WORKLOADS, answer, clew, finish, note, ok, scratch

# Workload and variant, and the types of edges its explanations go through.
CASES = [("chain", "", "pipe"), ("chain", "", "unlock"), ("convoy", "", "unlock"),
         ("twospan", "", "unlock"), ("pipe", "threads", "pipe"), ("socket", "stream", "socket"),
         ("ipc", "messages", "ipc"), ("epoll", "", "eventfd"), ("barrier", "", "wake"),
         ("semaphore", "", "wake"), ("tree", "", "exit"), ("signal", "", "signal")]
# The builder is the same everywhere, only what was recorded differs, and an
# emulated CPU takes minutes for all.
IN_GUEST = ["chain"]


def plain(segment):
    return {key: segment[key] for key in ("start", "end", "kind", "tid", "chain")}


def compare(path, graph, kind):
    """Returns how many waits were cut, and what is wrong."""
    tids = {task["tid"] for task in graph["tasks"]}
    edges = [
        e for e in answer("edges", path, "--type", kind)["edges"]
        if graph["start"] <= e["from"][0]["at"] <= graph["end"]
    ]
    cut, wrong = 0, []
    for tid in tids:
        begin, end = graph["start"], graph["end"]
        ended = {to["at"] for e in edges for to in e["to"] if to["tid"] == tid}
        # One shorter than a step of the clock is no segment.
        waits = [
            w for w in answer("waits", path, "--tid", tid)["waits"]
            if w["end"] in ended and w["start"] < w["end"] and w["start"] >= begin
            and w["end"] <= end and not w["holders"]
        ]
        if not waits:
            continue
        begin, end = min(w["start"] for w in waits) - 1000, max(w["end"] for w in waits)
        full = answer("why", path, "--tid", tid, "--from", begin, "--to", end)
        less = answer("why", path, "--tid", tid, "--from", begin, "--to", end, "--without", kind)
        problem = check_cover(less)
        if problem:
            wrong.append(f"{tid}: {problem}")
        # Only what is the asked thread's own wait is judged: deeper ones are
        # others' and judged there.
        for wait in waits:
            inside = [
                s for s in less["segments"] if s["start"] < wait["end"] and s["end"] > wait["start"]
            ]
            cut += 1
            if len(inside) != 1 or inside[0]["kind"] != "unknown" or inside[0]["start"] != wait[
                    "start"] or inside[0]["end"] != wait["end"]:
                wrong.append(
                    f"{tid}: wait {wait['start']}..{wait['end']} is {[(s['kind'], s['start'], s['end']) for s in inside][:4]}"
                )
        own = [plain(s) for s in full["segments"] if not s["chain"]]
        still = [plain(s) for s in less["segments"] if not s["chain"]]
        left = [s for s in own if s not in still]
        if left:
            wrong.append(f"{tid}: of its own time {left[:2]} changed")
    return cut, wrong


def unaffected(path, graph, kind):
    """Explanations that go through no edge of this type stay as they are."""
    wrong = []
    for task in graph["tasks"]:
        arguments = ("why", path, "--tid", task["tid"], "--from", graph["start"] + 1, "--to",
                     graph["end"])
        full = clew(*arguments, "--json")
        less = clew(*arguments, "--without", kind, "--json")
        if full.returncode != less.returncode or full.stdout != less.stdout:
            wrong.append(f"{task['tid']} changed without {kind}")
    return wrong


def record(program, variant, path):
    words = [f"{WORKLOADS}/{program}", "--seed", "4"] + (["--variant", variant] if variant else [])
    done = clew("record", "-o", path, "--", *words)
    return json.loads(done.stdout)


def main():
    for program, variant, kind in (case for case in CASES if not GUEST or case[0] in IN_GUEST):
        path = scratch(f"{program}{variant}.clew")
        graph = record(program, variant, path)
        name = f"{program}{',' + variant if variant else ''} without {kind}"
        cut, wrong = compare(path, graph, kind)
        for problem in wrong[:4]:
            note(f"{name}: {problem}")
        ok(not wrong, f"{name}: {cut} waits become unknown, nothing else",
           f"{len(wrong)}: {wrong[:1]}")
        absent = next(t for t in ("vfork", "ipc")
                      if not any(t in e["type"] for e in graph["edges"]))
        wrong = unaffected(path, graph, absent)
        ok(
            not wrong,
            f"{program}{',' + variant if variant else ''} without {absent}, which it has not: nothing changes",
            wrong[:1])
        os.unlink(path)
    finish()


if __name__ == "__main__":
    main()
