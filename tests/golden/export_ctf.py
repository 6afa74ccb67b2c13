#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
What `clew export --to ctf` writes, as babeltrace2 and LTTng's own analyses read it, means what
`clew dump`, `clew waits`, `clew sql` and others say of the same capture. Prints TAP.
"""
import bisect
import collections
import glob
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import _ctf  # noqa: E402  pylint: disable=wrong-import-position
from _export import (SHOWN, altered, ask, clew, difference, directory, hostile, made, place,
                     runs_told, waits_told)  # noqa: E402  pylint: disable=wrong-import-position
from _trace import HERE, Tap  # noqa: E402  pylint: disable=wrong-import-position

tap = Tap()
SECTOR = 512


def export(capture, *arguments):
    folder = place("ctf")
    shutil.rmtree(folder, ignore_errors=True)
    done = clew("export", capture, "--to", "ctf", "-o", folder, *arguments)
    # A warning of the size is no failure.
    said = [line for line in done.stderr.splitlines() if b" times the capture: " not in line]
    assert not done.returncode and not said, done
    return folder


def sql(capture, question):
    rows = json.loads(clew("sql", capture, question, "--json",
                           stdout=subprocess.PIPE).stdout)["rows"]
    return [tuple(row.values()) for row in rows]


def waits(capture):
    return ask(capture, "waits", "--idle", "--self")["waits"]


# ---- what clew says ----


def on_cpu_told(capture):
    return {tid: ns for tid, ns in sql(capture, "select tid, sum(ns) from runs group by tid") if ns}


def woken_at(wait):
    """A wake at the switch to another task, or before it, is shown 1 ns behind it."""
    return max(wait["ended_by"]["raw_at"] or wait["end"], wait["start"] + 1)


def wakes_told(capture):
    return collections.Counter((woken_at(w), w["tid"]) for w in waits(capture) if w["end"])


def wakers_told(capture):
    """(time, woken) -> the task that woke it while it ran, or None for an interrupt's wakes."""
    ran = collections.defaultdict(list)
    for _, start, end, tid in runs_told(capture):
        ran[tid].append((start, end))
    found = {}
    for wait in waits(capture):
        if not wait["end"]:
            continue
        waker, at = wait["ended_by"], woken_at(wait)
        if waker["context"] in ("irq", "timer", "ipi"):
            found[at, wait["tid"]] = None
        elif waker["context"] == "task" and any(a < at < b for a, b in ran[waker["tid"]]):
            found[at, wait["tid"]] = waker["tid"]
    return found


def requests_told(capture):
    """(time, event, tid or None, sector, sectors, writes)"""
    found = collections.Counter()
    for request in ask(capture, "requests", "--idle", "--self")["requests"]:
        if not request["queued"] and not request["issued"]:
            continue
        what = request["sector"] or 0, request["bytes"] // SECTOR, request["op"] == "write"
        tid = request["submitter"]["tid"] or 0
        for event, at, who in (("insert", request["queued"], tid),
                               ("issue", request["issued"], tid), ("complete", request["completed"],
                                                                   None)):
            if at:
                found[(at, "block_rq_" + event, who) + what] += 1
    return found


def forks_told(capture):
    return collections.Counter(
        (origin["at"], origin["tid"], to["tid"])
        for edge in ask(capture, "edges", "--idle", "--self", "--type", "fork")["edges"]
        for origin in edge["from"] for to in edge["to"])


# ---- what the trace says ----


def on_cpu_shown(ctf, end):
    found = collections.Counter()
    for _, start, until, tid in ctf.runs(end):
        if tid and until > start:
            found[tid] += until - start
    return dict(found)


def runs_shown(ctf, end):
    return collections.Counter(run for run in ctf.runs(end) if run[3] and run[2] > run[1])


def unless_none(text):
    return None if text == "-" else text


def waits_shown(ctf):
    return collections.Counter(
        (e.fields["tid"], e.fields["start"], e.fields["end"] or None, e.fields["kind"],
         unless_none(e.fields["object"]), unless_none(e.fields["call"]))
        for e in ctf.of("clew_wait"))


