#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Questions by name: a program tells of each of its system calls when it began and ended, and
whose lock it waited for. What `why` finds for a name is these calls and no others.
"""

import json
import os
import subprocess
import sys
import tempfile

from _live import WORKLOADS, clew, feature, finish, ok, scratch, skip, start_recording, stop_recording

# Argument: a directory. Prints [name, object, tid, begin, end] of each call, CLOCK_MONOTONIC.
PROGRAM = """
import fcntl, json, os, sys, threading, time
place, told = sys.argv[1], []
lock = os.path.join(place, "the lock")
open(lock, "w").close()
def tell(name, thing, call, *arguments):
    begin = time.monotonic_ns()
    call(*arguments)
    told.append([name, thing, threading.get_native_id(), begin, time.monotonic_ns()])
def hold(seconds, held, wanted):
    with open(lock) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        held.set()
        wanted.wait()
        time.sleep(seconds)
def await_asleep(tid):
    words = []
    while words[:1] != ["73"]:
        time.sleep(0.001)
        with open(f"/proc/self/task/{tid}/syscall") as file:
            words = file.read().split()
def want():
    with open(lock) as file:
        tell("flock", lock, fcntl.flock, file, fcntl.LOCK_EX)
holders = []
for seconds in 0.1, 0.9, 0.3:
    held, wanted = threading.Event(), threading.Event()
    holder = threading.Thread(target=hold, args=(seconds, held, wanted))
    holder.start()
    held.wait()
    holders.append(holder.native_id)
    wanter = threading.Thread(target=want)
    wanter.start()
    await_asleep(wanter.native_id)
    wanted.set()
    holder.join()
    wanter.join()
for name, number in ("first", 5), ("second", 9):
    path = os.path.join(place, name + ".log")
    with open(path, "wb", buffering=0) as file:
        for i in range(number):
            file.write(os.urandom(1 << 20))
            tell("fsync", path, os.fsync, file.fileno())
