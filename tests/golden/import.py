#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Captures of what other tracers recorded: one story, told as ftrace, trace-cmd, perf script and
Perfetto write it, has the waits, wakers, requests and dependencies that it was made of. Prints TAP.
"""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from _trace import CLEW, Tap, resolved  # noqa: E402  pylint: disable=wrong-import-position

tap = Tap()
directory = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with
HOSTILE = "a [001] =b;\"'\\"

# The story, in us from 100 s on: (us, CPU, tid, event, ..). "worker" (21, of process 20) waits in
# read for "server" (20), which waits for a disk; then it is preempted, sleeps, and ends.
NAMES = {0: "swapper", 20: "server", 21: "worker", 30: HOSTILE, 0x1e: HOSTILE}
STORY = (
    (0, 0, 0, "switch", 0, "R", 20),
    (10, 1, 0, "switch", 0, "R", 21),
    (100, 1, 21, "enter", 0, "(3, 7f0000001000, 400, 0, 0, 0)"),
    (120, 1, 21, "switch", 21, "S", 0),
    (200, 0, 20, "enter", 74, "(5, 0, 0, 0, 0, 0)"),
    (210, 0, 20, "insert", 8, 16, "WS", 4096, 2048, 8),
    (220, 0, 20, "issue", 8, 16, "WS", 4096, 2048, 8),
    (250, 0, 20, "switch", 20, "D", 0),
    (890, 0, 0, "irq", 9),  # the event of its end was lost
    (900, 0, 0, "complete", 8, 16, "WS", 0, 2048, 8),
    (904, 0, 0, "waking_irq", 20),
    (912, 0, 0, "switch", 0, "R", 20),
    (920, 0, 20, "exit_call", 74),
    (930, 0, 20, "enter", 1, "(4, 7f0000002000, 1, 0, 0, 0)"),
    (940, 0, 20, "waking", 21),
    (960, 1, 0, "switch", 0, "R", 21),
    (970, 1, 21, "exit_call", 0),
    (980, 0, 20, "exit_call", 1),
    (1000, 0, 20, "enter", 56, "(0, 0, 0, 0, 0, 0)"),
    (1010, 0, 20, "fork", 30),
    (1020, 0, 20, "wake_new", 30),
    (1030, 0, 20, "exit_call", 56),
    (1040, 0, 20, "enter", 202, "(7f0000003000, 80, 2, 0, 0, 0)"),
    (1050, 0, 20, "switch", 20, "S", 30),
    (1100, 1, 21, "switch", 21, "R+", 0),
    (1150, 1, 0, "switch", 0, "R", 21),
    (1200, 0, 30, "enter", 202, "(7f0000003000, 81, 1, 0, 0, 0)"),
    (1210, 0, 30, "waking", 20),
    (1240, 0, 30, "exit", 30),
    (1250, 0, 30, "switch", 30, "X", 20),
    (1300, 0, 20, "switch", 20, "S", 0),
    (1400, 1, 21, "switch", 21, "S", 0),
)
# (tid, start, end, on a CPU again, kind, call, by whom, request) of its waits, in us
WAITS = {
    (21, 120, 940, 960, "other", "read", 20, None),
    (20, 250, 904, 912, "fsync", "fsync", None, True),
    (20, 1050, 1210, 1250, "futex", "futex", 30, None),
    (20, 1300, None, None, "futex", "futex", None, None),
    (21, 1400, None, None, "unknown", None, None, None),
}
EDGES = {
    ("wake", 20, 940, 21, 940), ("request", 20, 210, 20, 904), ("fork", 20, 1010, 30, 1010),
    ("wake", 30, 1210, 20, 1210)
}
# Marks of both programs that begin and end a slice, and marks that do neither; and the slices: (tid, begin, end,
# name, begin of the one around it).
MARKS = (
    (60, 1, 21, "mark", "E|20"),
    (80, 1, 21, "mark", "B|20|handle request"),
    (90, 1, 21, "mark", "B|20|parse|x;y"),
    (240, 0, 20, "mark", "B|20|sync"),
    (925, 0, 20, "mark", "E|20"),
    (972, 1, 21, "mark", "C|20|queue|5"),
    (973, 1, 21, "mark", "S|20|later|1"),
    (974, 1, 21, "mark", "E|20"),
    (976, 1, 21, "mark", "B|20|parse|x;y"),
    (978, 1, 21, "mark", "E"),
    (990, 1, 21, "mark", "E|20"),
    (1390, 1, 21, "mark", "B|20|last"),
)
SLICES = {
    (21, 80, 990, "handle request", None),
    (21, 90, 974, "parse|x;y", 80),
    (21, 976, 978, "parse|x;y", 80),
    (20, 240, 925, "sync", None),
    (21, 1390, None, "last", None),
}


def ns(us):
    """A moment of the story as clew keeps it: in whole steps of 128 ns."""
    return None if us is None else (100_000_000_000 + us * 1000) // 128 * 128


def name_of(tid, cpu=0):
    return NAMES[tid] if tid else "swapper/%d" % cpu


def plain(cpu, event):
    """The name and the arguments of an event, as the kernel prints them."""
    kind, rest = event[0], tuple(event[1:])
    if kind == "switch":
        return "sched_switch", (
            "prev_comm=%s prev_pid=%d prev_prio=120 prev_state=%s ==> next_comm=%s next_pid=%d "
            "next_prio=120" % (name_of(rest[0], cpu), rest[0], rest[1], name_of(rest[2], cpu),
                               rest[2]))
    if kind in ("waking", "waking_irq", "wake_new"):
        return ("sched_wakeup_new" if kind == "wake_new" else "sched_waking",
                "comm=%s pid=%d prio=120 target_cpu=000" % (name_of(rest[0]), rest[0]))
    if kind == "irq":
        return "irq_handler_entry", "irq=%d name=disk" % rest
    if kind == "enter":
        return "sys_enter", "NR %d %s" % rest
    if kind == "exit_call":
        return "sys_exit", "NR %d = 0" % rest
    if kind in ("insert", "issue"):
        return "block_rq_" + kind, "%d,%d %s %d () %d + %d [x]" % rest
    if kind == "complete":
        return "block_rq_complete", "%d,%d %s () %d + %d [0]" % (rest[:3] + rest[4:])
    if kind == "mark":
        return "tracing_mark_write", rest[0]
    if kind == "fork":
        return "sched_process_fork", "comm=server pid=20 child_comm=%s child_pid=%d" % (
            name_of(rest[0]), rest[0])
    return "sched_process_exit", "comm=%s pid=%d prio=120" % (name_of(rest[0]), rest[0])


def pretty(cpu, event):
    """The same as trace-cmd's plugins print it."""
    kind, rest = event[0], tuple(event[1:])
    if kind == "switch":
        return "sched_switch", "%s:%d [120] %s ==> %s:%d [120]" % (
            name_of(rest[0], cpu), rest[0], rest[1], name_of(rest[2], cpu), rest[2])
    if kind in ("waking", "waking_irq", "wake_new"):
        return ("sched_wakeup_new" if kind == "wake_new" else "sched_waking",
                "%s:%d [120] CPU:000" % (name_of(rest[0]), rest[0]))
    if kind == "mark":
        return "print", "tracing_mark_write: " + rest[0]
    return plain(cpu, event)


