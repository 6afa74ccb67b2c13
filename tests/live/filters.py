#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Filters: only the chosen tasks' waits carry objects, while everyone's switches
are recorded, and who held a lock is known to all.
"""

import json
import os
import subprocess
import sys
import time

from _graph import Capture, compare_wait
from _live import GUEST, WORKLOADS, answer, await_detached, clew, finish, note, ok, run, scratch, skip, start_recording, stop_recording

WAITER = "import os, sys, time\nr, w = os.pipe()\nif os.fork() == 0:\n    for i in range(100000):\n        os.write(w, b'x'); time.sleep(0.005)\nprint('here', flush=True)\nwhile True:\n    os.read(r, 1)\n"

# Three threads queue for a mutex, that each keeps for 100 ms, in this order.
# They name themselves "early", before they say their tids and wait for a
# line, or "late".
QUEUE = """
import ctypes, os, sys, threading, time
library, mutex, named, go = ctypes.CDLL(None), ctypes.create_string_buffer(64), threading.Barrier(4), threading.Event()
turns, ends = [os.pipe() for _ in range(3)], [os.pipe() for _ in range(3)]
def take(turn):
    name = b"queue-%d" % (turn + 1)
    if sys.argv[1] == "early":
        library.prctl(15, name, 0, 0, 0)
    named.wait()
    go.wait()
    if sys.argv[1] == "late":
        library.prctl(15, name, 0, 0, 0)
    os.read(turns[turn][0], 1)
    library.pthread_mutex_lock(mutex)
    os.read(ends[turn][0], 1)
    library.pthread_mutex_unlock(mutex)
read, futex = (63, 98) if os.uname().machine == "aarch64" else (0, 202)
def await_blocked(thread, call, argument):
    words = []
    while words[:2] != [str(call), hex(argument)]:
        time.sleep(0.005)
        with open(f"/proc/self/task/{thread.native_id}/syscall") as file:
            words = file.read().split()
threads = [threading.Thread(target=take, args=(turn,)) for turn in range(3)]
for thread in threads:
    thread.start()
named.wait()
print(hex(ctypes.addressof(mutex)), *(thread.native_id for thread in threads), flush=True)
sys.stdin.readline()
go.set()
for turn, thread in enumerate(threads):
    await_blocked(thread, read, turns[turn][0])
    os.write(turns[turn][1], b"x")
    await_blocked(thread, *((futex, ctypes.addressof(mutex)) if turn else (read, ends[0][0])))
for turn, thread in enumerate(threads):
    await_blocked(thread, read, ends[turn][0])
    time.sleep(0.1)
    os.write(ends[turn][1], b"x")
