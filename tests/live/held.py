#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Data that TCP holds back over the loopback device and a veth pair, and who waits for it.

A client writes in two small parts and waits for the answer: by Nagle's rule the second part
leaves only when the first is acknowledged, and the server puts that off. With TCP_NODELAY
nothing is held back. A server that answers each part lets the second one go at once, and one
that answers later when it answers. Data that the receiver has no room for leaves once that
has read.
"""

import contextlib
import ctypes
import os
import random
import select
import signal
import socket
import struct
import time

from _live import CLEW, answer, finish, note, ok, run, scratch, skip, start_recording, stop_recording, wanted_runs
from _place import Place, enter

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
    # Waits between the laps are for a client that may have no CPU.
    long = [
        w for w in waits if w["end"] is not None and w["end"] - w["start"] >= LEAST and any(
            begun <= w["start"] and w["end"] <= ended for begun, ended in laps)
    ]
    wrong = [w for w in told if w["end"] - w["start"] < LEAST]
    wrong += [w for w in long if w not in told and not w["blind"]]
    ok(
        len(late) >= LAPS // 2 and not wrong,
        "each wait for what lay until a delayed acknowledgement is told so, and no other", wrong[:1]
        or f"{len(late)} of {LAPS} laps were held up")
    missed = []
    for begun, ended in late:
        if not any(begun <= w["start"] and w["end"] <= ended for w in long):
            continue
        segments = answer("why", path, "--tid", os.getpid(), "--from", begun, "--to",
                          ended)["segments"]
        if any(s.get("blind") for s in segments):
            continue
        held = sum(s["ns"] for s in segments if s.get("held_back") == "delayed-ack")
        if held < LEAST or any(s["kind"] == "unknown" and s["ns"] >= LEAST for s in segments):
            missed.append((ended - begun, held))
    note(f"{len(late)} laps were held up, {len(told)} waits are told")
    ok(not missed, "why says that TCP held the data back", missed[:3])


HERE, THERE = "10.231.77.1", "10.231.77.2"
LESS = 8_000_000  # ns; what is held up for the tests below is so for longer


class Link:
    """Two ends: of the loopback device, or of a veth pair between two namespaces."""

    def __init__(self, place):
        self.place = place
        self.name = "veth" if place else "loopback"

    def child(self, name, near, function, *arguments):
        """A process on the near or the far end."""
        child = os.fork()
        if not child:
            libc.prctl(PR_SET_NAME, name.encode(), 0, 0, 0)
            if self.place:
                enter(self.place, "net-a" if near else "net-b")
            status = 1
            with contextlib.suppress(OSError):
                function(*arguments)
                status = 0
            os._exit(status)
        return child

    def listen(self, room=0):
        """A listener on the far end, which the children get; `room`: bytes to receive."""
        parent, child = socket.socketpair()
        if not os.fork():
            if self.place:
                enter(self.place, "net-b")
            listener = socket.socket()
            if room:
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
            listener.bind((THERE if self.place else "127.0.0.1", 0))
            listener.listen()
            socket.send_fds(child, [b"x"], [listener.fileno()])
            os._exit(0)
        _, descriptors, _, _ = socket.recv_fds(parent, 1, 1)
        os.wait()
        return socket.socket(fileno=descriptors[0])


def reap(children):
    return all(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0 for child in children)


def nagle(link, no_delay, seed):
    """
    The second small part leaves when the first one is acknowledged, and that comes with what
    another thread of the server sends some ms later. Returns the reader's and the client's pid,
    and when each wait for the second part began and ended.
    """
    draw = random.Random(seed)
    listener, (got, tell), (times, note_time) = link.listen(), os.pipe(), os.pipe()
    delays = [draw.randrange(12, 25) / 1000 for _ in range(LAPS)]

    def client():
        with socket.create_connection(listener.getsockname()) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, no_delay)
            for _ in range(LAPS):
                connection.send(bytes(100))
                connection.send(bytes(100))
                receive(connection, 2)
                time.sleep(0.003)

    def read(connection):
        for _ in range(LAPS):
            receive(connection, 100)
            os.write(tell, b"x")
            begun = time.monotonic_ns()
            receive(connection, 100)
            os.write(note_time, struct.pack("QQ", begun, time.monotonic_ns()))
            connection.send(b"r")

    def acknowledge(connection):
        for delay in delays:
            os.read(got, 1)
            time.sleep(delay)
            connection.send(b"a")

    asks = link.child("nagle-client", True, client)
    connection, _ = listener.accept()
    reads = link.child("nagle-reader", False, read, connection)
    acknowledges = link.child("nagle-acker", False, acknowledge, connection)
    connection.close()
    done = reap([asks, reads, acknowledges])
    laps = [struct.unpack("QQ", os.read(times, 16)) for _ in range(LAPS if done else 0)]
    return reads, asks, laps


def asleep(waits, at):
    return any(w["start"] < at and (w["end"] is None or at <= w["end"]) for w in waits)


def waits_of(path, tid, call):
    return [w for w in answer("waits", path, "--tid", tid)["waits"] if w["call"] == call]


def check_nagle(path, link, reader, client, laps):
    """Nagle's rule is told in the laps that were held up by it, and nowhere else."""
    waits, others = waits_of(path, reader, "recvfrom"), waits_of(path, client, "recvfrom")
    late = [(begun, ended) for begun, ended in laps if LESS <= ended - begun]
    told = [w for w in waits if w.get("held_back")]
    outside = [w for w in told if not any(b <= w["end"] <= e for b, e in laps)]
    wrong = [w for w in told if w["held_back"] != "nagle" and w["end"] - w["start"] < LEAST]
    missed, explained, shown = [], 0, None
    for begun, ended in late:
        long = [
            w for w in waits if begun <= w["start"] and w["end"] <= ended and w["end"] -
            w["start"] >= LESS and not w["blind"]
        ]
        missed += [w for w in long if w not in told]
        why = answer("why", path, "--tid", reader, "--from", begun, "--to", ended)["segments"]
        held = sum(s["ns"] for s in why if s.get("held_back") in ("nagle", "delayed-ack"))
        expected = sum(w["end"] - w["start"] for w in long if asleep(others, w["end"]))
        if held > 0 and held >= 0.8 * expected - 2_000_000:
            explained, shown = explained + 1, (begun, ended)
    note(f"{link.name}: {len(late)} laps held up by Nagle's rule, {len(told)} waits told, "
         f"{explained} explained by why")
    ok(
        len(late) >= LAPS // 2 and not missed and not wrong and not outside,
        f"{link.name}: waits for what Nagle's rule held back are told so, and no others",
        (missed or wrong or outside)[:1] or f"{len(late)} of {LAPS} laps were held up")
    ok(explained >= 0.7 * len(late), f"{link.name}: why says that Nagle's rule held the data back",
       f"{explained} of {len(late)}")
    text = run(CLEW, "why", path, "--tid", reader, "--from", shown[0], "--to", shown[1],
               "--all").stdout if shown else ""
    ok("held back by TCP until" in " ".join(text.split()), f"{link.name}: and text does", text)