CALLS = {0: "read", 1: "write", 56: "clone", 74: "fsync", 202: "futex"}


def named(cpu, event):
    """System calls by their own events, as ftrace prints them."""
    if event[0] == "enter":
        numbers = event[2].strip("()").split(", ")
        return "sys_%s(%s)" % (CALLS[event[1]], ", ".join(
            "arg%d: %s" % pair for pair in enumerate(numbers))), None
    if event[0] == "exit_call":
        return "sys_%s -> 0x0" % CALLS[event[1]], None
    return plain(cpu, event)


def named_by_perf(cpu, event):
    if event[0] == "enter":
        numbers = event[2].strip("()").split(", ")
        return "sys_enter_" + CALLS[event[1]], ", ".join(
            "arg%d: 0x%016x" % (place_, int(number, 16)) for place_, number in enumerate(numbers))
    if event[0] == "exit_call":
        return "sys_exit_" + CALLS[event[1]], "0x0"
    return plain(cpu, event)


def comm_of(tid):
    return NAMES[tid] if tid else "<idle>"


def ftrace(story=STORY, describe=plain, flags=True):
    lines = ["# tracer: nop", "#", "# entries-in-buffer/entries-written: 18/18   #P:2"]
    for us, cpu, tid, *event in story:
        name, arguments = describe(cpu, event)
        mark = "d.h2. " if event[0] == "waking_irq" else "d..2. "
        lines.append("%16s-%-6d (%5s) [%03d] %s 100.%06d: %s" %
                     (comm_of(tid), tid, 20 if tid in (20, 21) else tid or "-----", cpu,
                      mark if flags else "", us,
                      name if arguments is None else name + ": " + arguments))
    return "\n".join(lines) + "\n"


