#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Chrome's trace events mean what clew says of the same capture: read as JSON, and by Perfetto's
trace processor. Prints TAP.
"""
import collections
import glob
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import _trace_processor  # noqa: E402  pylint: disable=wrong-import-position
from _export import (SHOWN, ask, calls_told, clew, difference, export, flows_told, functions_told, hostile, made, place, ready_told, requests_told, runs_told, waits_told, why_told)  # noqa: E402  pylint: disable=wrong-import-position
from _trace import HERE, Tap  # noqa: E402  pylint: disable=wrong-import-position

tap = Tap()
CPUS = 1 << 22  # no thread has this number or one above it


def ns(text):
    """A number of microseconds as it is written, without the error of a binary fraction."""
    whole, _, part = text.partition(".")
    return int(whole) * 1000 + int(part.ljust(3, "0"))


class Chrome:

    def __init__(self, data):
        self.events = json.loads(data, parse_float=ns)["traceEvents"]
        self.slices = [e for e in self.events if e["ph"] in "XB"]
        self.origins, self.flows = {}, []
        self.pairs = collections.defaultdict(dict)  # asynchronous ones
        last = None
        for event in self.events:
            if event["ph"] in "XB":
                last = event
            elif event["ph"] in "be":
                self.pairs[event["pid"], event["cat"], event["id"]][event["ph"]] = event
            elif event["ph"] in "sf":
                assert (event["ts"], event["tid"]) == (last["ts"], last["tid"]), "no slice there"
                if event["ph"] == "s":
                    assert event["id"] not in self.origins, "a flow begins twice"
                    self.origins[event["id"]] = last
                else:
                    self.flows.append((event["id"], last))

    def of(self, category):
        return [s for s in self.slices if s["cat"] == category]

    def beside(self, category):
        return [pair for (_, cat, _), pair in self.pairs.items() if cat == category]


def end_of(event):
    return event["ts"] + event["dur"] if "dur" in event else None


def waits_shown(chrome):
    return collections.Counter((s["tid"], s["ts"], end_of(s), s["name"], s["args"].get("object"),
                                s["args"].get("call")) for s in chrome.of("wait"))


def ready_shown(chrome, end):
    return collections.Counter((s["tid"], s["ts"], (end_of(s) or end) - s["ts"])
                               for s in chrome.of("ready"))


def flows_shown(chrome):
    found, used = collections.Counter(), set()
    for number, to in chrome.flows:
        origin = chrome.origins[number]
        used.add(number)
        notes = origin["args"]
        found[origin["tid"], origin["ts"], to["tid"], to["ts"], notes["type"], notes["evidence"],
              notes["context"], notes.get("object")] += 1
    return found, set(chrome.origins) - used


def requests_shown(chrome):
    return collections.Counter(
        (p["b"]["name"], p["b"]["ts"], p["e"]["ts"] if "e" in p else None,
         p["b"]["args"]["bytes"], p["b"]["args"]["reason"], p["b"]["args"].get("submitter"))
        for p in chrome.beside("request"))


def runs_shown(chrome):
    return collections.Counter((s["tid"] - CPUS - 1, s["ts"], end_of(s),
                                int(s["name"].rpartition("-")[2])) for s in chrome.of("run"))


def why_shown(chrome):
    tracks = collections.defaultdict(list)
    for s in chrome.of("why"):
        tracks[s["tid"]].append((s["ts"], end_of(s), s["args"]["kind"], s["args"].get("type"),
                                 s["name"].rpartition(" ")[0]))
        assert s["args"]["text"].strip()
    return [tracks[track] for track in sorted(tracks)]


def slices_shown(chrome, category):
    found = collections.Counter((s["tid"], s["ts"], end_of(s), s["name"])
                                for s in chrome.of(category))
    found.update((p["b"]["tid"], p["b"]["ts"], p["e"]["ts"] if "e" in p else None, p["b"]["name"])
                 for p in chrome.beside(category))
    return found


def crossing(chrome):
    """The first two slices of a thread that neither nest nor follow each other; '' none."""
    tracks = collections.defaultdict(list)
    for s in chrome.slices:
        tracks[s["pid"], s["tid"]].append((s["ts"], -(end_of(s) or 1 << 62)))
    for track, slices in tracks.items():
        open_ = []
        for start, end in sorted(slices):
            while open_ and -open_[-1] <= start:
                open_.pop()
            if open_ and -open_[-1] < -end:
                return "%s: %d..%d in one that ends at %d" % (track, start, -end, -open_[-1])
            open_.append(end)
    return ""


def test_chrome(name, capture):
    chrome = Chrome(export(capture, "chrome"))
    end = ask(capture, "info")["end"]
    tap.report("%s: waits" % name, difference(waits_shown(chrome), waits_told(capture)))
    tap.report("%s: time ready" % name, difference(ready_shown(chrome, end), ready_told(capture)))
    flows, dangling = flows_shown(chrome)
    tap.report("%s: flows" % name, difference(flows, flows_told(capture)))
    tap.same("%s: flows without an end" % name, dangling, set())
    tap.report("%s: requests" % name, difference(requests_shown(chrome), requests_told(capture)))
    tap.report("%s: runs" % name, difference(runs_shown(chrome), runs_told(capture)))
    tap.same("%s: the slowest operations" % name, why_shown(chrome), why_told(capture))
    tap.report("%s: announced calls" % name,
               difference(slices_shown(chrome, "call"), calls_told(name)))
    tap.report("%s: functions" % name,
               difference(slices_shown(chrome, "function"), functions_told(capture)))
    tap.report("%s: slices nest" % name, crossing(chrome))


WAITS = """select tid, slice.ts, dur, slice.name from slice
join thread_track on track_id = thread_track.id join thread using (utid) where category = 'wait'"""
FLOWS = """select c.tid, a.ts, d.tid, b.ts, a.name from flow
join slice a on slice_out = a.id join slice b on slice_in = b.id
join thread_track e on a.track_id = e.id join thread c on e.utid = c.utid
join thread_track f on b.track_id = f.id join thread d on f.utid = d.utid"""
WRONG = "select name, value from stats where value and severity in ('error', 'data_loss')"


def test_trace_processor(name, capture):
    with open(place("trace.json"), "wb") as file:
        file.write(export(capture, "chrome"))
    answers = _trace_processor.query(place("trace.json"), WRONG, WAITS, FLOWS)
    if isinstance(answers, str):
        tap.report("%s: Perfetto reads it" % name, answers)
        return
    wrong, shown, flows = answers
    tap.same("%s: what Perfetto finds wrong" % name, wrong, [])
    tap.same(
        "%s: Perfetto's waits" % name, sorted(map(tuple, shown)),
        sorted((w["tid"], w["start"], w["end"] - w["start"] if w["end"] else -1, w["kind"])
               for w in ask(capture, "waits", "--idle", "--self")["waits"]))
    tap.report(
        "%s: Perfetto's flows" % name,
        difference(collections.Counter(map(tuple, flows)),
                   collections.Counter(f[:5] for f in flows_told(capture).elements())))


def test_hostile(capture):
    text = export(capture, "chrome").decode()
    chrome = Chrome(text)
    tap.same("a hostile name of a thread",
             SHOWN in {e["args"]["name"] for e in chrome.events if e["ph"] == "M"}, True)
    tap.same("a hostile name of a file",
             "/" + SHOWN in {p["b"]["args"].get("path")
                             for p in chrome.beside("request")}, True)


def test_choice(capture):
    chosen = ask(capture, "waits", "--idle", "--self")["waits"][0]["tid"]
    part = Chrome(export(capture, "chrome", "--tid", str(chosen)))
    tap.same("--tid: waits", {s["tid"] for s in part.of("wait")}, {chosen})
    done = clew("export", capture, "--to", "chrome", "--stacks", "wake")
    tap.same("--stacks is not for it", (done.returncode, done.stderr.count(b"\n")), (2, 1))


for records in sorted(glob.glob(os.path.join(HERE, "*.records"))):
    title = os.path.basename(records)[:-len(".records")]
    if title not in ("empty", "own"):
        test_chrome(title, made(title))
test_hostile(hostile())
test_choice(made("locks"))
missing = _trace_processor.fetch()
for title in ("locks", "names", "pages", "frames", "calls"):
    if missing:
        tap.skip("%s: Perfetto reads it" % title, missing)
    else:
        test_trace_processor(title, made(title))
sys.exit(tap.end())
