#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Logical spans of real runtimes against the log of the program itself: each item is found, none that
is not in the log, with who submitted it, in which thread it ran and how it ended. Ids in the logs
do not depend on keys, which are used again at once.
"""

import bisect
import collections
import glob
import os
import re
import subprocess
import sys
import time

from _accuracy import measured
from _debian import unpacked
from _live import (CLEW, PATIENCE, ROOT, answer, finish, note, ok, run, scratch, skip,
                   skip_unless_functions, start_recording, stop_recording, wanted_runs)

ALL = wanted_runs(2) > 1
ITEMS = int(os.environ.get("CLEW_LIVE_ITEMS", "1000" if ALL else "200"))
SPIN_MOST = 100_000  # ns: for so long the JVM tries before a thread sleeps
SEED = int(os.environ.get("CLEW_LIVE_SEED", "7"))
SOURCES = os.path.join(ROOT, "tests", "live", "runtimes")
MODULE = "/usr/lib/python3*/lib-dynload/_asyncio.cpython-311-*.so"
SLACK = 50_000  # ns between what the log has and the probe


def build(name, *command):
    done = run(*command)
    if not ok(done.returncode == 0, f"{name} is built", done.stderr[-300:]):
        finish()


def record(runtime, *command, options=()):
    path = scratch(runtime.replace("/", "_") + ".clew")
    done = run(CLEW, "record", "--runtime", runtime, "--no-stacks", "-o", path, *options, "--",
               *command)
    if not ok(done.returncode == 0, f"{runtime} is recorded",
              f"status {done.returncode}: {done.stderr[-400:]}"):
        finish()
    plain = run(*command)
    ok(len(done.stdout.split("\n")) == len(plain.stdout.split("\n")),
       f"{runtime}: the program prints as many lines as without clew")
    found = answer("spans", path, "--list")
    note(f"{found['logical']['count']} spans, {found['logical']['stray_ends']} stray ends")
    return path, [line.split() for line in done.stdout.splitlines()], found


def match(items, spans, submitted):
    """
    The span of each item: by the one interval in which the item was submitted. `submitted`: of an
    item its id and that interval.
    """
    found, used, several = {}, set(), 0
    for item in items:
        number, begin, end = submitted(item)
        fit = [s for s in spans if s["submitted_ns"] and begin <= s["submitted_ns"] <= end]
        several += len(fit) > 1
        if len(fit) == 1 and fit[0]["span"] not in used:
            found[number] = fit[0]
            used.add(fit[0]["span"])
    return found, [s for s in spans if s["span"] not in used], several


def report(name, wrong):
    ok(not wrong, name, f"{len(wrong)} wrong, as {wrong[:3]}")


def runs_of(span):
    return [p for p in span["pieces"] if p["state"] == "running"]


def ordered(spans):
    """Spans whose pieces are out of order, leave gaps or end before they begin."""
    wrong = []
    for span in spans:
        at = None
        for piece in span["pieces"]:
            if at is not None and piece["start_ns"] != at:
                wrong.append((span["span"], "gap"))
            at = piece["end_ns"]
            if at is not None and at < piece["start_ns"]:
                wrong.append((span["span"], "end before start"))
    return wrong


def pthread():
    program = scratch("threads")
    build("threads", "cc", "-O1", "-pthread", "-o", program, os.path.join(SOURCES, "threads.c"))
    path, log, found = record("pthread", program, ITEMS, SEED,
                              options=("-f", program + ":routine", "--max-cost", "90"))
    # Other programs make threads, too.
    process = next(int(i[3]) for i in log if int(i[1]) < 0)
    spans = [s for s in found["logical"]["list"]
             if s["runtime"] == "pthread" and s["submitter"] and s["submitter"]["pid"] == process]
    items, extra, several = match(log, spans, lambda i: (int(i[0]), int(i[5]), int(i[6])))
    ok(len(items) == ITEMS and not extra and not several,
       f"pthread: {ITEMS} of {ITEMS} threads, and no other",
       f"{len(items)} found, {len(extra)} more, {several} ambiguous")
    wrong, tids = [], set()
    for i in log:
        span = items.get(int(i[0]))
        if not span:
            continue
        tids.add(span["status"] is not None)
        closed = "canceled" if i[2] == "canceled" else "done"
        if span["closed"] != closed:
            wrong.append((i[0], i[2], span["closed"]))
        if span["submitter"]["tid"] != int(i[3]):
            wrong.append((i[0], "submitter"))
        if [r["thread"]["tid"] for r in runs_of(span)] != [int(i[4])]:
            wrong.append((i[0], "thread"))
        if not (span["submitted_ns"] <= span["started_ns"] <= int(i[7]) + 128):
            wrong.append((i[0], "start"))
        if closed == "done" and span["ended_ns"] < int(i[8]):
            wrong.append((i[0], "end before its routine's"))
        if int(i[10]) and span["ended_ns"] > int(i[10]):
            wrong.append((i[0], "end after the join"))
        if i[2] in ("returns", "exits") and span["status"] != int(i[0]) + 1000:
            wrong.append((i[0], "result", span["status"]))
        parent = int(i[1])
        if (span["parent"] is None) != (parent < 0) or (
                parent >= 0 and span["parent"] != items[parent]["span"]):
            wrong.append((i[0], "parent"))
        if span["name"] != "routine":
            wrong.append((i[0], "name", span["name"]))
    report("pthread: who made each, where it ran, how it ended", wrong)
    report("pthread: pieces are in order", ordered(spans))
    submitted(path, log)
    joined(path, log)
    replaced(path, found["list"], spans)


def submitted(path, log):
    """
    Each thread's span is submitted by who made the thread. In the routine of another one there is
    an edge besides, to the moment at which the span begins there: it is queued.
    """
    truth = collections.Counter((int(i[3]), int(i[4])) for i in log)
    made = [(int(i[3]), int(i[5]), int(i[6])) for i in log if int(i[1]) >= 0]
    said, queued = collections.Counter(), []
    for edge in answer("edges", path, "--type", "submit")["edges"]:
        if edge["to"][0]["process"] != "threads":
            continue
        to = edge["to"][0]
        for end in edge["from"]:
            if end["tid"] == to["tid"]:
                queued.append((to["tid"], to["at"]))
            else:
                said[end["tid"], to["tid"]] += 1
    stray = [(tid, at) for tid, at in queued
             if not any(maker == tid and begin <= at <= end for maker, begin, end in made)]
    wrong, missing = said - truth, truth - said
    measured("dependency submit", len(log) + len(made),
             sum(wrong.values()) + sum(missing.values()) + len(stray),
             witness="the log of a program whose threads make threads")
    ok(not missing and len(queued) == len(made),
       f"pthread: {len(log)} submit edges, and {len(made)} in routines",
       (list(missing)[:3], len(queued)))
    report("pthread: no other submit edge", list(wrong) + stray)


def replaced(path, frames, spans):
    """A span is there in place of the frame of its function: once in each answer, and listed."""
    frames = [f for f in frames if f["name"] == "routine"]
    ok(len(frames) == ITEMS and all(f["replaced"] for f in frames),
       f"pthread: {len(frames)} frames of the routine are listed, and replaced",
       f"{sum(f['replaced'] for f in frames)}")
    asked = answer("why", path, "--span", "routine", "--slowest", 3 * ITEMS)
    ok(len(asked["operations"]) == ITEMS, f"pthread: why --span has {ITEMS} activations",
       f"{len(asked['operations'])}")
    inside = [f for o in asked["operations"] for s in o["segments"]
              for f in s.get("functions") or [] if f["name"]]
    ok(not inside, "pthread: no time is in the frame as well", f"{inside[:2]}")
    groups = answer("latency", path, "--by", "function")["groups"]
    groups = [(g["path"], g["count"]) for g in groups if g["path"] == ["routine"]]
    ok(groups == [(["routine"], ITEMS)], "pthread: latency has each once", f"{groups}")
    below = sum(g["count"] for g in answer("latency", path)["groups"]
                if g["path"][-2:] == ["routine", "routine"])
    children = sum(s["parent"] is not None for s in spans)
    ok(below == children > 0, f"pthread: {children} threads are below those that made them",
       f"{below}")
    folded = run(CLEW, "export", "--to", "folded", "--stacks", "off-cpu", path).stdout
    ok(";pthread.routine;" in folded, "pthread: folded stacks are below the span")
    names = [s["path"].split("/")[1:] for s in answer("dump", path)["spans"]]
    # A run that a thread's clock gives no length is none.
    ok(0.98 * ITEMS <= names.count(["pthread.routine"]) <= ITEMS and
       not any("routine" in n for n in names),
       "pthread: threads of the causal trace have the span below them, and no frame of it",
       f"{names.count(['pthread.routine'])}, {sum('routine' in n for n in names)}")


def joined(path, log):
    """A wait in pthread_join is the time of the thread that is joined, while its routine runs: via
    return, exact. What the thread does behind that, until the kernel wakes the waiting one, is no
    part of the span."""
    waited, wrong = 0, []
    for i in sorted(log, key=lambda i: int(i[9]) - int(i[10]))[:10]:
        begin, end = int(i[9]), int(i[10])
        found = answer("why", path, "--tid", i[3], "--from", begin, "--to", end)
        mine = [s for s in found["segments"] if s["via"] and s["tid"] == int(i[4])]
        waited += bool(mine)
        wrong += [(i[0], s["via"]["type"], s["via"]["evidence"]) for s in mine
                  if (s["via"]["type"], s["via"]["evidence"]) != ("return", "exact")
                  and len(s["chain"]) == 1 and s["end"] <= int(i[8])]
    ok(waited > 5, f"pthread: {waited} of the 10 longest joins go into the thread")
    report("pthread: they do so via return, exact", wrong)


def uv():
    program = scratch("pool")
    library = "/usr/lib/x86_64-linux-gnu/libuv.so.1"
    build("pool", "cc", "-O1", "-o", program, os.path.join(SOURCES, "pool.c"), library)
    path, log, found = record("uv", program, ITEMS, SEED)
    spans = [s for s in found["logical"]["list"] if s["kind"] == "work"]
    items, extra, several = match(log, spans, lambda i: (int(i[0]), int(i[1]), int(i[2])))
    ok(len(items) == ITEMS and not extra and not several,
       f"libuv: {ITEMS} of {ITEMS} items, and no other",
       f"{len(items)} found, {len(extra)} more, {several} ambiguous")
    wrong, canceled = [], 0
    for i in log:
        span = items.get(int(i[0]))
        if not span:
            continue
        canceled += int(i[7])
        if span["closed"] != ("canceled" if int(i[7]) else "done"):
            wrong.append((i[0], "closed", span["closed"]))
        if span["status"] != int(i[6]) & 0xffffffff:
            wrong.append((i[0], "status", span["status"]))
        runs = runs_of(span)
        if bool(runs) == bool(int(i[7])):
            wrong.append((i[0], "runs", len(runs)))
        if not int(i[7]) and (len(runs) != 1 or runs[0]["thread"]["tid"] != int(i[3])
                              or runs[0]["start_ns"] > int(i[4])
                              or runs[0]["end_ns"] < int(i[5])
                              or runs[0]["end_ns"] > int(i[5]) + 100 * SLACK):
            wrong.append((i[0], "run"))
        if span["name"] != "work":
            wrong.append((i[0], "name", span["name"]))
    report("libuv: where each ran, how it ended", wrong)
    ok(canceled > 0, f"libuv: {canceled} were canceled, and none of them started")
    keys = {tuple(s["key"]) for s in spans}
    ok(len(keys) <= 24 < ITEMS, f"libuv: {ITEMS} items have {len(keys)} keys")
    report("libuv: pieces are in order", ordered(spans))


def go():
    program = scratch("tasks")
    environment = dict(os.environ, GOCACHE=scratch("go"), GO111MODULE="off")
    done = run("go", "build", "-o", program, os.path.join(SOURCES, "tasks.go"), env=environment)
    if not ok(done.returncode == 0, "tasks is built", done.stderr[-300:]):
        finish()
    path, log, found = record("go", program, ITEMS, SEED)
    spans = [s for s in found["logical"]["list"] if s["name"] == "main.start.func1"]
    items, extra, several = match(log, spans, lambda i: (int(i[0]), int(i[2]), int(i[3])))
    ok(len(items) == ITEMS and not extra and not several,
       f"Go: {ITEMS} of {ITEMS} goroutines, and no other of that function",
       f"{len(items)} found, {len(extra)} more, {several} ambiguous")
    wrong, late = [], 0
    for i in log:
        span = items.get(int(i[0]))
        if not span:
            continue
        if span["closed"] != "done" or span["ended_ns"] < int(i[7]):
            wrong.append((i[0], "end", span["closed"]))
        if not span["started_ns"] or span["started_ns"] > int(i[4]):
            wrong.append((i[0], "start"))
        parent = int(i[1])
        if parent >= 0 and span["parent"] != items[parent]["span"]:
            wrong.append((i[0], "parent"))
        waited, resumed = int(i[5]), int(i[6])
        waits = [p for p in span["pieces"]
                 if p["state"] == "suspended" and waited <= p["start_ns"] and
                 p["end_ns"] is not None and p["end_ns"] <= resumed]
        # A goroutine whose turn has come already does not wait; nor does one whose thread lost its
        # CPU meanwhile, before it came to the channel: one run has it all then.
        if not waits and resumed - waited > 100_000:
            late += 1
            if not any(r["start_ns"] <= waited and resumed <= r["end_ns"] for r in runs_of(span)):
                wrong.append((i[0], "waits", 0))
        if len(waits) > 1:
            wrong.append((i[0], "waits", len(waits)))
        if waits and parent >= 0 and waits[0]["by_span"] != items[parent]["span"]:
            wrong.append((i[0], "resumed by", waits[0]["by_span"]))
        if waits and waits[0]["by"] is None:
            wrong.append((i[0], "resumed by nobody"))
    report("Go: when each ran, who resumed it", wrong)
    ok(late <= ITEMS / 50, f"Go: {late} lost their CPU on the way to the channel")
    report("Go: pieces are in order", ordered(found["logical"]["list"]))
    suspended(path, items, log)
    slowest(path, items)


def slowest(path, items):
    """Operations are the goroutines: the longest of the class that hurts most is one of them."""
    found = answer("why", path, "--slowest", "--class", "span")
    wanted = max(items.values(), key=lambda s: s["ended_ns"] - s["submitted_ns"])
    ok(found["class"]["text"].startswith("spans of tasks go.main.start.func1"),
       "Go: goroutines of one function are a class of operations", f"{found['class']['text']}")
    ok(found["class"]["count"] == ITEMS and
       found["operations"][0]["from"] == wanted["submitted_ns"] and
       found["operations"][0]["to"] == wanted["ended_ns"],
       f"Go: it has {ITEMS}, and the slowest is the longest goroutine",
       f"{found['class']['count']}, {found['operations'][0]['from']}..{found['operations'][0]['to']}")


def mutexes():
    """Go's mutexes: what waits for one, and who has it. A wait group beside it is none."""
    program = scratch("mutexes")
    environment = dict(os.environ, GOCACHE=scratch("go"), GO111MODULE="off")
    done = run("go", "build", "-o", program, os.path.join(SOURCES, "mutexes.go"), env=environment)
    if not ok(done.returncode == 0, "mutexes is built", done.stderr[-300:]):
        finish()
    path, log, found = record("go", program, ITEMS, SEED)
    spans = [s for s in found["logical"]["list"] if s["name"] == "main.main.func1"]
    started = [i[1:] for i in log if i[0] == "goroutine"]
    items, extra, several = match(started, spans, lambda i: (int(i[0]), int(i[1]), int(i[2])))
    ok(len(items) == len(started) and not extra and not several,
       f"Go mutexes: {len(started)} goroutines", f"{len(items)} found, {len(extra)} more")
    taken = [(int(i[1]), i[2], *map(int, i[4:])) for i in log if i[0] == "mutex"]
    goroutine = {span["span"]: number for number, span in items.items()}
    # A lock of readers and writers begins with a mutex of its own.
    inner = {int(i[3], 16) + 4 for i in log if i[0] == "mutex"}
    waits = [w for w in found["logical"]["waits"] if w["kind"] == "mutex"
             and w["span"] in goroutine and int(w["object"], 16) not in inner]
    wrong, of = [], {}
    for wait in waits:
        # The address is that of the mutex's semaphore, 4 bytes behind its begin.
        mine = [k for k, t in enumerate(taken) if t[0] == goroutine[wait["span"]]
                and int(t[1], 16) + 4 == int(wait["object"], 16)
                and t[2] <= wait["start_ns"] and wait["end_ns"] and wait["end_ns"] <= t[3]]
        if len(mine) != 1:
            wrong.append((wait["object"], wait["start_ns"], len(mine)))
            continue
        of.setdefault(mine[0], []).append(wait)
        wrong += holders_differ(wait, taken, goroutine)
    report(f"Go mutexes: {len(waits)} waits, each for a mutex of the log, and its holders", wrong)
    missed = [t for k, t in enumerate(taken) if k not in of and any(
        u[1] == t[1] and u is not t and u[3] <= t[2] and u[4] >= t[2] + 200_000 for u in taken)]
    ok(len(of) > ITEMS / 4, f"Go mutexes: {len(of)} of {len(taken)} were waited for")
    report("Go mutexes: each that another one had for long was waited for", missed)
    held_by(path, waits, items, "main.main.func1", "go", "mutex")