def perf(describe=plain, story=STORY):
    lines = []
    for us, cpu, tid, *event in story:
        name, arguments = describe(cpu, event)
        system = ("syscalls" if name.startswith("sys_") else
                  "block" if name.startswith("block") else "sched")
        lines.append("%16s %6d/%-6d [%03d]   100.%06d000: %*s: %s" %
                     (name_of(tid, cpu), 20 if tid == 21 else tid, tid, cpu, us, 24, system + ":" +
                      name, arguments))
    return "\n".join(lines) + "\n"


def systrace(story=STORY):
    return json.dumps({"traceEvents": [{"name": "systemTraceEvents", "ph": "M"}],
                       "a \" key": "systemTraceEvents", "systemTraceEvents": ftrace(story),
                       "otherData": {}})


def place(name):
    return os.path.join(directory.name, name)


def clew(*arguments, **options):
    return subprocess.run([CLEW, *arguments], stderr=subprocess.PIPE, stdout=subprocess.PIPE,
                          timeout=60, check=False, **options)


def ask(capture, *arguments):
    return resolved(json.loads(clew(arguments[0], capture, "--json", *arguments[1:]).stdout))


def imported(text, name="made"):
    if isinstance(text, str):
        text = text.encode()
    with open(place("text"), "wb") as file:
        file.write(text)
    return clew("import", place("text"), "-o", place(name))


def waits_of(capture):
    found = set()
    for wait in ask(capture, "waits", "--idle")["waits"]:
        ended_by = wait["ended_by"] or {"tid": None, "through": []}
        by = ended_by["tid"] if wait["end"] else None
        request = any(step["kind"] == "request" for step in ended_by["through"])
        found.add((wait["tid"], wait["start"], wait["end"], wait["end"] and wait["end"] +
                   wait["runqueue_ns"], wait["kind"], wait["call"], None if request else by or None,
                   request or None))
    return found


def edges_of(capture):
    return {(edge["type"], edge["from"][0]["tid"], edge["from"][0]["at"], edge["to"][0]["tid"],
             edge["to"][0]["at"])
            for edge in ask(capture, "edges")["edges"]}


