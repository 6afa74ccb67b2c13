#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Who has the other end of a wait that never ends: waits from before the start and
from later, with and without a filter, and told alike by the causal trace.
"""

import ctypes
import os
import re
import socket
import subprocess
import time

from _live import (WORKLOADS, answer, clew, feature, finish, ok, scratch, skip, skip_all,
                   sleeps_of, start_recording, stop_recording)
from _place import Place, enter

PR_SET_PDEATHSIG = 1
PORT = 7711

LINE = re.compile(r"(\S+) waiter (\d+), followed (\d+), holders ?([\d ]*)(?:, path (\S+))?$")
PIPES = {"full", "fifo", "poll", "polls", "pollset", "pipe", "select", "epoll"}
REQUESTS = {"stat", "open", "mkdir", "list", "read", "cached", "close"}
paths = {}  # waiter -> what its call is on


def start(late):
    """The workload, and name -> (waiter, followed, holders)."""
    return begin([os.path.join(WORKLOADS, "ends")] + (["late"] if late else []))


def begin(command):
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    truth = {}
    for line in process.stdout:
        if line == "ready\n":
            break
        name, waiter, followed, holders, path = LINE.match(line).groups()
        truth[name] = int(waiter), int(followed), [int(tid) for tid in holders.split()]
        if path and path != "-":
            paths[int(waiter)] = path
    settle(truth)
    return process, truth


def settle(truth):
    """Waits until no task of these has gone to sleep, nor runs, for half a second."""
    tids = {tid for waiter, followed, holders in truth.values()
            for tid in (waiter, followed, *holders) if tid}
    seen, deadline = None, time.monotonic() + 30
    while time.monotonic() < deadline:
        now = [(sleeps_of(tid), wchan(tid)) for tid in sorted(tids)]
        if now == seen and all(where != "0" for _, where in now):
            return
        seen = now
        time.sleep(0.5)


def is_told(name, wait, holders):
    """Whether `waits` says who has the end, and no one else."""
    ends = wait.get("other_end")
    if ends is None or sorted(end["tid"] for end in ends) != sorted(holders):
        return False
    evidence = {1: {"observed"}, 2: {"candidate"}}.get(len(holders), set())
    if name.endswith("-listener-one"):
        evidence = {"candidate"}
    return ({end["evidence"]
             for end in ends} == evidence
            and all(end["listens"] == ("backlog" in name) for end in ends)
            and all(end["self"] == (name.endswith("alone") or name.endswith("thread"))
                    for end in ends))


def is_followed(name, path, waiter, followed):
    """Whether `why` goes on with that task and no other."""
    last = answer("why", path, "--tid", str(waiter))["segments"][-1]
    if not followed:
        return last["tid"] == waiter and last["chain"] == [waiter] and last["via"] is None, last
    kind = name.split("-", maxsplit=1)[0]
    kind = ("pipe" if kind in PIPES else
            "request" if kind in REQUESTS else "eventfd" if kind == "eventfd" else "socket")
    evidence = "candidate" if name.endswith(("forked", "pool")) else "observed"
    via = last["via"] or {"type": None, "evidence": None}
    return (last["tid"] == followed and last["chain"][:1] == [waiter]
            and (via["type"], via["evidence"]) == (kind, evidence)
            and any(end["tid"] == followed for end in last["hops"][0].get("other_end", []))), last


def wchan(tid):
    with open(f"/proc/{tid}/wchan", encoding="ascii") as file:
        return file.read()


def check(path, truth, functions, what):
    wrong, missing, where, nameless = [], [], [], []
    waits = {wait["tid"]: wait for wait in answer("waits", path)["waits"] if wait["end"] is None}
    for name, (waiter, followed, holders) in truth.items():
        wait = waits.get(waiter)
        if not wait or not is_told(name, wait, holders):
            wrong.append((name, wait and wait.get("other_end"), holders))
        elif wait.get("function") != functions[waiter]:
            where.append((name, wait.get("function"), functions[waiter]))
        if wait and waiter in paths and wait["object"].get("path") != paths[waiter]:
            nameless.append((name, wait["object"], paths[waiter]))
        good, last = is_followed(name, path, waiter, followed)
        if not good:
            missing.append((name, followed, last))
    ok(not wrong, f"{what}: {len(truth)} waits name who has the other end, and no one else", wrong)
    ok(not missing, f"{what}: why goes on with the one who has it", missing)
    ok(not where, f"{what}: the function is that of /proc/PID/wchan", where)
    ok(not nameless, f"{what}: calls on a path tell it", nameless)


def record(late):
    process, truth = start(late)
    path = scratch(f"ends-{late}.clew")
    recording = start_recording(path, "--no-stacks")
    if late:
        process.stdin.write("\n")
        process.stdin.flush()
        time.sleep(0.5)
    settle(truth)
    functions = {waiter: wchan(waiter) for waiter, _, _ in truth.values()}
    status, said = stop_recording(recording)
    ok(status == 0, f"{'late' if late else 'early'} waits are recorded", said)
    check(path, truth, functions, "begun later" if late else "begun before")
    return process, truth, path


def record_requests(late):
    """Waits for the answers of FUSE daemons."""
    command = [os.path.join(WORKLOADS, "fuse")]
    path = scratch(f"requests-{late}.clew")
    what = "requests begun later" if late else "requests begun before"
    if late:
        recording = start_recording(path, "--no-stacks")
        process, truth = begin(command)
    else:
        process, truth = begin(command)
        recording = start_recording(path, "--no-stacks")
    settle(truth)
    functions = {waiter: wchan(waiter) for waiter, _, _ in truth.values()}
    stop_recording(recording)
    ok(process.poll() is None and len(truth) == 11, f"{what}: the daemons run", truth)
    check(path, truth, functions, what)
    process.communicate()


def talk(place, address, tell, inside):
    """A process that connects to an address, or takes who connects, and then waits for ever."""
    child = os.fork()
    if child:
        return child
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, 9)
    enter(place, inside)
    if tell is None:
        connection = socket.create_connection((address, PORT))
        connection.recv(1)
    else:
        listener = socket.create_server((address, PORT))
        os.write(tell, b"x")
        connection, _ = listener.accept()
        listener.close()
        os.write(tell, b"y")
        while True:
            time.sleep(1000)
    os._exit(0)


def record_namespaces():
    """TCP between two network namespaces."""
    with Place(("net", )) as place:
        if place.lacks:
            skip("other ends in another network namespace", place.lacks["net"])
            return
        waiters = {}
        for name, address, there, here in (("tcp-there", "10.231.77.2", "net-b", "net-a"),
                                           ("tcp-back", "10.231.77.1", "net-a", "net-b")):
            told, tell = os.pipe()
            server = talk(place, address, tell, there)
            os.read(told, 1)
            os.close(tell)
            waiters[name] = talk(place, address, None, here), server, [server]
            os.read(told, 1)
        path = scratch("namespaces.clew")
        recording = start_recording(path, "--no-stacks")
        settle(waiters)
        functions = {waiter: wchan(waiter) for waiter, _, _ in waiters.values()}
        stop_recording(recording)
        check(path, waiters, functions, "network namespaces")
        for waiter, server, _ in waiters.values():
            for process in (waiter, server):
                os.kill(process, 9)
                os.waitpid(process, 0)


def main():
    lacking = feature("other ends")[1]
    if lacking:
        skip_all(lacking)
    process, truth, path = record(False)
    waiter, holder, _ = truth["pipe-one"]
    said = clew("waits", path, "--tid", str(waiter)).stdout
    ok(f"the other end is open in ends-{holder}" in said, "waits says who has it", said)
    said = clew("why", path, "--tid", str(waiter)).stdout
    ok("has the other end of pipe:[" in " ".join(said.split()), "why says who has it", said)
    converted = scratch("ends.ctrace")
    clew("convert", path, "-o", converted)
    ok(
        answer("waits", path) == answer("waits", converted) and answer(
            "why", path, "--tid", str(waiter)) == answer("why", converted, "--tid", str(waiter)),
        "the causal trace answers the same")
    filtered = scratch("ends-filtered.clew")
    recording = start_recording(filtered, "--no-stacks", "-p", str(waiter))
    time.sleep(0.5)
    stop_recording(recording)
    good, last = is_followed("pipe-one", filtered, waiter, holder)
    ok(good, "a recording of one process finds the other end in another", last)
    process.communicate()
    process, _, _ = record(True)
    process.communicate()
    if os.path.exists("/dev/fuse"):
        record_requests(False)
        record_requests(True)
    else:
        skip("waits for FUSE daemons", "the kernel has no FUSE")
    record_namespaces()
    finish()


if __name__ == "__main__":
    main()
