#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
`clew fetch`: two recordings, each of which has one end of a connection, are fetched over ssh and
stitched; a host that is down is left out. The daemon has other hosts asked for each incident, and
counts how long they take to answer.
"""

import json
import os
import re
import sys
import time
import urllib.request

from _daemon import INCIDENTS, RUN, WAITERS, Daemon, await_incidents, configure, hold
from _live import CLEW, PATIENCE, answer, clew, feature, finish, ok, scratch, skip_all, start_recording, stop_recording
from _sshd import SSHD, Server, free_port
from hosts import LOCAL_PORT, PORT, Hosts

COUNT = 24  # questions
ELSEWHERE = "Asia/Tokyo"  # the time zone of one of the recordings


def ring(name):
    return scratch(f"ring-{name}")


def fetch(server, name, *arguments):
    """Fetches both rings, and what is of no host; returns the end and the folder."""
    folder = scratch(name)
    done = clew("fetch", "--ssh", server.ssh, "--remote", CLEW, "-o", folder, f"web:{ring('web')}",
                f"db:{ring('db')}", *arguments)
    return done, folder


def talk(hosts):
    """Questions of one host to the other, which are answered slowly."""
    with hosts.server(1) as logs:
        begun = time.time()
        for address, port, times in (("10.77.0.2", PORT, COUNT), ("10.77.0.1", LOCAL_PORT, 1)):
            hosts.inside(hosts.here, sys.executable, os.path.join(os.path.dirname(__file__),
                                                                  "hosts.py"),
                         "--ask", address, port, times, scratch("asked.json"))
        ended = time.time()
    with open(logs[0], encoding="ascii") as file:
        return json.load(file), begun, ended


def utc(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{seconds % 1:.6f}"[2:] + "Z"


def check_fetch(server, hosts):
    recorders = [
        start_recording(ring(name), "--rotate", "60s", "--outside", device,
                        env={**os.environ, "TZ": zone})
        for name, device, zone in (("web", hosts.device, "UTC"), ("db", hosts.other, ELSEWHERE))
    ]
    there, begun, ended = talk(hosts)
    done, folder = fetch(server, "one", "down", "--from", utc(begun), "--to", utc(ended))
    lines = done.stderr.splitlines()
    down = [line for line in lines if line.startswith("clew: down: ")]
    ok(done.returncode == 1 and len(down) == 1 and "refused" in down[0] and len(lines) == 3,
       "a host that is down is named in one line", (done.returncode, done.stderr))
    ok(sorted(os.listdir(folder)) == ["db.clew", "stitched.ctrace", "web.clew"]
       and "1 connection in common" in done.stdout, "the others' captures are stitched",
       (os.listdir(folder), done.stdout))
    ok(not any(os.stat(os.path.join(folder, name)).st_mode & 0o77
               for name in os.listdir(folder)) and not os.stat(folder).st_mode & 0o77,
       "nobody else may read them")
    crossed = [wait for wait in answer("waits", f"{folder}/stitched.ctrace")["waits"]
               if wait.get("remote") and wait["ended_by"]["pid"]]
    ok(len(there) == COUNT and len(crossed) >= 0.7 * COUNT,
       "waits of one host are ended by threads of the other", (len(there), len(crossed)))
    check_window(server, ended)
    for recorder in recorders:
        stop_recording(recorder)
    done, folder = fetch(server, "ended")
    ok(done.returncode == 3 and done.stderr.count("nobody records") == 2
       and not os.listdir(folder), "recordings that have ended are named, and nothing is left",
       (done.returncode, done.stderr, os.listdir(folder)))


def wall_of(capture):
    """When a capture begins and ends, s since 1970."""
    info = answer("info", capture)
    ahead = info["clocks"][0]["wall"] - info["clocks"][0]["monotonic"]
    return (info["start"] + ahead) / 1e9, (info["end"] + ahead) / 1e9


def check_window(server, ended):
    """
    Each host cuts the time by its own clock, in whatever zone it is. Segments end when one asks for
    them, as it was done since `ended`.
    """
    asked = time.time()
    done, folder = fetch(server, "late", "--from", utc(asked), "--to", "-0s")
    ok(done.returncode == 0, "a time that is given as a distance from now", done.stderr)
    for name in ("web", "db"):
        start, end = wall_of(f"{folder}/{name}.clew")
        ok(ended < start <= asked < end, f"{name}: begins with the segment of that time",
           (ended, start, asked, end))
    done, folder = fetch(server, "never", "--from", "2026-01-01T00:00:00Z", "--to",
                         "2026-01-01T00:00:01Z")
    ok(done.returncode == 3 and not os.listdir(folder) and done.stderr.count("\n") == 3,
       "of a time that nobody kept there is nothing", (done.returncode, done.stderr))
    done, _ = fetch(server, "never", "--from", "1.5s")
    ok(done.returncode == 2 and "'1.5s'" in done.stderr, "a time that hosts do not share is refused",
       done.stderr)


# Asks, and then waits until somebody opens a pipe.
PEERS = """#!/bin/sh
{clew} fetch --ssh '{ssh}' --remote {clew} "$@"
echo done
cat {pipe}
"""


def await_text(incident, words):
    """What peers.txt says, once it says that."""
    path, said, deadline = f"{INCIDENTS}/{incident}/peers.txt", "", time.monotonic() + PATIENCE
    while words not in said and time.monotonic() < deadline:
        time.sleep(0.02)
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                said = file.read()
    return said


def sums_of(address, peer):
    """How often that peer answered, and for how long in all, s, by the daemon's metrics."""
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=PATIENCE) as response:
        text = response.read().decode()
    return [float(re.search(rf'^clew_peer_answer_seconds_{what}{{peer="{peer}"}} (.*)$', text,
                            re.MULTILINE)[1]) if peer in text else 0 for what in ("count", "sum")]