def requests_shown(ctf):
    return collections.Counter(
        (e.at, e.name, e.fields.get("tid"), e.fields["sector"], e.fields["nr_sector"],
         bool(e.fields["rwbs"] & 1))
        for e in ctf.of("block_rq_insert", "block_rq_issue", "block_rq_complete"))


def forks_shown(ctf):
    return collections.Counter(
        (e.at, e.fields["parent_tid"], e.fields["child_tid"]) for e in ctf.of("sched_process_fork"))


def wrong_calls(capture, ctf):
    """A call begins when its thread goes to sleep in it, and ends when the thread goes on after a
    sleep in it. Between the two the thread is in no other call."""
    begins, ends = collections.defaultdict(set), collections.defaultdict(set)
    for wait in waits(capture):
        key = wait["tid"], wait["call"]
        begins[key + (wait["start"], )].add(wait["call_id"])
        if wait["end"]:
            ends[key + (wait["end"] + wait["runqueue_ns"], )].add(wait["call_id"])
    for tid, name, begin, end in ctf.calls():
        ids = begins[tid, name, begin]
        if end is not None:
            ids = ids & ends[tid, name, end]
        if not ids:
            return "%s of %d at %d..%s" % (name, tid, begin, end)
    return ""


def lost_calls(capture, ctf, end):
    """A wait in a call, between two known runs of its thread, is in a call of the trace."""
    shown = collections.defaultdict(list)
    for tid, name, begin, until in ctf.calls():
        shown[tid].append((begin, until or end, name))
    for calls in shown.values():
        calls.sort()
    runs = ctf.runs(end)
    left, came = {(run[3], run[2]) for run in runs}, {(run[3], run[1]) for run in runs}
    for w in waits(capture):
        tid, start = w["tid"], w["start"]
        if not w["call"] or not w["end"] or w["end"] == start or (tid, start) not in left or (
                tid, w["end"] + w["runqueue_ns"]) not in came:
            continue
        at = bisect.bisect_right(shown[tid], (start, end + 1))
        if not at or shown[tid][at - 1][1] < w["end"] or shown[tid][at - 1][2] != w["call"]:
            return "%s of %d at %d" % (w["call"], tid, start)
    return ""


def test_ctf(name, capture):
    ctf, info = _ctf.Ctf(export(capture)), ask(capture, "info")
    end = info["end"]
    tap.same("%s: babeltrace2 reads it" % name, ctf.status, 0)
    tap.report("%s: runs" % name, difference(runs_shown(ctf, end), runs_told(capture)))
    tap.same("%s: ns on a CPU of each thread" % name, on_cpu_shown(ctf, end), on_cpu_told(capture))
    tap.report("%s: waits" % name, difference(waits_shown(ctf), waits_told(capture)))
    shown = ctf.wakes()
    for event in ("sched_waking", "sched_wakeup"):
        tap.report(
            "%s: %s" % (name, event),
            difference(collections.Counter((e.at, e.fields["tid"]) for e in ctf.of(event)),
                       wakes_told(capture)))
    told = wakers_told(capture)
    tap.same("%s: wakers" % name, {(at, woken): waker
                                   for at, woken, waker, _ in shown if (at, woken) in told}, told)
    tap.report("%s: requests" % name, difference(requests_shown(ctf), requests_told(capture)))
    tap.report("%s: forks" % name, difference(forks_shown(ctf), forks_told(capture)))
    tap.same("%s: exits" % name,
             sorted((e.fields["tid"], e.at) for e in ctf.of("sched_process_exit")),
             sorted(sql(capture, "select tid, end from tasks where end not null")))
    tap.same(
        "%s: tasks at the begin" % name,
        sorted((e.fields["tid"], e.fields["pid"]) for e in ctf.of("lttng_statedump_process_state")),
        sorted(
            sql(
                capture, "select tid, pid from tasks where tid > 0 and (start is null or "
                "start <= %d) and (end is null or end >= %d)" % (info["start"], info["start"]))))
    tap.report("%s: system calls" % name, wrong_calls(capture, ctf))
    tap.report("%s: no system call is missing" % name, lost_calls(capture, ctf, end))
    tap.same("%s: losses" % name,
             [line.split("discarded ")[1].split()[0] for line in ctf.complaints], [
                 str(count or 1)
                 for count, in sql(capture, "select records from losses order by cpu, start")
             ])


