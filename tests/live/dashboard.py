#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Debian's prometheus scrapes a daemon that has had an incident: each expression of the dashboard has a
value, the alert for the incident fires, and the metrics of a pod have its names.
"""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request

from _daemon import WAITERS, Daemon, await_incidents, configure, hold
from _live import ROOT, finish, ok, run, scratch, skip, skip_all
from _place import Lacking, controller, write
from hosts import Hosts

sys.path.insert(0, os.path.join(ROOT, "tests"))
from prometheus import program  # noqa: E402  pylint: disable=wrong-import-position

PATIENCE = 60  # seconds, until prometheus has what it is asked for
ID = f"{os.getpid():064x}"
POD = f"7d8c6f2e-1f3a-4c1b-9d52-{os.getpid():012x}"
BUNDLE = f"/run/containerd/io.containerd.runtime.v2.task/k8s.io/{ID}"
SERVE = """
import socket, time
with socket.create_server(("10.77.0.2", 7001)) as listening:
    print(flush=True)
    connection = listening.accept()[0]
    while connection.recv(1):
        time.sleep(0.01)
        connection.sendall(b"a")
"""
ASK = """
import socket
with socket.create_connection(("10.77.0.2", 7001)) as connection:
    for _ in range(20):
        connection.sendall(b"q")
        connection.recv(1)
"""
CONFIG = """
global: {{scrape_interval: 500ms, scrape_timeout: 500ms, evaluation_interval: 500ms}}
rule_files: ['{rules}']
scrape_configs: [{{job_name: clew, static_configs: [{{targets: ['{target}']}}]}}]
"""


def free_address():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return "127.0.0.1:%d" % one.getsockname()[1]


@contextlib.contextmanager
def prometheus(target):
    """The address of one that scrapes `target`."""
    address, path = free_address(), scratch("prometheus.yml")
    rules = os.path.join(ROOT, "fleet", "alerts.yml")
    with open(path, "w", encoding="ascii") as file:
        file.write(CONFIG.format(rules=rules, target=target))
    with open(scratch("prometheus.log"), "w", encoding="utf-8") as said:
        process = subprocess.Popen([
            program("prometheus")[0], f"--config.file={path}", f"--web.listen-address={address}",
            f"--storage.tsdb.path={scratch('tsdb')}"
        ],
                                   stdout=said,
                                   stderr=said)
    try:
        yield address
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE)


def ask(address, path, **fields):
    url = f"http://{address}/api/v1/{path}?{urllib.parse.urlencode(fields)}"
    with urllib.request.urlopen(url, timeout=10) as answer:
        return json.load(answer)["data"]


def await_true(found):
    """What `found` returns as soon as that is true; else what it returned last."""
    deadline = time.monotonic() + PATIENCE
    while True:
        with contextlib.suppress(OSError):
            value = found()
            if value or time.monotonic() > deadline:
                return value
        if time.monotonic() > deadline:
            return None
        time.sleep(0.2)


def value_of(address, expression):
    return ask(address, "query", query=expression)["result"]


@contextlib.contextmanager
def pod():
    """A group of a pod's container with a CPU quota; None: it cannot be made."""
    try:
        root, unified = controller("cpu")
        group = os.path.join(root, "kubepods/burstable", f"pod{POD}", ID)
        os.makedirs(group)
        if unified:
            write(os.path.join(group, "cpu.max"), "10000 100000")
        else:
            write(os.path.join(group, "cpu.cfs_quota_us"), "10000")
    except (Lacking, OSError):
        yield None
        return
    os.makedirs(BUNDLE)
    with open(f"{BUNDLE}/config.json", "w", encoding="ascii") as file:
        json.dump(
            {
                "annotations": {
                    "io.kubernetes.cri.container-name": "app", "io.kubernetes.cri.sandbox-name":
                    "web-1", "io.kubernetes.cri.sandbox-namespace": "shop"
                }
            }, file)
    try:
        yield group
    finally:
        os.unlink(f"{BUNDLE}/config.json")
        with contextlib.suppress(OSError):
            os.removedirs(BUNDLE)
        with contextlib.suppress(OSError):
            os.removedirs(group)


def ask_other_host(hosts):
    with subprocess.Popen(["ip", "netns", "exec", hosts.there, sys.executable, "-c", SERVE],
                          stdout=subprocess.PIPE) as server:
        server.stdout.readline()
        hosts.inside(hosts.here, sys.executable, "-c", ASK)


def work(group, hosts):
    """Waits for a lock, a disk, a child, another host and, in the pod, for a CPU quota."""
    hold(0.3)
    ask_other_host(hosts)
    run("dd", "if=/dev/zero", f"of={scratch('written')}", "bs=64k", "count=8", "oflag=direct",
        "conv=fsync")
    if group:
        busy = "import time; end = time.monotonic() + 1\nwhile time.monotonic() < end: pass"
        run("sh", "-c", f"echo $$ >{group}/cgroup.procs; exec {sys.executable} -c '{busy}'")


def expressions():
    with open(os.path.join(ROOT, "fleet", "grafana.json"), encoding="utf-8") as file:
        dashboard = json.load(file)
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            yield panel["title"], target["expr"].replace("$__rate_interval",
                                                         "60s").replace("$instance", ".*")


def check(address, group, hosts):
    ok(bool(await_true(lambda: value_of(address, 'up{job="clew"} == 1'))), "the daemon is scraped")
    # Rules have their counters from the start, so that an increase is seen.
    await_true(lambda: value_of(address, 'clew_triggers_total{result="fired"}'))
    work(group, hosts)
    ok(len(await_incidents(1)) == 1, "there is an incident")
    fired = await_true(lambda: [
        alert for alert in ask(address, "alerts")["alerts"]
        if alert["labels"]["alertname"] == "ClewIncident" and alert["state"] == "firing"
    ])
    ok(fired and fired[0]["labels"]["name"] == "held", "the alert for the incident fires", fired)
    for title, expression in expressions():
        if "quota" in expression and not group:
            skip(f"panel '{title}'", "no group with a quota can be made")
            continue
        value = await_true(lambda: value_of(address, expression))
        ok(bool(value), f"panel '{title}' has a value", expression)
    if group:
        names = {"container": "app", "pod": "web-1", "namespace": "shop"}
        found = value_of(address, f'clew_quota_seconds_total{{cgroup=~".*{ID}"}}')
        labels = found[0]["metric"] if found else {}
        ok(
            len(found) == 1 and names.items() <= labels.items(), "a pod's metrics have its names",
            found)
        found = value_of(address, 'clew_blame_seconds_total{victim_pod="web-1",kind="throttle"}')
        ok(
            len(found) == 1 and found[0]["metric"].get("antagonist_container") == "app",
            "who is blamed and who waited, too", found)


def main():
    path, why = program("prometheus")
    if not path:
        skip_all(why)
    address = free_address()
    with Hosts() as hosts:
        configure("rotate 1s", "keep 20s", f"metrics-address {address}", f"outside {hosts.device}",
                  f"trigger held: lock wait > 150ms where comm {WAITERS}")
        daemon = Daemon()
        with pod() as group, prometheus(address) as asked:
            check(asked, group, hosts)
        status, error = daemon.stop()
    ok(status == 0, "the daemon ends", error)
    finish()


if __name__ == "__main__":
    main()
