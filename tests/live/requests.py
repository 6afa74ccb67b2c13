#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Requests that messages show, held against the logs of both sides: each program has a server and
clients that write down when each question left and when its answer was there.

Most of these requests nobody waits for. The clients do not think, so that the next question of
one lies at the server before it has answered another one.

Usage: requests.py [CASE ..]
"""

import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time

from _accuracy import measured
from _live import CLEW, answer, feature, finish, note, ok, run, scratch, skip_all, start_asking
from _sockets import receive

QUESTION, ANSWER = 50, 3000  # bytes
NEAR = 0.02  # the longest request differs by less than that from what the client saw
SLOW_EACH, SLOW = 150, 0.02  # the server sleeps before each so-manieth answer, s
# name -> clients, requests of each, address family
CASES = {
    "loop": (32, 40, socket.AF_INET),
    "unix": (8, 80, socket.AF_UNIX),
    "busy": (7, 100, socket.AF_INET),
    "passed": (4, 60, socket.AF_INET),
    "pieces": (3, 60, socket.AF_INET),
    "pipeline": (2, 40, socket.AF_INET),
    "stream": (1, 60, socket.AF_INET),
}


def name(comm):
    with open("/proc/self/comm", "w", encoding="ascii") as file:
        file.write(comm)


def write_log(folder, side, log):
    with open(os.path.join(folder, f"{side}-{os.getpid()}"), "w", encoding="ascii") as file:
        json.dump(log, file)


def listener(family, place):
    if family == socket.AF_INET:
        return socket.create_server(("127.0.0.1", 0), backlog=100)
    made = socket.socket(family)
    made.bind(place)
    made.listen(100)
    return made


class Server:
    """What it has seen: when it took each question, and when it had answered."""

    def __init__(self, case, folder):
        self.case, self.folder, self.log = case, folder, []

    def serve(self, connection):
        """One question; False at the end."""
        pieces = self.case == "pieces"
        if not receive(connection, QUESTION):
            return False
        begun = time.monotonic_ns()
        if len(self.log) % SLOW_EACH == SLOW_EACH - 1:
            time.sleep(SLOW)
        while time.monotonic_ns() < begun + 50_000:
            pass
        for _ in range(3 if pieces else 1):
            connection.sendall(b"a" * (ANSWER // 3 if pieces else ANSWER))
        self.log.append((begun, time.monotonic_ns()))
        return True

    def loop(self, listening, clients):
        """All connections in one thread."""
        ready = selectors.DefaultSelector()
        ready.register(listening, selectors.EVENT_READ)
        while clients:
            for key, _ in ready.select():
                if key.fileobj is listening:
                    accepted = listening.accept()[0]
                    at_once(accepted)
                    ready.register(accepted, selectors.EVENT_READ)
                elif not self.serve(key.fileobj):
                    ready.unregister(key.fileobj)
                    key.fileobj.close()
                    clients -= 1

    def passed(self, listening, clients):
        """One process accepts, another one serves: the connection is passed on."""
        near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        if not os.fork():
            name("reqhands")
            for _ in range(clients):
                _, connections, _, _ = socket.recv_fds(far, 1, 1)
                served = threading.Thread(target=self.all_of, args=(connections[0], ))
                served.start()
                served.join()
            write_log(self.folder, "server", self.log)
            os._exit(0)
        for _ in range(clients):
            connection, _ = listening.accept()
            socket.send_fds(near, [b"c"], [connection.fileno()])
            connection.close()
        os.wait()

    def all_of(self, descriptor):
        with socket.socket(fileno=descriptor) as connection:
            while self.serve(connection):
                pass

    def pipeline(self, listening, clients):
        for _ in range(clients):
            with listening.accept()[0] as connection:
                while self.serve(connection):
                    pass

    def stream(self, listening, _):
        """One question, and what is sent now and then."""
        with listening.accept()[0] as connection:
            receive(connection, QUESTION)
            for _ in range(CASES["stream"][1]):
                connection.sendall(b"a" * 100)
                time.sleep(.005)

    def run(self, listening, clients):
        {
            "passed": self.passed,
            "pipeline": self.pipeline,
            "stream": self.stream
        }.get(self.case, self.loop)(listening, clients)
        write_log(self.folder, "server", self.log)


def ask(connection, case, count):
    log = []
    if case == "pipeline":
        for _ in range(3):
            connection.sendall(b"q" * QUESTION)
            time.sleep(.002)
    for number in range(count):
        begun = time.monotonic_ns()
        if case == "pieces":
            connection.sendall(b"q" * 10)
            connection.sendall(b"q" * (QUESTION - 10))
        elif case != "stream" or not number:
            connection.sendall(b"q" * QUESTION)
        receive(connection, 100 if case == "stream" else ANSWER)
        log.append((begun, time.monotonic_ns()))
    if case == "pipeline":
        receive(connection, 3 * ANSWER)
    return log


def at_once(connection):
    """Has small parts sent as they are written."""
    if connection.family == socket.AF_INET:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def client(case, address, family, folder):
    name("reqclient")
    count = CASES[case][1]
    with socket.socket(family) as connection:
        connection.connect(address)
        at_once(connection)
        log = ask(connection, case, count)
        connection.shutdown(socket.SHUT_WR)
        receive(connection, 1)
    write_log(folder, "client", log)


def program(case, folder):
    """The recorded command: a server and its clients, which write their logs to the folder."""
    clients, _, family = CASES[case]
    place = os.path.join(folder, "socket") if family == socket.AF_UNIX else None
    listening = listener(family, place)
    children = []
    for which in range(clients + 1):
        children.append(os.fork())
        if children[-1]:
            continue
        if which:
            client(case, listening.getsockname(), family, folder)
        else:
            name("reqserver")
            Server(case, folder).run(listening, clients)
        os._exit(0)
    for child in children:
        os.waitpid(child, 0)
    if place:
        os.unlink(place)


def record(case):
    """The capture, and what both sides have logged: lengths in ns."""
    capture, folder = scratch(f"requests-{case}.clew"), scratch(f"requests-{case}")
    os.mkdir(folder)
    done = run(CLEW, "record", "-o", capture, "--", sys.executable, os.path.abspath(__file__),
               "--program", case, folder)
    if not ok(done.returncode == 0, f"{case}: it is recorded", done.stderr[-300:]):
        return capture, {}
    logs = {"client": [], "server": []}
    for found in os.listdir(folder):
        if "-" in found:
            with open(os.path.join(folder, found), encoding="ascii") as file:
                logs[found.split("-")[0]] += [end - begin for begin, end in json.load(file)]
    return capture, logs


def requests(capture, kind, comm):
    """Lengths of operations of a kind, ns."""
    query = f"select ns from operations where kind = '{kind}' and comm = '{comm}'"
    return [row["ns"] for row in answer("sql", capture, query)["rows"]]


def check_sides(capture, case, logs):
    server = "reqhands" if case == "passed" else "reqserver"
    asked, served = requests(capture, "request", "reqclient"), requests(capture, "served", server)
    ok(len(asked) == len(logs["client"]), f"{case}: each request of the clients is there once",
       (len(asked), len(logs["client"])))
    ok(len(served) == len(logs["server"]), f"{case}: each request at the server is there once",
       (len(served), len(logs["server"])))
    for subject, found, true in (("operations requests", asked, logs["client"]),
                                 ("operations served", served, logs["server"])):
        measured(subject, len(true), abs(len(found) - len(true)), witness="logs of both sides")
    longest = max(logs["client"])
    ok(abs(max(asked, default=0) - longest) <= NEAR * longest,
       f"{case}: the longest one is as long as the client saw", (max(asked, default=0), longest))
    middle = sorted(asked)[len(asked) // 2], sorted(logs["client"])[len(asked) // 2]
    note(f"{case}: {len(asked)} requests, p50 {middle[0] / 1e6:.3f} of {middle[1] / 1e6:.3f} ms, "
         f"max {max(asked) / 1e6:.2f} of {longest / 1e6:.2f} ms")
    ok(max(served, default=0) >= .9 * max(logs["server"]),
       f"{case}: a served one is not shorter than the server's own work",
       (max(served, default=0), max(logs["server"])))


def check(case):
    capture, logs = record(case)
    if not logs:
        return
    if case == "pipeline":
        spans = requests(capture, "pipeline", "reqclient")
        single = requests(capture, "request", "reqclient")
        ok(spans and not single, "pipeline: no latency of a single request is shown",
           (len(spans), len(single)))
    elif case == "stream":
        asked = requests(capture, "request", "reqclient")
        ok(len(asked) <= 1, "stream: what is sent later is no request", len(asked))
        ok(all(length < 50_000_000 for length in asked), "stream: it is no long request", asked)
    else:
        check_sides(capture, case, logs)
        words = [f["messages"] for f in answer("why", capture, "--comm", "reqclient", "--slowest")
                 ["classes"] if f["kind"] == "request"]
        ok(words == [True], f"{case}: the answer says that these are all", words)


def check_asked():
    """A question that records shows all requests of the threads that it is about."""
    folder = scratch("requests-asked")
    os.mkdir(folder)
    asking = start_asking("latency", "--by", "operation", "--comm", "reqclient", "--json", "-d",
                          "30s", "--keep", scratch("requests-asked.clew"), stdout=subprocess.PIPE)
    run(sys.executable, os.path.abspath(__file__), "--program", "loop", folder)
    asking.send_signal(signal.SIGINT)
    said, _ = asking.communicate(timeout=60)
    counts = [group["count"] for group in json.loads(said or "{}").get("groups", [])]
    clients, each, _ = CASES["loop"]
    ok(clients * each in counts,
       "asked: latency --by operation of chosen threads has each of their requests", counts)


def main():
    available, reason = feature("messages")
    if not available:
        skip_all(reason)
    for case in sys.argv[1:] or [*CASES, "asked"]:
        if case == "asked":
            check_asked()
        else:
            check(case)
    finish()


if sys.argv[1:2] == ["--program"]:
    program(sys.argv[2], sys.argv[3])
else:
    main()