def window(link):
    """
    A client has written all at once, far more than the reader, which is slow, has room for.
    Somebody else waits for what comes next. After that the client is slow and the reader is not.
    Returns the watcher's pid, and when the first part was over.
    """
    total, listener, (times, note_time) = 150_000, link.listen(room=8192), os.pipe()

    def client():
        with socket.create_connection(listener.getsockname()) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
            connection.sendall(bytes(total))
            receive(connection, 1)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for _ in range(LAPS):
                time.sleep(0.012)
                connection.send(bytes(1000))
            receive(connection, 1)

    def read(connection):
        left = total
        while left > 0:
            time.sleep(0.012)
            left -= len(connection.recv(1 << 20))
        os.write(note_time, struct.pack("Q", time.monotonic_ns()))
        connection.send(b"r")
        receive(connection, LAPS * 1000)
        connection.send(b"r")

    def watch(connection):
        poller = select.epoll()
        poller.register(connection, select.EPOLLIN | select.EPOLLET)
        while True:
            poller.poll()

    sends = link.child("window-client", True, client)
    connection, _ = listener.accept()
    watches = link.child("window-watcher", False, watch, connection)
    reads = link.child("window-reader", False, read, connection)
    connection.close()
    reap([sends, reads])
    os.kill(watches, signal.SIGKILL)
    os.waitpid(watches, 0)
    return watches, struct.unpack("Q", os.read(times, 8))[0]