"""


def start_waiter(name):
    """A process, with a child of its own, that reads a pipe for ever; it does so now."""
    program = scratch(name)
    if not os.path.exists(program):
        os.symlink("/usr/bin/python3", program)
    process = subprocess.Popen([program, "-c", WAITER],
                               start_new_session=True,
                               stdout=subprocess.PIPE)
    process.stdout.readline()
    return process


def end(process):
    os.killpg(process.pid, 9)
    process.communicate()


def pipe_waits(path, pid):
    return [
        w for w in answer("waits", path)["waits"]
        if w["tid"] == pid and w["call"] == "read" and w["open"] is None
    ]


def check(name, *options):
    """With these options only `wanted` is looked at closely."""
    wanted, other = start_waiter("wanted-one"), start_waiter("other-one")
    try:
        path = scratch(f"{name}.clew")
        recording = start_recording(path, *[o(wanted) if callable(o) else o for o in options])
        time.sleep(0.4)
        status, said = stop_recording(recording)
        if not ok(status == 0, f"{name}: recorded", f"{status}: {said}"):
            return
        inside, outside = pipe_waits(path, wanted.pid), pipe_waits(path, other.pid)
        bare = [
            w for w in inside
            if w["kind"] != "pipe" or not w["object"] or not w["object"].get("ino")
        ]
        ok(
            len(inside) >= 10 and not bare,
            f"{name}: {len(inside)} waits of the chosen process have their object",
            f"{len(bare)} do not: {bare[:2]}")
        ok(all(w["object"] is None or not w["object"].get("ino") for w in outside),
           f"{name}: waits of others have none", outside[:1])
        all_of_other = [w for w in answer("waits", path)["waits"] if w["tid"] == other.pid]
        ok(
            len(all_of_other) >= 10,
            f"{name}: the others' waits are there all the same ({len(all_of_other)})", "")
        ledger = answer("info", path)["ledger"]
        ok(ledger["balanced"], f"{name}: the ledger balances",
           {k: v
            for k, v in ledger.items() if k not in ("by", "gaps")})
    finally:
        end(wanted)
        end(other)


def check_queue(name, named, *options):
    """
    These options choose the last of the queue; who came before it held the
    mutex all the same.
    """
    program = [sys.executable, "-c", QUEUE, named]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as queue:
        address, *tids = queue.stdout.readline().split()
        tids = [int(tid) for tid in tids]
        path = scratch("queue.clew")
        recording = start_recording(path, *[o(tids[2]) if callable(o) else o for o in options])
        queue.communicate("go\n")
    status, said = stop_recording(recording)
    if not ok(status == 0 and queue.returncode == 0, f"{name}: recorded a queue for a mutex",
              f"{status}: {said}"):
        return
    waits = answer("waits", path)["waits"]
    detailed = [{
        bool((w["object"] or {}).get("ino"))
        for w in waits if w["tid"] == tid and w["call"] == "read"
    } for tid in tids]
    ok(detailed == [{False}, {False}, {True}], f"{name}: of the last one, what it read has a name",
       detailed)
    waits = [
        w for w in waits if w["tid"] == tids[2] and (w["object"] or {}).get("address") == address
    ]
    held = [(h["tid"], h["evidence"]) for w in waits for h in w["holders"]]
    ok(held == [(tid, "exact") for tid in tids[:2]],
       f"{name}: who came first held it, then who came second", f"{held} of {tids}, in {waits}")
    times = [h["to"] - h["from"] for w in waits for h in w["holders"]]
    ok(len(times) == 2 and min(times) > 95e6, f"{name}: each as long as it had it", times)


def check_locks(program, variant):
    """Nobody is chosen, and the holders are known."""
    path, graph, name = scratch("locks.clew"), scratch("locks.json"), f"{program} {variant}".strip()
    recording = start_recording(path, "--comm", "nobody-here")
    with open(graph, "w", encoding="ascii") as file:
        done = run(os.path.join(WORKLOADS, program),
                   "--seed",
                   1,
                   *(["--variant", variant] if variant else []),
                   stdout=file)
    status, said = stop_recording(recording)
    if not ok(status == 0 and done.returncode == 0, f"{name}: recorded with a filter",
              f"{status}: {said}; {done.stderr}"):
        return
    with open(graph, encoding="utf-8") as file:
        held = [wait for wait in json.load(file)["waits"] if wait.get("holders")]
    if not held:
        skip(f"{name}: holders", "the workload was not possible here")
        return
    capture = Capture([], answer("waits", path)["waits"])
    # Some virtual machines hide single switches, and clew says that it could not see there.
    problems = [problem for wait in held for problem in [compare_wait(wait, capture)]
                if problem and not capture.blind(wait["tid"], wait["start_min"], wait["end_max"])]
    ok(not problems, f"{name}: holders of {len(held)} waits of tasks that were not chosen",
       problems[:2])


def children_of(parent):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                if int(file.read().rpartition(")")[2].split()[1]) == parent:
                    found.append(int(pid))
        except OSError:
            pass
    return found


def cgroup_roots():
    """Places where a group can be made: {version: path}; a machine may have both."""
    roots = {}
    with open("/proc/mounts", encoding="utf-8", errors="replace") as file:
        mounts = [line.split()[:4] for line in file]
    for _, directory, system, options in mounts:
        version = {"cgroup2": 2, "cgroup": 1}.get(system)
        # Of version 1 any hierarchy will do that gives its groups no limits that must be set first.
        if version is None or version in roots or (
                version == 1 and not {"cpu", "cpuacct", "pids"} & set(options.split(","))):
            continue
        group = os.path.join(directory, "clew-live")
        try:
            os.makedirs(group, exist_ok=True)
        except OSError:
            continue
        roots[version] = group
    return roots


def check_cgroup(version, group):

    def enter(process):
        for pid in [process.pid, *children_of(process.pid)]:
            with open(os.path.join(group, "cgroup.procs"), "w", encoding="ascii") as file:
                file.write(str(pid))
        return group

    try:
        note(f"group: {group}")
        check(f"--cgroup of version {version}", "--cgroup", enter)
    finally:
        for _ in range(50):
            try:
                os.rmdir(group)
                break
            except OSError:
                time.sleep(0.05)


def check_cgroups():
    roots = cgroup_roots()
    for version, group in sorted(roots.items()):
        check_cgroup(version, group)
    if not roots:
        skip("--cgroup", "no control group can be made here")


def main():
    check("--pid", "-p", lambda process: str(process.pid))
    if not GUEST:
        check("--tid", "-t", lambda process: str(process.pid))
    check("--comm", "--comm", lambda process: "wanted-*")
    check_cgroups()
    check_queue("--comm of the last in a queue", "early", "--comm", "queue-3")
    check_queue("--comm of a name that a thread gives itself later", "late", "--comm", "queue-3")
    check_queue("--tid of the last in a queue", "early", "-t", str)
    check_locks("convoy", "")
    check_locks("kernellock", "position")
    path = scratch("no.clew")
    done = clew("record", "-o", path, "-d", "100ms", "-p", "999999999")
    ok(done.returncode == 2 and done.stderr.startswith("clew: ") and done.stderr.count("\n") == 1,
       "a pid that is not there is status 2 and one line", f"{done.returncode}: {done.stderr}")
    done = clew("record", "-o", path, "-d", "100ms", "--cgroup", "/sys/fs/cgroup/no/such/group")
    ok(done.returncode == 2 and done.stderr.startswith("clew: ") and done.stderr.count("\n") == 1,
       "a group that is not there is status 2 and one line", f"{done.returncode}: {done.stderr}")
    left = await_detached()
    ok(not left, "nothing stays attached", left)
    finish()


if __name__ == "__main__":
    main()
