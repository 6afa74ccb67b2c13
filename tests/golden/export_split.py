#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
The files of `clew export --split`: each one's reader reads it by itself, each has what `clew` says
of its stretch of time, and together they have what one file has. Prints TAP.
"""
import collections
import csv
import json
import os
import resource
import shutil
import sqlite3
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import _trace_processor  # noqa: E402  pylint: disable=wrong-import-position
from _export import altered, ask, clew, difference, directory, export, made, place  # noqa: E402  pylint: disable=wrong-import-position
from _page import Page  # noqa: E402  pylint: disable=wrong-import-position
from _perfetto import Perfetto  # noqa: E402  pylint: disable=wrong-import-position
from _perfetto_shown import flows_shown, ready_shown, requests_shown, runs_shown, slices_shown, waits_shown, why_shown  # noqa: E402  pylint: disable=wrong-import-position
from _pprof import Profile  # noqa: E402  pylint: disable=wrong-import-position
from _trace import Tap  # noqa: E402  pylint: disable=wrong-import-position

tap = Tap()
PARTS = 3


def windows(capture):
    """(first, last) of each part."""
    info = ask(capture, "info")
    length = -((info["start"] - info["end"]) // PARTS)
    return [(start, min(start + length - 1, info["end"]))
            for start in range(info["start"], info["end"], length)], "%dns" % length


def split(capture, to, *arguments, name="part.x"):
    """The paths of the files."""
    for found in os.listdir(directory.name):
        if found.startswith("part."):
            path = place(found)
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
    done = clew("export", capture, "--to", to, "-o", place(name), "--split",
                windows(capture)[1], *arguments)
    assert not done.returncode and not done.stderr, done
    return sorted(place(found) for found in os.listdir(directory.name) if found.startswith("part."))


def contents(paths):
    for path in paths:
        with open(path, "rb") as file:
            yield file.read()


def most(counters):
    """What overlaps a border is in two parts."""
    whole = collections.Counter()
    for counter in counters:
        whole |= counter
    return whole


def shown(perfetto, ahead, end):
    """All that a trace has, by what it is."""
    flows, dangling = flows_shown(perfetto, ahead)
    assert not dangling, dangling
    return {
        "waits": waits_shown(perfetto, ahead),
        "time ready": ready_shown(perfetto, ahead, end),
        "flows": flows,
        "requests": requests_shown(perfetto, ahead),
        "runs": runs_shown(perfetto, ahead, end),
        "calls": slices_shown(perfetto, ahead, "call"),
        "functions": slices_shown(perfetto, ahead, "function"),
        "operations": collections.Counter(map(tuple, why_shown(perfetto, ahead))),
        "wakes": collections.Counter(perfetto.wakes),
    }


def test_perfetto(name):
    capture = made(name)
    end = ask(capture, "info")["end"]
    whole = Perfetto(export(capture, "perfetto"))
    ahead = whole.clocks[0][6] - whole.clocks[0][3]
    paths = split(capture, "perfetto", name="part.pftrace")
    tap.same("%s: names of files" % name, [os.path.basename(path) for path in paths],
             ["part.%d.pftrace" % (i + 1) for i in range(PARTS)])
    parts = [Perfetto(data) for data in contents(paths)]
    told = ask(capture, "waits", "--idle", "--self")["waits"]
    for number, (part, (first, last)) in enumerate(zip(parts, windows(capture)[0]), 1):
        tap.same("%s: waits of part %d" % (name, number),
                 collections.Counter(wait[:4] for wait in waits_shown(part, ahead).elements()),
                 collections.Counter((w["tid"], w["start"], w["end"], w["kind"]) for w in told
                                     if w["start"] <= last and (w["end"] or last) >= first))
        tap.same("%s: tasks of part %d" % (name, number), (part.threads, part.processes),
                 (whole.threads, whole.processes))
    of_parts = [shown(part, ahead, end) for part in parts]
    for what, counter in shown(whole, ahead, end).items():
        tap.report("%s: %s of all parts" % (name, what),
                   difference(most(part[what] for part in of_parts), counter))


WRONG = "select name, value from stats where value and severity in ('error', 'data_loss')"
NAMES = """select distinct tid, thread.name from slice join thread_track
on track_id = thread_track.id join thread using (utid)"""


def test_trace_processor(name):
    """Perfetto itself reads each part, and has a name for each thread in it."""
    capture = made(name)
    told = {w["tid"]: w["comm"] for w in ask(capture, "waits", "--idle", "--self")["waits"]}
    for number, path in enumerate(split(capture, "perfetto"), 1):
        answers = _trace_processor.query(path, WRONG, NAMES)
        if isinstance(answers, str):
            tap.report("%s: Perfetto reads part %d" % (name, number), answers)
            continue
        tap.same("%s: what Perfetto finds wrong in part %d" % (name, number), answers[0], [])
        names = dict(map(tuple, answers[1]))
        tap.same("%s: Perfetto's threads in part %d have names" % (name, number),
                 [tid for tid in told if names.get(tid, told[tid]) != told[tid]], [])
        tap.same("%s: there are threads in part %d" % (name, number), bool(names), True)


def test_chrome(name):
    """Numbers of threads that are none, and of flows, are each file's own."""
    capture = made(name)

    def events(data):
        found = json.loads(data)["traceEvents"]
        names = {(e["pid"], e["tid"]): e["args"]["name"]
                 for e in found if e["ph"] == "M" and e["name"] == "thread_name"}
        return collections.Counter(
            (e["ph"], e.get("cat"), e.get("name"), e["ts"], e.get("dur"),
             names.get((e["pid"], e["tid"]))) for e in found if e["ph"] not in "Msf")

    whole = events(export(capture, "chrome"))
    parts = [events(data) for data in contents(split(capture, "chrome"))]
    tap.report("%s: chrome: all parts" % name, difference(most(parts), whole))
    tap.same("%s: chrome: each part has less" % name, [bool(whole - part) for part in parts],
             [True] * PARTS)