def check_window(path, link, watcher, over):
    """Data that the full window held back is told, and nothing once the client is slow."""
    waits = [w for w in waits_of(path, watcher, "epoll_wait") if w["end"] is not None]
    full = [
        w for w in waits if w["end"] < over and w["end"] - w["start"] >= LESS and not w["blind"]
    ]
    # The first one may have ended before there was no room left.
    untold = [w for w in full[1:] if w.get("held_back") != "window"]
    later = [w for w in waits if w["start"] > over and w.get("held_back")]
    note(f"{link.name}: {len(full) - len(untold)} of {len(full)} waits are told as for the window")
    ok(
        len(full) >= 6 and len(untold) <= 0.2 * len(full) and not later,
        f"{link.name}: waits for what had no room are told so, and none of a slow sender's data",
        (later or untold)[:1] or len(full))
    if not full:
        return
    begin, end = full[0]["end"], full[-1]["end"]
    segments = answer("why", path, "--tid", watcher, "--from", begin, "--to", end)["segments"]
    held = sum(s["ns"] for s in segments if s.get("held_back") == "window")
    lost = sum(s["ns"] for s in segments if s["kind"] == "unknown")
    ok(held >= 0.6 * sum(w["end"] - w["start"] for w in full[1:]) and lost <= 0.2 * (end - begin),
       f"{link.name}: why says that there was no room", (held, lost, end - begin))
    text = run(CLEW, "why", path, "--tid", watcher, "--from", begin, "--to", end).stdout
    ok("held back by TCP until the receiver had room for it" in " ".join(text.split()),
       f"{link.name}: and text does", text)


def blocked(link):
    """A sender that sleeps until a slow reader has made room."""
    each, listener, (times, note_time) = 400_000, link.listen(room=8192), os.pipe()

    def client():
        with socket.create_connection(listener.getsockname()) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16384)
            begun = time.monotonic_ns()
            for _ in range(LAPS):
                connection.sendall(bytes(each))
                receive(connection, 1)
            os.write(note_time, struct.pack("QQ", begun, time.monotonic_ns()))

    def read(connection):
        for _ in range(LAPS):
            time.sleep(0.03)
            receive(connection, each)
            connection.send(b"r")

    sends = link.child("blocked-client", True, client)
    connection, _ = listener.accept()
    reads = link.child("blocked-reader", False, read, connection)
    connection.close()
    reap([sends, reads])
    return sends, reads, struct.unpack("QQ", os.read(times, 16))


def check_blocked(path, link, client, reader, times):
    """A wait for room is for the reader, or until that acknowledges."""
    waits = [
        w for w in waits_of(path, client, "sendto") if w["end"] is not None and w["end"] -
        w["start"] >= LESS and not w["blind"] and not w["retried"]
    ]
    wrong = [
        w for w in waits
        if ((w["ended_by"] or {}).get("tid"), w.get("held_back")) != (reader, None) and (
            w.get("held_back") != "delayed-ack" or w["end"] - w["start"] < LEAST)
    ]
    ok(
        len(waits) >= LAPS // 2 and not wrong,
        f"{link.name}: who has no room to send waits for the reader", wrong[:1] or len(waits))
    segments = answer("why", path, "--tid", client, "--from", times[0], "--to",
                      times[1])["segments"]
    slept = sum(s["ns"] for s in segments if s["tid"] == reader and s["kind"] == "sleep")
    ok(slept >= LAPS * 20_000_000, f"{link.name}: and why says what that one did", slept)


def check_link(link, seed):
    path = scratch(f"held-{link.name}-{seed}.clew")
    recording = start_recording(path)
    held = nagle(link, False, seed)
    eager = nagle(link, True, seed)
    no_room = window(link)
    slow = blocked(link)
    stop_recording(recording)
    check_nagle(path, link, *held)
    told = [w for w in waits_of(path, eager[0], "recvfrom") if w.get("held_back")]
    ok(not told, f"{link.name}: nothing is told as held back with TCP_NODELAY", told[:1])
    check_window(path, link, *no_room)
    check_blocked(path, link, *slow)


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
        check_link(Link(None), seed)
    with Place(("net", )) as place:
        if "net" in place.lacks:
            skip("what is held back between two namespaces", place.lacks["net"])
        else:
            check_link(Link(place), 0)
    finish()


if __name__ == "__main__":
    main()
