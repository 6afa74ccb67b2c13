#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# alone: it compares times of two recordings
"""
`clew compare` on a server that asks its backend once for each request, and later three times: that
is found first, and as long as the client measured it. The same program again is not found to ask
more often. Prints TAP.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import _live  # noqa: E402  pylint: disable=wrong-import-position

# A client, a server and its backend, each a process with a connection to the next one. The backend
# takes 2 ms for an answer. The client prints the mean time of a request. It thinks between two: the
# server would not wait for a question that is there already, and two of them would be one operation.
SERVICE = """
import ctypes, os, socket, sys, time
requests, queries = int(sys.argv[1]), int(sys.argv[2])
libc = ctypes.CDLL(None)
def become(name):
    libc.prctl(15, name.encode(), 0, 0, 0)
def listen():
    it = socket.socket()
    it.bind(("127.0.0.1", 0))
    it.listen()
    return it
def connect(address):
    it = socket.create_connection(address)
    it.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return it
front, back = listen(), listen()
if os.fork() == 0:
    become("backend")
    connection = back.accept()[0]
    while connection.recv(1):
        time.sleep(.002)
        connection.send(b"b")
    os._exit(0)
if os.fork() == 0:
    become("server")
    backend = connect(back.getsockname())
    connection = front.accept()[0]
    while connection.recv(1):
        for _ in range(queries):
            backend.send(b"q")
            backend.recv(1)
        connection.send(b"a")
    os._exit(0)
become("client")
server = connect(front.getsockname())
taken = 0
for _ in range(requests):
    begun = time.monotonic_ns()
    server.send(b"r")
    server.recv(1)
    taken += time.monotonic_ns() - begun
    time.sleep(.0005)
print(taken // requests)
server.close()
os.wait()
os.wait()
"""
REQUESTS = 700


def record(name, queries):
    """A recording, and the mean time of a request."""
    capture = _live.scratch(name + ".clew")
    done = _live.clew("record", "-o", capture, "--", sys.executable, "-c", SERVICE, REQUESTS,
                      queries)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return capture, int(done.stdout.split()[0])


def server_of(answer):
    """The server's requests."""
    return next(
        (it for it in answer["classes"] if it["kind"] == "served" and it["program"] == "server"),
        None)


def main():
    if _live.GUEST:
        _live.skip_all("an emulated machine is too slow to keep times by")
    (one, short), (again, _), (three, long) = (record("one", 1), record("again",
                                                                        1), record("three", 3))
    _live.note("a request takes %d us, and %d us with three questions" %
               (short // 1000, long // 1000))
    it = server_of(_live.answer("compare", one, three, "--comm", "server"))
    _live.ok(it and it["verdict"] == "differs", "the server's requests differ", repr(it)[:2000])
    if it:
        first = it["causes"][0]
        _live.ok(first["party"] == "backend" and first["changed"], "the first cause is the backend",
                 repr(first))
        often = first["after"]["times"] / first["before"]["times"]
        _live.ok(2.9 < often < 3.1, "it is asked three times as often", repr(first))
        truth = long - short
        _live.ok(
            abs(it["change_ns"] - truth) < truth / 10,
            "requests take longer by what the client measured",
            "%d ns instead of %d ns" % (it["change_ns"], truth))
        _live.ok(
            sum(cause["change_ns"] for cause in it["causes"]) == it["change_ns"],
            "the causes add up to the change",
            repr(it["causes"])[:2000])
        _live.ok(first["on_path"] is not None and first["on_path"] > 0.9, "it is on the path",
                 repr(first))
    it = server_of(_live.answer("compare", one, again, "--comm", "server"))
    backend = [
        cause for cause in it["causes"] if (cause["party"], cause["class"]) == ("backend", "net")
    ] if it else []
    often = backend[0]["after"]["times"] / backend[0]["before"]["times"] * it["before"][
        "count"] / it["after"]["count"] if backend else 0
    _live.ok(
        len(backend) == 1 and 0.9 < often < 1.1, "the same program again: it is asked as often",
        repr(it)[:2000])
    _live.finish()


if __name__ == "__main__":
    main()