def test_stacks(name, capture, kind):
    """What begins in a stretch is added up there alone."""

    def lines(data):
        found = collections.Counter()
        for line in data.decode().splitlines():
            found[line.rpartition(" ")[0]] += int(line.rpartition(" ")[2])
        return found

    def samples(data):
        found = collections.Counter()
        for frames, values, labels in Profile(data).samples:
            for number, value in enumerate(values):
                found[frames, number, labels["kind"]] += value
        return found

    for to, read, file in (("folded", lines, "part.txt"), ("pprof", samples, "part.pb.gz")):
        parts = [read(data)
                 for data in contents(split(capture, to, "--stacks", kind, name=file))]
        tap.same("%s: %s: sums of all %s" % (name, to, kind), sum(parts, collections.Counter()),
                 read(export(capture, to, "--stacks", kind)))
        if kind != "off-cpu":
            continue
        info, told = ask(capture, "info"), ask(capture, "waits")["waits"]
        begun = [sum((w["end"] or info["end"]) - w["start"] for w in told
                     if first <= w["start"] <= last) for first, last in windows(capture)[0]]
        number = 1 if to == "pprof" else None
        tap.same("%s: %s: the sum of each" % (name, to),
                 [sum(value for key, value in part.items()
                      if number is None or key[1] == number) for part in parts], begun)


# The slowest of a stretch have numbers of their own; what tables there are is about none.
OWN_NUMBERS = {"operations", "tables", "columns"}


def test_tables(name):
    capture = made(name)

    def rows(path):
        database = sqlite3.connect(path)
        assert database.execute("pragma integrity_check").fetchall() == [("ok", )]
        names = [row[0] for row in database.execute(
            "select name from sqlite_master where type = 'table'")]
        found = {table: set(database.execute('select * from "%s"' % table)) for table in names}
        database.close()
        return found

    def files(path):
        found = {}
        for table in os.listdir(path):
            with open(os.path.join(path, table), encoding="utf-8", newline="") as file:
                found[table[:-len(".csv")]] = set(map(tuple, csv.reader(file)))
        return found

    for to, read in (("sqlite", rows), ("csv", files)):
        clew("export", capture, "--to", to, "-o", place("one." + name + to))
        whole = read(place("one." + name + to))
        parts = [read(path) for path in split(capture, to)]
        for table in sorted(whole.keys() - OWN_NUMBERS):
            tap.same("%s: %s: %s of all parts" % (name, to, table),
                     set().union(*(part[table] for part in parts)), whole[table])
        told = ask(capture, "waits", "--idle", "--self")["waits"]
        tap.same("%s: %s: waits of each part" % (name, to),
                 [len(part["waits"]) - (to == "csv") for part in parts],
                 [sum(w["start"] <= last and (w["end"] or last) >= first for w in told)
                  for first, last in windows(capture)[0]])


