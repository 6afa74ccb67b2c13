#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
What programs announce: whom a call is for, what that explains, descriptors that reach the
disk request, layers that a file describes,
environment variables on a list, and programs that come during the recording.
"""

import collections
import json
import os
import shutil
import signal
import subprocess
import sys
import time

from _accuracy import measured
from _live import GUEST, PATIENCE, WORKLOADS, answer, clew, feature, finish, ok, scratch, skip, skip_all, start_recording, stop_recording
from _place import Lacking, Place

DATABASE = os.path.join(WORKLOADS, "database")
LAYER = """
layer minidb "a small database"        # not as the library calls itself
call usdt minidb:open__start path:str=arg0 -> usdt minidb:open__done db=arg0   desc db from path
call usdt minidb:prepare__start db=arg0 key:str=arg1 -> usdt minidb:prepare__done stmt=u64(arg0)
	carry db -> stmt; desc stmt from key
call usdt minidb:step__start stmt=arg0 -> usdt minidb:step__done rc=arg0
drop usdt minidb:finalize stmt=arg0
"""
ENVIRONMENT = dict(os.environ, CLEW_TEST_JOB="job 7", CLEW_TEST_SECRET="not-in-any-file")

WRITER = "import os, time\nr, w = os.pipe()\nif os.fork() == 0:\n    os.close(w)\n    while os.read(r, 1): pass\n    os._exit(0)\nos.close(r)\nwhile True:\n    os.write(w, b'x'); time.sleep(0.01)\n"
# Each CPU's list has room for some 600 processes.
FORKS = "i=0; while [ $i -lt 4000 ]; do (:); i=$((i+1)); done"


def record(variant, place, *options):
    """A capture of the workload, and what it says of itself."""
    capture = scratch(variant + ".clew")
    done = clew("record",
                "--no-stacks",
                "-o",
                capture,
                *options,
                "--",
                DATABASE,
                "--variant",
                variant,
                "--file",
                os.path.join(place, "database-" + variant),
                env=ENVIRONMENT)
    if done.returncode:
        ok(False, f"{variant}: recorded", f"status {done.returncode}: {done.stderr.strip()[-300:]}")
        return None, None
    return capture, json.loads(done.stdout)


def calls(capture, truth, *options):
    """Calls between processes of the workload."""
    mine = {truth[who] for who in ("first", "second", "server", "store") if truth[who]}
    found = answer("edges", capture, "--type", "call", *options)["edges"]
    return [
        e for e in found if e["to"][0]["tid"] in mine and e["from"][0]["tid"] != e["to"][0]["tid"]
    ]


def tids(ends):
    return sorted(end["tid"] for end in ends)


def check_calls(name, found, truth, to, **expected):
    """One edge a key to that process, with these values; `origin` and `candidates` are pids."""
    edges = [e for e in found if e["to"][0]["tid"] == truth[to]]
    keys = sorted(int(e["descriptors"].get("kv/key", -1)) for e in edges)
    if keys != truth["keys"]:
        missing = collections.Counter(truth["keys"])
        missing.subtract(keys)
        measured("dependency call", len(truth["keys"]), sum(map(abs, missing.values())),
                 witness="who asked for each key of a database")
    if not ok(keys == truth["keys"], f"{name}: one call to the {to} for each key",
              f"{keys} instead of {truth['keys']}"):
        return
    wrong = []
    false = 0
    for edge in edges:
        said = {
            "origin": tids(edge["from"]), "candidates": tids(edge["candidates"]), "evidence":
            edge["evidence"], "bridged": edge["bridged"]
        }
        wrong += [
            f"{key}: {said[key]} instead of {value}" for key, value in expected.items()
            if said[key] != value
        ]
        false += any(said[key] != value for key, value in expected.items())
    measured("dependency call", len(edges), false, witness="who asked for each key of a database")
    ok(
        not wrong,
        f"{name}: {', '.join(f'{k} {v}' for k, v in expected.items() if k not in ('origin', 'candidates'))}",
        "; ".join(wrong[:4]))
    ok(all(e["relation"] == "vertical" for e in edges), f"{name}: they are vertical")


def requests_of(capture, truth):
    return [
        r for r in answer("requests", capture)["requests"]
        if r["path"] == truth["file"] and r["op"] == "read"
    ]


def check_requests(name, capture, truth, key="kv/key"):
    found = sorted(r["descriptors"].get(key, "?") for r in requests_of(capture, truth))
    ok(found == sorted(map(str, truth["keys"])),
       f"{name}: each key is in its disk request's descriptors",
       f"{found} instead of {truth['keys']}")


def test_callers(place):
    capture, truth = record("equal", place)
    if capture:
        both = sorted([truth["first"], truth["second"]])
        check_calls("two equal callers",
                    calls(capture, truth),
                    truth,
                    "server",
                    candidates=both,
                    evidence="candidate",
                    bridged=True)
        check_requests("two equal callers", capture, truth)
        check_equal(capture, truth)
    capture, truth = record("announced", place)
    if capture:
        check_calls("an announced interface",
                    calls(capture, truth),
                    truth,
                    "server",
                    origin=[truth["first"]],
                    candidates=[],
                    evidence="exact",
                    bridged=False)
    capture, truth = (None, None) if GUEST else record("attribute", place)
    if capture:
        check_calls("an attribute",
                    calls(capture, truth),
                    truth,
                    "server",
                    origin=[truth["first"]],
                    candidates=[],
                    evidence="exact",
                    bridged=True)


def explain(capture, tid, *options):
    """A why, every ns of it in one segment."""
    why = answer("why", capture, "--tid", tid, *options)
    ends = [why["from"]] + [s["end"] for s in why["segments"]]
    if [s["start"] for s in why["segments"]] + [why["to"]] != ends or sum(
            s["ns"] for s in why["segments"]) != why["total_ns"]:
        ok(False, f"why {' '.join(map(str, options))}: every ns in one segment", ends[:4])
    return why


def through(segment):
    return segment["via"] if segment["via"] and segment["via"]["type"] == "call" else None


def check_why(name, capture, truth, to, expected):
    """
    While a call to that process is open, whoever else sleeps for the caller is
    not told, but what that process does.
    """
    edges = sorted((e for e in calls(capture, truth) if e["to"][0]["tid"] == truth[to]),
                   key=lambda e: e["call"]["begin"])
    wrong, seen = [], set()
    for edge in edges:
        begin, end = edge["call"]["begin"], edge["call"]["end"]
        for segment in explain(capture, truth["first"], "--from", begin, "--to", end)["segments"]:
            via = through(segment)
            if via:
                seen.add(via["descriptors"]["kv/key"])
                said = {key: via[key] for key in expected}
                if segment["tid"] != truth[to] or said != expected or via["descriptors"][
                        "kv/key"] != edge["descriptors"]["kv/key"]:
                    wrong.append(f"{segment['tid']} {said} {via['descriptors']}")
            elif segment["kind"] == "sleep" and not segment.get("late"):
                wrong.append(f"{segment['comm']} slept {segment['ns']} ns")
    # A caller that got no CPU slept while none of them was open.
    ok(not wrong and seen and seen <= set(map(str, truth["keys"])),
       f"{name}: why goes on with what the {to} did", "; ".join(wrong[:4]) or seen)
    why = explain(capture, truth["first"])
    outside = [
        s for s in why["segments"]
        if through(s) and not any(e["call"]["begin"] <= s["start"] and s["end"] <= e["call"]["end"]
                                  for e in edges)
    ]
    ok(not outside, f"{name}: why goes through calls only while they are open", outside[:1])
    ok(any("whose call" in c["text"] for c in why["causes"]), f"{name}: why says so in words",
       why["causes"][:1])
    ok(not any(map(through,
                   explain(capture, truth["first"], "--without", "call")["segments"])),
       f"{name}: why without calls")


def check_words(name, capture, truth):
    """Wakes lead to the disk, and the request there has the words of the calls above it."""
    requests = [
        s for s in explain(capture, truth["first"])["segments"]
        if s["kind"] in ("device", "queued") and s["object"]["path"] == truth["file"]
    ]
    wrong = [
        s for s in requests if s.get("activity", {}).get("interface") != "store"
        or s["activity"]["descriptors"].get("kv/key") not in map(str, truth["keys"])
    ]
    # The disk may be done before the store, which has no CPU then, waits for
    # it; and some kernels hide that it is.
    waits = [
        w for w in answer("waits", capture, "--tid", truth["store"], "--kind", "read")["waits"]
        if w["object"]["path"] == truth["file"]
    ]
    ended = [
        w for w in waits if any(step["kind"] == "request" for step in w["ended_by"]["through"])
    ]
    keys = {s.get("activity", {}).get("descriptors", {}).get("kv/key") for s in requests}
    ok(0 < len(ended) == len(keys) and not wrong, f"{name}: why has each key at the disk's request",
       f"{keys}, of {len(ended)} reads; {wrong[:1]}")


def check_path(name, capture, truth, to, evidence):
    first, last = f"db-first-{truth['first']}", f"db-{to}-{truth[to]}"
    notation, without = scratch(name.replace(" ", "-") +
                                ".ctrace"), scratch(name.replace(" ", "-") + "-without.ctrace")
    clew("convert", capture, "-o", notation)
    with open(notation, encoding="utf-8") as file, open(without, "w", encoding="utf-8") as out:
        lines = file.readlines()
        out.writelines(line for line in lines if not line.startswith(("dep call", "dep return")))
    # Not to its end: it is killed after the caller's.
    ran = [
        s for s in explain(capture, truth["first"])["segments"]
        if through(s) and s["kind"] == "running"
    ]
    if not ok(ran, f"{name}: the {to} ran in its calls"):
        return
    # The causal trace begins with requests that were on their way before the capture.
    moment = (ran[-1]["start"] + ran[-1]["end"]) // 2 - answer("what-if", capture,
                                                               "")["before"]["start"]
    there = ["--from", first + " @ 0%", "--to", f"{last} @ duration({moment}ns)"]
    path = answer("path", capture, *there)
    ok(
        clew("path", without, *there).returncode == 1,
        f"{name}: only the calls lead from the caller to the {to}")
    vias = [e["via"] for e in path["elements"] if "via" in e and e["via"]["type"] == "call"]
    ok(
        vias
        and all(v["evidence"] == evidence and v["descriptors"]["kv/key"] in map(str, truth["keys"])
                for v in vias), f"{name}: path goes along a call", vias)
    path = answer("path", capture, "--from", first + " @ 0%", "--to", first + " @ 100%")
    back = [e["via"]["type"] for e in path["elements"] if "via" in e]
    measured("dependency return", 1, int("return" not in back), witness="a caller that waits for its call")
    ok("call" in back and "return" in back, f"{name}: path goes to the {to} and back", back)
    ok(
        sum(s["ns"] for s in path["segments"]) == path["end"] - path["start"],
        f"{name}: path has every ns once")
    ok(clew("check", capture).returncode == 0, f"{name}: the causal trace is consistent")
    for command in (["edges"], ["why", "--tid", str(truth["first"])],
                    ["path", "--from", first + " @ 0%", "--to", first + " @ 100%"]):
        ok(
            clew(*command, capture, "--json").stdout == clew(*command, notation, "--json").stdout,
            f"{name}: as notation the capture has the same {command[0]}")


def test_polled(place):
    """Nobody wakes anybody: that one waited for another is known from what they announced alone."""
    capture, truth = record("polled", place)
    if capture:
        check_calls("polled memory",
                    calls(capture, truth),
                    truth,
                    "server",
                    origin=[truth["first"]],
                    evidence="exact",
                    bridged=False)
        check_why(
            "polled memory", capture, truth, "server",
            {"evidence": "observed", "bridged": False, "candidates": [], "candidate_count": 0})
        check_path("polled memory", capture, truth, "server", "exact")
    capture, truth = record("polled-bridge", place)
    if capture:
        check_calls("polled by a silent one",
                    calls(capture, truth),
                    truth,
                    "store",
                    origin=[truth["first"]],
                    evidence="observed",
                    bridged=True)
        check_why("polled by a silent one", capture, truth, "store",
                  {"evidence": "observed", "bridged": True, "candidates": []})
        check_path("polled by a silent one", capture, truth, "store", "observed")


def check_equal(capture, truth):
    """
    The server's calls may be for either caller: nothing is told of the second
    one's waits but that.
    """
    both = sorted([truth["first"], truth["second"]])
    why = explain(capture, truth["second"])
    ok(not any(map(through, why["segments"])), "two equal callers: why takes neither for certain",
       [s for s in why["segments"] if through(s)][:1])
    perhaps = [s["perhaps"] for s in why["segments"] if "perhaps" in s]
    ok(
        perhaps and all(
            tids(p["candidates"]) == both and p["tid"] == truth["server"]
            and p["evidence"] == "candidate" for p in perhaps),
        "two equal callers: why says whom it may have waited for", perhaps[:1])
    notation = scratch("equal.ctrace")
    clew("convert", capture, "-o", notation)
    with open(notation, encoding="utf-8") as file:
        ok(not any(line.startswith(("dep call", "dep return")) for line in file),
           "two equal callers: no dependency of the causal trace is a guess")


def test_layers_between(place):
    capture, truth = record("bridge", place)
    if capture:
        check_calls("a missing middle layer",
                    calls(capture, truth),
                    truth,
                    "store",
                    origin=[truth["first"]],
                    evidence="observed",
                    bridged=True)
        check_requests("a missing middle layer", capture, truth)
        callers = {r["descriptors"].get("caller", "") for r in requests_of(capture, truth)}
        ok(all("--variant bridge" in c for c in callers),
           "a missing middle layer: the request names the program that wanted it", callers)
    capture, truth = record("middle", place)
    if capture:
        found = calls(capture, truth)
        check_calls("a recorded middle layer, above",
                    found,
                    truth,
                    "server",
                    origin=[truth["first"]],
                    evidence="exact",
                    bridged=False)
        check_calls("a recorded middle layer, below",
                    found,
                    truth,
                    "store",
                    origin=[truth["server"]],
                    evidence="exact",
                    bridged=False)
        check_words("a recorded middle layer", capture, truth)


def test_window(place):
    capture, truth = record("window", place)
    if not capture:
        return
    ok(not calls(capture, truth), "a caller that was over: no call without --match-window",
       calls(capture, truth)[:1])
    check_calls("a caller that was over, with --match-window",
                calls(capture, truth, "--match-window", "5s"),
                truth,
                "server",
                origin=[truth["first"]],
                evidence="observed",
                bridged=True)


def test_nesting(place):
    capture, truth = record("nested", place, "--environment", "CLEW_TEST_JOB,CLEW_TEST_NONE")
    if not capture:
        return
    edges = [
        e for e in answer("edges", capture, "--type", "call", "--tid", truth["first"])["edges"]
    ]
    seen = sorted((e["call"]["from_operation"], e["call"]["operation"]) for e in edges)
    expected = sorted([("load", "get"), ("get", "lost"), ("load", "check")] * len(truth["keys"]))
    ok(seen == expected, "calls of one thread nest, one without an end is over with its caller",
       seen)
    ok(all(e["evidence"] == "exact" and not e["bridged"] for e in edges),
       "calls of one thread nest: exactly")
    check_requests("nested calls", capture, truth)
    words = [r["descriptors"] for r in requests_of(capture, truth)]
    ok(
        words
        and all(w.get("CLEW_TEST_JOB") == "job 7" and "CLEW_TEST_NONE" not in w for w in words),
        "a listed environment variable is with the request", words[:1])
    ok(
        words and all(
            w.get("user") == "root" and "--variant nested" in w.get("program", "") for w in words),
        "program and user are with the request", words[:1])
    notation = scratch("nested.ctrace")
    clew("convert", capture, "-o", notation)
    with open(notation, encoding="utf-8", errors="replace") as file:
        text = file.read()
    ok("job" in text and "not-in-any-file" not in text,
       "an environment variable that is not listed is not in the file")
    for command in ("edges", "requests"):
        ok(
            clew(command, capture, "--json").stdout == clew(command, notation, "--json").stdout,
            f"as notation the capture has the same {command}")


def test_described_layer(place):
    description = scratch("minidb.layer")
    with open(description, "w", encoding="ascii") as file:
        file.write(LAYER)
    capture, truth = record("layer", place, "--layer", description)
    if not capture:
        return
    # After the drop the handle says nothing any more: those reads are of key 1.
    found = [(r["descriptors"].get("minidb/key"), r["descriptors"].get("minidb/path"))
             for r in requests_of(capture, truth)]
    known = sorted(f for f in found if f[0])
    ok(known == sorted((str(key), truth["file"]) for key in truth["keys"]),
       "a described layer: key and path are in the requests' descriptors", found)
    ok(
        len(found) == 2 * len(known), "a described layer: what was dropped is not told any more",
        found)


def test_writeback(place):
    """The kernel writes what calls left dirty: each page has its call's key."""
    if not feature("page cache")[0]:
        skip("a key reaches the kernel's own writeback", feature("page cache")[1])
        return
    capture, truth = record("lazy", place)
    if not capture:
        return
    found = {}
    for request in answer("requests", capture)["requests"]:
        for extent in request["pages"] if request["op"] == "write" else []:
            if extent["path"] == truth["file"] and extent["writers"] and extent["writers"][0][
                    "tid"] == truth["server"]:
                found[extent["offset"] // 4096] = extent["descriptors"].get("kv/key")
    expected = {key: str(key) for key in truth["keys"]}
    ok(found == expected, "a key reaches the request by which the kernel writes its page",
       f"{found} instead of {expected}")


def test_late(place):
    """
    A program that nobody had mapped when the recording began, and a process
    from before with an environment of its own.
    """
    program, capture = scratch("late-database"), scratch("late.clew")
    shutil.copy(DATABASE, program)
    with subprocess.Popen([sys.executable, "-c", WRITER], env=dict(os.environ,
                                                                   CLEW_TEST_JOB="old")) as old:
        time.sleep(0.3)
        recording = start_recording(capture, "--environment", "CLEW_TEST_JOB")
        done = subprocess.run([
            program, "--await", "--variant", "nested", "--file",
            os.path.join(place, "database-late")
        ],
                              capture_output=True,
                              text=True,
                              env=ENVIRONMENT,
                              timeout=PATIENCE,
                              check=False)
        status, said = stop_recording(recording)
        old.kill()
    if not ok(status == 0 and done.returncode == 0, "a program that comes later: recorded",
              said + done.stderr):
        return
    truth = json.loads(done.stdout)
    edges = answer("edges", capture, "--type", "call", "--tid", truth["first"])["edges"]
    ok(
        len(edges) == 3 * len(truth["keys"]), "a program that comes later is heard",
        f"{len(edges)} calls")
    check_requests("a program that comes later", capture, truth)
    others = answer("edges", capture, "--tid", old.pid, "--type", "pipe")["edges"]
    ok(others and all(e["descriptors"].get("CLEW_TEST_JOB") == "old" for e in others),
       "a process from before has its own environment", [e["descriptors"] for e in others[:1]])


def test_storm(place):
    """
    Programs that nobody had mapped: one comes while many tasks are forked and
    end, and one when that is over.
    """
    capture = scratch("storm.clew")
    programs = {
        "in a storm of forks": scratch("storm-database"), "after a storm of forks":
        scratch("calm-database")
    }
    truths, failed = {}, ""
    recording = start_recording(capture)
    with subprocess.Popen(["sh", "-c", "while :; do (:); done"]) as storm:
        for name, program in programs.items():
            shutil.copy(DATABASE, program)
            # A storm is known by its first looks, and its end within some seconds.
            time.sleep(0.5 if name.startswith("in") else 2.5)
            done = subprocess.run([
                program, "--await", "--variant", "nested", "--file",
                os.path.join(place, "database-storm")
            ],
                                  capture_output=True,
                                  text=True,
                                  timeout=PATIENCE,
                                  check=False)
            storm.kill()
            failed += done.stderr if done.returncode else ""
            truths[name] = done.stdout
    status, said = stop_recording(recording)
    if not ok(status == 0 and not failed, "programs about a storm of forks: recorded",
              said + failed):
        return
    for name, text in truths.items():
        truth = json.loads(text)
        edges = answer("edges", capture, "--type", "call", "--tid", truth["first"])["edges"]
        ok(
            len(edges) == 3 * len(truth["keys"]), f"a program that comes {name} is heard",
            f"{len(edges)} calls")


def is_busy(pid, program):
    """Whether a process is not yet that program, asleep."""
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        state = file.read().rpartition(")")[2].split()[0]
    return os.readlink(f"/proc/{pid}/exe") != program or state != "S"


def test_behind(place):
    """
    A program that comes when a CPU's list of new mappings is full, as the recorder does not run.
    Nothing else comes after it.
    """
    capture, program = scratch("behind.clew"), scratch("behind-database")
    shutil.copy(DATABASE, program)
    recording = start_recording(capture)
    os.kill(recording.pid, signal.SIGSTOP)
    one = ["taskset", "-c", str(min(os.sched_getaffinity(0)))]
    subprocess.run([*one, "sh", "-c", FORKS], check=True)
    with subprocess.Popen([
            *one, program, "--await", "--variant", "nested", "--file",
            os.path.join(place, "database-behind")
    ],
                          stdout=subprocess.PIPE,
                          text=True) as late:
        while is_busy(late.pid, program):
            time.sleep(0.01)
        os.kill(recording.pid, signal.SIGCONT)
        truth = json.loads(late.communicate(timeout=PATIENCE)[0])
    status, said = stop_recording(recording)
    edges = answer("edges", capture, "--type", "call", "--tid", truth["first"])["edges"]
    ok(status == 0 and len(edges) == 3 * len(truth["keys"]),
       "a program that comes when the list of mappings is full is heard",
       f"{len(edges)} calls; {said}")


def main():
    available, reason = feature("announcements")
    if not available:
        skip_all(reason)
    try:
        with Place(["ext4"]) as place:
            directory = os.path.join(place.path, "ext4")
            if not os.path.isdir(directory):
                skip_all("no ext4: " + str(place.lacks))
            # Emulated, each takes a while: what no kernel has a part in is left to the others.
            for test in (test_callers, test_nesting, test_described_layer, test_writeback,
                         test_late, test_storm, test_behind) + (() if GUEST else
                                                   (test_layers_between, test_window, test_polled)):
                test(directory)
    except Lacking as lacking:
        skip_all(str(lacking))
    finish()


main()
