#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# alone: interrupts that complete a neighbour's requests as well do not say whose waits they end
"""
The same programs recorded by perf and by clew at once: what `clew import` makes of perf's text has
the waits, wakers and requests that clew saw. Both use the monotonic clock, but their probes are
some microseconds apart. Some virtual machines hide single events from one of the two: clew is asked
for what perf's text holds.
"""

import bisect
import collections
import os
import re
import shutil
import signal
import subprocess
import time

from _live import answer, clew, finish, note, ok, scratch, skip_all, start_recording, stop_recording

EVENTS = ("sched:sched_switch,sched:sched_waking,sched:sched_wakeup_new,sched:sched_process_fork,"
          "sched:sched_process_exec,sched:sched_process_exit,block:block_rq_insert,"
          "block:block_rq_issue,block:block_rq_complete,raw_syscalls:sys_enter,"
          "raw_syscalls:sys_exit,irq:irq_handler_entry,irq:irq_handler_exit,irq:softirq_entry,"
          "irq:softirq_exit,irq_vectors:local_timer_entry,irq_vectors:local_timer_exit")
NEAR = 200_000  # ns
LINE = re.compile(
    r" (\d+)\.(\d{9}):\s+(?:sched:sched_switch: .*prev_pid=(?P<out>\d+) .* next_pid=(?P<on>\d+) "
    r"|sched:sched_waking: .* pid=(?P<woken>\d+) |block:block_rq_issue: .*\) (?P<issued>\d+) \+"
    r"|block:block_rq_complete: .*\) (?P<done>\d+) \+)")
SCRIPT = """
cd "$1" || exit 1
for i in 1 2 3; do
	(echo one; sleep .02; echo two) | while read word; do echo "$word"; done >/dev/null
	dd if=/dev/zero of=file bs=64k count=8 conv=fsync 2>/dev/null
	sleep .01
done
"""


def record():
    """Returns the captures of clew and of perf, and the numbers of the programs' threads."""
    capture, data, text = scratch("own.clew"), scratch("perf.data"), scratch("perf.txt")
    folder = scratch("folder")
    os.mkdir(folder)
    recording = start_recording(capture)
    perf = subprocess.Popen(
        ["perf", "record", "-q", "-a", "-k", "CLOCK_MONOTONIC", "-m", "4M", "-e", EVENTS, "-o", data
         ],
        stderr=subprocess.PIPE)
    time.sleep(1)
    programs = subprocess.run(["sh", "-c", SCRIPT, "sh", folder], check=False, timeout=60)
    time.sleep(.2)
    perf.send_signal(signal.SIGINT)
    _, said = perf.communicate(timeout=60)
    stop_recording(recording)
    ok(programs.returncode == 0, "the programs ran")
    with open(text, "wb") as out:
        done = subprocess.run(
            ["perf", "script", "--ns", "-F", "comm,pid,tid,cpu,time,event,trace", "-i", data],
            stdout=out,
            stderr=subprocess.PIPE,
            check=False,
            timeout=120)
    if done.returncode or not os.path.getsize(text):
        skip_all("perf cannot record here: %s" % (said.decode() + done.stderr.decode()).strip())
    return capture, text


def whole_waits(capture):
    """(tid, start) -> wait, of those that began and ended in the recording."""
    return {(w["tid"], w["start"]): w
            for w in answer("waits", capture, "--idle")["waits"] if w["end"] and not w["open"]}


def by_tid(waits):
    found = collections.defaultdict(list)
    for wait in sorted(waits.values(), key=lambda w: w["start"]):
        found[wait["tid"]].append(wait)
    return found


