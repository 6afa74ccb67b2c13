#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Requests to a server in Go: each is the time of the goroutine that answers it, in whatever threads
that ran, and of the one that it waited for. What that one did is a span of the causal trace. clew top
counts goroutines that never end.
"""

import json
import os
import re
import select
import shutil
import socket
import subprocess
import time

from _live import CLEW, PATIENCE, ROOT, answer, finish, ok, run, scratch, skip_all, skip_unless_functions

HELD = 40  # ms: so long the mutex is held
QUICK = 30  # requests that wait for nobody
LEAKED = 7
# A go statement with arguments runs a function that the compiler makes.
HOLDER = r"main\.answer\.func\d"
SOURCE = os.path.join(ROOT, "tests", "live", "runtimes", "served.go")


class Client:

    def __init__(self, port):
        self.connection = socket.create_connection(("127.0.0.1", port))
        self.lines = self.connection.makefile("rw")

    def send(self, words):
        self.lines.write(words + "\n")
        self.lines.flush()

    def ask(self, words):
        begin = time.monotonic_ns()
        self.send(words)
        self.lines.readline()
        return begin, time.monotonic_ns()


def build():
    program = scratch("served")
    environment = dict(os.environ, GOCACHE=scratch("go"), GO111MODULE="off")
    done = run("go", "build", "-o", program, SOURCE, env=environment)
    if not ok(done.returncode == 0, "served is built", done.stderr[-300:]):
        finish()
    return program


def record(program):
    """Returns the capture, and when the request that had to wait was asked and answered."""
    path = scratch("served.clew")
    with subprocess.Popen([CLEW, "record", "--runtime", "go", "--no-stacks", "-o", path, "--", program, "0"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as recorder:
        port = int(recorder.stdout.readline())
        one, other = Client(port), Client(port)
        for _ in range(QUICK):
            one.ask("get")
        other.ask(f"hold {HELD}")
        slow = one.ask("get")
        one.send("quit")
        errors = recorder.communicate(timeout=PATIENCE)[1]
    ok(recorder.returncode == 0, "the server is recorded", errors[-300:])
    return path, slow


def requests(path, slow):
    """The slowest request is the one that waited, and it waited for who held the mutex."""
    found = answer("why", path, "--comm", "served", "--slowest")
    first = found["operations"][0]
    ok(found["class"]["kind"] == "served" and found["class"]["count"] == QUICK + 3,
       f"requests are the operations that hurt: {QUICK + 3} of them",
       f"{found['class']['text']}: {found['class']['count']}")
    ok(slow[0] <= first["from"] and first["to"] <= slow[1] + 128 and
       first["to"] - first["from"] > HELD * 900_000,
       "the slowest one is the one that had to wait", f"{first['from']}..{first['to']}, {slow}")
    held = sum(s["ns"] for s in first["segments"] if s.get("lock", {}).get("kind") == "mutex")
    ok(held > 0.9 * (first["to"] - first["from"]),
       "its goroutine waited for what the one did that held the mutex",
       f"{held} of {first['to'] - first['from']}")
    text = " ".join(run(CLEW, "why", path, "--comm", "served", "--slowest").stdout.split())
    ok(re.search(rf"was running, in go\.{HOLDER}, with go mutex 0x", text), "in words, too",
       text[:1500])
    report = answer("report", path, "--comm", "served")
    ok(report["operations"][0]["class"]["kind"] == "served", "a report begins with it",
       f"{report['operations'][0]['class']}")


def models(path):
    """What goroutines did is in the causal trace, below their threads."""
    spans = [s["path"] for s in answer("dump", path)["spans"]]
    computed = [s for s in spans if re.search(rf"/go\.{HOLDER}$", s)]
    ok(computed, "the goroutine that computed is a span of its thread")
    changed = answer("what-if", path, "scale spans(**/(go.main.answer)) by .5;")
    ok(changed["statements"][0]["times"] == len(computed), "what-if scales it",
       f"{changed['statements']}, {len(computed)}")
    notation = scratch("served.ctrace")
    run(CLEW, "convert", path, "-o", notation)
    same = [(tuple(map(json.dumps, (answer(*words, capture) for capture in (path, notation)))), words)
            for words in (("spans", "--list"), ("why", "--comm", "served", "--slowest", "3"),
                          ("why", "--slowest", "--class", "span"))]
    ok(not [words for pair, words in same if pair[0] != pair[1]],
       "a conversion has the same answers", f"{[words for pair, words in same if pair[0] != pair[1]]}")


def periods(top, seconds):
    """The objects that clew top prints, as long as that."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and select.select([top.stdout], [], [], until - time.monotonic())[0]:
        line = top.stdout.readline()
        if not line:
            return
        yield json.loads(line)


def leaks(program):
    """Goroutines that never end are counted in each period, by where they were submitted."""
    with subprocess.Popen([program, "0"], stdout=subprocess.PIPE, text=True) as server:
        client = Client(int(server.stdout.readline()))
        client.ask("get")
        with subprocess.Popen([CLEW, "top", "--runtime", "go", "--comm", "served", "--period", "500ms",
                               "--json"], stdout=subprocess.PIPE, text=True) as top:
            counts, submitted = [], None
            for period in periods(top, PATIENCE):
                if not submitted:
                    client.ask(f"leak {LEAKED}")
                    submitted = True
                counts.append([(s["count"], s["suspended"]) for s in period["spans"]
                               if s["name"] == "main.leak"])
                if len(counts) > 1 and counts[-1] and counts[-2]:
                    break
            top.terminate()
        client.send("quit")
        server.wait(PATIENCE)
    ok(counts[-2:] == [[(LEAKED, LEAKED)]] * 2,
       f"clew top counts {LEAKED} goroutines that never end, in later periods, too", f"{counts}")


def main():
    skip_unless_functions("--no-stacks")
    if not shutil.which("go"):
        skip_all("there is no go")
    program = build()
    path, slow = record(program)
    requests(path, slow)
    models(path)
    leaks(program)
    finish()


if __name__ == "__main__":
    main()
