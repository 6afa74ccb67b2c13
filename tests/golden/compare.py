#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
`clew compare` about captures whose differences are known: what takes longer and because of what,
what is noise, and what cannot be said. Prints TAP.
"""
import json
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from _capture import MAKE_CAPTURE  # noqa: E402  pylint: disable=wrong-import-position
from _trace import CLEW, Tap  # noqa: E402  pylint: disable=wrong-import-position

START = 1_000_000_000_000
MS = 1_000_000
FILE = "object_kind=file object=1234 device=8388609 descriptor=9 wait_flags=detail|iowait"
FUTEX = "object_kind=futex object=0x7f{:010x} futex_operation=0x80 argument=2 futex_class=mutex"


class Recording:
    """Operations of a server on one CPU, one after the other."""

    def __init__(self, seed, neighbour=False):
        self.random = random.Random(seed)
        self.lines = []
        self.at = START + MS
        self.neighbour = neighbour
        self.spent = {"run": 0, "disk": 0, "lock": 0, "ready": 0}
        self.operations = 0
        # The address of the lock is another one in each run.
        self.lock = FUTEX.format(self.random.randrange(1 << 40) & ~7)

    def draw(self, mean):
        """A time of which the spread is known: its deviation is a fifth of its mean."""
        return int(self.random.gammavariate(25, mean / 25)) + 1

    def run(self, mean):
        ns = self.draw(mean)
        self.at += ns
        self.spent["run"] += ns

    def wait(self, words, ns, waker=0, context="irq"):
        """Sleeps for ns, and runs at once."""
        self.lines.append(f"0 switch {self.at} flags=sleep|wait prev=2 next=0 prev_state=1 {words}")
        self.at += ns
        self.lines.append(f"0 switch {self.at} flags=next_slept prev=0 next=2 "
                          f"wake_time={self.at} waker={waker} wake_context=context_{context}")

    def idle(self, ns):
        self.wait("call=232 object_kind=8 descriptor=4", ns)

    def fsync(self, mean):
        ns = self.draw(mean)
        self.wait(f"call=74 {FILE}", ns)
        self.spent["disk"] += ns

    def lose_cpu(self, mean):
        """A neighbour gets the CPU for a while."""
        ns = self.draw(mean)
        self.lines.append(f"0 switch {self.at} flags=preempt prev=2 next=5")
        self.at += ns
        self.lines.append(f"0 switch {self.at} flags=sleep|wait prev=5 next=2 prev_state=1 call=35")
        self.spent["ready"] += ns

    def operate(self, count, fsyncs=1, each=2 * MS, stolen=0):
        for _ in range(count):
            self.idle(self.draw(MS))
            self.run(MS)
            for _ in range(int(fsyncs) + (self.random.random() < fsyncs % 1)):
                self.fsync(each)
                self.run(MS // 10)
            if stolen:
                self.lose_cpu(stolen)
                self.run(MS // 10)
            self.operations += 1
        return self

    def write(self, path):
        self.idle(MS)
        end = self.at + MS
        text = "\n".join([
            "meta kernel 6.1.0-test", "meta machine x86_64", "meta host testhost", "meta cpus 1",
            f"meta start {START}", f"meta end {end}",
            f"clock {START} {START} 1700000000000000000",
            f"user task {START - 50000} task=2 process=2 tid=100 pid=100 "
            'pid_namespace=4026531836 comm="server" command="/usr/bin/server"',
            f"user task {START - 50000} task=5 process=5 tid=300 pid=300 "
            'pid_namespace=4026531836 comm="cc1" command="cc1 x.c"',
            f"user state {START + 10000} flags=runnable prev=2 next=2",
            f"user state {START + 10000} flags=sleep|wait prev=5 next=5 prev_state=1 call=35",
            f'user file {START + 20000} inode=1234 device=8388609 path="/var/lib/server/log"',
            f"0 switch {START + 30000} flags=preempt prev=0 next=2", *self.lines, ""
        ])
        subprocess.run([MAKE_CAPTURE, path], input=text.encode(), check=True, timeout=60)
        return path


def compare(*arguments):
    done = subprocess.run([CLEW, "compare", "--json", *arguments],
                          capture_output=True,
                          text=True,
                          timeout=120,
                          check=False)
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr


def text(*arguments):
    return subprocess.run([CLEW, "compare", *arguments],
                          capture_output=True,
                          text=True,
                          timeout=120,
                          check=True).stdout


def work(answer):
    """The class of the server's operations."""
    return next(it for it in answer["classes"] if it["kind"] == "work")


def changed(answer):
    return [
        cause["text"] for it in answer["classes"] for cause in it["causes"] if cause["changed"]
    ] + [it["text"] for it in answer["classes"] if it["changed"]]


if __name__ == "__main__":
    d = sys.argv[1]
    Recording(1).operate(1000).write(d + "/b.clew")
    Recording(2).operate(1000).write(d + "/b2.clew")
    Recording(3).operate(1000, fsyncs=2.5).write(d + "/a.clew")
    Recording(4).operate(1000, stolen=MS).write(d + "/n.clew")
