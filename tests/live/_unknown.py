#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
For `make accuracy`: real programs under load, how much of the time that they waited is unknown, and
what it cost to record them. A wait is unknown if clew does not say what it was for, or if its end is
joined to no task, request, timer or peer.

Usage: _unknown.py [--seconds N]
"""

import argparse
import os
import shutil
import subprocess
import time

from _accuracy import measured
from _live import CLEW, PATIENCE, ROOT, answer, finish, ok, run, scratch, skip, start_recording, stop_recording
from _postgres import Cluster, programs
from _programs import Redis, redis_program
from witness import descendants, joined_to

NODE = """
const http = require("http"), fs = require("fs"), zlib = require("zlib");
http.createServer((request, answer) => fs.readFile(process.argv[2], (error, text) =>
	zlib.gzip(text, (failed, packed) => answer.end(packed)))).listen(+process.argv[1]);
"""
NGINX = """
daemon off;
user root;
worker_processes 1;
pid {0}/pid;
events {{}}
http {{ access_log off; gzip on; server {{ listen 127.0.0.1:{1}; root {0}; }} }}
"""
PORT = 8091


def tree(roots, edges):
    """All that roots and what they forked are: tids."""
    found, children = set(roots), {}
    for edge in edges:
        if edge["type"] in ("fork", "vfork"):
            for origin in edge["from"]:
                children.setdefault(origin["tid"], []).extend(to["tid"] for to in edge["to"])
    left = list(roots)
    while left:
        for tid in children.get(left.pop(), ()):
            if tid not in found:
                found.add(tid)
                left.append(tid)
    return found


def tids_of(pids):
    return {int(tid) for pid in pids if os.path.isdir(f"/proc/{pid}/task")
            for tid in os.listdir(f"/proc/{pid}/task")}


def judge(name, path, roots):
    info, edges = answer("info", path), answer("edges", path)["edges"]
    wanted = tree(roots, edges)
    waits = [w for w in answer("waits", path)["waits"] if w["tid"] in wanted and w["end"]]
    ends = {(to["tid"], to["at"]) for edge in edges if edge["type"] != "wake" for to in edge["to"]}
    waited = sum(w["end"] - w["start"] for w in waits)
    unknown = sum(w["end"] - w["start"] for w in waits
                  if w["kind"] in ("unknown", "other") or joined_to(w, ends) is None)
    cost = info["cost"]["user_ns"] + info["cost"]["bpf_ns"]
    measured(f"program {name}", round(waited / 1e6), 0, round(unknown / 1e6, 1), unit="ms",
             witness="what clew says of itself", waits=len(waits),
             cost=round(cost / 1e6), recorded=round(info["duration_ns"] / 1e6))
    ok(waits, f"{name}: {len(waits)} waits, {waited / 1e9:.2f} s, {unknown / 1e6:.1f} ms unknown")


def observe(name, roots, load):
    path = scratch(name.replace(" ", "-") + ".clew")
    recording = start_recording(path)
    tids = tids_of(descendants(roots)) if roots else set()
    load(tids)
    status, said = stop_recording(recording)
    if ok(status == 0, f"{name}: recorded", said):
        judge(name, path, tids)


def postgres(seconds):
    with Cluster(5) as cluster:
        observe("PostgreSQL under pgbench", cluster.server.pid,
                lambda tids: cluster.bench(6, seconds).wait())


def redis(seconds):
    with Redis(scratch()) as server:
        observe("Redis under redis-benchmark", server.pid, lambda tids: server.bench(seconds, 1000))


def wrk(seconds):
    run("wrk", "-t1", "-c4", f"-d{seconds}s", "-H", "Accept-Encoding: gzip",
        f"http://127.0.0.1:{PORT}/page.html", timeout=PATIENCE)


def serving(*command):
    """A server, once it answers."""
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while run("wrk", "-t1", "-c1", "-d1s", f"http://127.0.0.1:{PORT}/page.html").stdout.count(
            "Requests/sec:      0.00") and server.poll() is None:
        time.sleep(0.1)
    return server


def web(name, seconds, *command):
    server = serving(*command)
    try:
        observe(name, server.pid, lambda tids: wrk(seconds))
    finally:
        server.terminate()
        server.wait()


def nginx(seconds):
    place = scratch("web")
    with open(os.path.join(place, "nginx.conf"), "w", encoding="ascii") as file:
        file.write(NGINX.format(place, PORT))
    web("nginx under wrk", seconds, "nginx", "-c", os.path.join(place, "nginx.conf"), "-e",
        os.path.join(place, "error.log"))


def node(seconds):
    web("Node under wrk", seconds, "node", "-e", NODE, str(PORT), scratch("web", "page.html"))


def build(seconds):
    place = scratch("build")

    def load(tids):
        with subprocess.Popen(["make", "-s", "-j2", f"B={place}", f"{place}/libclew.a"], cwd=ROOT,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              start_new_session=True) as make:
            tids.add(make.pid)
            try:
                make.wait(2 * seconds)
            except subprocess.TimeoutExpired:
                os.killpg(make.pid, 15)

    observe("a build with gcc", None, load)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=5)
    seconds = parser.parse_args().seconds
    os.makedirs(scratch("web"))
    os.chmod(scratch(), 0o755)
    with open(scratch("web", "page.html"), "w", encoding="ascii") as file:
        file.write("\n".join(map(str, range(5000))))
    for load, needed in ((postgres, programs()), (redis, redis_program()),
                         (nginx, shutil.which("nginx") and shutil.which("wrk")),
                         (node, shutil.which("node") and shutil.which("wrk")),
                         (build, shutil.which("make"))):
        if needed:
            load(seconds)
        else:
            skip(load.__name__, "it is not installed")
    finish()


if __name__ == "__main__":
    assert os.path.exists(CLEW), "clew is not built"
    main()
