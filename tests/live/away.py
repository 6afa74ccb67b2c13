#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
What one host says of another one beside its answers: attempts to connect that wait until TCP asks
again, queries for names, questions from before the recording, and what `clew top` shows of a
question that is older than its period. A network namespace is the other host.
"""

import json
import os
import socket
import struct
import subprocess
import sys
import time

from _live import PATIENCE, answer, clew, finish, ok, scratch, start_recording, stop_recording
from _sockets import receive
from hosts import PORT, Hosts

HERE, THERE = "10.77.0.1", "10.77.0.2"
NAME = "db.internal"
LATE = 0.3  # s, of the server of names


# ---- programs on either host ----


def be_named(name):
    with open("/proc/self/comm", "w", encoding="ascii") as file:
        file.write(name)


def tell(word):
    print(word, flush=True)


def serve_names():
    """Answers each query with one address, late."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind((THERE, 53))
        tell("ready")
        while True:
            query, client = server.recvfrom(512)
            time.sleep(LATE)
            kind = query[-4:-2]
            found = b"" if kind != b"\0\1" else b"\xc0\x0c" + struct.pack(
                ">HHIH", 1, 1, 60, 4) + socket.inet_aton(THERE)
            head = query[:2] + struct.pack(">HHHHH", 0x8180, 1, bool(found), 0, 0)
            server.sendto(head + query[12:] + found, client)


def look_up():
    be_named("looker")
    begun = time.monotonic_ns()
    found = socket.getaddrinfo(NAME, 80, socket.AF_INET, socket.SOCK_STREAM)
    tell(json.dumps([begun, time.monotonic_ns(), found[0][4][0]]))


def serve_full():
    """A listener whose accept queue is full, until it is told to accept."""
    with socket.create_server((THERE, PORT), backlog=0) as listening:
        with socket.create_connection((THERE, PORT)):
            tell("ready")
            sys.stdin.readline()
            listening.accept()
            tell("accepted")
            sys.stdin.readline()


def connect():
    be_named("connector")
    begun = time.monotonic_ns()
    with socket.create_connection((THERE, PORT)):
        tell(json.dumps([begun, time.monotonic_ns()]))


def serve_late():
    """Answers each question when it is told to."""
    with socket.create_server((THERE, PORT)) as listening:
        tell("ready")
        connection, _ = listening.accept()
        while receive(connection, 1):
            tell("asked")
            sys.stdin.readline()
            connection.sendall(b"a")


def ask_once():
    """
    Asks twice. The kernel has the times of the last bytes in its ticks: what was sent last can only
    be known where they differ.
    """
    be_named("asker")
    with socket.create_connection((THERE, PORT)) as connection:
        for _ in range(2):
            time.sleep(0.02)
            connection.sendall(b"q")
            receive(connection, 1)
    tell(time.monotonic_ns())


# ---- the tests ----


