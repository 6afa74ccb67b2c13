# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Compares clew's answers with the causal graphs that workloads printed.

A pair (edge, one destination) is the unit that is counted. A reported pair between
a workload's own tasks, of a type for which the workload lists everything, is right
if it is in the list, at a time within the act; each listed pair must be reported
exactly once.
"""

import collections
import fnmatch
import re

# ns. Programs in the kernel read a clock that may be some us off the one a
# process reads, until the next tick.
SLACK = 10000
REACH = 100000  # ns: how far around a blind wait its task may be misjudged


class Disagreement(str):
    """What is wrong, in words; `blind` if clew says of itself that it could not see there."""

    blind = False


def disagreement(text, blind=False):
    said = Disagreement(text)
    said.blind = blind
    return said


class Score:
    """Counts per edge type."""

    def __init__(self):
        self.right = collections.Counter()
        self.wrong = collections.Counter()
        self.missed = collections.Counter()
        self.blind = collections.Counter()  # missed where clew says that it could not see
        self.differs = collections.Counter()  # right but for their evidence, context or object

    def add(self, other):
        self.right.update(other.right)
        self.wrong.update(other.wrong)
        self.missed.update(other.missed)
        self.blind.update(other.blind)
        self.differs.update(other.differs)

    def table(self):
        types = sorted(set(self.right) | set(self.wrong) | set(self.missed) | set(self.blind))
        lines = [f"{'type':<10} {'pairs':>7} {'precision':>9} {'recall':>7} {'blind':>5}"]
        for kind in types:
            right, wrong, missed = self.right[kind], self.wrong[kind], self.missed[kind]
            precision = right / (right + wrong) if right + wrong else 1.0
            recall = right / (right + missed) if right + missed else 1.0
            lines.append(
                f"{kind:<10} {right + missed:>7} {precision:>9.4f} {recall:>7.4f} {self.blind[kind]:>5}"
            )
        return lines


class Capture:
    """A capture's edges and waits, found by tid, and its requests."""

    def __init__(self, edges, waits, requests=()):
        self.by_origin = collections.defaultdict(list)
        self.by_end = collections.defaultdict(list)
        for edge in edges:
            for origin in {origin["tid"] for origin in edge["from"]}:
                self.by_origin[origin].append(edge)
            for to in edge["to"]:
                self.by_end[(to["tid"], to["at"])].append(edge)
        self.requests = requests
        self.by_device = collections.defaultdict(list)
        for request in requests:
            self.by_device[request["dev"]].append(request)
        self.passes_on = {
        }  # "major:minor" of a loop device -> whether it asks the disk below directly
        self.by_tid = collections.defaultdict(list)
        for wait in waits:
            self.by_tid[wait["tid"]].append(wait)

    def inside_kernel(self, tid, at):
        """
        Whether the wait that ended then was for something of the kernel's own,
        a lock say: no workload's graph can list that.
        """
        return any(w["end"] == at and (w["kind"] in ("read", "write", "fsync", "file") or (
            w["kind"] in ("fault", "other", "io", "unknown") and not w["object"]))
                   for w in self.by_tid.get(tid, ()))

    def edges_at(self, tid, at):
        """Edges whose destination is this task at this moment."""
        return self.by_end.get((tid, at), ())

    def edge_to(self, tid, at, kind, origins):
        return any(e["type"] == kind and any(o["tid"] in origins for o in e["from"])
                   for e in self.edges_at(tid, at))

    def requests_of(self, device):
        return self.by_device.get(device, ())

    def blind(self, tid, start, end):
        """Whether clew says that it did not see all of a task then."""
        return any(
            w.get("blind") for w in self.by_tid.get(tid, ())
            if w["start"] <= end + REACH and (w["end"] is None or w["end"] >= start - REACH))


def object_agrees(said, found):
    """
    `said`: KIND or KIND:NUMBER or nothing; with a question mark in front
    another kind, or none, is right too.
    """
    if not said:
        return True
    kind, _, number = said.lstrip("?").partition(":")
    if not found or found.get("kind") != kind:
        return said[0] == "?"
    return not number or str(found.get("ino")) == number


