#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Data that TCP holds back over the loopback device, and who waits for it.

A client writes in two small parts and waits for the answer: by Nagle's rule the second part
leaves only when the first is acknowledged, and the server puts that off. With TCP_NODELAY
nothing is held back. A server that answers each part lets the second one go at once.
"""

import ctypes
import os
import random
import socket
import time

from _live import answer, finish, note, ok, scratch, start_recording, stop_recording, wanted_runs

PR_SET_NAME = 15
LAPS = 12
LEAST = 20_000_000  # ns; the kernel puts an acknowledgement off for 40 ms or more

libc = ctypes.CDLL(None)


def receive(connection, size):
    while size > 0:
        got = len(connection.recv(size))
        if not got:
            os._exit(1)
        size -= got


def serve(listener, first, second, each):
    libc.prctl(PR_SET_NAME, b"held-server", 0, 0, 0)
    connection, _ = listener.accept()
    for _ in range(LAPS):
        for part in (first, second) if each else (first + second, ):
            receive(connection, part)
            connection.send(b"r")


def ask(no_delay, each, seed):
    """Returns the client's and the server's pid, and when each lap began and ended."""
    draw = random.Random(seed)
    first, second = draw.randrange(1, 400), draw.randrange(1, 400)
    listener = socket.create_server(("127.0.0.1", 0))
    server = os.fork()
    if not server:
        serve(listener, first, second, each)
        os._exit(0)
    laps = []
    with socket.create_connection(listener.getsockname()) as connection:
        if no_delay:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(LAPS):
            begun = time.monotonic_ns()
            connection.send(bytes(first))
            connection.send(bytes(second))
            receive(connection, 2 if each else 1)
            laps.append((begun, time.monotonic_ns()))
            time.sleep(draw.randrange(1, 5) / 1000)
    os.waitpid(server, 0)
    listener.close()
    return server, laps


def held_waits(path, server):
    return [
        w for w in answer("waits", path)["waits"] if w["tid"] == server and w["call"] == "recvfrom"
    ]


def check_held(path, server, laps):
    """Each lap that took so long was the acknowledgement's, and why says so."""
    late = [(begun, ended) for begun, ended in laps if ended - begun >= LEAST]
    waits = held_waits(path, server)
    told = [w for w in waits if w.get("held_back") == "delayed-ack"]
    long = [w for w in waits if w["end"] is not None and w["end"] - w["start"] >= LEAST]
    wrong = [w for w in told if w["end"] - w["start"] < LEAST]
    wrong += [w for w in long if w not in told and not w["blind"]]
    ok(
        len(late) >= LAPS // 2 and not wrong,
        "each wait for what lay until a delayed acknowledgement is told so, and no other", wrong[:1]
        or f"{len(late)} of {LAPS} laps were held up")
    missed = []
    for begun, ended in late:
        segments = answer("why", path, "--tid", os.getpid(), "--from", begun, "--to",
                          ended)["segments"]
        if any(s["blind"] for s in segments):
            continue
        held = sum(s["ns"] for s in segments if s.get("held_back") == "delayed-ack")
        if held < LEAST or any(s["kind"] == "unknown" and s["ns"] >= LEAST for s in segments):
            missed.append((ended - begun, held))
    note(f"{len(late)} laps were held up, {len(told)} waits are told")
    ok(not missed, "why says that TCP held the data back", missed[:3])


def main():
    for seed in range(wanted_runs(2)):
        for what, no_delay, each in (("Nagle's rule", False, False), ("no delay", True, False),
                                     ("an answer to each part", False, True)):
            path = scratch(f"held-{seed}.clew")
            recording = start_recording(path)
            server, laps = ask(no_delay, each, seed)
            stop_recording(recording)
            if not no_delay and not each:
                check_held(path, server, laps)
                continue
            late = [w for w in held_waits(path, server) if w.get("held_back") == "delayed-ack"]
            kinds = {w.get("held_back") for w in held_waits(path, server)}
            note(f"{what}: {kinds}")
            ok(not late and (not no_delay or kinds <= {None}),
               f"{what}: nothing is told as held back by a delayed acknowledgement", late[:1])
    finish()


if __name__ == "__main__":
    main()