class Program:
    """A function of this file on a host."""

    def __init__(self, namespace, function):
        self.process = subprocess.Popen(
            ["ip", "netns", "exec", namespace, sys.executable, __file__, function.__name__],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def hears(self):
        return self.process.stdout.readline().strip()

    def says(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self):
        self.process.kill()
        self.process.communicate()


def waits_of(capture, comm):
    return [wait for wait in answer("waits", capture, "--comm", comm)["waits"] if wait.get("remote")]


def length(wait):
    return wait["end"] - wait["start"]


def text_of(capture, comm):
    return " ".join(clew("why", capture, "--comm", comm, "--all").stdout.split())


def check_names(hosts):
    """The resolver of the C library, as every program has it."""
    folder = f"/etc/netns/{hosts.here}"
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/resolv.conf", "w", encoding="ascii") as file:
        file.write(f"nameserver {THERE}\n")
    server = Program(hosts.there, serve_names)
    server.hears()
    capture = scratch("names.clew")
    recorder = start_recording(capture, "--outside", hosts.device)
    looker = Program(hosts.here, look_up)
    begun, ended, found = json.loads(looker.hears())
    looker.process.communicate()
    stop_recording(recorder)
    server.end()
    os.unlink(f"{folder}/resolv.conf")
    os.rmdir(folder)
    waits = waits_of(capture, "looker")
    long = [wait["remote"] for wait in waits if length(wait) > LATE * 1e9 / 2]
    ok(found == THERE and long and all(
        remote["query"] == NAME and remote["host"] == f"{THERE}:53" for remote in long),
       "a wait for a server of names has the name", (found, waits))
    took = sum(remote["answering_ns"] for remote in long)
    ok(long and LATE * 1e9 < took < ended - begun, "and how long that server took", (took, long))
    text = text_of(capture, "looker")
    ok(f"{THERE}:53 took " in text and f" to answer the query for {NAME}: not this machine" in text,
       "it is said in words", text[-1500:])


def check_connect(hosts):
    server = Program(hosts.there, serve_full)
    server.hears()
    capture = scratch("connect.clew")
    recorder = start_recording(capture, "--outside", hosts.device)
    client = Program(hosts.here, connect)
    again = 0
    deadline = time.monotonic() + PATIENCE
    while not again and time.monotonic() < deadline:
        time.sleep(0.02)
        shown = hosts.inside(hosts.here, "ss", "-tnoH", "state", "syn-sent").stdout
        again = "timer:(on" in shown
    server.says()
    server.hears()
    begun, ended = json.loads(client.hears())
    client.process.communicate()
    stop_recording(recorder)
    server.end()
    waits = [wait for wait in waits_of(capture, "connector") if wait["call"] == "connect"]
    ok(len(waits) == 1 and waits[0]["remote"]["host"] == f"{THERE}:{PORT}"
       and ended - begun - 50e6 < waits[0]["remote"]["answering_ns"] <= ended - begun,
       "a wait to connect to another host is that host's", (ended - begun, waits))
    ok(waits and waits[0]["remote"]["resent"] >= 1, "and says that TCP asked again", waits)
    text = text_of(capture, "connector")
    ok("did not answer, until TCP asked again" in text and "not this machine" in text,
       "it is said in words", text[-1500:])
    report = answer("report", capture, "--comm", "connector")
    spent = sum(program["spent_ns"]["host"] for program in report["programs"])
    ok(0.9 * (ended - begun) < spent <= ended - begun, "it is the time of another host",
       (ended - begun, spent))


def check_before(hosts):
    """The question left before the recording began."""
    server, client = Program(hosts.there, serve_late), None
    server.hears()
    client = Program(hosts.here, ask_once)
    server.hears()
    server.says()
    server.hears()
    asked = time.monotonic_ns()
    capture = scratch("before.clew")
    recorder = start_recording(capture, "--outside", hosts.device)
    begun = time.monotonic_ns()
    server.says()
    ended = int(client.hears())
    client.process.communicate()
    stop_recording(recorder)
    server.end()
    waits = waits_of(capture, "asker")
    ok(len(waits) == 1 and begun - asked < waits[0]["remote"]["answering_ns"] < ended - asked + 20e6
       and waits[0]["remote"]["round_trip_ns"] > 0,
       "a question from before the recording is known with its time", (ended - asked, waits))


def check_top(hosts):
    server = Program(hosts.there, serve_late)
    server.hears()
    client = Program(hosts.here, ask_once)
    server.hears()
    server.says()
    server.hears()
    done = clew("top", "--period", "500ms", "-n", "4", "--json", "--outside", hosts.device,
                "--comm", "asker")
    server.says()
    client.hears()
    client.process.communicate()
    server.end()
    periods = [json.loads(line) for line in done.stdout.splitlines()]
    texts = [wait["text"] or "" for period in periods for wait in period["now"]]
    ok(len(periods) == 4 and len(texts) == 4 and all(
        f"{THERE}:{PORT} has not answered for " in text and "not this machine" in text
        for text in texts), "clew top says which host has not answered", (done.stderr, texts))


def main():
    if len(sys.argv) > 1:
        globals()[sys.argv[1]]()
        return
    with Hosts() as hosts:
        check_names(hosts)
        check_connect(hosts)
        check_before(hosts)
        check_top(hosts)
    finish()


if __name__ == "__main__":
    main()
