#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Pollers that share one epoll instance, and writers that act at the same time, each on an object
of its own: an eventfd, a pipe or a Unix socket. Every edge from a writer to a poller is told
with the writer's own object, though another writer's may have become ready after it, and though
the poller may have slept in another call just before.
"""

import collections
import os
import random
import re
import select
import signal
import socket
import time

from _live import answer, finish, note, ok, scratch, start_recording, stop_recording, wanted_runs

SECONDS = 1.5
# The events' flags, and for how many seconds a poller sleeps after each poll.
WAYS = {
    "": (0, 0), "edge-triggered": (select.EPOLLET, 0), "one-shot": (select.EPOLLONESHOT, 0),
    "a sleep after each poll": (0, 0.00001)
}


def make_object(kind):
    """The end that is polled, the end that is written to, and the object's number."""
    if kind == "eventfd":
        end = os.eventfd(0, os.EFD_NONBLOCK)
        with open(f"/proc/self/fdinfo/{end}", encoding="ascii") as file:
            found = re.search(r"eventfd-id:\s*(\d+)", file.read())
        return end, end, int(found[1]) if found else None
    if kind == "pipe":
        read, write = os.pipe2(os.O_NONBLOCK)
        return read, write, os.fstat(read).st_ino
    ends = [end.detach() for end in socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)]
    for end in ends:
        os.set_blocking(end, False)
    return ends[0], ends[1], os.fstat(ends[0]).st_ino


def write(end, seed):
    """Writes at once after a short time, and now and then after a longer one."""
    draw = random.Random(seed)
    while True:
        try:
            os.write(end, (1).to_bytes(8, "little"))
        except BlockingIOError:
            pass
        until = time.monotonic_ns() + draw.randrange(40000)
        while time.monotonic_ns() < until:
            pass
        if draw.randrange(4) == 0:
            time.sleep(0.00005)


def poll(poller, ends, way, pause):
    while True:
        for end, _ in poller.poll():
            try:
                os.read(end, 8)
            except BlockingIOError:
                pass
            if way & select.EPOLLONESHOT:
                poller.modify(end, select.EPOLLIN | way)
        if pause:
            time.sleep(pause)


def process(function, *arguments):
    child = os.fork()
    if not child:
        function(*arguments)
        os._exit(0)
    return child


def race(way, pause, seed):
    """Returns the writers' objects {pid: (kind, number)} and the pollers' pids."""
    poller = select.epoll()
    objects = [(kind, make_object(kind)) for kind in ("eventfd", "pipe", "socket") * 2]
    for _, (end, _, _) in objects:
        poller.register(end, select.EPOLLIN | way)
    pollers = [process(poll, poller, objects, way, pause) for _ in range(3)]
    writers = {
        process(write, end, seed * 100 + i): (kind, number)
        for i, (kind, (_, end, number)) in enumerate(objects)
    }
    time.sleep(SECONDS)
    for child in (*writers, *pollers):
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    poller.close()
    for _, (end, other, _) in objects:
        for fd in {end, other}:
            os.close(fd)
    return writers, pollers


def check(edges, what, writers, pollers):
    found, wrong = collections.Counter(), []
    for edge in edges:
        source, target = edge["from"][0]["tid"], edge["to"][0]["tid"]
        if source not in writers or target not in pollers:
            continue
        kind, number = writers[source]
        thing = edge["object"] or {}
        # A writer holds the pipe's lock in the kernel, and a reader may wait for that lock.
        if edge["type"] == "unlock" and thing.get("kind") == "lock":
            continue
        found[kind] += 1
        if (edge["type"], thing.get("kind"), thing.get("ino")) != (kind, kind, number):
            wrong.append((kind, number, edge["type"], edge["evidence"], thing))
    note(f"{what or 'level-triggered'}: {dict(found)}, {len(wrong)} wrong")
    ok(
        len(found) == 3 and min(found.values()) >= 50 and not wrong,
        f"writers to a shared epoll instance, {what or 'level-triggered'}: each edge has the writer's object",
        wrong[:2] or found)


def main():
    for seed in range(wanted_runs(2)):
        path = scratch(f"pollers-{seed}.clew")
        recording = start_recording(path)
        races = {what: race(way, pause, seed) for what, (way, pause) in WAYS.items()}
        stop_recording(recording)
        edges = answer("edges", path)["edges"]
        for what, (writers, pollers) in races.items():
            check(edges, what, writers, pollers)
    finish()


if __name__ == "__main__":
    main()
