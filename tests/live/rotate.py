#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
`clew record --rotate`: a workload that knows its waits runs across many segments. Each wait is in
exactly one of them, or at the end of one and the beginning of the next; each segment alone has the
names. --keep holds. Killed, it leaves segments that can be read.
"""

import bisect
import concurrent.futures
import json
import os
import signal
import subprocess
import sys
import time

from _live import PATIENCE, clew, finish, note, ok, scratch, start_recording, stop_recording

READER = """
import os, resource, sys, time
data, come, go, begun = sys.argv[1], *map(int, sys.argv[2:4]), time.monotonic_ns
seen = []
def switches():
    return resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
file = os.open(data, os.O_CREAT | os.O_RDWR)
while True:
    slept, before = switches(), begun()
    byte = os.read(come, 1)
    after, slept = begun(), switches() - slept
    if not byte:
        break
    if slept:
        seen.append(("pipe", before, after))
    os.pwrite(file, b"x" * 4096, 0)
    slept, before = switches(), begun()
    os.fsync(file)
    after, slept = begun(), switches() - slept
    if slept:
        seen.append(("fsync", before, after))
    os.write(go, b"x")
print(os.getpid(), *("%s:%d:%d" % each for each in seen))
"""
PERIOD = 0.023  # s between two bytes
LEAST = 2_000_000  # ns: of a wait that has to be found
CLOCKS = 1_000_000  # ns: two recordings' times of an event differ by that at most
EDGE = 50_000_000  # ns at both ends of a recording that are not compared
STATED = 50_000_000  # ns from a file's start: what tasks wait for is said by then
KEPT = 1_000_000_000  # ns
GONE = 4  # the first file that is there once the ones before it are not kept any more
# A process has its maker's name until its exec.
OWN_NAMES = {"true", "sh", open("/proc/self/comm", encoding="ascii").read().strip()}


def workload(seconds, place):
    """
    Runs it; returns its pid and its waits: kind, before and after, by its own clock. A call in
    which it lost its CPU, and did not sleep, is none.
    """
    come, give = os.pipe()
    took, go = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-c", READER,
         os.path.join(place, "known.data"),
         str(come), str(go)],
        pass_fds=(come, go),
        stdout=subprocess.PIPE,
        text=True)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        time.sleep(PERIOD)
        os.write(give, b"x")
        os.read(took, 1)
    os.close(give)
    pid, *seen = process.communicate()[0].split()
    for descriptor in (come, took, go):
        os.close(descriptor)
    waits = [each.split(":") for each in seen]
    return int(pid), [(kind, int(before), int(after)) for kind, before, after in waits]


def segments(place):
    return sorted(os.path.join(place, name) for name in os.listdir(place) if name.endswith(".clew"))


def told(path, pid):
    """Begin and end of a segment, and its waits of the process."""
    done = clew("waits", path, "--pid", pid, "--idle", "--json")
    info = json.loads(clew("info", path, "--json").stdout)
    if done.returncode:
        return info, []
    return info, json.loads(done.stdout)["waits"]


def pieces(kind, before, after, parts):
    """What the segments have of a wait: of each piece how it is open."""
    found = []
    for info, waits in parts:
        for wait in waits:
            start, end = wait["start"], wait["end"] or info["end"]
            if wait["kind"] == kind and before <= start < after and end <= after:
                found.append(wait["open"])
    return found


def hidden(before, after, parts):
    """Some machines hide single switches from every tracer: clew says so."""
    return any(wait["blind"] and wait["start"] < after and (wait["end"] or after) > before
               for _, waits in parts for wait in waits)


def check_waits(known, parts):
    """Each wait once; over a boundary in two pieces. An fsync may have several waits."""
    missing, wrong, split, unstated, unseen = [], [], 0, 0, 0
    for each in known:
        if each[2] - each[1] < LEAST:
            continue
        if hidden(*each[1:], parts):
            unseen += 1
            continue
        found = pieces(*each, parts)
        split += found == ["end", "start"]
        if not found:
            missing.append(each)
        elif found == ["end"] and any(0 < each[2] - info["start"] < STATED for info, _ in parts):
            unstated += 1
        elif each[0] == "pipe" and found not in ([None], ["end", "start"]):
            wrong.append((each, found))
    note("%d ended before the next file said what tasks wait for, of %d a switch was hidden" %
         (unstated, unseen))
    if unseen > max(2, len(known) // 50):
        missing.append("%d of %d hidden" % (unseen, len(known)))
    return missing, wrong, split


def check_rotation(place):
    path = os.path.join(place, "ring")
    process = start_recording(path, "--rotate", "300ms")
    pid, known = workload(3, place)
    status, said = stop_recording(process)
    paths = segments(path)
    ok(status == 0 and len(paths) > 8, "a recording of several files", said)
    parts = [told(each, pid) for each in paths]
    spans = [(info["start"], info["end"]) for info, _ in parts]
    ok(all(a[1] == b[0] for a, b in zip(spans, spans[1:])), "no time between two files", spans)
    ok(all(info["complete"] and info["ledger"]["balanced"] for info, _ in parts),
       "each file is complete, and its ledger balances")
    missing, wrong, split = check_waits(known, parts)
    note("%d files, %d waits of 2 ms or more, %d in two files" %
         (len(paths), sum(after - before >= LEAST for _, before, after in known), split))
    ok(not missing, "each wait is in a file", missing[:3])
    ok(not wrong and split, "none is there twice, and some are in two pieces", wrong[:3])
    names = [{
        wait["object"].get("path")
        for wait in waits
        if wait["kind"] == "fsync" and wait["object"]
    } for _, waits in parts]
    wanted = os.path.join(place, "known.data")
    ok(all(each <= {wanted} for each in names) and any(names), "files are named in each file alone",
       names)
    # Until its exec it is called as this program is.
    mine = open("/proc/self/comm", encoding="ascii").read().strip()
    ok(all(wait["comm"] in ("python3", mine) for _, waits in parts for wait in waits),
       "threads are named in each file alone")


def check_short_lives(place):
    """Tasks that end as a file begins are named in it, though no list of tasks has them any more."""
    path = os.path.join(place, "lives")
    process = start_recording(path, "--rotate", "200ms")
    made, until = set(), time.monotonic() + 2
    script = "echo $$; /bin/true & echo $!; /bin/true & echo $!; wait"
    while time.monotonic() < until:
        done = subprocess.run(["sh", "-c", script], stdout=subprocess.PIPE, check=True)
        made.update(map(int, done.stdout.split()))
    stop_recording(process)
    query = "SELECT tid, comm FROM tasks"
    rows = [(os.path.basename(each), row["tid"], row["comm"])
            for each in segments(path)
            for row in json.loads(clew("sql", each, "--json", query).stdout)["rows"]]
    # A process that lives while one file ends and the next one begins is in both.
    found = {tid for _, tid, comm in rows if comm in ("true", "sh")}
    wrong = [row for row in rows if not row[1] or not row[2]]
    wrong += [row for row in rows if row[1] in made and row[2] not in OWN_NAMES]
    note("%d processes were made, %d are in %d files" %
         (len(made), len(found & made), len(segments(path))))
    ok(made and made <= found and not wrong, "short-lived tasks have names in each file",
       (sorted(made - found)[:3], wrong[:3]))


def others(path):
    """Waits of threads that are not clew's, by thread."""
    found = {}
    for wait in json.loads(clew("waits", path, "--idle", "--json").stdout)["waits"]:
        if not wait["comm"].startswith("clew"):
            found.setdefault(wait["tid"], []).append(wait)
    for waits in found.values():
        waits.sort(key=start_of)
    return found