# ---- LTTng's analyses ----


def analysed(tool, folder):
    done = subprocess.run([tool, "--skip-validation", folder],
                          capture_output=True,
                          timeout=120,
                          check=False)
    if done.returncode or b"rror" in done.stderr:
        return None, "exit status %d: %s" % (done.returncode, (done.stderr or done.stdout)[:300])
    return json.loads(done.stdout)["results"], ""


def test_analyses(name, capture):
    """lttng-schedlog lists how long each woken thread waited for a CPU."""
    folder = export(capture)
    results, problem = analysed("lttng-schedlog-mi", folder)
    if problem:
        tap.report("%s: lttng-schedlog" % name, problem)
        return
    clock = ask(capture, "info")["clocks"][0]
    ahead = clock["wall"] - clock["monotonic"]
    shown = {(row[5]["tid"], row[0]["value"] - ahead, row[2]["value"])
             for result in results for row in result["data"]}
    told = {(w["tid"], woken_at(w), w["end"] + w["runqueue_ns"] - woken_at(w))
            for w in waits(capture)
            if w["end"] and w["runqueue_ns"] and w["end"] + w["runqueue_ns"] > woken_at(w)}
    for at, _, child in forks_told(capture):
        began = [run[1] for run in runs_told(capture) if run[3] == child]
        told.add((child, at, min(began, default=at) - at))
    tap.report("%s: lttng-schedlog" % name,
               "" if shown and shown <= told else "%s are not in %s" % (shown - told, told))
    for tool in () if name != "disk" else ("cputop", "iousagetop", "iolatencytop", "irqstats",
                                           "syscallstats"):
        tap.report("%s: lttng-%s" % (name, tool), analysed("lttng-%s-mi" % tool, folder)[1])


# ---- names, choices, failures ----


def test_hostile(capture):
    ctf = _ctf.Ctf(export(capture))
    tap.same("a hostile name of a thread", SHOWN
             in {e.fields["next_comm"]
                 for e in ctf.of("sched_switch")}, True)
    tap.same("a hostile name of a file", "/" + SHOWN
             in {e.fields["object"]
                 for e in ctf.of("clew_wait")}, True)
    text = 'a\\"b;\n};'
    capture = altered("disk", "host", ("meta host testhost", "meta host %s" % text.split("\n")[0]))
    ctf = _ctf.Ctf(export(capture))
    tap.same("a hostile name of the host", (ctf.status, bool(ctf.events)), (0, True))


def test_choice(capture):
    """Waits are those of the chosen threads; who ran is not left out."""
    whole = _ctf.Ctf(export(capture))
    info = ask(capture, "info")
    chosen = next(w for w in waits(capture) if w["end"] and w["start"] > info["start"])
    part = _ctf.Ctf(export(capture, "--tid", str(chosen["tid"])))
    tap.same("--tid: waits", {e.fields["tid"] for e in part.of("clew_wait")}, {chosen["tid"]})
    tap.same("--tid: wakes", {e.fields["tid"] for e in part.of("sched_waking")}, {chosen["tid"]})
    tap.same("--tid: calls", {call[0] for call in part.calls()}, {chosen["tid"]})
    tap.same("--tid: switches", part.of("sched_switch"), whole.of("sched_switch"))
    after = str(chosen["end"] + 1)
    late = _ctf.Ctf(export(capture, "--from", after))
    early = _ctf.Ctf(export(capture, "--to", str(chosen["start"] - 1)))
    begins = [{e.fields["start"] for e in shown.of("clew_wait")} for shown in (whole, late, early)]
    tap.same("--from and --to: the wait", [chosen["start"] in found for found in begins],
             [True, False, False])
    tap.same(
        "--from: others that overlap", begins[1],
        {w["start"]
         for w in ask(capture, "waits", "--idle", "--self", "--from", after)["waits"]})
    tap.report(
        "--from: runs that overlap",
        difference(
            runs_shown(late, info["end"]),
            collections.Counter(
                {run: count
                 for run, count in runs_told(capture).items() if run[2] >= int(after)})))
    for part in (late, early):
        part.calls()
        part.wakes()


def left_behind(name):
    return sorted(found for found in os.listdir(directory.name) if found.startswith(name))