def holders_differ(wait, taken, goroutine):
    """Each holder of a wait had the mutex, by its own log, and gave it back then."""
    wrong = []
    for holder in wait["holders"]:
        mine = [t for t in taken if t[0] == goroutine.get(holder["span"])
                and int(t[1], 16) + 4 == int(wait["object"], 16)
                and t[4] <= holder["until_ns"] <= t[5]]
        if len(mine) != 1:
            wrong.append(("holder", wait["start_ns"], holder["span"], len(mine)))
    if not wait["holders"] or wait["holders"][0]["evidence"] != "exact":
        wrong.append(("first holder", wait["start_ns"], wait["holders"][:1]))
    return wrong


def held_by(path, waits, items, name, runtime, kind):
    """why goes from the longest wait into the one that had the lock, and names it."""
    longest = max(waits, key=lambda w: w["end_ns"] - w["start_ns"])
    number = next(n for n, s in items.items() if s["span"] == longest["span"])
    asked = answer("why", path, "--span", name, "--slowest", ITEMS)
    mine = [o for o in asked["operations"] if o["from"] == items[number]["submitted_ns"]]
    locks = [s for o in mine for s in o["segments"] if s.get("lock")
             and longest["start_ns"] <= s["start"] and s["end"] <= longest["end_ns"]]
    ok(bool(locks) and all((s["lock"]["runtime"], s["lock"]["kind"], s["lock"]["object"]) ==
                           (runtime, kind, longest["object"]) and s["via"]["type"] == "unlock"
                           for s in locks),
       f"{runtime} {kind}: why goes into who had it, {len(locks)} parts",
       f"{[(s.get('lock'), s['via']) for s in locks][:2]}")