def test_story(name, text, threads=True):
    done = imported(text)
    tap.same("%s: it is taken" % name, (done.returncode, done.stdout), (0, b""))
    tap.same("%s: waits" % name, waits_of(place("made")),
             {w[:1] + tuple(map(ns, w[1:4])) + w[4:] for w in WAITS})
    tap.same("%s: dependencies" % name, edges_of(place("made")),
             {(kind, one, ns(at), two, ns(to)) for kind, one, at, two, to in EDGES})
    tap.same("%s: evidence" % name,
             {edge["evidence"] for edge in ask(place("made"), "edges")["edges"]}, {"observed"})
    request = ask(place("made"), "requests")["requests"][0]
    tap.same("%s: the request" % name,
             [request[key] for key in ("op", "queued", "issued", "completed", "bytes", "sector")],
             ["write", ns(210), ns(220), ns(900), 4096, 2048])
    why = ask(place("made"), "why", "--tid", "21", "--from", str(ns(120)), "--to", str(ns(960)))
    tap.same("%s: why" % name, [(s["tid"], s["kind"], s["start"], s["end"]) for s in why["segments"]
                                if s["ns"] > 40000 or s["kind"] == "device"],
             [(20, "running", ns(120), ns(250)), (20, "device", ns(250), ns(904))])
    tap.same("%s: why ends" % name, (why["segments"][-1]["kind"], why["ledger"]),
             ("runqueue", None))
    names = {w["tid"]: (w["comm"], w["pid"]) for w in ask(place("made"), "waits")["waits"]}
    tap.same("%s: processes" % name, names.get(21), ("worker", 20 if threads else 21))
    tap.same("%s: it is consistent" % name, clew("check", place("made")).returncode, 0)
    told = ask(place("made"), "waits", "--idle")
    clew("convert", place("made"), "-o", place("made.ctrace"))
    tap.same("%s: the same by way of notation" % name,
             ask(place("made.ctrace"), "waits", "--idle"), told)
    for command in ("path", "blame", "report", "info"):
        more = ["--all", "(^worker)"] if command == "path" else []
        tap.same("%s: %s" % (name, command), clew(command, place("made"), *more).returncode, 0)


def test_merged():
    """A request that grew between its queue and its issue."""
    grown = tuple(event[:-1] + (16,) if event[3] in ("issue", "complete") else event
                  for event in STORY)
    imported(ftrace(grown))
    requests = ask(place("made"), "requests")["requests"]
    tap.same("merged: the request", [(r["sector"], r["bytes"], r["queued"], r["issued"],
                                      r["completed"], r["submitter"]["tid"]) for r in requests],
             [(2048, 8192, ns(210), ns(220), ns(900), 20)])


def test_names():
    """A child's hostile name."""
    imported(ftrace())
    edges = ask(place("made"), "edges", "--type", "fork")["edges"]
    tap.same("a hostile name", edges[0]["to"][0]["comm"], HOSTILE[:15])
    imported(ftrace().encode().replace(b"worker", b"w\xff\x01\xc3r"))
    tap.same("a name that is no UTF-8", {w["comm"] for w in ask(place("made"), "waits")["waits"]
                                         if w["tid"] == 21}, {"w\ufffd\x01\ufffdr"})


def test_contexts():
    """Without flags, a program outside of system calls and the idle task wake nobody."""
    story = [line for line in STORY if line[3] != "exit_call" or line[0] != 970]
    story = [(us, cpu, tid) + (("waking", ) + tuple(rest[1:]) if rest[0] == "waking_irq" else
                               tuple(rest)) for us, cpu, tid, *rest in story]
    story.insert(next(i for i, line in enumerate(story) if line[0] == 1150) + 1,
                 (1160, 1, 21, "exit_call", 0))
    imported(ftrace(story, flags=False))
    told = {w[0:2]: w[6:8] for w in waits_of(place("made"))}
    tap.same("no flags: the idle task", told[20, ns(250)], (None, True))
    tap.same("no flags: a task in a call", told[21, ns(120)], (20, None))
    outside = [line for line in story if line[0] != 1200]
    imported(ftrace(outside, flags=False))
    told = {w[0:2]: w[6:8] for w in waits_of(place("made"))}
    tap.same("no flags: a thread that never made a call may be the kernel's",
             told[20, ns(1050)], (30, None))
    outside.insert(next(i for i, line in enumerate(outside) if line[0] == 1210),
                   (1190, 0, 30, "exit_call", 202))
    outside.sort(key=lambda line: line[0])
    imported(ftrace(outside, flags=False))
    told = {w[0:2]: w[6:8] for w in waits_of(place("made"))}
    tap.same("no flags: a program outside of calls", told[20, ns(1050)], (None, None))


