#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# alone: a server that comes late for want of a CPU is blamed for that, rightly
"""
TCP packets that get lost, over the loopback device of a network namespace of its own.

A packet filter drops one packet, which its length distinguishes: an answer or a question on
the way in, or an answer on the way out. The client then waits for the retransmission, and not
for the server, which answered in time. A server that answers late, without any loss, is the one
that is waited for.
"""

import ctypes
import json
import os
import socket
import subprocess
import sys
import time

from _live import answer, finish, note, ok, run, scratch, skip_all, start_recording, stop_recording

PR_SET_NAME = 15
LONG = 100_000_000  # ns: a retransmission comes 200 ms or more after the packet
LATE = 0.3  # s: for how long the slow server sleeps
CALLS, MARKED = 8, 4  # the call whose question and answer are longer than the others
QUESTION, ANSWER = 301, 401  # bytes, of the marked call
HEADERS = 52  # of IPv4 and TCP, with the time stamps

# Each case has the word that clew says of the wait, the hook of the filter, and how many bytes
# the packet has that the filter drops.
LOSSES = {
    "answer": ("filtered", "input", ANSWER),
    "question": ("filtered", "input", QUESTION),
    "refused": ("refused", "output", ANSWER),
    "asked": ("refused", "output", QUESTION),
    "late": (None, None, 0),
}

libc = ctypes.CDLL(None)


def name(text):
    libc.prctl(PR_SET_NAME, text.encode(), 0, 0, 0)


def drop(hook, payload):
    """Lets the filter drop the first packet of that length."""
    rules = f"""table ip lost {{
        chain once {{
            type filter hook {hook} priority 0
            meta length {payload + HEADERS} limit rate 1/day burst 1 packets drop
        }}
    }}"""
    subprocess.run(["nft", "-f", "-"], input=rules, text=True, check=True)


def take(connection, size):
    while size > 0:
        size -= len(connection.recv(size)) or size


def serve(listener, case, tell):
    name(f"srv-{case}")
    connection, _ = listener.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for call in range(CALLS):
        take(connection, QUESTION if call == MARKED else 10)
        if call == MARKED and case == "late":
            time.sleep(LATE)
        sent = time.monotonic_ns()
        connection.send(bytes(ANSWER if call == MARKED else 20))
        if call == MARKED:
            os.write(tell, b"%d" % sent)


def play(case):
    """Makes the calls in a namespace of its own; prints what its clocks say."""
    hook, payload = LOSSES[case][1:]
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    if hook:
        drop(hook, payload)
    listener = socket.create_server(("127.0.0.1", 0))
    told, tell = os.pipe()
    server = os.fork()
    if not server:
        serve(listener, case, tell)
        os._exit(0)
    name(f"cli-{case}")
    connection = socket.create_connection(listener.getsockname())
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for call in range(CALLS):
        begun = time.monotonic_ns()
        connection.send(bytes(QUESTION if call == MARKED else 10))
        take(connection, ANSWER if call == MARKED else 20)
        if call == MARKED:
            marked = begun, time.monotonic_ns()
        time.sleep(0.002)
    print(json.dumps({"from": marked[0], "to": marked[1], "sent": int(os.read(told, 30)),
                      "client": os.getpid(), "server": server}))
    os.waitpid(server, 0)


def connect(listener, truth):
    """One more connection; says when it began and ended, by the clock."""
    begun = time.monotonic_ns()
    socket.create_connection(listener.getsockname())
    print(json.dumps({"from": begun, "to": time.monotonic_ns(), "client": os.getpid(), **truth}))


def play_queue():
    """A server that does not accept before the queue is full and TCP has asked again."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    listener = socket.create_server(("127.0.0.1", 0), backlog=1)
    kept = [socket.create_connection(listener.getsockname()) for _ in range(2)]
    told, tell = os.pipe()
    server = os.fork()
    if not server:
        name("srv-queue")
        time.sleep(1.5)
        os.write(tell, b"%d" % time.monotonic_ns())
        for _ in range(len(kept) + 1):
            listener.accept()
        os._exit(0)
    name("cli-queue")
    connect(listener, {"server": server})
    print(int(os.read(told, 30)))
    os.waitpid(server, 0)


def play_unanswered():
    """The first packet of a connection gets lost."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    listener = socket.create_server(("127.0.0.1", 0))
    drop("input", 8)
    name("cli-syn")
    connect(listener, {"server": 0})
    print(0)