def between(wait, taken):
    """A thread that computes gives the interpreter back if it is asked to, and waits for it again."""
    bounds = [0, *(at for t in taken for at in t[1:3]), float("inf")]
    return any(had <= wait["start_ns"] and wait["end_ns"] <= given
               for had, given in zip(bounds[::2], bounds[1::2]))


def gil():
    """Python's interpreter lock: who waits for it, and who has it."""
    if not glob.glob(MODULE):
        skip("GIL", "there is no Python 3.11")
        return
    program = os.path.join(SOURCES, "gil.py")
    path, log, found = record("python", "/usr/bin/python3.11", program, ITEMS, SEED)
    moments = sorted((int(at), int(i[1])) for i in log if i[0] == "moments" for at in i[2:])
    times = [at for at, _ in moments]
    taken = [tuple(map(int, i[1:])) for i in log if i[0] == "taken"]
    taker = taken[0][0]
    waits = [w for w in found["logical"]["waits"] if w["thread"]["tid"] == taker]
    wrong, used, exact = [], {}, 0
    for wait in waits:
        mine = [k for k, t in enumerate(taken)
                if t[1] <= wait["start_ns"] and wait["end_ns"] and wait["end_ns"] <= t[2]]
        if not mine and between(wait, taken):
            continue
        if len(mine) != 1:
            wrong.append((wait["start_ns"], len(mine)))
            continue
        used.setdefault(mine[0], []).append(wait)
        for holder in wait["holders"]:
            # One of those that had it just before and behind the moment had it then.
            place = bisect.bisect_left(times, holder["from_ns"])
            near = {moments[k][1] for k in (place - 1, place) if 0 <= k < len(moments)}
            exact += holder["evidence"] == "exact"
            if holder["thread"]["tid"] not in near:
                wrong.append((holder["from_ns"], holder["thread"], near))
    # Where the kernel hides a switch, a wait seems to go on, and is found in no item or in two.
    hidden = found.get("hidden") or 0
    ok(len(wrong) <= hidden,
       f"GIL: {len(waits)} waits, each when it was taken again, and who had it",
       f"{len(wrong)} wrong, and {hidden} with hidden switches, as {wrong[:3]}")
    # Others had it again and again meanwhile, and the thread slept for it: it was waited for.
    contended = [k for k, t in enumerate(taken) if t[3] > 1 and sum(
        tid != taker for _, tid in moments[bisect.bisect(times, t[1]):bisect.bisect(times, t[2])])
        > 50]
    missed = [taken[k] for k in contended if k not in used]
    ok(len(missed) <= hidden, f"GIL: each of {len(contended)} that others had meanwhile was waited for",
       f"{len(missed)} missed, and {hidden} with hidden switches, as {missed[:3]}")
    # It may be free for a moment when it is asked for: then nobody has it.
    known = sum(bool(w["holders"]) for w in waits)
    ok(len(contended) > ITEMS / 8 and known > 0.9 * len(waits) and exact > 0,
       f"GIL: {exact} holders are exact, and {known} waits have any")
    longest = max((w for k in used for w in used[k]), key=lambda w: w["end_ns"] - w["start_ns"])
    asked = answer("why", path, "--tid", taker, "--from", longest["start_ns"], "--to",
                   longest["end_ns"])
    locks = [s for s in asked["segments"] if s.get("lock")]
    ok(bool(locks) and all(s["lock"]["kind"] == "GIL" and s["tid"] != taker for s in locks),
       f"GIL: why goes into who had it, {len(locks)} parts")


