# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
What must hold where a workload cannot know its single acts: its rules, against clew's
waits, edges and requests.

Rules are printed by the workloads, each with its name in `rule`:

waits     so many sleeps of a task, by the kernel's own count, all of these kinds; an edge
of a type ended each (and in such a
          context, by this task or none)
locks     every wait for a kernel lock of some tasks is for one and the same, ended by one of them
requests  exactly these sectors were asked for by a task, each once (and for this reason)
direct    what a task moved past the page cache is told with its place in the file, each
byte once, where FIEMAP has it
items     so many work items were queued by a task, and a worker ran each
disk      as many requests and sectors as the disk itself counted
outside   a task slept once in a call, on a socket of these addresses, and this interrupt
ended that: nobody, and no edge
taken_in  one of the senders ended a task's sleep, or nobody that is known: not the
bystander who took in what was sent
holds     who is told as the exact holder of the lock, while others wait for it, had it then, by
what the holders wrote down (`holds` of the graph)
guess     a holder of what a task waits for is told as a candidate, never as more
sent      half of a task's sleeps in a call, or more, were ended by packets, of this sender
"""

import collections

from _graph import SLACK, disagreement, object_agrees
from _live import GUEST

FOLLOWED = ("lock", "journal", "memory", "throttle", "work"
            )  # kinds that say nothing of a request: others' requests are behind
OF_CLEW = ("clew", "clew-opener")  # its processes
# A share of the time of exact holders. An emulated CPU is slow from the lock to the clock.
MOST_OF_OTHERS = 0.03 if GUEST else 0.01


def _words(text):
    return text.split("|")


def _inside(wait, rule):
    return wait["start"] >= rule["from"] - SLACK and wait["start"] <= rule["to"] and (
        wait["end"] is None or wait["end"] <= rule["to"] + SLACK)


def _waits(rule, capture):
    calls = _words(rule["calls"])
    # Between its acts a task naps.
    return [
        w for w in capture.by_tid.get(rule["tid"], ())
        if _inside(w, rule) and (w["call"] in calls or (calls == ["*"] and w["kind"] != "sleep"))
    ]


def _one_hidden(rule, capture):
    """
    Some kernels hide the switches from and to protected tasks from programs:
    with them goes a wait that one of these follows.
    """
    return not GUEST and rule["rule"] == "waits" and len(_waits(rule,
                                                                capture)) == rule["count"][0] - 1


def _held_by_clew(wait, capture):
    """
    Reading what a process has mapped, and opening what it has mapped, clew holds the lock of its
    address space. A file that is mapped need not have a path any more, so clew opens it by way of
    the mapping.
    """
    ended = wait["ended_by"] or {}
    return wait["kind"] == "lock" and ended.get("process") in OF_CLEW and capture.edge_to(
        wait["tid"], wait["end"], "unlock", [ended["tid"]])


def check_waits(rule, graph, capture):
    waits = _waits(rule, capture)
    found = [(w["kind"], w["call"]) for w in waits]
    if not rule["count"][0] <= len(waits) <= rule["count"][1]:
        return f"{len(waits)} waits, not {rule['count']}: {found[:6]}"
    for wait in waits:
        if wait["kind"] not in _words(rule["kinds"]):
            return f"kind {wait['kind']} (call {wait['call']}, object {wait['object']}, ended by {wait['ended_by']})"
        if wait["kind"] in FOLLOWED and wait["kind"] != rule["kinds"]:
            continue
        ended = wait["ended_by"] or {}
        if "contexts" in rule and ended.get("context") not in _words(rule["contexts"]):
            return f"the wait at {wait['start']} was ended in context {ended.get('context')}, not {rule['contexts']}: {ended}"
        if "ended_by" in rule and [ended["tid"]] * (ended["tid"] is not None) != rule["ended_by"]:
            return f"the wait at {wait['start']} was ended by {ended}, not {rule['ended_by']}"
        if not object_agrees(rule["object"], wait["object"]):
            return f"object {wait['object']}, not {rule['object']}"
        if not rule["edge"] or _held_by_clew(wait, capture):
            continue
        origins = rule["origins"] or [task["tid"] for task in graph["tasks"]]
        if not any(
                capture.edge_to(rule["tid"], wait["end"], kind, origins)
                for kind in _words(rule["edge"])):
            near = [(e["type"], [o["tid"] for o in e["from"]])
                    for e in capture.edges_at(rule["tid"], wait["end"])]
            return f"no {rule['edge']} edge ends the wait at {wait['end']} ({wait['kind']}, ended by {wait['ended_by']}): {near}"
    if "must" in rule and rule["must"] not in [w["kind"] for w in waits]:
        return f"no wait of kind {rule['must']}: {collections.Counter(found).most_common(4)}"
    return ""


def _named(rule, lock):
    """Whether a lock is told as the member of the process, or of the file, that it is."""
    if lock.get("member") != rule["member"]:
        return False
    if isinstance(rule["of"], int):
        return lock["pid"] == rule["of"]
    return (lock.get("path") or "").endswith("/" + rule["of"])


def check_locks(rule, graph, capture):
    waits = [
        w for tid in rule["tids"] for w in capture.by_tid.get(tid, ())
        if w["kind"] == "lock" and _inside(w, rule)
    ]
    if not rule["count"][0] <= len(waits) <= rule["count"][1]:
        return f"{len(waits)} waits for a lock, not {rule['count']}"
    locks = collections.Counter((w["object"] or {}).get("address") for w in waits)
    if len(locks) > 1 or None in locks:
        return f"{len(locks)} locks: {locks.most_common(3)}"
    for wait in waits:
        if (wait["object"]
                or {}).get("kind") != "lock" or wait["object"].get("type") != rule["type"]:
            return f"object {wait['object']}, not a {rule['type']}"
        if not _named(rule, wait["object"]):
            return f"object {wait['object']}, not the {rule['member']} of {rule['of']}"
        if _held_by_clew(wait, capture):
            continue
        if wait["end"] is None or (wait["ended_by"] or {}).get("tid") not in rule["origins"]:
            return f"the wait of {wait['tid']} at {wait['start']} was ended by {wait['ended_by']}"
        if not capture.edge_to(wait["tid"], wait["end"], "unlock", rule["origins"]):
            return f"no unlock edge ends the wait of {wait['tid']} at {wait['end']}"
    return ""


def _merge(stretches):
    merged = []
    for first, count in sorted(stretches):
        if merged and merged[-1][1] >= first:
            merged[-1][1] = max(merged[-1][1], first + count)
        else:
            merged.append([first, first + count])
    return merged


def _covered(stretches, by):
    """Whether each stretch [first, end) lies within one of the others."""
    return all(any(low <= first and end <= high for low, high in by) for first, end in stretches)


def check_requests(rule, graph, capture):
    chosen = [
        r for r in capture.requests_of(rule["dev"])
        if (r["submitter"] or {}).get("tid") == rule["tid"] and r["op"] == rule["op"] and r["bytes"]
        and rule["from"] - SLACK <= r["queued"] <= rule["to"] + SLACK
    ]
    # A file system's own, its log say, may be asked for in the same call.
    chosen = [
        r for r in chosen
        if any(first < r["sector"] + r["bytes"] // 512 and r["sector"] < first + count
               for first, count in rule["file"])
    ]
    asked = [(r["sector"], r["bytes"] // 512) for r in chosen]
    # Of direct I/O through a mapped device the disk below does not know the file.
    named = "reason" not in rule and not graph["variant"].endswith("-dm")
    nameless = [r["sector"] for r in chosen if named and not r["path"]]
    if nameless:
        return f"requests without their file's path: {nameless[:4]}"
    if sum(count for _, count in asked) != sum(end - first for first, end in _merge(asked)):
        return f"some sector more than once: {asked[:8]}"
    wanted = _merge(rule["sectors"])
    if rule["more"]:
        if not _covered(wanted, _merge(asked)) or not _covered(_merge(asked), _merge(rule["file"])):
            return f"{asked[:8]}, not {rule['sectors']}"
    elif _merge(asked) != wanted:
        return f"{asked[:8]}, not {rule['sectors'][:8]}"
    for request in chosen:
        if request["reason"] != rule.get("reason", request["reason"]):
            return f"request at {request['sector']}: reason {request['reason']}, not {rule['reason']}"
        if not request["queued"] <= (request["issued"] or 0) <= (request["completed"]
                                                                 or 0) <= rule["to"] + SLACK:
            return f"request at {request['sector']}: queued {request['queued']}, issued {request['issued']}, completed {request['completed']}"
    if capture.passes_on.get(rule["dev"]):
        # A loop device that reads its file directly: what it asks of the disk below is as much.
        for request in chosen:
            below = sum(capture.requests[index]["bytes"] for index in request["lower"]
                        if capture.requests[index]["op"] == request["op"])
            if below < request["bytes"]:
                return f"request at {request['sector']} of {request['bytes']} bytes: {below} bytes asked below"
    return ""


def check_direct(rule, graph, capture):
    moved = []
    for request in capture.requests_of(rule["dev"]):
        if (request["submitter"] or {}).get("tid") != rule["tid"] or request["op"] != rule["op"] or not request["bytes"] \
                or not rule["from"] - SLACK <= request["queued"] <= rule["to"] + SLACK:
            continue
        # A file system's own, its log say, may be asked for in the same call.
        if not any(first < request["sector"] +
                   request["bytes"] // 512 and request["sector"] < first + size // 512
                   for _, first, size in rule["extents"]):
            continue
        if request["reason"] != "direct":
            return f"request at {request['sector']}: reason {request['reason']}"
        if sum(page["bytes"] for page in request["pages"]) != request["bytes"]:
            return f"request at {request['sector']} of {request['bytes']} bytes: pages {request['pages'][:4]}"
        for page in request["pages"]:
            told = (page["ino"], page["evidence"], [writer["tid"] for writer in page["writers"]])
            if told != (rule["ino"], "exact", [rule["tid"]] * (rule["op"] == "write")):
                return f"request at {request['sector']}: {page}"
            if not any(offset <= page["offset"] and page["offset"] + page["bytes"] <= offset +
                       size and page["sector"] == first + (page["offset"] - offset) // 512
                       for offset, first, size in rule["extents"]):
                return f"request at {request['sector']}: offset {page['offset']} at sector {page['sector']}, not by {rule['extents']}"
            moved.append((page["offset"], page["bytes"]))
    if _merge(moved) != [[rule["offset"], rule["offset"] + rule["bytes"]]] or sum(
            size for _, size in moved) != rule["bytes"]:
        return f"{sorted(moved)[:8]}, not {rule['bytes']} bytes from {rule['offset']}"
    return ""


def check_items(rule, graph, capture):
    count = 0
    for edge in capture.by_origin.get(rule["tid"], ()):
        at = next(o["at"] for o in edge["from"] if o["tid"] == rule["tid"])
        thing = edge["object"] or {}
        if edge["type"] == "work" and rule["from"] - SLACK <= at <= rule["to"] + SLACK and rule[
                "function"] in (thing.get("function") or ""):
            count += 1
            if edge["evidence"] != "exact":
                return f"evidence {edge['evidence']}"
    return "" if count >= rule[
        "count"] else f"{count} items of {rule['function']}, not {rule['count']}"


def check_disk(rule, graph, capture):
    """Only where a workload has the disk to itself."""
    found = collections.Counter()
    for request in capture.requests_of(rule["dev"]):
        done = request["completed"]
        if done is None or not rule["from_min"] - SLACK <= done <= rule["to_max"] + SLACK:
            continue
        if request["op"] == "flush":
            # What asked for it is listed, too, but never goes to the disk.
            found["flushes"] += request["issued"] is not None
        elif request["bytes"]:
            found[request["op"] + "s"] += 1
            found[request["op"] + "_sectors"] += request["bytes"] // 512
    for name in ("reads", "read_sectors", "write_sectors", "flushes"):
        if found[name] != rule[name]:
            return f"{name} {found[name]}, the disk says {rule[name]}: {dict(found)}"
    # The disk counts a flush without data as a write of nothing besides.
    if not rule["writes"] - rule["flushes"] <= found["writes"] <= rule["writes"]:
        return f"writes {found['writes']}, the disk says {rule['writes']}"
    return ""


def check_outside(rule, graph, capture):
    waits = [
        w for w in capture.by_tid.get(rule["tid"], ())
        if _inside(w, rule) and w["call"] == rule["call"]
    ]
    if len(waits) != 1:
        return f"{len(waits)} waits in {rule['call']}"
    wait, ended = waits[0], waits[0]["ended_by"] or {}
    thing = wait["object"] or {}
    if thing.get("kind") == "socket" or not rule["poller"]:
        if (thing.get("kind"), thing.get("local"), thing.get("peer")
                or "") != ("socket", rule["local"], rule["peer"]):
            return f"object {thing}, not a socket {rule['local']} of {rule['peer']}"
    interrupts = [
        f"interrupt {step['number']} of {step['name']}" for step in ended.get("through", ())
        if step["kind"] == "irq" and step["tid"] is None
    ]
    if ended.get("tid") is not None or interrupts != [rule["interrupt"]] or len(
            ended["through"]) != 1:
        return f"ended by {wait['ended_by']}, not {rule['interrupt']}"
    edges = [(e["type"], [o["tid"] for o in e["from"]])
             for e in capture.edges_at(rule["tid"], wait["end"])]
    return f"edges {edges} end the wait at {wait['end']}" if edges else ""


def check_taken_in(rule, graph, capture):
    # Room that there is again may have woken it just before; and then it may
    # sleep until the bystander lets go of the lock.
    for wait in capture.by_tid.get(rule["tid"], ()):
        if wait["call"] != rule["call"] or not wait["start"] <= rule["from"] <= (wait["end"] or 0):
            continue
        if wait["end"] > rule["to"] + SLACK:
            return f"the sleep at {rule['from']} lasts until {wait['end']}"
        if not object_agrees(rule["object"], wait["object"]):
            return f"object {wait['object']}, not {rule['object']}"
        ended = wait["ended_by"] or {}
        edges = [
            e["type"] for e in capture.edges_at(rule["tid"], wait["end"])
            if rule["bystander"] in [o["tid"] for o in e["from"]]
        ]
        if ended.get("tid") not in [None, *rule["senders"]] or edges:
            return f"the sleep at {rule['from']} was ended by {ended}, not by {rule['senders']}; edges {edges}"
    return ""


def check_sent(rule, graph, capture):
    waits = [
        w for w in capture.by_tid.get(rule["tid"], ())
        if _inside(w, rule) and w["call"] == rule["call"]
    ]
    links = [(w["ended_by"] or {}).get("through", ()) for w in waits]
    sent = [
        w for w, through in zip(waits, links)
        if [(step["kind"], step["tid"]) for step in through] == [("packet", rule["sender"])]
    ]
    return "" if len(sent) >= rule[
        "count"] else f"{len(sent)} of {len(waits)} sleeps were ended by packets of {rule['sender']}, not {rule['count']}"


def check_holds(rule, graph, capture):
    holds = collections.defaultdict(list)
    for tid, start, end in graph["holds"]:
        holds[tid].append((start, end))
    exact = others = 0
    for tid in holds:
        for wait in capture.by_tid.get(tid, ()):
            if not _inside(wait, rule) or wait["kind"] != "futex":
                continue
            for holder in wait["holders"]:
                if holder["evidence"] != "exact" or holder["tid"] not in holds:
                    continue
                exact += holder["to"] - holder["from"]
                others += sum(
                    max(min(end, holder["to"]) - max(start, holder["from"]), 0)
                    for other, stretches in holds.items() if other != holder["tid"]
                    for start, end in stretches)
    if bool(exact) != rule["exact"]:
        return f"{exact} ns are told as exact"
    # A thread may lose its CPU between the lock and the clock that it reads.
    if others > exact * MOST_OF_OTHERS:
        return f"{others} ns of {exact} that are told as exact are another's"
    return ""


def check_guess(rule, graph, capture):
    told = [
        h for w in capture.by_tid.get(rule["tid"], ()) if _inside(w, rule) and w["kind"] == "futex"
        for h in w["holders"]
    ]
    if [h["tid"] for h in told] != [rule["holder"]] or told[0]["evidence"] != "candidate":
        return f"holders {told}, not {rule['holder']} as a candidate"
    return ""


CHECKS = {
    "holds": check_holds, "guess": check_guess, "sent": check_sent, "waits": check_waits, "locks":
    check_locks, "requests": check_requests, "direct": check_direct, "items": check_items, "disk":
    check_disk, "outside": check_outside, "taken_in": check_taken_in
}

# Rules about requests count as those, each as one.
OF_REQUESTS = ("requests", "direct", "disk")


def compare_rules(graph, capture, counts):
    """What is wrong, in words. `counts`: as of compare_waits(); a rule is one case."""
    wrong = []
    for rule in graph["rules"]:
        problem = CHECKS[rule["rule"]](rule, graph, capture)
        about = rule["kinds"].split("|")[0] if rule["rule"] == "waits" else None
        about = "lock" if rule["rule"] == "locks" else about
        about = "request" if rule["rule"] in OF_REQUESTS else about
        counts[about, "checked"] += 1
        if problem:
            tids = rule.get("tids") or [rule.get("tid")]
            if rule["rule"] == "holds":
                tids = sorted({tid for tid, _, _ in graph["holds"]})
            blind = any(capture.blind(tid, rule["from"], rule["to"])
                        for tid in tids if tid) or _one_hidden(rule, capture)
            counts[about, "unknown" if blind else "wrong"] += 1
            wrong.append(
                disagreement(
                    f"rule {rule['rule']} of {tids} in {rule.get('from', rule.get('from_min'))}..{rule.get('to', rule.get('to_max'))}: {problem}",
                    blind))
    return wrong