def compare_edges(graph, capture):
    """Returns a Score and a list of what is wrong, in words."""
    score, wrong = Score(), []
    tids = {task["tid"] for task in graph["tasks"]}
    claims = set(graph["claims"])
    expected = collections.defaultdict(list)
    for edge in graph["edges"]:
        for to in edge["to"]:
            expected[(edge["from"], to)].append({**edge, "found": 0})
    wide = {}
    lists_locks = any(edge["object"] == "lock" for edge in graph["edges"])
    for tid in tids:
        for edge in capture.by_origin.get(tid, ()):
            at = next(o["at"] for o in edge["from"] if o["tid"] == tid)
            if edge["type"] not in claims or not graph["start"] - SLACK <= at <= graph[
                    "end"] + SLACK:
                continue
            for to in edge["to"]:
                if to["tid"] not in tids:
                    continue
                listed = [
                    e for e in expected[(tid, to["tid"])]
                    if edge["type"] in e["type"] and not e["found"] and e["at_min"] -
                    SLACK <= at <= e["at_max"] + SLACK
                ]
                if not listed and edge["type"] == "wake" and capture.inside_kernel(
                        to["tid"], to["at"]):
                    continue
                # Any two may meet at a lock of the kernel's, which may be unknown; who means to says
                # so.
                if not listed and edge["type"] == "unlock" and (
                        edge["object"] or {"kind": "lock"})["kind"] == "lock" and not lists_locks:
                    continue
                if not listed:
                    score.wrong[edge["type"]] += 1
                    wrong.append(
                        f"edge {edge['type']} {tid} -> {to['tid']} at {at} is not in the graph (object {edge['object']})"
                    )
                    continue
                # Slack is for an act that nothing fits better: first the
                # windows that hold the moment itself.
                match = min(listed,
                            key=lambda e: (max(e["at_min"] - at, at - e["at_max"], 0), e[
                                "optional"], e["at_max"] - e["at_min"]))
                match["found"] = 1
                score.right[edge["type"]] += 1
                agreed = len(wrong)
                if edge["evidence"] not in match["evidence"]:
                    wrong.append(
                        f"edge {edge['type']} {tid} -> {to['tid']}: evidence {edge['evidence']}")
                if match["context"] and edge["context"] not in match["context"]:
                    wrong.append(
                        f"edge {edge['type']} {tid} -> {to['tid']}: context {edge['context']}, not {match['context']}"
                    )
                if not object_agrees(match["object"], edge["object"]):
                    wrong.append(
                        f"edge {edge['type']} {tid} -> {to['tid']}: object {edge['object']}, not {match['object']}"
                    )
                score.differs[edge["type"]] += len(wrong) > agreed
                if len(match["to"]) > 1:
                    wide.setdefault((match["at_min"], tid), (match, []))[1].append(len(edge["to"]))
    for pair, edges in expected.items():
        for edge in edges:
            if not edge["found"] and not edge["optional"]:
                blind = capture.blind(pair[1], edge["at_min"], edge["until"])
                (score.blind if blind else score.missed)[edge["type"][0]] += 1
                wrong.append(
                    disagreement(
                        f"edge {edge['type'][0]} {pair[0]} -> {pair[1]} in {edge['at_min']}..{edge['at_max']} is missing",
                        blind))
    for (at, tid), (match, sizes) in wide.items():
        # One cause with n effects is one edge with n destinations.
        if any(size != len(match["to"]) for size in sizes):
            wrong.append(
                f"edge {match['type'][0]} of {tid} at {at}: {sizes} destinations, not {len(match['to'])}"
            )
    return score, wrong


def compare_names(graph, capture):
    """
    Every edge between the workload's tasks names them as they named themselves;
    a new task has its creator's name until then, or for all its life.
    """
    wrong = []
    names = collections.defaultdict(set)
    unnamed = collections.defaultdict(list)
    for task in graph["tasks"]:
        names[task["tid"]].add(task["comm"])
        unnamed[task["tid"]].append((task["born"], task["named"] or float("inf")))
    for tid in names:
        for edge in capture.by_origin.get(tid, ()):
            if edge["type"] in ("fork", "exec", "exit", "vfork"
                                ) or not graph["start"] <= edge["from"][0]["at"] <= graph["end"]:
                continue
            if any(end["tid"] not in names for end in edge["from"] + edge["to"]):
                continue
            for end in edge["from"] + edge["to"]:
                new = any(born <= end["at"] <= named for born, named in unnamed[end["tid"]])
                if end["comm"] not in names[end["tid"]] and not new:
                    wrong.append(
                        f"{edge['type']}: {end['tid']} is named {end['comm']!r}, not {sorted(names[end['tid']])}"
                    )
    return wrong


def _holders_agree(expected, wait):
    held = []
    for holder in wait["holders"]:
        if held and held[-1]["tid"] == holder["tid"]:
            held[-1] = {**held[-1], "to": holder["to"]}
        else:
            held.append(dict(holder))
    if [h["tid"] for h in held] != [h["tid"] for h in expected]:
        return f"holders {[h['tid'] for h in held]}, not {[h['tid'] for h in expected]}"
    end = wait["end"]
    # Between a release and the next holder only that one was coming.
    coming = {(c["tid"], c["to"]): c["from"] for c in wait.get("coming", ())}
    for holder in held:
        holder["begin"] = coming.get((holder["tid"], holder["from"]), holder["from"])
    for said, holder in zip(expected, held):
        to = holder["to"]
        if end is not None and to == end:
            continue
        if not said["to_min"] - SLACK <= to <= said["to_max"] + SLACK:
            return f"holder {holder['tid']} until {to}, not {said['to_min']}..{said['to_max']}"
    if held and (held[0]["begin"] != wait["start"] or (end is not None and held[-1]["to"] != end)):
        return "holders do not cover the wait"
    if any(a["to"] != b["begin"] for a, b in zip(held, held[1:])):
        return "holders leave a hole"
    return ""


