#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Many connections at once between two hosts, which are namespaces with a recorder each: threads share
a process, and programs look before they take, splice, send files and write in
parts. Each wait for the other host must depend on the thread that sent what ended it, as the
programs' own log says, and every message must have its sender.

Usage: connections.py [CASE ..]
"""

import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time

from _live import answer, clew, feature, finish, note, ok, scratch, skip_all, start_recording, stop_recording, wanted_runs
from _sockets import receive
from hosts import PORT, Hosts

THERE = "10.77.0.2"
FULL = wanted_runs(2) > 1
CLIENTS, QUESTIONS = (50, 100) if FULL else (10, 20)  # of each connection: so many messages each way
WAYS = ("plain", "parts", "peek", "splice", "file", "urgent")
# splice(2) takes bytes without a message. MSG_PEEK and a byte out of band end a wait after which the
# thread takes nothing.
UNSEEN = ("splice", "peek", "urgent")
LEAST = 1_000_000  # ns: shorter waits may have ended for other packets


def server_of(connection, log, lock):
    """Answers one client in a thread of its own, and writes down when each answer was sent."""
    draw = random.Random(connection.fileno())
    me = threading.get_native_id()
    with connection, tempfile.TemporaryFile() as file:
        file.write(b"f" * 40000)
        file.flush()
        while head := receive(connection, 8):
            way, size = WAYS[head[0] % len(WAYS)], int.from_bytes(head[1:5], "big")
            time.sleep(draw.choice((0, 0.0005, 0.002, 0.004)))
            begun = time.monotonic_ns()
            if way == "parts":
                for _ in range(2):
                    connection.sendall(b"a" * (size // 2))
                connection.sendall(b"a" * (size - size // 2 * 2))
            elif way == "file":
                os.sendfile(connection.fileno(), file.fileno(), 0, size)
            elif way == "urgent":
                connection.send(b"!", socket.MSG_OOB)
                connection.sendall(b"a" * size)
            else:
                connection.sendall(b"a" * size)
            with lock:
                log.append((me, begun, time.monotonic_ns(), connection.getpeername()[1]))


def serve(count, ready, path):
    log, lock, threads = [], threading.Lock(), []
    with socket.create_server((THERE, PORT), backlog=64) as listening:
        with open(ready, "w", encoding="ascii"):
            pass
        for _ in range(int(count)):
            connection, _ = listening.accept()
            threads.append(threading.Thread(target=server_of, args=(connection, log, lock)))
            threads[-1].start()
    for thread in threads:
        thread.join()
    with open(path, "w", encoding="ascii") as file:
        json.dump(log, file)


def take(connection, way, size):
    if way == "peek":
        connection.recv(size, socket.MSG_PEEK)
    if way != "splice":
        receive(connection, size)
        return
    reads, writes = os.pipe()
    try:
        while size:
            moved = os.splice(connection.fileno(), writes, size)
            os.read(reads, moved)
            size -= moved
    finally:
        os.close(reads)
        os.close(writes)


def client(number, questions, log, lock):
    """One connection, at which answers are taken in all ways; writes down when, and in which."""
    draw = random.Random(number)
    me = threading.get_native_id()
    with socket.create_connection((THERE, PORT)) as connection:
        for _ in range(questions):
            way, size = draw.randrange(len(WAYS)), draw.randrange(1, 30000)
            begun = time.monotonic_ns()
            connection.sendall(bytes([way]) + size.to_bytes(4, "big") + b"...")
            take(connection, WAYS[way], size)
            with lock:
                log.append((me, begun, time.monotonic_ns(), WAYS[way]))


def ask(clients, questions, path):
    log, lock = [], threading.Lock()
    threads = [threading.Thread(target=client, args=(number, int(questions), log, lock))
               for number in range(int(clients))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with open(path, "w", encoding="ascii") as file:
        json.dump(log, file)


def record(hosts):
    """The captures of both hosts, and the logs of the server and of the client."""
    captures = [scratch("client.clew"), scratch("server.clew")]
    log, asked, ready = scratch("log.json"), scratch("asked.json"), scratch("ready")
    recorders = [start_recording(capture, "--outside", device)
                 for capture, device in zip(captures, (hosts.device, hosts.other))]
    with subprocess.Popen(["ip", "netns", "exec", hosts.there, sys.executable, __file__, "--serve",
                           str(CLIENTS), ready, log]) as server:
        while not os.path.exists(ready) and server.poll() is None:
            time.sleep(0.01)
        hosts.inside(hosts.here, sys.executable, __file__, "--ask", CLIENTS, QUESTIONS,
                     asked)
    for recorder in recorders:
        stop_recording(recorder)
    return captures, *(json.load(open(path, encoding="ascii")) for path in (log, asked))


def check(hosts):
    captures, log, asked = record(hosts)
    both = scratch("both.ctrace")
    done = clew("stitch", *captures, "--json", "-o", both)
    if not ok(done.returncode == 0 and len(log) == CLIENTS * QUESTIONS, "two captures are stitched",
              (done.stderr[-300:], len(log))):
        return
    said = json.loads(done.stdout)
    clock, connected = said["traces"][1], said["connected"]
    note(f"{connected}, error {clock['error']} ns")
    least = 2 * len(log) - sum(way == "splice" for _, _, _, way in asked)
    ok(connected["connections"] == CLIENTS and connected["messages"] >= least
       and connected["joined"] >= 0.999 * connected["messages"],
       "every message has its sender", connected)
    ok(clock["source"] == "between" and abs(clock["offset"]) <= clock["error"] < 1_000_000,
       "the clocks of two captures of one kernel differ by no more than the error", clock)
    sent = {}
    for thread, begun, ended, port in log:
        sent.setdefault(thread, []).append((begun, ended, port))
    ways = {}
    for thread, begun, ended, way in asked:
        ways.setdefault(thread, []).append((begun, ended, way))
    # The other recorder has the client's threads, too, of which it has no messages.
    waits = [wait for wait in answer("waits", both)["waits"]
             if wait.get("remote") and wait["object"] and wait["comm"].startswith("1:") and
             wait["object"].get("peer") == f"{THERE}:{PORT}" and wait["end"] and
             wait["end"] - wait["start"] > LEAST]
    crossed = [wait for wait in waits if wait["ended_by"]["pid"]]
    wrong = [wait for wait in crossed if not any(
        begun - clock["error"] < wait["ended_by"]["raw_at"] < ended + clock["error"] and
        begun < wait["end"] and wait["object"]["local"].endswith(f":{port}")
        for begun, ended, port in sent.get(wait["ended_by"]["tid"], []))]
    seen = [wait for wait in waits if any(
        begun < wait["start"] < ended and way not in UNSEEN
        for begun, ended, way in ways.get(wait["tid"], []))]
    missed = [wait for wait in seen if not wait["ended_by"]["pid"]]
    note(f"{len(crossed)} of {len(waits)} waits cross to the other host, {len(wrong)} wrong; of "
         f"{len(seen)} whose bytes messages show, {len(missed)} do not")
    ok(crossed and not wrong, "each depends on the thread that sent what ended it", wrong[:3])
    ok(len(seen) > 0.15 * len(log) and len(missed) <= max(1, 0.001 * len(seen)),
       "and hardly any is unknown", (len(missed), len(seen), missed[:3]))


def main():
    if sys.argv[1:2] == ["--serve"]:
        serve(*sys.argv[2:])
        return
    if sys.argv[1:2] == ["--ask"]:
        ask(*sys.argv[2:])
        return
    if not feature("messages")[0]:
        skip_all("the kernel does not show messages")
    with Hosts() as hosts:
        check(hosts)
    finish()


if __name__ == "__main__":
    main()
