# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
The daemon for long, under PostgreSQL, fio and a build: its memory each minute, a snapshot a minute
that is explained, and the load's throughput with it and without it.
"""
import json
import os
import re
import signal
import statistics
import subprocess
import time

from _load import Load, look
from _postgres import Cluster, programs

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TURN = 20  # seconds of a measurement of throughput
PAIRS = 4


class Daemon:

    def __init__(self, clew, directory, *lines):
        self.clew, self.directory = clew, directory
        self.environment = dict(os.environ, CLEW_RUN_DIRECTORY=os.path.join(directory, "run"))
        self.configuration = os.path.join(directory, "clew.conf")
        with open(self.configuration, "w", encoding="ascii") as file:
            file.write(f"ring {directory}/ring\nincidents {directory}/incidents\nrotate 5s\n")
            file.write("\n".join(lines or ("keep 60s,512M",
                                           "trigger slow-sync: wait fsync > 100ms")) + "\n")
        self.process = None

    def start(self):
        self.process = subprocess.Popen(
            [self.clew, "daemon", "-c", self.configuration, "--foreground"],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        until = time.monotonic() + 60
        while time.monotonic() < until and not self.ask("daemon", "status", "--json"):
            time.sleep(.2)

    def stop(self):
        """Its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def ask(self, *arguments):
        """What a command answers; None: it failed."""
        done = subprocess.run([self.clew, *arguments],
                              env=self.environment,
                              stdin=subprocess.DEVNULL,
                              capture_output=True,
                              text=True,
                              check=False)
        return done.stdout if done.returncode == 0 else None

    def explain_snapshot(self):
        """How many waits of the last seconds a snapshot explains; None: it could not be opened."""
        path = os.path.join(self.directory, "snapshot.clew")
        if self.ask("snapshot", "--last", "10s", "-o", path) is None:
            return None
        told = self.ask("waits", path, "--json")
        return len(json.loads(told)["waits"]) if told else None


def loads(directory):
    data = os.path.join(directory, "fio.data")
    return [
        Load([
            "fio", "--name=soak", "--filename=" + data, "--size=64M", "--rw=randwrite", "--bs=4k",
            "--rate=2M", "--fsync=32", "--time_based", "--runtime=60", "--minimal"
        ], 0),
        Load([
            "make", "-s", "-C", ROOT, "B=" + os.path.join(directory, "build"),
            "PROGRAM=" + os.path.join(directory, "clew"), "program"
        ], 1),
    ]


def watch(daemon, minutes, tap):
    """A look and a snapshot each minute."""
    seen, waits = [], []
    end = time.monotonic() + minutes * 60
    step = min(60, minutes * 60 / 8)
    while time.monotonic() < end and daemon.process.poll() is None:
        time.sleep(min(step, max(0.0, end - time.monotonic())))
        waits.append(daemon.explain_snapshot())
        seen.append(look(daemon.process.pid)[0])
        print(f"# {seen[-1]} kB, {waits[-1]} waits in the snapshot", flush=True)
    tap.check(daemon.process.poll() is None, "daemon: it runs to the end", f"{minutes:g} minutes")
    tap.check(waits and None not in waits and 0 not in waits,
              "daemon: each snapshot opens, and has waits", str(waits))
    settled = seen[len(seen) // 4:]
    first, last = settled[:len(settled) // 2], settled[len(settled) // 2:]
    if first and last:
        tap.check(max(last) <= max(first) * 1.1 + (16 << 10), "daemon: memory stays flat",
                  f"{max(first)} kB at most, then {max(last)} kB")
    told = json.loads(daemon.ask("daemon", "status", "--json") or "{}")
    tap.check(told.get("lost") == 0, "daemon: nothing is lost",
              f"{told.get('lost')} of {told.get('records')} records")


def transactions(cluster, seconds):
    done = subprocess.run([
        f"{cluster.programs}/pgbench", "-h", cluster.place, "-n", "-c", "4", "-j", "2", "-T",
        str(seconds), "postgres"
    ],
                          capture_output=True,
                          text=True,
                          check=False,
                          **cluster.user)
    return float(re.search(r"tps = ([\d.]+)", done.stdout)[1])


def compare(daemon, cluster):
    """Throughput in turns, without the daemon and with it."""
    without, with_it = [], []
    for _ in range(PAIRS):
        without.append(transactions(cluster, TURN))
        daemon.start()
        with_it.append(transactions(cluster, TURN))
        daemon.stop()
    change = statistics.median(b / a for a, b in zip(without, with_it)) - 1
    print(f"# pgbench: {statistics.median(without):.0f} transactions a second without the daemon, "
          f"{statistics.median(with_it):.0f} with it: {100 * change:+.1f} % (median of {PAIRS} pairs)")


def run(clew, directory, minutes, tap):
    """Records and judges; `directory` is on a disk."""
    if not programs():
        print("# SKIP daemon: PostgreSQL is not installed")
        return
    daemon = Daemon(clew, directory)
    with Cluster(10) as cluster:
        beside = loads(directory)
        bench = cluster.bench(4, int(minutes * 60) + 60)
        for load in beside:
            load.start()
        daemon.start()
        watch(daemon, minutes, tap)
        status = daemon.stop()
        tap.check(status == 0, "daemon: it stops when asked", f"status {status}")
        for load in beside:
            load.stop()
        bench.terminate()
        bench.wait()
        compare(daemon, cluster)
