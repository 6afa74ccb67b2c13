#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Functions of the kernel (`record -k GLOB`): a thread's calls of vfs_open and vfs_write are as many
as it made and lie within its own times of each system call; they nest in functions of the program;
fork, exec and interrupts leave no call open. Where the kernel takes no such probes, one line says
so, with the exit status for that.
"""

import json
import os
import subprocess
import sys
import time

from _live import CLEW, GUEST, PATIENCE, TRIES, answer, feature, finish, ok, run, scratch, start_recording, stop_recording

FILES = 100 if GUEST else 500
# Its own log: when each call began and ended.
WORK = r"""
import json, os, sys, time
path, files = sys.argv[1], int(sys.argv[2])
log = []
def note(name, call, *arguments):
    start = time.monotonic_ns()
    result = call(*arguments)
    log.append((name, start, time.monotonic_ns()))
    return result
for i in range(files):
    file = note("vfs_open", os.open, path, os.O_RDWR | os.O_CREAT, 0o600)
    for k in range(3):
        note("vfs_write", os.write, file, b"x" * (100 + k))
    note("vfs_fsync", os.fsync, file) if i % 10 == 0 else None
    os.close(file)
for i in range(20):
    child = os.fork()
    if not child:
        os.execv("/bin/true", ["true"]) if i % 2 else os._exit(0)
    os.waitpid(child, 0)
print(json.dumps(log))
"""


def start_work(path):
    return subprocess.Popen([sys.executable, "-S", "-E", "-c", WORK, path, str(FILES)],
                            stdout=subprocess.PIPE, text=True)


def check_calls(spans, pid, log):
    by_name = {}
    for name, start, end in log:
        by_name.setdefault(name, []).append((start, end))
    for name in ("vfs_open", "vfs_write"):
        calls = [entry for entry in spans["list"]
                 if entry["name"] == name and entry["start_tid"] == pid and entry["parent"] is None]
        within = [next((call for call in calls if start <= call["start"] and call["end"] and
                        call["end"] <= end), None) for start, end in by_name[name]]
        ok(all(within) and len({call["start"] for call in within}) == len(by_name[name]),
           f"each of {len(by_name[name])} system calls has its {name}",
           f"{sum(one is None for one in within)} have none, of {len(calls)}")
    mine = [entry for entry in spans["list"] if entry["pid"] == pid]
    ok(all(entry["closed"] in ("returned", "tail-call") for entry in mine), "all of them returned",
       str({entry["closed"] for entry in mine}))
    writes = [entry for entry in spans["list"]
              if entry["name"] == "vfs_write" and entry["start_tid"] == pid and
              log[0][1] <= entry["start"] <= log[-1][2]]
    ok(len(writes) == 3 * FILES, f"there are {3 * FILES} writes and no more",
       str(len(writes)))
    syncs = [entry for entry in spans["list"]
             if entry["name"] == "vfs_fsync_range" and entry["start_tid"] == pid]
    ok(len(syncs) == FILES // 10, "and each fsync", str(len(syncs)))


def check_others(spans):
    wrong = [entry for entry in spans["list"]
             if entry["closed"] not in ("returned", "tail-call", "open", "exit", "exec", "crash")]
    ok(not wrong, "no call of anybody was left without a return",
       f"{len(wrong)} of {len(spans['list'])}: {wrong[:2]}")


def check_waits(capture, pid):
    """A wait for the disk in an fsync comes from that function."""
    why = answer("why", capture, "--span", "vfs_fsync_range", "--slowest", "2")
    text = json.dumps(why)
    ok("vfs_fsync_range" in text and len(why["operations"]) == 2,
       "why explains the slowest fsyncs of the kernel", text[:300])


def check_with_program(path):
    """Functions of the kernel and of a library nest in each other."""
    capture = scratch("both.clew")
    recording = start_recording(capture, "-k", "vfs_write", "-f", "libc.so.6:write",
                                "--max-cost", "1000000")
    with start_work(path) as work:
        work.communicate(timeout=PATIENCE)
    status, said = stop_recording(recording)
    spans = answer("spans", capture, "--list")
    calls = {(entry["start_tid"], entry["start"]): entry for entry in spans["list"]}
    inner = [entry for entry in spans["list"]
             if entry["name"] == "vfs_write" and entry["pid"] == work.pid]
    outer = [calls.get((entry["start_tid"], entry["parent"])) for entry in inner]
    ok(
        status == 0 and len(inner) >= 3 * FILES and all(
            call and call["name"] in ("write", "__write") and call["closed"] == "returned" and
            call["start"] <= entry["start"] and entry["end"] <= call["end"]
            for entry, call in zip(inner, outer)), "each vfs_write lies in the write that it is for",
        f"{status}, {len(inner)}, {sum(call is None for call in outer)}: {said[-200:]}")


def check_refused(possible):
    where = scratch("refused.clew")
    cases = [("vfs_opne", "perhaps vfs_open")] if possible else [("vfs_*", "no probes at its own")]
    for glob, words in cases + [("", "no name"), ("a:b", "no name")]:
        done = run(CLEW, "record", "-o", where, "-d", "10ms", "-k", glob)
        status = 2 if possible or ":" in glob or not glob else 3
        ok(
            done.returncode == status and len(done.stderr.splitlines()) == 1 and
            words in done.stderr and not os.path.exists(where), f"-k '{glob}' is refused: {words}",
            f"status {done.returncode}: {done.stderr[-300:]}")


def main():
    possible, _ = feature("kernel functions")
    check_refused(possible)
    if possible:
        path, capture = scratch("file"), scratch("kernel.clew")
        # A host may take the CPUs away for longer than a ring holds.
        for _ in range(TRIES):
            recording = start_recording(capture, "-k", "vfs_*", "--max-cost", "1000000")
            with start_work(path) as work:
                log = json.loads(work.communicate(timeout=PATIENCE)[0])
            began = time.monotonic()
            status, said = stop_recording(recording)
            stopped = time.monotonic() - began
            spans = answer("spans", capture, "--list") if status == 0 else None
            if not spans or not spans["ledger"]["lost"]:
                break
        ok(status == 0 and stopped < (60 if GUEST else 5),
           "a recording of vfs_* ends soon", f"{status}, {stopped:.1f} s: {said[-300:]}")
        print("#", "; ".join(line for line in said.splitlines() if "kernel:" in line))
        check_calls(spans, work.pid, log)
        check_others(spans)
        check_waits(capture, work.pid)
        check_with_program(path)
    finish()


main()