def test_less():
    """What is missing is said, and nothing else changes."""
    switches = [line for line in STORY if line[3] in ("switch", "waking", "waking_irq")]
    done = imported(ftrace(switches, flags=False))
    tap.same("switches and wakes: what it has not",
             [word in done.stderr for word in (b"who woke whom", b"system calls", b"block requests",
                                               b"from interrupts", b"a ledger")],
             [False, True, True, True, True])
    told = {(w[0], w[1], w[2]) for w in waits_of(place("made"))}
    tap.same("switches and wakes: waits", told, {(w[0], ns(w[1]), ns(w[2])) for w in WAITS})
    done = imported(ftrace([line for line in STORY if line[3] == "switch"]))
    tap.same("switches alone: what it has not", b"who woke whom" in done.stderr, True)
    tap.same("switches alone: nobody woke anybody",
             {w["ended_by"] and w["ended_by"]["tid"]
              for w in ask(place("made"), "waits", "--idle")["waits"]} - {None, 0}, set())
    lost = ftrace().splitlines()
    lost.insert(14, "CPU:0 [LOST 17 EVENTS]")
    done = imported("\n".join(lost))
    tap.same("lost events",
             (b"lost 17" in done.stderr, b"17 records" in clew("info", place("made")).stdout),
             (True, True))
    lost = perf().splitlines()
    lost.insert(14, "  perf  20/20  [000]   100.000940: PERF_RECORD_LOST lost 23")
    done = imported("\n".join(lost))
    tap.same("lost events of perf",
             (b"lost 23" in done.stderr, b"23 records" in clew("info", place("made")).stdout),
             (True, True))
    damaged = ftrace().replace("\n", "\r\n").splitlines(True)
    damaged.insert(5, "garbage\r\n")
    damaged.insert(9, "x" * 100000 + "\r\n")
    damaged.insert(12, damaged[12][:60] + "\r\n")
    imported("".join(damaged))
    tap.same("lines that are none", edges_of(place("made")),
             {(kind, one, ns(at), two, ns(to)) for kind, one, at, two, to in EDGES})


def spans_of(capture):
    return {(span["start_tid"], span["start"], span["end"], span["name"], span["parent"])
            for span in ask(capture, "spans", "--list")["list"]}