def suspended(path, items, log):
    """The longest item's time is explained to the ns, and goes into the one that resumed it."""
    number = max((int(i[0]) for i in log), key=lambda n: items[n]["suspended_ns"])
    span = items[number]
    found = answer("why", path, "--span", "main.start.func1", "--slowest", ITEMS)
    mine = [o for o in found["operations"] if o["from"] == span["submitted_ns"]]
    if not ok(len(mine) == 1, f"Go: why --span has item {number}"):
        return
    segments = mine[0]["segments"]
    gaps = [s for s, t in zip(segments, segments[1:]) if s["end"] != t["start"]]
    ok(not gaps and segments[0]["start"] == span["submitted_ns"]
       and segments[-1]["end"] == span["ended_ns"], "Go: its segments cover it",
       f"{len(gaps)} gaps, {segments[0]['start']}..{segments[-1]['end']}")
    names = {s["logical"]["name"] for s in segments if s.get("logical")}
    names |= {s["activity"]["operation"] for s in segments if s.get("activity")}
    ok(names > {"main.start.func1"}, "Go: it goes into the goroutines that resumed it",
       f"only {names}")


def java():
    """
    Parks, contended monitors, safepoints and collections of a JVM. The recording begins when the
    machine runs, and the program goes on when it records.
    """
    directory = scratch("classes")
    build("Parks", "javac", "-d", directory, os.path.join(SOURCES, "Parks.java"))
    command = ["java", "-XX:+UseSerialGC", "-XX:+DTraceMonitorProbes", "-cp", directory, "Parks"]
    program = subprocess.Popen([*command, str(ITEMS), str(SEED)], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    wait_until_mapped(program.pid, "libjvm.so")
    path = scratch("java.clew")
    recording = start_recording(path, "--runtime", "java", "-p", program.pid, "--no-stacks")
    said, _ = program.communicate("\n", timeout=PATIENCE)
    status, words = stop_recording(recording)
    if not ok(program.returncode == 0 and status == 0, "java is recorded", words[-300:]):
        finish()
    log = [line.split() for line in said.splitlines()]
    found = answer("spans", path, "--list")["logical"]
    names = {r["thread"]["tid"]: s["name"] for s in found["list"] if s["kind"] == "thread"
             for r in runs_of(s)}
    spans = {s["span"]: s["name"] for s in found["list"]}
    parks(path, [i[1:] for i in log if i[0] == "park"], found["waits"], names, spans)
    monitors([i[1:] for i in log if i[0] == "monitor"], found["waits"], names, spans)
    collected([i[1:] for i in log if i[0] == "gc"], found["list"])
    mapped_later(command)


def wait_until_mapped(pid, name):
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
            if any(line.rstrip().endswith("/" + name) for line in maps):
                return
        time.sleep(0.01)


def parks(path, log, waits, names, spans):
    waits = [w for w in waits if w["kind"] == "park"]
    wrong, used = [], set()
    for i in log:
        number, shape, waiter, begin, end, by, wake_from, wake_to = i
        fit = [k for k, w in enumerate(waits) if names.get(w["thread"]["tid"]) == waiter
               and int(begin) <= w["start_ns"] <= int(end)]
        if len(fit) != 1:
            wrong.append((number, shape, len(fit)))
            continue
        used.add(fit[0])
        wait = waits[fit[0]]
        if not wait["end_ns"] or not wait["start_ns"] <= wait["end_ns"] <= int(end):
            wrong.append((number, shape, "end"))
        if shape in "23":
            if wait["woken_ns"] or wait["by"]:
                wrong.append((number, shape, "woken"))
        elif not wait["woken_ns"] or not int(wake_from) <= wait["woken_ns"] <= int(wake_to):
            wrong.append((number, shape, "woken", wait["woken_ns"]))
        elif spans.get(wait["by_span"], "main") != by:
            wrong.append((number, shape, "by", wait["by_span"]))
    ok(len(log) == ITEMS == len(used) == len(waits), f"Java: {ITEMS} of {ITEMS} parks, and no other",
       f"{len(log)} in the log, {len(used)} found, {len(waits)} in all")
    report("Java: who let each go on, and when; permits and timeouts are by nobody", wrong)
    unparked(path, [i for i in log if i[1] == "1"], names)


def unparked(path, log, names):
    """A park is explained by the thread that ends it, exactly."""
    tids = {name: tid for tid, name in names.items()}
    into, wrong = 0, []
    for i in sorted(log, key=lambda i: int(i[3]) - int(i[4]))[:10]:
        found = answer("why", path, "--tid", tids[i[2]], "--from", i[3], "--to", i[6])
        mine = [s for s in found["segments"] if s["via"] and s["tid"] == tids[i[5]]
                and len(s["chain"]) == 1]
        into += bool(mine)
        wrong += [(i[0], s["via"]) for s in mine
                  if (s["via"]["type"], s["via"]["evidence"]) != ("return", "exact")]
    ok(into == 10, f"Java: {into} of the 10 longest parks go into the thread that ends them")
    report("Java: they do so via return, exact", wrong)


def monitors(log, waits, names, spans):
    """A thread that got the monitor while it still spun was woken by nobody."""
    waits = [w for w in waits if w["kind"] == "monitor"]
    wrong, spun = [], 0
    for waiter, begin, end, owner, left_from, left_to in log:
        fit = [w for w in waits if names.get(w["thread"]["tid"]) == waiter
               and int(begin) <= w["start_ns"] and w["end_ns"] and w["end_ns"] <= int(end)]
        if len(fit) == 1 and fit[0]["by_span"] is None and fit[0]["woken_ns"] is None and (
                fit[0]["end_ns"] - fit[0]["start_ns"] < SPIN_MOST):
            spun += 1
        elif len(fit) != 1 or spans.get(fit[0]["by_span"]) != owner or not (
                int(left_from) <= fit[0]["woken_ns"] <= int(left_to)) or (
                [spans.get(h["span"]) for h in fit[0]["holders"]] != [owner]
                or fit[0]["name"] != "java/lang/Object"):
            wrong.append((waiter, owner, fit))
    ok(len(log) == (ITEMS + 19) // 20 and spun <= len(log) / 4 and
       len({w["object"] for w in waits}) >= 1,
       f"Java: {len(log)} contended monitors")
    report("Java: who had the monitor, and when it left it", wrong)


def collected(log, spans):
    wrong = []
    for begin, end in log:
        inside = [s["kind"] for s in spans
                  if s["started_ns"] and int(begin) <= s["started_ns"] <= int(end)]
        if inside.count("gc") != 1 or "operation" not in inside or "safepoint" not in inside:
            wrong.append((begin, inside))
    every = [s for s in spans if s["kind"] == "gc"]
    ok(len(log) == len(every), f"Java: {len(log)} collections, and no other", f"{len(every)}")
    report("Java: each is an operation at a safepoint", wrong)


def mapped_later(command):
    """Probes of a library that the command loads itself, by --usdt and by --runtime."""
    for options in (("--usdt", "hotspot:thread__*"), ("--runtime", "java")):
        path = scratch("later.clew")
        done = run(CLEW, "record", *options, "--no-stacks", "-o", path, "--", *command, 20, SEED,
                   input="\n")
        found = answer("spans", path, "--list")
        if options[0] == "--usdt":
            seen = sum(f["points"] for f in found["by_name"] if "park" in f["name"])
        else:
            seen = len(found["logical"]["waits"])
        ok(done.returncode == 0 and seen >= 20, f"{' '.join(options)} -- java: {seen} parks",
           done.stderr[-300:])
    done = run(CLEW, "record", "--usdt", "hotspot:thread__*", "-o", scratch("none.clew"), "--",
               "true")
    ok(done.returncode == 0 and "no file that was mapped has it" in done.stderr,
       "--usdt of what no file has: a line, status 0", f"{done.returncode}: {done.stderr[-300:]}")


def asyncio():
    """Tasks of Python's asyncio: the module in C has no symbols."""
    if not glob.glob(MODULE):
        skip("asyncio", "there is no module of Python 3.11")
        return
    program = os.path.join(SOURCES, "tasks.py")
    path, lines, found = record("asyncio", "/usr/bin/python3", program, ITEMS, SEED,
                                options=("--max-cost", "90"))
    log = {int(line[0]): [word.split("=") for word in line[1:]] for line in lines}
    spans = [s for s in found["logical"]["list"] if s["name"] in ("item", "computes")]
    times = {number: dict(words) for number, words in log.items()}
    items, extra, several = match(sorted(times), spans, lambda n: (
        n, int(times[n]["made"]), int(times[n]["until"])))
    ok(len(items) == len(log) >= ITEMS * 0.9 and not extra and not several,
       f"asyncio: {len(log)} of {len(log)} tasks, and no other",
       f"{len(items)} found, {len(extra)} more, {several} ambiguous")
    wrong, waits = [], 0
    for number, words in log.items():
        span, how = items.get(number), times[number]
        if not span:
            continue
        if span["name"] != ("computes", "item")[number % 2]:
            wrong.append((number, "name", span["name"]))
        closed = how.get("how")
        if closed and span["closed"] != closed:
            wrong.append((number, how["shape"], closed, span["closed"]))
        parent = int(how["parent"])
        if parent >= 0 and span["parent"] != items[parent]["span"]:
            wrong.append((number, "parent"))
        waits += steps_differ(number, words, span, wrong)
    report("asyncio: who made each, how it ended, when it ran and waited", wrong)
    ok(waits > ITEMS / 4, f"asyncio: they waited {waits} times")
    report("asyncio: pieces are in order", ordered(spans))
    blocked(path, items, times)


def blocked(path, items, times):
    """While a task waits, its loop runs others: that is what why goes into, as observed."""
    chosen = [n for n in items if items[n]["suspended_ns"] > 500_000][:5]
    wrong, loops = [], 0
    for number in chosen:
        span = items[number]
        asked = answer("why", path, "--span", span["name"], "--slowest", ITEMS)
        mine = [o for o in asked["operations"] if o["from"] == span["submitted_ns"]]
        for segment in mine[0]["segments"] if len(mine) == 1 else []:
            via = segment["via"]
            loops += bool(via) and (via["type"], via["evidence"]) == ("wake", "observed")
        if len(mine) != 1:
            wrong.append((number, len(mine)))
    report("asyncio: why has each task", wrong)
    ok(loops > 0, f"asyncio: waits go into the loop's time, {loops} parts")


def steps_differ(number, words, span, wrong):
    """
    Each time at which the task's function says that it runs lies in a run, and each wait begins in
    one and ends in a later one. Returns the waits.
    """
    runs, at, waits = runs_of(span), [], 0
    for what, time_ns in words:
        if what not in ("runs", "waits", "ends"):
            continue
        inside = [k for k, r in enumerate(runs) if r["start_ns"] <= int(time_ns) <= r["end_ns"]]
        if len(inside) != 1:
            wrong.append((number, what, "in no run"))
            return waits
        at.append((what, inside[0]))
    for (what, run_before), (_, run_after) in zip(at, at[1:]):
        # A task that is thrown an exception begins its next step in another function.
        waits += what == "waits"
        if (run_after > run_before) != (what == "waits"):
            wrong.append((number, what, run_before, run_after))
    return waits


def ran(log, items, name):
    """
    What each item's span says of its run. An item: id, .., its tid, begin and end at last. A run is
    over before the thread begins the next one.
    """
    wrong, begins = [], {}
    for _, tid, began, _ in log:
        begins.setdefault(tid, []).append(began)
    for times in begins.values():
        times.sort()
    for number, tid, began, ended in log:
        span = items.get(number)
        if not span:
            continue
        runs = runs_of(span)
        after = bisect.bisect(begins[tid], began)
        most = begins[tid][after] if after < len(begins[tid]) else float("inf")
        if span["closed"] != "done" or [r["thread"]["tid"] for r in runs] != [tid]:
            wrong.append((number, span["closed"], len(runs)))
        elif runs[0]["start_ns"] > began or not ended <= runs[0]["end_ns"] <= most:
            wrong.append((number, "run"))
    report(f"{name}: where each ran, and when", wrong)


def matched(runtime, program, label, what, is_wanted):
    """
    Records a program whose items are numbers: id, .., when it was made, its tid, begin and end.
    Each has one span, which ran there and then.
    """
    _, lines, found = record(runtime, program, ITEMS, SEED)
    log = [[int(word) for word in line] for line in lines]
    spans = [s for s in found["logical"]["list"] if is_wanted(s)]
    items, extra, several = match(log, spans, lambda i: (i[0], i[2], i[3]))
    ok(len(items) == ITEMS == len(log) and not extra and not several,
       f"{label}: {ITEMS} of {ITEMS} {what}, and no other",
       f"{len(items)} found, {len(extra)} more, {several} ambiguous")
    ran([(i[0], i[4], i[5], i[6]) for i in log], items, label)
    return log, found, spans, items


def cxx():
    program = scratch("cxx")
    build("tasks.cc", "g++", "-O1", "-pthread", "-o", program, os.path.join(SOURCES, "tasks.cc"))
    log, _, spans, items = matched("cxx", program, "C++", "threads",
                                   lambda s: s["kind"] == "thread")
    wrong = [(i[0], i[1], i[7], items[i[0]]["parent"], items[i[0]]["name"])
             for i in log if i[0] in items and (
                 items[i[0]]["parent"] != (None if i[1] < 0 else items[i[1]]["span"])
                 or ("_Async_state" in items[i[0]]["name"]) != bool(i[7]))]
    report("C++: who made each, and if it is std::async", wrong)
    report("C++: pieces are in order", ordered(spans))


def gpool():
    program = scratch("gpool")
    build("gpool", "cc", "-O1", "-o", program, os.path.join(SOURCES, "gpool.c"),
          "/usr/lib/x86_64-linux-gnu/libglib-2.0.so.0")
    log, found, spans, items = matched("glib", program, "GLib", "items",
                                       lambda s: s["name"] == "work")
    queues = {(i[1], items[i[0]]["queue"]) for i in log if i[0] in items}
    ok(len(queues) == 2 and len({queue for _, queue in queues}) == 2,
       "GLib: the queue of each is its pool", f"{queues}")
    ok(len({tuple(s["key"]) for s in spans}) <= 16, f"GLib: {ITEMS} items have at most 16 keys")
    most = [q["most"]["running"] for q in found["logical"]["queues"]]
    ok(sorted(most)[-2:] <= [2, 3] and min(most[:2]) > 0,
       "GLib: no pool runs more at once than it has threads", f"{most}")


def described(name, library):
    """A copy of a description that comes with clew, for the library at that path alone."""
    with open(os.path.join(ROOT, "layers", name + ".runtime"), encoding="utf-8") as file:
        text = re.sub(r"^(object \w+) .*", rf"\1 {library}", file.read(), flags=re.M)
    path = scratch(name + ".runtime")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def dispatched(label, library, program, *options, loader=()):
    """Each item that a queue of libdispatch runs has one span, which ran there and then."""
    _, lines, found = record(described("dispatch", library), *loader, program, ITEMS, SEED,
                             options=options)
    log = [[int(word) for word in line] for line in lines]
    # Functions that the library submits for itself have other names.
    names = ("own", "shared", "__submit_block_invoke", "__submit_block_invoke_2")
    spans = [s for s in found["logical"]["list"] if s["submitted_ns"] and s["name"] in names]
    items, extra, several = match(log, spans, lambda i: (i[0], i[2], i[3]))
    ok(len(items) == ITEMS == len(log) and not extra and not several,
       f"{label}: {ITEMS} of {ITEMS} items, and no other",
       f"{len(items)} found, {len(extra)} more, {several} ambiguous, "
       f"{sorted({s['name'] for s in found['logical']['list']})}")
    ran([(i[0], i[4], i[5], i[6]) for i in log], items, label)
    queues = {(i[1] < 2, items[i[0]]["queue"]) for i in log if i[0] in items}
    ok(len(queues) == 2, f"{label}: the queue of each is the one that it was submitted to",
       f"{queues}")
    shared = {tuple(items[i[0]]["key"]) for i in log if i[1] < 2 and i[0] in items}
    ok(len(shared) == 3, f"{label}: items in order have three keys", f"{len(shared)}")


def dispatch():
    library, program = scratch("libdispatch.so"), scratch("blocks")
    build("the double of libdispatch", "gcc", "-O2", "-shared", "-fPIC", "-fvisibility=hidden",
          "-s", "-o", library, os.path.join(SOURCES, "dispatch_double.c"), "-pthread")
    build("blocks", "clang", "-O1", "-fblocks", "-pthread", "-o", program,
          os.path.join(SOURCES, "blocks.c"), library)
    dispatched("dispatch", library, program, "--max-cost", "90")
    with open(library, "rb") as file:
        code = file.read()
    # The jump leads elsewhere.
    for what, jump, status, words in (
        ("as it is", b"\xff\xe6", 0, "12 points"),
        ("with another jump", b"\xff\xe2", 1,
         "callout is not resolved: no function jumps to rsi alone")):
        with open(library, "wb") as file:
            file.write(code.replace(b"\xff\xe6", jump))
        done = run(CLEW, "functions", "--runtime", "dispatch", library)
        ok(done.returncode == status and words in done.stdout, f"dispatch {what}: {words}",
           f"status {done.returncode}: {done.stdout[-200:]}{done.stderr}")
    if ALL:
        dispatch_real()


def dispatch_real():
    """The real libdispatch, which Debian has since its release 13."""
    root = unpacked("trixie", "libswiftlang", "libc6", "libstdc++6", "libgcc-s1")
    found = glob.glob(f"{root}/usr/**/libdispatch.so", recursive=True) if root else []
    if not found:
        skip("libdispatch of Debian 13", "its packages are not to be had")
        return
    directory, program = os.path.dirname(found[0]), scratch("blocks-real")
    build("blocks of the real one", "clang", "-O1", "-fblocks", "-pthread", "-o", program,
          os.path.join(SOURCES, "blocks.c"), found[0],
          os.path.join(directory, "libBlocksRuntime.so"), "-Wl,--allow-shlib-undefined")
    libraries = [directory, *{os.path.dirname(path) for path in glob.glob(
        f"{root}/**/lib*.so*", recursive=True) if "/x86_64-linux-gnu/" in path}]
    loader = glob.glob(f"{root}/**/ld-linux-x86-64.so.2", recursive=True)[0]
    dispatched("libdispatch of Debian 13", found[0], program, "--max-cost", "90",
               loader=(loader, "--library-path", ":".join(libraries)))


def openmp():
    """Regions of OpenMP and the shares of their threads."""
    program = scratch("regions")
    build("regions", "gcc", "-O1", "-fopenmp", "-pthread", "-o", program,
          os.path.join(SOURCES, "regions.c"))
    _, log, found = record("openmp", program, ITEMS, SEED, options=("--max-cost", "90"))
    shares = {}
    for i in log:
        if i[0] == "share" and i[2] != "0":
            shares.setdefault(int(i[1]), []).append([int(word) for word in i[2:]])
    regions = [[int(word) for word in i[1:]] for i in log if i[0] == "region"]
    spans = [s for s in found["logical"]["list"] if s["kind"] == "region"]
    items, extra, several = match(regions, spans, lambda i: (
        i[0], i[2], min(share[1] for share in shares[i[0]])))
    # Both threads may begin a region at the same time.
    for i in regions:
        mine = [s for s in spans if s["submitter"]["tid"] == i[1]
                and i[2] <= s["submitted_ns"] <= i[3]]
        if len(mine) == 1:
            items[i[0]] = mine[0]
    ok(len(items) == ITEMS == len(spans), f"OpenMP: {ITEMS} of {ITEMS} regions, and no other",
       f"{len(items)} found, {len(spans)} in all, {len(extra)} more, {several} ambiguous")
    parts = {}
    for s in found["logical"]["list"]:
        if s["kind"] == "share":
            parts.setdefault(s["parent"], []).append(s)
    wrong = []
    for i in regions:
        region = items.get(i[0])
        if not region:
            continue
        last = max(share[2] for share in shares[i[0]])
        if region["closed"] != "done" or not last <= region["ended_ns"] <= i[3]:
            wrong.append((i[0], "end", region["closed"]))
        mine = {r["thread"]["tid"]: (r["start_ns"], r["end_ns"])
                for s in parts.get(region["span"], []) for r in runs_of(s)}
        if set(mine) != {share[0] for share in shares[i[0]]} and not (
                # A thread that comes late to a divided loop finds nothing of it left.
                set(mine) > {share[0] for share in shares[i[0]]}):
            wrong.append((i[0], "threads", mine, shares[i[0]]))
        wrong += [(i[0], "share", share) for share in shares[i[0]]
                  if share[0] in mine and not (mine[share[0]][0] <= share[1]
                                               and share[2] <= mine[share[0]][1])]
    report("OpenMP: the threads of each region, and when each had its share", wrong)
    several = sum(len(parts.get(items[i[0]]["span"], [])) > 1 for i in regions if i[0] in items)
    ok(several > ITEMS / 3 and not parts.get(None), f"OpenMP: {several} regions have several shares",
       f"{len(parts.get(None, []))} shares of no region")


def io_uring():
    """Requests to io_uring. The kernel uses the memory of one for the next."""
    program = scratch("rings")
    build("rings", "cc", "-O1", "-o", program, os.path.join(SOURCES, "rings.c"))
    if run(program, 1, 1).returncode:
        skip("io_uring", "this kernel has none")
        return
    _, log, found = record("io_uring", program, ITEMS, SEED)
    # Other programs have rings, too.
    spans = [s for s in found["logical"]["list"]
             if s["submitter"] and s["submitter"]["comm"] == "rings"]
    by_number = {s["status"]: s for s in spans}
    ok(len(spans) == ITEMS == len(by_number), f"io_uring: {ITEMS} of {ITEMS} requests, and no other",
       f"{len(spans)} found, {len(by_number)} different")
    wrong = []
    for i in log:
        span = by_number.get(int(i[0]))
        if not span:
            continue
        # Times of these records are rounded down.
        if not int(i[2]) - SLACK <= span["submitted_ns"] <= int(i[3]):
            wrong.append((i[0], "submit"))
        if span["closed"] != "done" or not span["submitted_ns"] <= span["ended_ns"] <= int(i[4]):
            wrong.append((i[0], "end", span["closed"]))
        if span["name"] != i[1] or runs_of(span):
            wrong.append((i[0], "name", span["name"], len(runs_of(span))))
    report("io_uring: when each was submitted and complete, and what it was", wrong)
    keys = {tuple(s["key"]) for s in spans}
    ok(len(keys) < ITEMS, f"io_uring: {ITEMS} requests have {len(keys)} keys")
    report("io_uring: pieces are in order", ordered(spans))


def own():
    """The runtime that docs/runtimes.md describes."""
    with open(os.path.join(ROOT, "docs", "runtimes.md"), encoding="utf-8") as file:
        text = re.search(r"```\n(runtime jobs .*?)```", file.read(), re.S)
    description, program = scratch("jobs.runtime"), scratch("jobs")
    with open(description, "w", encoding="utf-8") as file:
        file.write(text[1])
    build("jobs", "cc", "-O1", "-pthread", "-rdynamic", "-o", program,
          os.path.join(SOURCES, "jobs.c"))
    _, log, found = record(description, program, ITEMS, SEED, options=("--max-cost", "50"))
    spans = found["logical"]["list"]
    by_process, items, extra = {}, {}, 0
    for i in log:
        by_process.setdefault(i[0], []).append(i)
    for process, uses in by_process.items():
        mine = [s for s in spans if str(s["submitter"]["pid"]) == process]
        fit, more, _ = match(uses, mine, lambda i: ((i[0], int(i[1])), int(i[2]), int(i[3])))
        items.update(fit)
        extra += len(more)
    ok(len(items) == len(log) and not extra and len(by_process) == 2,
       f"own: {len(log)} of {len(log)} uses of jobs in two processes, and no other",
       f"{len(items)} found, {extra} more, {len(by_process)} processes")
    keys = [{tuple(s["key"]) for s in spans if str(s["submitter"]["pid"]) == p}
            for p in by_process]
    ok(keys[0] == keys[1] and len(keys[0]) == 5, "own: both processes have the same five keys")
    wrong = []
    for i in log:
        span = items.get((i[0], int(i[1])))
        if not span:
            continue
        closed = "done" if i[4] == "waited" else i[4]
        if span["closed"] != closed or span["name"] != "item":
            wrong.append((i[:2], i[4], span["closed"], span["name"]))
        tids = {r["thread"]["tid"] for r in runs_of(span)}
        if tids != ({int(i[5])} if closed == "done" else set()):
            wrong.append((i[:2], "threads", tids))
        waits = [p for p in span["pieces"] if p["state"] == "suspended"]
        if len(waits) != (i[4] == "waited") or any(w["by"]["tid"] != int(i[6]) for w in waits):
            wrong.append((i[:2], "waits", len(waits)))
    report("own: done, canceled and superseded, who ran it, who woke it", wrong)
    report("own: pieces are in order", ordered(spans))


def changed():
    """A library whose code is another than the description expects is not probed at all."""
    library = os.path.realpath("/usr/lib/x86_64-linux-gnu/libuv.so.1")
    whole = run("objdump", "-d", "--no-show-raw-insn", library).stdout
    function = re.search(r"<uv_queue_work@@Base>:\n(.*?)\n\n", whole, re.S)[1]
    # The second address of code that it takes, of the callback's caller.
    places = [int(m[1], 16) for m in re.finditer(
        r"^ +([0-9a-f]+):\tlea +-0x[0-9a-f]+\(%rip\)", function, re.M)]
    with open(library, "rb") as file:
        code = bytearray(file.read())
    copy = scratch("libuv.so.1")
    for what, change, status, words in (("as it is", 0, 0, "4 points"),
                                        ("with one byte changed", 1, 1, "is not resolved")):
        code[places[1] + 3] = (code[places[1] + 3] + change) % 256
        with open(copy, "wb") as file:
            file.write(code)
        done = run(CLEW, "functions", "--runtime", "uv", copy)
        ok(done.returncode == status and words in done.stdout, f"libuv {what}: {words}",
           f"status {done.returncode}: {done.stdout}{done.stderr}")
    tables()


def tables():
    """The same of functions that a table names: another name, or another word behind it."""
    module = glob.glob(MODULE)
    if not module:
        skip("asyncio with a table changed", "there is no module of Python 3.11")
        return
    with open(module[0], "rb") as file:
        code = file.read()
    copy = scratch(os.path.basename(module[0]))
    name = b"\0TaskStepMethWrapper\0"
    for what, now, status, words in (
        ("as it is", name, 0, "7 points"),
        ("with another name in a table", name.replace(b"Step", b"Stop"), 1,
         'task_step is not resolved: no table has one function beside "TaskStepMethWrapper"')):
        with open(copy, "wb") as file:
            file.write(code.replace(name, now))
        done = run(CLEW, "functions", "--runtime", "asyncio", copy)
        ok(done.returncode == status and words in done.stdout, f"asyncio {what}: {words}",
           f"status {done.returncode}: {done.stdout}{done.stderr}")
    own = os.path.join(ROOT, "layers", "asyncio.runtime")
    with open(own, encoding="utf-8") as file:
        text = file.read().replace("+13", "+12")
    description = scratch("wrong.runtime")
    with open(description, "w", encoding="utf-8") as file:
        file.write(text)
    done = run(CLEW, "functions", "--runtime", description, module[0])
    ok(done.returncode == 1 and "task_step is not resolved" in done.stdout,
       "asyncio: a word that is no function's address is not taken", done.stdout + done.stderr)


def main():
    skip_unless_functions("--no-stacks")
    tests = {"pthread": pthread, "uv": uv, "go": go, "mutexes": mutexes, "gil": gil,
             "java": java, "asyncio": asyncio,
             "cxx": cxx, "glib": gpool, "dispatch": dispatch, "openmp": openmp,
             "io_uring": io_uring, "own": own, "changed": changed}
    for name in sys.argv[1:] or tests:
        tests[name]()
    finish()


if __name__ == "__main__":
    main()