def start_of(wait):
    return wait["start"]


def near(waits, start):
    """Those of a thread's waits, in order, that start at about that time."""
    first = bisect.bisect_left(waits, start - CLOCKS, key=start_of)
    last = bisect.bisect_right(waits, start + CLOCKS, key=start_of)
    return waits[first:last]


def essence(wait):
    """What two recordings must agree in. Timers are named by the time since the start."""
    thing, ended = wait["object"] or {}, wait["ended_by"]
    return (wait["kind"], wait["call"], thing.get("kind"),
            thing.get("name") if thing.get("kind") != "timer" else None,
            ended and (ended["tid"], ended["context"], [step["kind"] for step in ended["through"]]))


def compare(some, all_, begin, end):
    """How many waits there are, which are missing from the others, and which differ."""
    count, missing, differ = 0, [], []
    for tid, waits in some.items():
        for wait in waits:
            if wait["open"] or wait["start"] < begin or wait["end"] > end:
                continue
            count += 1
            same = [
                other for other in near(all_.get(tid, []), wait["start"])
                if other["end"] and abs(other["end"] - wait["end"]) < CLOCKS
            ]
            if not same:
                missing.append((wait["comm"], essence(wait), wait["start"], wait["end"]))
            elif essence(wait) not in map(essence, same):
                differ.append((wait["comm"], essence(wait), essence(same[0])))
    return count, missing, differ