print(json.dumps({"calls": told, "holders": holders, "lock": lock}))
"""


def slowest(capture, *question):
    done = clew("why", capture, "--slowest", "1000", "--json", *question)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"why {question}: {done.stderr}")
    return json.loads(done.stdout)


def check_found(name, found, calls):
    """Each instance lies in one of the calls, and no two in the same; the longest comes first."""
    places = []
    for one in found["operations"]:
        places += [
            i for i, (_, _, tid, begin, end) in enumerate(calls)
            if tid == one["tid"] and begin <= one["from"] and one["to"] <= end
        ] or [None]
    lengths = [one["total_ns"] for one in found["operations"]]
    ok(None not in places and len(set(places)) == len(places) == found["total"],
       name + ": each is one of the program's calls", (places, calls))
    ok(
        lengths == sorted(lengths, reverse=True) and sum(lengths) == found["total_ns"]
        and max(lengths) == found["max_ns"], name + ": the slowest first, and their sums", lengths)
    return places


def check_locks(capture, truth):
    calls = [call for call in truth["calls"] if call[0] == "flock"]
    lengths = [end - begin for _, _, _, begin, end in calls]
    for question in (("--call", "flock"), ("--lock", truth["lock"]),
                     ("--file", "the lock", "--call", "flock"), ("--file", truth["lock"], "--call",
                                                                 "f*k")):
        found = slowest(capture, "--pid", truth["pid"], *question)
        places = check_found(question[0] + " of a lock", found, calls)
        # 900 ms, 300 ms, 100 ms: too far apart for the order to be an accident.
        ok(
            places == [1, 2, 0] and all(one["total_ns"] > lengths[place] / 2
                                        for one, place in zip(found["operations"], places)),
            question[0] + " of a lock: the three in order of length", (places, lengths))
    found = slowest(capture, "--pid", truth["pid"], "--lock", truth["lock"])
    ok([holder["tid"] for holder in found["holders"]] == [truth["holders"][i] for i in (1, 2, 0)],
       "--lock says who held it", (found["holders"], truth["holders"]))
    said = clew("why", capture, "--lock", truth["lock"], "--tid", calls[1][2]).stdout
    # The paragraph before the first headline, whose lines are broken after 80 columns.
    head = " ".join(said.partition("\n\n")[0].split())
    ok(f"-{truth['holders'][1]} " in head.partition("Held meanwhile by ")[2],
       "--lock with --tid: one wait, its holder", said)


def check_files(capture, truth):
    calls = [call for call in truth["calls"] if call[0] == "fsync"]
    found = slowest(capture, "--pid", truth["pid"], "--call", "fsync")
    if not found["total"]:
        skip("--call fsync", "no fsync of this disk waits")
        return
    check_found("--call fsync", found, calls)
    for name in "first.log", "second.log":
        own = [call for call in calls if call[1].endswith(name)]
        found = slowest(capture, "--pid", truth["pid"], "--call", "fsync", "--file", name)
        check_found("--file " + name, found, own)
    both = slowest(capture, "--pid", truth["pid"], "--call", "fsync", "--file",
                   os.path.dirname(own[0][1]))
    all_of_it = slowest(capture, "--pid", truth["pid"], "--call", "fsync")
    ok(both["total_ns"] == all_of_it["total_ns"], "--file of a directory is all files in it",
       (both["total"], all_of_it["total"]))
    # One that waited: a disk may be done before its caller can sleep.
    waited = [call for call in own for one in both["operations"]
              if call[2] == one["tid"] and call[3] <= one["from"] and one["to"] <= call[4]]
    middle = waited[len(waited) // 2]
    part = slowest(capture, "--pid", truth["pid"], "--call", "fsync", "--from", str(middle[3]),
                   "--to", str(middle[4]))
    check_found("--call fsync, --from, --to", part, [middle])


def check_operations(directory):
    available, reason = feature("announcements")
    if not available:
        skip("--operation", reason)
        return
    capture = scratch("database.clew")
    done = clew("record", "-o", capture, "--", os.path.join(WORKLOADS, "database"), "--variant",
                "announced", "--file", os.path.join(directory, "database"))
    if not ok(done.returncode == 0, "the database: recorded", done.stderr.strip()[-300:]):
        return
    truth = json.loads(done.stdout)
    server, clients = str(truth["server"]), {truth["first"], truth["second"]}
    found = slowest(capture, "--operation", "kv.get", "--pid", server)
    ok(found["total"] == len(truth["keys"]), "--operation: each call that the server announced",
       (found["total"], truth))
    found = slowest(capture, "--operation", "app,report")
    ok({one["pid"]
        for one in found["operations"]} == clients, "--operation: by interface",
       (found["total"], truth))
    within = slowest(capture, "--operation", "app,report", "--call", "*")
    inside = [
        one["instance"]["call"] for one in within["operations"]
        if any(whole["tid"] == one["tid"] and whole["from"] <= one["from"] < whole["to"]
               for whole in found["operations"])
    ]
    ok(inside and len(inside) == within["total"], "--operation with --call: waits in operations",
       (inside, within["total"]))


def main():
    with tempfile.TemporaryDirectory(prefix="clew-live-ask-", dir="/var/tmp") as directory:
        capture = scratch("ask.clew")
        recorder = start_recording(capture)
        with subprocess.Popen([sys.executable, "-c", PROGRAM, directory],
                              stdout=subprocess.PIPE,
                              text=True) as program:
            said, _ = program.communicate()
        status, why = stop_recording(recorder)
        if not ok(status == 0 and program.returncode == 0, "recorded", why):
            finish()
        truth = dict(json.loads(said), pid=str(program.pid))
        check_locks(capture, truth)
        check_files(capture, truth)
        check_operations(directory)
    done = clew("why", capture, "--call", "fsinc")
    ok(done.returncode == 2 and "is fsync meant?" in done.stderr, "a call that there is not",
       done.stderr)
    finish()


main()