CONNECTS = {"queue": play_queue, "unanswered": play_unanswered}


def check_connect(capture, case, truth):
    whole = truth["to"] - truth["from"]
    segments = answer("why", capture, "--tid", truth["client"], "--from", truth["from"], "--to",
                      truth["to"])["segments"]
    server = sum(s["ns"] for s in segments if s.get("tid") == truth["server"])
    held = {
        word: sum(s["ns"] for s in segments if s.get("held_back") == word)
        for word in ("accept-queue", "unanswered")
    }
    if case == "queue":
        late = truth["accepts"] - truth["from"]
        ok(
            abs(server - late) < 0.02 * whole and held["accept-queue"] > 0.98 * (whole - late) and
            not held["unanswered"], "who does not accept is waited for, then TCP's next packet",
            f"{server} of {late} ns, then {held} of {whole - late} ns")
    else:
        ok(held["unanswered"] > 0.98 * whole and not held["accept-queue"] and not server,
           "where the accept queue has room, it is not blamed", f"{held} of {whole} ns")


def check(capture, case, truth, held):
    whole = truth["to"] - truth["from"]
    said = answer("why", capture, "--tid", truth["client"], "--from", truth["from"], "--to",
                  truth["to"])
    segments = said["segments"]
    lost = sum(s["ns"] for s in segments if s.get("held_back") == held) if held else 0
    blamed = sum(s["ns"] for s in segments if s.get("held_back") is None and
                 s.get("tid") == truth["server"])
    if held is None:
        ok(
            blamed >= 0.9 * whole and not any(s.get("held_back") for s in segments),
            f"{case}: the server that slept is waited for", segments[:3])
        return
    ok(whole >= LONG and lost >= 0.9 * whole, f"{case}: the time is that of the loss",
       f"{lost / 1e6:.1f} of {whole / 1e6:.1f} ms, {segments[:3]}")
    ok(blamed <= 0.05 * whole, f"{case}: the server is not blamed for it",
       f"{blamed / 1e6:.1f} of {whole / 1e6:.1f} ms")
    note(f"{case}: {lost / 1e6:.1f} of {whole / 1e6:.1f} ms are told to be the loss's")


def record(capture, cases, **options):
    """Records the cases; what each says of itself."""
    recording = start_recording(capture, **options)
    truths = {}
    for case in cases:
        done = run("unshare", "-n", sys.executable, os.path.abspath(__file__), "--play", case,
                   timeout=60)
        if ok(done.returncode == 0, f"{case}: the calls were made", done.stderr):
            truths[case] = json.loads(done.stdout)
    stop_recording(recording)
    return truths


def check_connects():
    """Attempts to connect that nothing answers at first."""
    capture = scratch("connects.clew")
    recording = start_recording(capture)
    truths = {}
    for case in CONNECTS:
        done = run("unshare", "-n", sys.executable, os.path.abspath(__file__), "--play", case,
                   timeout=60)
        if ok(done.returncode == 0, f"{case}: a connection was made", done.stderr):
            first, accepts = done.stdout.splitlines()
            truths[case] = {**json.loads(first), "accepts": int(accepts)}
    stop_recording(recording)
    for case, truth in truths.items():
        check_connect(capture, case, truth)


def check_elsewhere():
    """A packet of which this machine does not see where it got lost."""
    capture = scratch("elsewhere.clew")
    truths = record(capture, ("answer", ),
                    env={**os.environ, "CLEW_TEST_REFUSE": "clew_kfree_skb"})
    for truth in truths.values():
        check(capture, "answer", truth, "lost")


def main():
    if run("unshare", "-n", "nft", "list", "ruleset").returncode:
        skip_all("a packet filter of a network namespace cannot be set here")
    capture = scratch("lost.clew")
    truths = record(capture, LOSSES)
    for case, truth in truths.items():
        check(capture, case, truth, LOSSES[case][0])
    told = [w for w in answer("waits", capture)["waits"]
            if w.get("held_back") in ("lost", "filtered", "refused")]
    wrong = [w for w in told if w["end"] - w["start"] < LONG]
    ok(len(told) == len(LOSSES) - 1 and not wrong, "no other wait is told to be for a lost packet",
       f"{len(told)} told, {wrong[:2]}")
    check_elsewhere()
    check_connects()
    finish()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--play"]:
        CONNECTS.get(sys.argv[2], lambda: play(sys.argv[2]))()
    else:
        main()