def outside(said, wait):
    """By how much a wait's ends lie outside the times said."""
    return max(said["start_min"] - wait["start"], wait["start"] - said["start_max"], 0) + max(
        said["end_min"] - wait["end"], wait["end"] - said["end_max"], 0)


def compare_wait(said, capture):
    """What is wrong with one expected wait, in words, or nothing."""
    name = f"wait of {said['tid']} {'|'.join(said['kind'])} in {said['start_min']}..{said['end_max']}"
    inside = [
        w for w in capture.by_tid.get(said["tid"], ())
        if said["start_min"] - SLACK <= w["start"] <= said["start_max"] + SLACK
        and w["end"] is not None and said["end_min"] - SLACK <= w["end"] <= said["end_max"] + SLACK
    ]
    # A task's waits do not overlap: slack is for one that nothing fits better.
    inside.sort(key=lambda w: outside(said, w))
    if not inside or (len(inside) > 1 and outside(said, inside[1]) == 0):
        near = [
            (w["kind"], w["start"], w["end"]) for w in capture.by_tid.get(said["tid"], ())
            if w["start"] <= said["end_max"] and (w["end"] is None or w["end"] >= said["start_min"])
        ]
        return f"{name}: {len(inside)} such waits, near it {near[:4]}"
    wait = inside[0]
    if wait["kind"] not in said["kind"]:
        return f"{name}: kind {wait['kind']} (call {wait['call']}, object {wait['object']})"
    if said["call"] != ["*"] and (wait["call"] not in said["call"]
                                  if said["call"] else wait["call"] is not None):
        return f"{name}: call {wait['call']}, not {said['call']}"
    if not object_agrees(said["object"], wait["object"]):
        return f"{name}: object {wait['object']}, not {said['object']}"
    if "ended_by" in said:
        by = (wait["ended_by"] or {}).get("tid")
        if wait["ended_by"] is None or by != said["ended_by"]:
            return f"{name}: ended by {wait['ended_by']}, not {said['ended_by']}"
        contexts = said["context"] or (["task"] if by is not None else [])
        if contexts and wait["ended_by"]["context"] not in contexts:
            return f"{name}: context {wait['ended_by']['context']}, not {contexts}"
    if "expires_max" in said:
        expires = (wait["object"] or {}).get("expires")
        if expires is None or not said["expires_min"] - SLACK <= expires <= said[
                "expires_max"] + SLACK:
            return f"{name}: expires {expires}, not {said['expires_min']}..{said['expires_max']}"
    if "holders" in said:
        problem = _holders_agree(said["holders"], wait)
        if problem:
            return f"{name}: {problem}"
    return ""


def compare_waits(graph, capture, counts):
    """What is wrong, in words. `counts`: by kind and "checked", "wrong" or "unknown"."""
    wrong = []
    for said in graph["waits"]:
        problem = compare_wait(said, capture)
        counts[said["kind"][0], "checked"] += 1
        if problem:
            blind = capture.blind(said["tid"], said["start_min"], said["end_max"])
            counts[said["kind"][0], "unknown" if blind else "wrong"] += 1
            wrong.append(disagreement(problem, blind))
    return wrong


def check_cover(why):
    """A why answer covers its interval exactly."""
    at = why["from"]
    for segment in why["segments"]:
        if segment["start"] != at or segment["end"] <= segment["start"] or segment[
                "ns"] != segment["end"] - segment["start"]:
            return f"segment {segment['start']}..{segment['end']} does not follow {at}"
        at = segment["end"]
    if at != why["to"]:
        return f"segments end at {at}, not {why['to']}"
    if why["total_ns"] != why["to"] - why["from"]:
        return "total_ns is not the interval"
    unknown = sum(s["ns"] for s in why["segments"] if s["kind"] == "unknown")
    return "" if unknown == why["unknown_ns"] else f"unknown_ns {why['unknown_ns']}, not {unknown}"