def limited():
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))


def test_output(capture):
    command = ("export", capture, "--to", "ctf")
    done = clew(*command, "-o", place("half"), preexec_fn=limited)
    tap.same("a disk that gets full",
             (done.returncode, done.stderr.count(b"\n"), left_behind("half")), (3, 1, []))
    done = clew(*command, "-o", place("none/where"))
    tap.same("a folder in none", (done.returncode, done.stderr.count(b"\n")), (3, 1))
    done = clew(*command)
    tap.same("no folder", (done.returncode, done.stderr.count(b"\n")), (2, 1))
    os.makedirs(place("taken"))
    with open(place("taken/kept"), "w", encoding="utf-8") as file:
        file.write("kept")
    done = clew(*command, "-o", place("taken"))
    tap.same("a folder that has files", (done.returncode, done.stderr.count(b"\n"),
                                         left_behind("taken"), os.listdir(place("taken"))),
             (3, 1, ["taken"], ["kept"]))


def long_capture():
    """A thread that sleeps and runs in turn, many times, with 5 s of nothing in the middle."""
    head = [
        "meta kernel 6.12.0-test", "meta machine x86_64", "meta host testhost", "meta cpus 1",
        "meta start 1000000000000", "meta end 1020000000000",
        "clock 1000000000000 1000000000000 1700000000000000000",
        'user task 999999950000 task=1 process=1 tid=70 pid=70 comm="turner"',
        "user state 1000000001000 flags=runnable prev=1 next=1"
    ]
    at, lines = 1000000002000, []
    for turn in range(TURNS):
        at += 5000000000 if turn == TURNS // 2 else 2000
        lines.append("0 switch %d flags=sleep|wait prev=1 next=0 prev_state=1 call=35 "
                     "wait_flags=detail" % at)
        at += 3000
        lines.append("0 switch %d flags=next_slept prev=0 next=1 wake_time=%d wake_context="
                     "context_timer" % (at, at - 1000))
    subprocess.run([_ctf.MAKE_CAPTURE, place("long")],
                   input="\n".join(head + lines + [""]).encode(),
                   check=True,
                   timeout=120)
    return place("long")


TURNS = 60000


def test_long(capture):
    ctf = _ctf.Ctf(export(capture))
    told = sql(capture, "select count(*), sum(ns), min(start), max(end) from runs where tid = 70")
    runs = [run for run in ctf.runs(ask(capture, "info")["end"]) if run[3] == 70]
    tap.same("many events: runs",
             [(len(runs), sum(run[2] - run[1]
                              for run in runs), min(run[1]
                                                    for run in runs), max(run[2] for run in runs))],
             told)
    tap.same("many events: the longest run",
             max(run[2] - run[1] for run in runs) >= 5000000000, True)
    tap.same("many events: calls", len(ctf.calls()), TURNS)


def test_interrupted(capture):
    """A folder that is being written goes when clew is interrupted."""
    with subprocess.Popen([_ctf.CLEW, "export", capture, "--to", "ctf", "-o",
                           place("broken")]) as process:
        until = time.monotonic() + 60
        while not glob.glob(place("broken.*/kernel/channel0_0")) and time.monotonic() < until:
            time.sleep(.001)
        seen = left_behind("broken")
        process.send_signal(signal.SIGTERM)
        status = process.wait(60)
    tap.same("interrupted", (status, bool(seen), left_behind("broken")),
             (-signal.SIGTERM, True, []))


def main():
    missing = _ctf.missing()
    if missing:
        tap.skip("CTF", missing)
        return
    for records in sorted(glob.glob(os.path.join(HERE, "*.records"))):
        name = os.path.basename(records)[:-len(".records")]
        if name not in ("empty", "own"):
            test_ctf(name, made(name))
    for name in ("locks", "disk", "life"):
        if shutil.which("lttng-schedlog-mi"):
            test_analyses(name, made(name))
        else:
            tap.skip("%s: LTTng's analyses" % name, "python3-lttnganalyses is not installed")
    test_hostile(hostile())
    test_choice(made("locks"))
    test_output(made("pages"))
    long = long_capture()
    test_long(long)
    test_interrupted(long)


main()
sys.exit(tap.end())