def check_peers(hosts, address):
    """The other host's answers are in the daemon's metrics, and this host's are not."""
    there, _, _ = talk(hosts)
    slept = sum(ended - begun for begun, ended in there) / 1e9
    deadline, told = time.monotonic() + PATIENCE, [0, 0]
    while told[0] < COUNT and time.monotonic() < deadline:
        time.sleep(0.1)
        told = sums_of(address, f"10.77.0.2:{PORT}")
    ok(told[0] == COUNT and slept <= told[1] < 1.5 * slept + 0.01 * COUNT,
       "metrics have what another host took to answer", (told, slept))
    ok(sums_of(address, f"10.77.0.1:{LOCAL_PORT}")[0] == 0, "and not what this one did")


def check_daemon(server, hosts):
    """Its peer is the daemon's own host, by another name."""
    script, pipe, address = scratch("peers"), scratch("pipe"), f"127.0.0.1:{free_port()}"
    os.mkfifo(pipe)
    with open(script, "w", encoding="ascii") as file:
        file.write(PEERS.format(clew=CLEW, ssh=server.ssh, pipe=pipe))
    os.chmod(script, 0o755)
    configure("rotate 60s", "keep 120s", f"trigger held: lock wait > 150ms where comm {WAITERS}",
              f"outside {hosts.device}", f"metrics-address {address}",
              f"snapshot-peers {script} web:{RUN}/ring --from {{from}} --to {{to}} "
              "--with {incident}/capture.clew -o {incident}/peers")
    daemon = Daemon()
    check_peers(hosts, address)
    held = hold(0.2)
    late = time.time() - time.monotonic()
    first, = await_incidents(1, PATIENCE)
    said = await_text(first, "done")
    ok(sorted(os.listdir(f"{INCIDENTS}/{first}/peers")) == ["stitched.ctrace", "web.clew"],
       "the daemon has its peers asked for an incident", said)
    start, end = wall_of(f"{INCIDENTS}/{first}/peers/web.clew")
    ok(start < held.asleep / 1e9 + late < held.let_go / 1e9 + late < end,
       "for the time of the incident", (start, held, late, end))
    hold(0.2)
    second = await_incidents(2, PATIENCE)[-1]
    said = await_text(second, "not asked")
    ok("for the incident before" in said and not os.path.exists(f"{INCIDENTS}/{second}/peers"),
       "one after the other: meanwhile the next incident has none", said)
    with open(pipe, "w", encoding="ascii"):
        pass
    code, error = daemon.stop()
    ok(code == 0, "and the daemon stops", (code, error))


def main():
    if not SSHD:
        skip_all("there is no sshd")
    if not feature("messages")[0]:
        skip_all("the kernel does not show messages")
    with Server() as server:
        with Hosts() as hosts:
            check_fetch(server, hosts)
            check_daemon(server, hosts)
    finish()


if __name__ == "__main__":
    main()
