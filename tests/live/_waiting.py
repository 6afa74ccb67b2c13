# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Edges and waits of workloads on the page cache: who pays for whose write,
read-ahead, commits, and pauses.
"""

from _graph import SLACK


def _during(act, at):
    return act["before"] - SLACK <= at <= act["after"] + SLACK


def _own(graph):
    return {task["tid"] for task in graph["tasks"]}


def check_writeback(tally, name, graph, capture, edges):
    """
    A sync's writeback is owed to just those who wrote what it found dirty: the
    flusher may have been there before.
    """
    tids = _own(graph)
    found = {}
    for edge in edges:
        if edge["type"] != "writeback":
            continue
        for to in edge["to"]:
            for act in graph["acts"]:
                if act["what"] == "sync" and act["tid"] == to["tid"] and _during(act, to["at"]):
                    found.setdefault(act["before"], set()).update(o["tid"] for o in edge["from"]
                                                                  if o["tid"] in tids)
    for act in graph["acts"]:
        if act["call"] != "fsync":
            continue
        passes = [
            p for file in graph["files"] if file["ino"] == act["ino"]
            for taken in capture.passes[(file["dev"], file["ino"])].values() for p in taken
        ]
        writers = {
            tid
            for p in passes if p.submitter == act["tid"] and _during(act, p.queued)
            for tid in p.before
        } & tids
        others = found.get(act["before"], set()) - {act["tid"]}
        if others == writers - {act["tid"]}:
            tally.count["writeback"] += 1
        else:
            tally.count["writeback wrong"] += 1
            tally.note(
                "writeback",
                f"{name}: fsync of {act['tid']} at {act['before']}: edges from {sorted(others)}, not {sorted(writers - {act['tid']})}"
            )


def check_ahead(tally, name, graph, edges, waits):
    """Who used what was read ahead for another has an edge from that other."""
    asker = {a["tid"] for a in graph["acts"] if a["what"] == "read"}
    for act in graph["acts"]:
        if act["what"] != "ahead":
            continue
        origins = [
            o["tid"] for e in edges if e["type"] == "readahead" for to in e["to"]
            if to["tid"] == act["tid"] and _during(act, to["at"]) for o in e["from"]
        ]
        if origins and set(origins) <= asker:
            tally.count["readahead"] += 1
        else:
            tally.count["readahead wrong"] += 1
            tally.note(
                "readahead",
                f"{name}: {act['tid']} used {act['count']} pages at {act['before']}: edges from {origins}, not {sorted(asker)}"
            )


def check_journal(tally, name, graph, edges, waits):
    """A commit has those in it that had handles since the last."""
    tids = _own(graph)
    acts = sorted(graph["acts"], key=lambda a: a["before"])
    for index, act in enumerate(acts):
        if act["call"] != "fsync" or not act["slept"]:
            continue
        since = max(a["after"] for a in acts[:index] if a["call"] == "syncfs")
        members = {
            a["tid"]
            for a in acts[:index] if a["before"] > since and a["what"] in ("name", "write")
        }
        found = {
            o["tid"]
            for e in edges
            if e["type"] == "journal" and any(_during(act, to["at"]) for to in e["to"])
            for o in e["from"]
        } & tids
        if found - {act["tid"]} == members - {act["tid"]}:
            tally.count["journal"] += 1
        else:
            tally.count["journal wrong"] += 1
            tally.note(
                "journal",
                f"{name}: fsync of {act['tid']} at {act['before']}: in the commit {sorted(found)}, not {sorted(members)}"
            )
        # Who loses its CPU for long enough sleeps for the pages alone: the commit is over by then.
        near = [w for w in waits if w["tid"] == act["tid"] and _during(act, w["start"])]
        for_pages = [
            w for w in near if any(part["kind"] == "request" for part in w["ended_by"]["through"])
        ]
        near = [(w["kind"], w["call"]) for w in near]
        if graph["system"] != "ext4" or act["slept"] <= len(for_pages):
            continue
        if any(kind == "journal" for kind, _ in near):
            tally.count["journal wait"] += 1
        else:
            tally.count["journal wait wrong"] += 1
            tally.note(
                "journal",
                f"{name}: fsync of {act['tid']} at {act['before']} has no wait for the journal: {near}"
            )


def check_throttle(tally, name, graph, edges, waits, flushers):
    """
    Two that write more than the limit allows pause as often as the kernel says,
    and each may be the other's reason.
    """
    writes = [a for a in graph["acts"] if a["what"] == "write"]
    if not flushers.known:
        return
    for tid in {a["tid"] for a in writes}:
        pauses = [at for at in flushers.pauses.get(tid, ()) if graph["start"] <= at <= graph["end"]]
        found = [
            w for w in waits if w["tid"] == tid and w["kind"] == "throttle"
            and graph["start"] <= w["start"] <= graph["end"]
        ]
        tally.count["pause"] += len(found)
        tally.count["pauses known"] += len(pauses)
        tally.count["pauses wrong"] += abs(len(found) - len(pauses))
        if len(found) != len(pauses):
            tally.note(
                "throttle",
                f"{name}: {tid} has {len(found)} waits of kind throttle, the kernel says {len(pauses)}"
            )
            continue
        others = {
            a["tid"]
            for a in writes if a["tid"] != tid and pauses and a["after"] < pauses[-1]
        }
        named = {
            p["tid"]
            for e in edges if e["type"] == "throttle" for to in e["to"]
            if to["tid"] == tid and graph["start"] <= to["at"] <= graph["end"]
            for p in e["from"] + e["candidates"]
        }
        tally.count["throttle wrong"] += len(others - named)
        if others <= named:
            tally.count["throttle"] += len(others)
        else:
            tally.note(
                "throttle",
                f"{name}: {tid} paused {len(pauses)} times, because of {sorted(named)}, not of {sorted(others)}"
            )


def compare_waiting(tally, name, graph, capture, edges, waits, flushers):
    what = graph["variant"].partition("-")[0]
    if what == "pays":
        check_writeback(tally, name, graph, capture, edges)
    elif what == "ahead":
        check_ahead(tally, name, graph, edges, waits)
    elif what == "journal" and graph["system"] != "btrfs":
        # There an fsync writes a log of its own, and waits for no commit.
        check_journal(tally, name, graph, edges, waits)
    elif what == "throttle":
        check_throttle(tally, name, graph, edges, waits, flushers)