def test_slices():
    """What programs mark are activations, in which waits are explained."""
    story = sorted(STORY + MARKS, key=lambda line: line[0])
    for name, text in (("ftrace", ftrace(story)), ("trace-cmd", ftrace(story, pretty)),
                       ("ftrace without processes",
                        ftrace(story).replace("(   20)", "(-----)")),
                       ("perf script", perf(pretty, story)), ("Perfetto's JSON", systrace(story))):
        done = imported(text)
        tap.same("%s: marks: slices" % name, (done.returncode, spans_of(place("made"))),
                 (0, {(tid, ns(start), ns(end), title, ns(outer))
                      for tid, start, end, title, outer in SLICES}))
        tap.same("%s: marks: waits are the same" % name, waits_of(place("made")),
                 {w[:1] + tuple(map(ns, w[1:4])) + w[4:] for w in WAITS})
        told = ask(place("made"), "waits", "--idle")["waits"]
        tap.same("%s: marks: the process" % name, {w["pid"] for w in told if w["tid"] == 21}, {20})
        why = ask(place("made"), "why", "--span", "handle*")["operations"][0]
        tap.same("%s: marks: why a slice took long" % name,
                 (why["from"], why["to"], [(s["tid"], s["start"], s["end"])
                                           for s in why["segments"] if s["kind"] == "device"]),
                 (ns(80), ns(990), [(20, ns(250), ns(904))]))
        tap.same("%s: marks: it is consistent" % name,
                 clew("check", place("made")).returncode, 0)
        tap.same("%s: marks: others are counted" % name, b" 2 other events" in done.stderr, True)
    lost = ftrace(story).splitlines()
    at = next(i for i, line in enumerate(lost) if line.endswith("E|20") and " 100.000974" in line)
    lost.insert(at, "CPU:1 [LOST 3 EVENTS]")
    imported("\n".join(lost))
    tap.same("marks behind lost events end nothing that began before them",
             {span for span in spans_of(place("made")) if span[2] == ns(990) or span[2] == ns(974)},
             set())
    many = "".join(" server-20 (   20) [000] d..2. 100.0020%02d: tracing_mark_write: %s\n" %
                   (10 + i, mark) for i, mark in enumerate(
                       ("B|20|" + "n" * 5000, "E", "B|20|", "B", "B|x", "E|20")))
    imported(ftrace() + many)
    names = "".join(" server-20 (   20) [000] d..2. 100.%06d: tracing_mark_write: %s\n" %
                    (2000 + i, "E|20" if i % 2 else "B|20|name%d" % (i // 2))
                    for i in range(66000))
    done = imported(ftrace() + names, "many")
    told = ask(place("many"), "spans")["by_name"]
    tap.same("more names than are told apart",
             (done.returncode, len(told), {span["closed"].get("returned") for span in told},
              b" 233 other events" in done.stderr), (0, 32767, {1}, True))
    tap.same("a long name is cut", {span[3] for span in spans_of(place("made"))}, {"n" * 1024})


def test_wrong():
    for name, data, word in (("nothing", b"", b"sched_switch"),
                             ("another text", b"hello\nworld\n", b"sched_switch"),
                             ("perf.data", b"PERFILE2" + b"\0" * 100, b"perf script"),
                             ("trace.dat", b"\x17\x08\x44tracing6\0", b"trace-cmd report"),
                             ("gzip", b"\x1f\x8b\x08\0\0\0\0\0", b"zcat"),
                             ("Perfetto's own", b"\n\xa3\x01" + b"\x12" * 200, b"traceconv"),
                             ("JSON", b'{"traceEvents": []}', b"systemTraceEvents"),
                             ("JSON that is cut", systrace().encode()[:70], b"systemTraceEvents")):
        done = imported(data, "none")
        tap.same("%s: refused" % name,
                 (done.returncode, done.stderr.count(b"\n"), word in done.stderr,
                  os.path.exists(place("none"))), (2, 1, True, False))
    with open(place("text"), "w", encoding="utf-8") as file:
        file.write(ftrace())
    for arguments, status in ((["import", place("text"), "-o", "/dev/full"], 2),
                              (["import", place("text"), "-o", "-"], 2),
                              (["import", place("text"), "-o", place("no/where")], 3),
                              (["import", place("not there")], 2), (["import", "/"], 2),
                              (["import"], 2)):
        done = clew(*arguments, cwd=directory.name, stdin=subprocess.DEVNULL)
        tap.same(" ".join(arguments), (done.returncode, done.stderr.count(b"\n")), (status, 1))
    tap.same("nothing is left behind",
             [name for name in os.listdir(directory.name)
                                         if "." in name and name != "made.ctrace"], [])
    done = subprocess.run([CLEW, "import", "-", "-o", place("piped")], input=ftrace().encode(),
                          capture_output=True, timeout=60, check=False)
    tap.same("a pipe", (done.returncode, edges_of(place("piped"))),
             (0, {(kind, one, ns(at), two, ns(to)) for kind, one, at, two, to in EDGES}))


test_story("ftrace", ftrace())
test_story("trace-cmd", ftrace(describe=pretty))
test_story("perf script", perf())
test_story("Perfetto's JSON", systrace())
test_story("ftrace, calls by name", ftrace(describe=named))
test_story("perf script, calls by name", perf(describe=named_by_perf))
test_merged()
test_names()
test_contexts()
test_less()
test_slices()
test_wrong()
sys.exit(tap.end())
