#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
What `clew export --to perfetto` writes, read by independent readers, means what `clew waits`,
`edges`, `requests`, `dump` and `why` say of the same capture; where an export cannot be
written, nothing is left of it. Prints TAP.
"""
import collections
import glob
import os
import resource
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import _trace_processor  # noqa: E402  pylint: disable=wrong-import-position
from _export import (SHOWN, ask, calls_told, clew, difference, directory, export, flows_told, functions_told, hostile, made, object_of, place, ready_told, requests_told, runs_told, waits_told, why_told)  # noqa: E402  pylint: disable=wrong-import-position
from _perfetto import Perfetto  # noqa: E402  pylint: disable=wrong-import-position
from _perfetto_shown import (UNKNOWN_TID, calls_shown, flows_shown, ready_shown, requests_shown, runs_shown, slices_shown, waits_shown, why_shown)  # noqa: E402  pylint: disable=wrong-import-position
from _trace import HERE, Tap  # noqa: E402  pylint: disable=wrong-import-position

tap = Tap()


def calls_told_by_edges(capture):
    """Which call in another thread is for which, from begin to begin."""
    return collections.Counter((origin["tid"], origin["at"], to["tid"], to["at"], edge["evidence"])
                               for edge in ask(capture, "edges", "--idle", "--self")["edges"]
                               if edge["type"] == "call" for origin in edge["from"]
                               for to in edge["to"] if origin["tid"] != to["tid"])


def test_perfetto(name, capture):
    perfetto = Perfetto(export(capture, "perfetto"))
    clock = perfetto.clocks[0]
    ahead, end = clock[6] - clock[3], ask(capture, "info")["end"]
    tap.report("%s: waits" % name, difference(waits_shown(perfetto, ahead), waits_told(capture)))
    tap.report("%s: time ready" % name,
               difference(ready_shown(perfetto, ahead, end), ready_told(capture)))
    flows, dangling = flows_shown(perfetto, ahead)
    tap.report("%s: flows" % name, difference(flows, flows_told(capture)))
    tap.same("%s: flows without an end" % name, dangling, {})
    tap.report("%s: requests" % name,
               difference(requests_shown(perfetto, ahead), requests_told(capture)))
    tap.report("%s: runs" % name, difference(runs_shown(perfetto, ahead, end), runs_told(capture)))
    tap.same("%s: the slowest operations" % name, why_shown(perfetto, ahead), why_told(capture))
    tap.report("%s: announced calls" % name,
               difference(slices_shown(perfetto, ahead, "call"), calls_told(name)))
    tap.report("%s: calls for calls" % name,
               difference(calls_shown(perfetto, ahead), calls_told_by_edges(capture)))
    tap.report("%s: functions" % name,
               difference(slices_shown(perfetto, ahead, "function"), functions_told(capture)))
    woken = collections.Counter(wait["tid"]
                                for wait in ask(capture, "waits", "--idle", "--self")["waits"]
                                if wait["end"])
    tap.report("%s: wakes" % name,
               difference(collections.Counter(w.tid for w in perfetto.wakes), woken))


# Each wait, as the state of its thread that Perfetto makes of switches and wakes.
STATES = """select tid, ts, dur, blocked_function, io_wait from thread_state
join thread using (utid) where state in ('S', 'D') and tid < %d""" % UNKNOWN_TID
WAITS = """select tid, slice.ts, dur, slice.name from slice
join thread_track on track_id = thread_track.id join thread using (utid) where category = 'wait'"""
FLOWS = """select c.tid, a.ts, d.tid, b.ts, a.name from flow
join slice a on slice_out = a.id join slice b on slice_in = b.id
join thread_track e on a.track_id = e.id join thread c on e.utid = c.utid
join thread_track f on b.track_id = f.id join thread d on f.utid = d.utid"""
WAKERS = """select w.tid, t.tid, s.ts from thread_state s join thread t using (utid)
join thread w on waker_utid = w.utid where irq_context = 0"""
WRONG = "select name, value from stats where value and severity in ('error', 'data_loss')"


def text_of(wait):
    """How a wait is told in the place of the kernel function that the thread slept in."""
    text = wait["kind"] + (" " + object_of(wait) if wait["object"] else "")
    held = wait["holders"][:1]
    return text + "".join(", held by %s-%s" % (h["comm"], h["tid"]) for h in held)


def test_trace_processor(name, capture):
    """Perfetto itself reads it, and its own tables say the same as clew."""
    with open(place("trace"), "wb") as file:
        file.write(export(capture, "perfetto"))
    answers = _trace_processor.query(place("trace"), WRONG, STATES, WAITS, FLOWS, WAKERS)
    if isinstance(answers, str):
        tap.report("%s: Perfetto reads it" % name, answers)
        return
    wrong, states, shown, flows, wakers = answers
    clock = Perfetto(export(capture, "perfetto")).clocks[0]
    ahead = clock[6] - clock[3]
    waits = ask(capture, "waits", "--idle", "--self")["waits"]
    told = {(w["tid"], w["start"] + ahead): w for w in waits}
    tap.same("%s: what Perfetto finds wrong" % name, wrong, [])
    tap.same(
        "%s: Perfetto's waits" % name, sorted(map(tuple, shown)),
        sorted((w["tid"], w["start"] + ahead, w["end"] - w["start"] if w["end"] else -1, w["kind"])
               for w in waits))
    # A thread that slept from the start on has no switch with which its state begins.
    whole = [w for w in waits if w["open"] not in ("start", "both")]
    tap.same("%s: a state for each wait" % name, len(states), len(whole))
    for tid, at, _, function, _ in states:
        tap.same("%s: what thread %d is blocked by" % (name, tid), function, text_of(told[tid, at]))
    # An arrow between calls has the name of the call that it comes from.
    told_flows = collections.Counter(
        (f[0], f[1] + ahead, f[2], f[3] + ahead, f[4]) for f in flows_told(capture).elements())
    told_flows.update((f[0], f[1] + ahead, f[2], f[3] + ahead)
                      for f in calls_told_by_edges(capture).elements())
    tap.same(
        "%s: Perfetto's flows" % name,
        collections.Counter(tuple(f[:4] if "." in f[4] else f) for f in flows), told_flows)
    woken = {(w["ended_by"]["tid"], w["tid"], w["ended_by"]["raw_at"] + ahead)
             for w in whole if w["end"] and w["ended_by"]["tid"]
             and w["ended_by"]["context"] == "task" and w["ended_by"]["raw_at"] > w["start"]}
    tap.same("%s: wakers" % name, {tuple(w) for w in wakers} >= woken, True)


def test_hostile(capture):
    perfetto = Perfetto(export(capture, "perfetto"))
    tap.same("perfetto: a hostile name of a thread", SHOWN
             in {switch.comm
                 for switch in perfetto.switches}, True)
    tap.same("perfetto: a hostile name of a file", "/" + SHOWN
             in {path
                 for s in perfetto.slices for path in s.notes.get("path", [])}, True)


def limited():
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))


def left_behind(name):
    return [found for found in os.listdir(directory.name) if found.startswith(name)]


def test_output(capture, *to):
    """No half file has the final name, and nothing is left beside it."""
    command, name = ("export", capture, "--to", *to), " ".join(to)
    done = clew(*command, "-o", "/dev/full")
    tap.same("%s: a full device" % name, (done.returncode, done.stderr.count(b"\n")), (3, 1))
    done = clew(*command, "-o", place("half"), preexec_fn=limited)
    tap.same("%s: a disk that gets full" % name,
             (done.returncode, done.stderr.count(b"\n"), left_behind("half")), (3, 1, []))
    read, write = os.pipe()
    os.close(read)
    done = clew(*command, stdout=write)
    os.close(write)
    tap.same("%s: a reader that has left" % name, (done.returncode, done.stderr), (0, b""))
    done = clew(*command, "-o", place("none/where"))
    tap.same("%s: a folder that is not there" % name, (done.returncode, done.stderr.count(b"\n")),
             (3, 1))
    with open(place("kept"), "w", encoding="utf-8") as file:
        file.write("kept")
    clew(*command, "-o", place("kept"), preexec_fn=limited)
    with open(place("kept"), encoding="utf-8") as file:
        tap.same("%s: a file that could not be replaced" % name, file.read(), "kept")


def test_choice(capture):
    """Waits are those of the chosen threads; who ran is not left out."""
    whole = Perfetto(export(capture, "perfetto"))
    chosen = next(w for w in ask(capture, "waits", "--idle", "--self")["waits"]
                  if w["end"] and w["start"] > ask(capture, "info")["start"])
    part = Perfetto(export(capture, "perfetto", "--tid", str(chosen["tid"])))
    tap.same("--tid: waits", {part.tid(s.track)
                              for s in part.slices if s.category == "wait"}, {chosen["tid"]})
    tap.same("--tid: switches", part.switches, whole.switches)
    clock = whole.clocks[0]
    after = str(chosen["end"] + 1)
    late = Perfetto(export(capture, "perfetto", "--from", after))
    early = Perfetto(export(capture, "perfetto", "--to", str(chosen["start"] - 1)))
    begins = [{s.start - clock[6] + clock[3]
               for s in shown.slices if s.category == "wait"} for shown in (whole, late, early)]
    tap.same("--from and --to: the wait", [chosen["start"] in found for found in begins],
             [True, False, False])
    tap.same(
        "--from: others that overlap", begins[1],
        {w["start"]
         for w in ask(capture, "waits", "--idle", "--self", "--from", after)["waits"]})


for records in sorted(glob.glob(os.path.join(HERE, "*.records"))):
    title = os.path.basename(records)[:-len(".records")]
    if title not in ("empty", "own"):
        test_perfetto(title, made(title))
test_hostile(hostile())
test_output(made("pages"), "perfetto")
test_output(made("pages"), "chrome")
for form in (("dot", ), ("otlp", ), ("otlp", "--encoding", "protobuf")):
    test_output(made("life"), *form, "--call", "*", "--slowest", "20")
test_choice(made("locks"))
missing = _trace_processor.fetch()
for title in ("locks", "names", "pages", "calls"):
    if missing:
        tap.skip("%s: Perfetto reads it" % title, missing)
    else:
        test_trace_processor(title, made(title))
sys.exit(tap.end())