def held_by(text):
    """(what, its number) -> moments: switches and wakes of tids, requests of sectors."""
    moments = collections.defaultdict(list)
    with open(text, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if match := LINE.search(line):
                at = int(match[1]) * 10**9 + int(match[2])
                for what, number in match.groupdict().items():
                    if number:
                        moments[what, int(number)].append(at)
    return moments


def holds(moments, what, number, at):
    """Whether perf's text holds such an event next to a moment."""
    return any(abs(one - at) < NEAR for one in moments[what, number])


def nearest(waits, at):
    """The wait of a list in order that begins next to a moment; None: none is near."""
    place = bisect.bisect([w["start"] for w in waits], at)
    near = [w for w in waits[max(place - 1, 0):place + 1] if abs(w["start"] - at) < NEAR]
    return min(near, key=lambda w: abs(w["start"] - at), default=None)


if not shutil.which("perf"):
    skip_all("linux-perf is not installed")
own, made_of = record()
imported = scratch("imported.clew")
done = clew("import", made_of, "-o", imported)
ok(done.returncode == 0, "imported", done.stderr)
for line in done.stderr.splitlines():
    note(line)
info = answer("info", imported)
ok(info["ledger"] is None, "it has no ledger")
ok(clew("check", imported).returncode == 0, "it is consistent")

told, shown = whole_waits(own), by_tid(whole_waits(imported))
names = ("sh", "sleep", "dd")
moments = held_by(made_of)
every = [w for w in told.values()
         if w["comm"] in names and info["start"] + 10**9 // 2 < w["start"] < info["end"]]
mine = [w for w in every
        if holds(moments, "out", w["tid"], w["start"]) and holds(moments, "woken", w["tid"], w["end"])
        and holds(moments, "on", w["tid"], w["end"] + w["runqueue_ns"])]
note("perf saw %d of %d waits" % (len(mine), len(every)))
pairs = [(w, nearest(shown[w["tid"]], w["start"])) for w in mine]
found = [(one, two) for one, two in pairs if two]
ok(len(mine) > 30 and len(found) >= .97 * len(mine), "waits: %d of %d" % (len(found), len(mine)))
same = [1 for one, two in found if abs(one["end"] - two["end"]) < NEAR]
ok(len(same) >= .97 * len(found), "ends of waits: %d of %d" % (len(same), len(found)))
same = [1 for one, two in found if one["call"] == two["call"]]
ok(len(same) >= .97 * len(found), "system calls: %d of %d" % (len(same), len(found)))
woken = [(one, two) for one, two in found if one["ended_by"]["context"] == "task"]
same = [1 for one, two in woken if one["ended_by"]["tid"] == two["ended_by"]["tid"]]
ok(len(woken) > 10 and len(same) >= .9 * len(woken), "wakers: %d of %d" % (len(same), len(woken)))
outside = [(one, two) for one, two in found
           if one["ended_by"]["context"] in ("irq", "softirq", "timer")]
wrong = [1 for _, two in outside if two["ended_by"]["tid"] and not two["ended_by"]["through"]]
ok(len(outside) > 5 and not wrong, "interrupts wake for nobody: %d, of them wrong %d" %
   (len(outside), len(wrong)))
# Where a worker ends the wait in the request's name, perf's events do not join the two.
behind = [(one, two) for one, two in found
          if [step["kind"] for step in one["ended_by"]["through"]][:1] == ["request"]]
same = [1 for _, two in behind
        if any(step["kind"] == "request" for step in two["ended_by"]["through"])]
ok(len(behind) > 2 and len(same) >= .9 * len(behind),
   "requests behind waits: %d of %d" % (len(same), len(behind)))

every = [r for r in answer("requests", own)["requests"]
         if r["submitter"]["comm"] == "dd" and r["completed"] and r["bytes"]]
requests = {(r["sector"], r["bytes"]) for r in every
            if r["issued"] and holds(moments, "issued", r["sector"], r["issued"])
            and holds(moments, "done", r["sector"], r["completed"])}
note("perf saw %d of %d requests" % (len(requests), len({(r["sector"], r["bytes"]) for r in every})))
same = requests & {(r["sector"], r["bytes"]) for r in answer("requests", imported)["requests"]}
ok(len(requests) > 2 and len(same) >= .9 * len(requests),
   "requests: %d of %d" % (len(same), len(requests)))
why = clew("why", imported, "--comm", "dd", "--call", "fsync")
ok(why.returncode == 0 and "device" in why.stdout, "why names the device", why.stdout + why.stderr)
finish()