def compare_late(fact, why, capture):
    """
    How long sleeps went on past their time, by slack and by late interrupts; ''
    if as it must be.
    """
    wanted, found = collections.Counter(), collections.Counter()
    for wait in capture.by_tid.get(fact["tid"], ()):
        due = (wait["object"] or {}).get("expires")
        if wait["kind"] != "sleep" or not due or wait["start"] < fact["from"] or wait[
                "end"] is None or wait["end"] > fact["to"]:
            continue
        late = max(wait["end"] - due, 0)
        wanted["slack"] += min(late, fact["slack"])
        wanted["interrupt"] += max(late - fact["slack"], 0)
    for segment in why["segments"]:
        if segment["tid"] == fact["tid"] and segment["chain"] == [fact["tid"]
                                                                  ] and segment.get("late"):
            found[segment["late_by"]] += segment["ns"]
    if not wanted["slack"] or any(wanted[name] != found[name] for name in ("slack", "interrupt")):
        return f"late by {dict(found)}, not {dict(wanted)}"
    return ""


def hops_of(segment):
    """A segment's chain as kinds of waits, kinds of objects, and what led to each task."""
    return [
        f"{hop['kind']}:{(hop['object'] or {}).get('kind', '')}:{hop['via'] or ''}"
        for hop in segment["hops"]
    ]


def hops_agree(said, found):
    """Whether each hop is as said, where a part may be `*`."""
    return len(said) == len(found) and all(map(fnmatch.fnmatchcase, found, said))


def causes_without_places(why):
    """The causes' texts, where a thread of another name than its process's is only itself."""
    processes = {
        hop["process"]
        for segment in why["segments"] for hop in segment["hops"] if hop["process"]
    } | {segment["process"]
         for segment in why["segments"] if segment["process"]}
    names = "|".join(map(re.escape, sorted(processes, key=len, reverse=True)))
    place = re.compile(rf"(-\d+)(?: \(inside \d+\))? of (?:{names})")
    return [
        place.sub(r"\1", cause["text"]) if processes else cause["text"] for cause in why["causes"]
    ]


def compare_why(fact, why, capture, loose=1.0):
    """What is wrong with one why answer. `loose`: by which factor amounts may be off."""
    wrong = []
    problem = check_cover(why)
    if problem:
        wrong.append(problem)
    waits = [
        w for w in capture.by_tid.get(fact["tid"], ()) if fact["from"] <= w["start"] <= fact["to"]
    ]
    if fact["says"] and waits and all(w["end"] == w["start"] for w in waits):
        return wrong  # what it waited for came as it went to sleep: there is nothing to explain
    problem = compare_late(fact, why, capture) if fact["slack"] else ""
    if problem:
        wrong.append(disagreement(problem, capture.blind(fact["tid"], fact["from"], fact["to"])))
    texts = causes_without_places(why)
    if fact["says"] and not any(all(word in text for word in fact["says"]) for text in texts):
        # A cause is said by the wait that it ended, and the end of a hidden switch's wait is unknown.
        hidden = why["unknown_ns"] > 0 and any(
            capture.blind(charge["tid"], fact["from"], fact["to"])
            for charge in fact["charges"] if charge["tid"] is not None)
        wrong.append(disagreement(f"no cause says {fact['says']}: {texts[:4]}", hidden))
    for charge in fact["charges"]:
        sum_ns, misled = 0, (0, [])
        for segment in why["segments"]:
            if (charge["kind"] != ["*"] and segment["kind"] not in charge["kind"]) or (
                    charge["tid"] is not None and segment["tid"] != charge["tid"]):
                continue
            chain = segment["chain"][:len(charge["chain"])
                                     if charge["behind"] else None] if "chain" in charge else None
            if chain != charge.get("chain"):
                continue
            if "by" in charge and ((segment["object"] or {}).get("by")
                                   or {}).get("tid") not in charge["by"]:
                continue
            if charge["cycle"] and not segment.get("cycle"):
                continue
            if "hops" in charge and not hops_agree(charge["hops"], hops_of(segment)):
                misled = max(misled, (segment["ns"], hops_of(segment)))
                continue
            sum_ns += segment["ns"]
        if not charge["min"] / loose <= sum_ns <= charge["max"] * loose:
            kinds = collections.Counter()
            for segment in why["segments"]:
                kinds[(segment["kind"], segment["tid"])] += segment["ns"]
            problem = f"{'|'.join(charge['kind'])} of {charge['tid']}: {sum_ns} ns, not {charge['min']}..{charge['max']}; all: {kinds.most_common(5)}"
            if misled[1]:
                problem += f"; hops {misled[1]}, not {charge['hops']}"
            # A switch that was hidden ends what is known of a task that ran,
            # too: all that lacks is then said to be unknown.
            hidden = charge["min"] / loose <= sum_ns + kinds[
                ("unknown", charge["tid"])] <= charge["max"] * loose
            wrong.append(
                disagreement(
                    problem, why["unknown_ns"] > 0
                    and (hidden or capture.blind(charge["tid"], fact["from"], fact["to"]))))
    return [
        disagreement(f"why {fact['tid']} {fact['from']}..{fact['to']}: {problem}",
                     getattr(problem, "blind", False)) for problem in wrong
    ]