def test_pages(name):
    capture = made(name)
    pages = [Page(data) for data in contents(split(capture, "html"))]
    tap.same("%s: html: the time of each page" % name,
             [(page.meta["start"], page.meta["start"] + page.meta["length"]) for page in pages],
             windows(capture)[0])
    tap.same("%s: html: nesting" % name, [page.parser.wrong for page in pages], [[]] * PARTS)


def test_chosen(name):
    """Threads and times are chosen before it is cut; numbers of files have as many digits."""
    capture = made(name)
    start = windows(capture)[0][1][0]
    tid = ask(capture, "waits", "--idle", "--self")["waits"][0]["tid"]
    done = clew("export", capture, "--to", "perfetto", "--tid", str(tid), "--from", str(start),
                "--split", "%dns" % ((ask(capture, "info")["end"] - start) // 10 - 1), "-o",
                place("chosen"))
    found = sorted(file for file in os.listdir(directory.name) if file.startswith("chosen"))
    tap.same("--from: names of files", (done.returncode, found),
             (0, ["chosen.%02d" % (i + 1) for i in range(11)]))
    parts = [Perfetto(data) for data in contents(map(place, found))]
    whole = Perfetto(export(capture, "perfetto", "--tid", str(tid), "--from", str(start)))
    ahead = whole.clocks[0][6] - whole.clocks[0][3]
    tap.report("--from and --tid: waits",
               difference(most(waits_shown(part, ahead) for part in parts),
                          waits_shown(whole, ahead)))


def limited():
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))


def test_wrong(name):
    capture = made(name)
    for arguments, status, word in ((("--to", "dot", "--split", "1s", "-o", "no"), 2, b"dot"),
                                    (("--to", "otlp", "--split", "1s", "-o", "no"), 2, b"otlp"),
                                    (("--to", "perfetto", "--split", "1s"), 2, b"-o"),
                                    (("--to", "csv", "--split", "1s"), 2, b"-o"),
                                    (("--to", "perfetto", "--split", "0", "-o", "no"), 2, b"'0'"),
                                    (("--to", "perfetto", "--split", "x", "-o", "no"), 2, b"'x'"),
                                    (("--to", "perfetto", "--split", "1ns", "-o", "no"), 2,
                                     b"10000"),
                                    (("--to", "perfetto", "--split", "1s", "-o", "no/no"), 3,
                                     b"no/no.1")):
        done = clew("export", capture, *arguments, cwd=directory.name)
        tap.same(" ".join(arguments), (done.returncode, done.stderr.count(b"\n"), word
                                       in done.stderr), (status, 1, True))
    done = clew("export", capture, "--to", "perfetto", "--split", "1s", "-o", place("no"),
                preexec_fn=limited)
    tap.same("a disk that gets full", (done.returncode, done.stderr.count(b"\n")), (3, 1))
    tap.same("nothing is left", [f for f in os.listdir(directory.name) if f.startswith("no")], [])
    shutil.copy(capture, place("taken.1.clew"))
    done = clew("export", place("taken.1.clew"), "--to", "folded", "--split", "1h", "-o",
                place("taken.clew"))
    with open(capture, "rb") as one, open(place("taken.1.clew"), "rb") as other:
        tap.same("the capture itself", (done.returncode, one.read() == other.read()), (2, True))


for title in ("pages", "locks", "calls", "functions", "disk"):
    test_perfetto(title)
    test_chrome(title)
    test_tables(title)
missing = _trace_processor.fetch()
for title in ("locks", "disk", "metadata"):
    if missing:
        tap.skip("%s: Perfetto reads the parts" % title, missing)
    else:
        test_trace_processor(title)
for title in ("locks", "stacks", "disk"):
    for stacks in ("off-cpu", "wake", "critical"):
        test_stacks(title, made(title), stacks)
LAST = "user waited 1000001800000"
SAMPLES = "".join("user sample %d task=%d user=2 kernel=101 end=1\n" % sample
                  for sample in ((1000001500001, 1), (1000001500002, 2)))
test_stacks("sampled", altered("stacks", "sampled", (LAST, SAMPLES + LAST)), "on-cpu")
test_pages("locks")
test_chosen("locks")
test_wrong("locks")
sys.exit(tap.end())