def check_join(place):
    """The joined capture against one that was recorded in one file beside it."""
    ring, whole, joined = (os.path.join(place, name) for name in ("joins", "w.clew", "j.clew"))
    process, beside = start_recording(ring, "--rotate", "250ms"), start_recording(whole)
    pid, known = workload(2, place)
    stop_recording(beside)
    stop_recording(process)
    # One that has just been begun has nothing yet.
    with open(os.path.join(ring, "00009999.clew"), "wb"):
        pass
    done = clew("join", ring, "-o", joined)
    info = json.loads(clew("info", joined, "--json").stdout)
    ok(done.returncode == 0 and info["complete"] and info["ledger"]["balanced"],
       "segments are joined", done.stderr)
    missing, wrong, split = check_waits(known, [told(joined, pid)])
    ok(not missing and not wrong and not split, "each wait is there once, in one piece",
       (missing[:3], wrong[:3]))
    one, both = others(whole), others(joined)
    span = json.loads(clew("info", whole, "--json").stdout)
    begin, end = span["start"] + EDGE, span["end"] - EDGE
    for some, all_, name in ((one, both, "all of one file is in the joined"),
                             (both, one, "all of the joined is in the one file")):
        count, missing, differ = compare(some, all_, begin, end)
        note("%d waits, %d missing, %d differ" % (count, len(missing), len(differ)))
        ok(count > 500 and len(missing) * 200 <= count and len(differ) * 200 <= count, name,
           (missing[:3], differ[:3]))
    paths = segments(ring)
    part = os.path.join(place, "part.clew")
    done = clew("join", *paths[:2], *paths[4:6], "-o", part)
    info = json.loads(clew("info", part, "--json").stdout)
    ok(done.returncode == 0 and "2 segments between them are missing" in done.stderr and
       len(info["ledger"]["gaps"]) == info["cpus"], "missing segments are a gap", done.stderr)
    done = clew("join", ring, "--from", "1s", "--to", "1.5s", "-o", part)
    info = json.loads(clew("info", part, "--json").stdout)
    ok(done.returncode == 0 and 0.5e9 < info["duration_ns"] < 1.5e9, "a window's segments are joined",
       done.stderr)


def number_of(paths):
    """The first one's number; 0: there is none."""
    return int(os.path.basename(paths[0]).partition("-")[0]) if paths else 0


def check_keep(place):
    path = os.path.join(place, "kept")
    process = start_recording(path, "--rotate", "200ms", "--keep", "1s")
    until = time.monotonic() + PATIENCE
    while number_of(segments(path)[:1]) < GONE and time.monotonic() < until:
        time.sleep(0.05)
    stop_recording(process)
    kept = segments(path)
    infos = [json.loads(clew("info", each, "--json").stdout) for each in kept]
    # A file goes once another one ends a second after it: how many there are depends on how
    # exactly the machine keeps the time.
    ok(number_of(kept) >= GONE and infos[0]["start"] <= infos[-1]["end"] - KEPT
       and infos[0]["end"] >= infos[-1]["start"] - KEPT, "--keep 1s keeps a second",
       [(os.path.basename(each), info["start"], info["end"]) for each, info in zip(kept, infos)])
    process = start_recording(path, "--rotate", "200ms", "--keep", "1M")
    last = segments(path)[-1]
    refused = clew("record", "--rotate", "1s", "-o", path, "-d", "1")
    stop_recording(process)
    ok(last > kept[-1], "numbers go on", last)
    ok(refused.returncode == 3 and "another recording" in refused.stderr,
       "one recording has the directory", refused.stderr)


def check_snapshot(place):
    path, taken = os.path.join(place, "snap"), os.path.join(place, "s.clew")
    process = start_recording(path, "--rotate", "500ms", "--keep", "60s")
    pid, known = workload(2.5, place)
    asked = time.monotonic_ns()
    done = clew("snapshot", path, "--last", "2s", "-o", taken)
    took = time.monotonic_ns() - asked
    goes_on = process.poll() is None
    stop_recording(process)
    ok(done.returncode == 0 and goes_on, "a snapshot is taken while the recording goes on",
       done.stderr)
    info, waits = told(taken, pid)
    note("%.0f ms for a snapshot of %.1f s" % (took / 1e6, info["duration_ns"] / 1e9))
    ok(info["complete"] and info["end"] >= asked and info["end"] - info["start"] >= 2_000_000_000,
       "it holds the last 2 s, up to when it was asked for")
    inside = [each for each in known if each[1] > info["start"]]
    missing, wrong, _ = check_waits(inside, [(info, waits)])
    ok(inside and not missing and not wrong, "with all waits", (missing[:3], wrong[:3]))
    done = clew("snapshot", path, "-o", taken)
    ok(done.returncode == 2 and "nobody records" in done.stderr, "nobody records any more",
       done.stderr)


def kill(path, delay):
    process = start_recording(path, "--rotate", "1s")
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    process.communicate()


def check_killed(place):
    """At random moments of the third file: the recordings are killed at about the same time."""
    unreadable = []
    paths = [os.path.join(place, "killed%d" % turn) for turn in range(5)]
    delays = [2.9 + 0.05 * turn for turn in range(5)]
    with concurrent.futures.ThreadPoolExecutor(max_workers=len(paths)) as pool:
        list(pool.map(kill, paths, delays))
    for path in paths:
        unreadable += [
            each for each in segments(path)[:-1] if clew("waits", each, "--json").returncode
        ]
        last = clew("info", segments(path)[-1])
        # It may just have been made.
        if last.returncode and "not one whole chunk" not in last.stderr and \
                "is empty" not in last.stderr:
            unreadable.append((segments(path)[-1], last.stderr))
    ok(not unreadable, "killed, it leaves files that can be read", unreadable)


check_rotation(scratch())
check_short_lives(scratch())
check_join(scratch())
check_keep(scratch())
check_snapshot(scratch())
check_killed(scratch())
finish()
