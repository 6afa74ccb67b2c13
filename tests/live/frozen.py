#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
A server whose control group is frozen inside its calls, by the freezer of version 1 or 2.

Its client waits for it, and it waits for the one who thaws the group: in a call that the freezer
interrupts (recv of TCP), and in one that is frozen as it is (recv of a Unix socket, a pipe). A
group that nobody freezes has no such wait.
"""

import ctypes
import json
import os
import socket
import sys
import time

from _live import answer, clew, finish, note, ok, run, scratch, skip, skip_all, start_recording, stop_recording

PR_SET_NAME = 15
FROZEN = 0.4  # s
ASKS = 30  # at most; each takes 5 ms where nobody is frozen

libc = ctypes.CDLL(None)


def name(text):
    libc.prctl(PR_SET_NAME, text.encode(), 0, 0, 0)


class Group:
    """A group of its own, of version 1 or 2; None if the machine has no such freezer."""

    PLACES = {1: ("/sys/fs/cgroup/freezer", "freezer.state", "FROZEN", "THAWED"),
              2: ("/sys/fs/cgroup", "cgroup.freeze", "1", "0")}

    def __init__(self, version):
        root, self.file, self.freeze, self.thaw = self.PLACES[version]
        if version == 2 and not os.path.exists(f"{root}/cgroup.controllers"):
            root = "/sys/fs/cgroup/unified"
        self.path = f"{root}/clew-frozen-{os.getpid()}"
        self.exists = os.path.exists(f"{root}/cgroup.procs") and (
            version == 1 or os.path.exists(f"{root}/cgroup.controllers"))
        if self.exists:
            os.makedirs(self.path, exist_ok=True)

    def write(self, file, text):
        with open(f"{self.path}/{file}", "w", encoding="ascii") as out:
            out.write(text)


def connect(kind):
    if kind == "unix":
        return socket.socketpair()
    listener = socket.create_server(("127.0.0.1", 0))
    near = socket.create_connection(listener.getsockname())
    return near, listener.accept()[0]


def play(version, kind):
    """Prints when the slow question began and ended, and who took part."""
    group = Group(int(version))
    near, far = connect(kind)
    server = os.fork()
    if not server:
        near.close()
        name("frozen-srv")
        group.write("cgroup.procs", str(os.getpid()))
        while far.recv(64):
            far.send(b"ok")
        os._exit(0)
    far.close()
    near.send(b"q")
    near.recv(9)
    thawer = os.fork()
    if not thawer:
        name("thawer")
        time.sleep(0.02)
        if kind != "free":
            group.write(group.file, group.freeze)
        time.sleep(FROZEN)
        group.write(group.file, group.thaw)
        os._exit(0)
    name("frozen-cli")
    worst = (0, 0)
    for _ in range(ASKS):
        begun = time.monotonic_ns()
        near.send(b"q")
        near.recv(9)
        over = time.monotonic_ns()
        if over - begun > worst[1] - worst[0]:
            worst = begun, over
        time.sleep(0.005)
    os.waitpid(thawer, 0)
    near.close()
    os.waitpid(server, 0)
    os.rmdir(group.path)
    print(json.dumps({"from": worst[0], "to": worst[1], "client": os.getpid(), "server": server,
                      "thawer": thawer}))


def check(capture, case, truth):
    whole = truth["to"] - truth["from"]
    segments = answer("why", capture, "--tid", truth["client"], "--from", truth["from"], "--to",
                      truth["to"])["segments"]
    by_thawer = sum(s["ns"] for s in segments if s.get("tid") == truth["thawer"])
    waits = answer("waits", capture, "--tid", truth["server"], "--idle")["waits"]
    frozen = [w for w in waits if w.get("frozen")]
    if case[1] == "free":
        ok(not frozen and not by_thawer, f"{case}: nobody was frozen", frozen[:1])
        return
    longest = max((w["end"] - w["start"] for w in frozen if w["end"]), default=0)
    ok(longest > 0.9 * FROZEN * 1e9 and
       all((w["ended_by"] or {}).get("tid") == truth["thawer"] for w in frozen),
       f"{case}: the server was frozen until the thawer thawed it",
       f"{longest / 1e6:.1f} ms, {frozen[:1]}")
    ok(by_thawer > 0.9 * whole, f"{case}: the client's time is the thawer's",
       f"{by_thawer / 1e6:.1f} of {whole / 1e6:.1f} ms")
    text = clew("why", capture, "--tid", truth["client"], "--from", truth["from"], "--to",
               truth["to"]).stdout
    ok(f"frozen until thawer-{truth['thawer']} thawed" in " ".join(text.split()),
       f"{case}: and said so", text[:600])
    note(f"{case}: {by_thawer / 1e6:.1f} of {whole / 1e6:.1f} ms")


def main():
    versions = [version for version in (1, 2) if Group(version).exists]
    for version in (1, 2):
        if version in versions:
            os.rmdir(Group(version).path)
        else:
            skip(f"version {version}", "the machine does not have its freezer mounted")
    if not versions:
        skip_all("there is no freezer")
    capture = scratch("frozen.clew")
    recording = start_recording(capture)
    truths = {}
    for version in versions:
        for kind in ("tcp", "unix", "free"):
            done = run(sys.executable, os.path.abspath(__file__), "--play", version, kind,
                       timeout=60)
            if ok(done.returncode == 0, f"{version}, {kind}: questions were asked", done.stderr):
                truths[version, kind] = json.loads(done.stdout)
    stop_recording(recording)
    for case, truth in truths.items():
        check(capture, case, truth)
    finish()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--play"]:
        play(*sys.argv[2:4])
    else:
        main()
