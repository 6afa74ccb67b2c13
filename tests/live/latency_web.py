#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# alone: it compares times with the client's own clock
"""
Percentiles of the calls with which Debian's nginx answers requests, against what the client saw. It
logs each of its requests itself; nginx is fetched as a package, and is not installed.
"""

import glob
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

from _live import CLEW, PATIENCE, feature, finish, note, ok, run, scratch, skip_all

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PACKAGE = os.path.join(ROOT, "build", "nginx")
PROGRAM = os.path.join(PACKAGE, "usr/sbin/nginx")
HANDLER = "ngx_http_core_run_phases"
REQUESTS = 300
LINES = 200000  # of the page: compressing it takes some ms
PERCENTILES = {"p50_ns": .5, "p90_ns": .9, "p99_ns": .99, "max_ns": 1}
# The client's own code, the way through the loopback, and what nginx does around the handler.
AROUND = 1_500_000  # ns, on an idle machine
# Both go before all others, each on a CPU of its own if there are two: else the client may have
# read an answer and be gone while the handler that sent it waits for a CPU.
FAVOURED = ["nice", "-n", "-20"]
CONFIGURATION = """
daemon off;
user root;
worker_processes 1;
pid {0}/pid;
events {{}}
http {{
  access_log off;
  gzip on;
  keepalive_requests 100000;
  client_body_temp_path {0}; proxy_temp_path {0}; fastcgi_temp_path {0};
  uwsgi_temp_path {0}; scgi_temp_path {0};
  server {{ listen 127.0.0.1:{1}; root {0}; }}
}}
"""


def fetch():
    """Why there is no nginx; "" if there is one."""
    if os.path.exists(PROGRAM):
        return ""
    folder = scratch("package")
    os.makedirs(folder)
    done = subprocess.run(["apt-get", "-q", "download", "nginx"],
                          cwd=folder,
                          capture_output=True,
                          text=True,
                          timeout=PATIENCE,
                          check=False)
    found = glob.glob(os.path.join(folder, "nginx_*.deb"))
    if not found:
        return f"the package nginx cannot be fetched: {done.stderr.strip()[-200:]}"
    run("dpkg", "-x", found[0], PACKAGE)
    return "" if run(PROGRAM, "-V").returncode == 0 else "the package's nginx does not run here"


def on_cpu(which):
    """A program and its arguments behind that run so."""
    cpus = sorted(os.sched_getaffinity(0))
    return ["taskset", "-c", str(cpus[which]), *FAVOURED]


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


def client(port):
    """In a process of its own: one request after the other; prints the ns that each took."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    took = []
    for _ in range(REQUESTS):
        start = time.perf_counter_ns()
        connection.request("GET", "/page.html", headers={"Accept-Encoding": "gzip"})
        connection.getresponse().read()
        took.append(time.perf_counter_ns() - start)
    print(json.dumps(took))


def start_server(folder, port):
    os.makedirs(folder)
    configuration = os.path.join(folder, "nginx.conf")
    with open(configuration, "w", encoding="ascii") as file:
        file.write(CONFIGURATION.format(folder, port))
    with open(os.path.join(folder, "page.html"), "w", encoding="ascii") as file:
        file.writelines(f"{number}\n" for number in range(LINES))
    words = [PROGRAM, "-e", os.path.join(folder, "error.log"), "-c", configuration]
    server = subprocess.Popen(on_cpu(-1) + words)
    for _ in range(PATIENCE * 10):
        if os.path.exists(os.path.join(folder, "pid")):
            break
        time.sleep(.1)
    return server


def at_share(values, share):
    values = sorted(values)
    return values[max(-(-int(share * 10000) * len(values) // 10000), 1) - 1]


def check(took, found):
    group = next((g for g in found["groups"] if g["path"] == [HANDLER]), None)
    if not ok(group and found["ledger"]["complete"], "the handler's calls are there",
              [g["path"] for g in found["groups"]]):
        return
    ok(group["count"] == REQUESTS, "each request was handled once", group["count"])
    pairs = {name: (group[name], at_share(took, share)) for name, share in PERCENTILES.items()}
    note(", ".join(f"{name} {ours / 1e6:.2f} of {theirs / 1e6:.2f} ms"
                   for name, (ours, theirs) in pairs.items()))
    # A percentile is too large by less than one part in a thousand.
    wrong = {name: pair for name, pair in pairs.items() if pair[0] > pair[1] * 1.001}
    ok(not wrong, "none of its percentiles is above what the client saw", wrong)
    ok(group["total_ns"] <= sum(took), "nor is their sum", (group["total_ns"], sum(took)))
    ok(pairs["p50_ns"][1] - pairs["p50_ns"][0] < max(AROUND, .2 * pairs["p50_ns"][1]),
       "half of the requests took no longer than that and the way", pairs["p50_ns"])
    ok(sum(group["split"].values()) == group["total_ns"], "their time divides exactly",
       group["split"])


def main():
    available, reason = feature("functions")
    if not available:
        skip_all(reason)
    lacks = fetch()
    if lacks:
        skip_all(lacks)
    folder, output = scratch("web"), scratch("web.json")
    port = free_port()
    server = start_server(folder, port)
    try:
        done = run(CLEW, "latency", "--json", "-o", output, "-f", f"{PROGRAM}:{HANDLER}", "--",
                   *on_cpu(0), sys.executable, os.path.abspath(__file__), "client", port)
        if ok(done.returncode == 0, "the requests are recorded", done.stderr[-300:]):
            with open(output, encoding="utf-8") as file:
                check(json.loads(done.stdout), json.load(file))
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()
        shutil.rmtree(folder)
    finish()


if sys.argv[1:2] == ["client"]:
    client(int(sys.argv[2]))
else:
    main()
