#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Waits that real programs cut into slices by a timeout: PostgreSQL's row locks with a
deadlock_timeout, the monitors of a JVM, and Python's global lock. Each is one retried wait, which
is followed to the thread that was waited for. Loops that tick, and wait for nothing, are none. A
JVM's naps before a safepoint are waits for the thread that does not stop.
"""

import collections
import json
import os
import re
import shutil
import subprocess
import sys
import time

from _live import PATIENCE, answer, clew, finish, note, ok, run, scratch, skip, start_recording, stop_recording
from _postgres import Cluster, Refused, programs

HERE = os.path.dirname(os.path.abspath(__file__))
MS = 1000000


def recorded(path, *command):
    """Records a program; what it printed, or None."""
    done = clew("record", "-o", path, "--", *command)
    good = ok(done.returncode == 0, f"{os.path.basename(command[0])} is recorded", done.stderr)
    return done.stdout if good else None


class Recording:

    def __init__(self, path):
        self.path = path
        self.waits = answer("waits", path)["waits"]

    def of(self, tid, begin=0, end=1 << 63):
        """A thread's waits that overlap an interval."""
        return [
            w for w in self.waits
            if w["tid"] == tid and w["start"] < end and (w["end"] is None or w["end"] > begin)
        ]

    def hidden(self, tid, begin, end):
        """Some machines hide single switches from every tracer."""
        return any(w["blind"] for w in self.of(tid, begin, end))

    def hidden_within(self, tid, begin, end):
        """The same of any thread of its process."""
        pids = {w["pid"] for w in self.of(tid)}
        return any(w["blind"] and w["pid"] in pids and w["start"] < end and
                   (w["end"] is None or w["end"] > begin) for w in self.waits)

    def behind(self, tid, other, begin, end):
        """
        Of the time from `begin` to `end` in which `tid` waited: ns that are behind its
        wait for `other`, those of them in a retried wait, and all.
        """
        why = answer("why", self.path, "--tid", tid, "--from", begin, "--to", end)
        waited = [s for s in why["segments"] if s["chain"] or s["kind"] in ("futex", "poll")]
        behind = [s for s in waited if (s["chain"] + [s["tid"]])[:2] == [tid, other]]
        in_slices = [s for s in behind if s["hops"][0].get("slices", 1) > 1]
        return [sum(s["ns"] for s in segments) for segments in (behind, in_slices, waited)]


def check_followed(name, recording, waits):
    """
    Nearly all of each wait (waiter, whom it waited for, from and to) is that one's
    time, by the same wait in slices.
    """
    seen = [(waiter, other, begin, end) for waiter, other, (begin, end) in waits
            if not recording.hidden(waiter, begin, end)]
    if not seen:
        skip(name, "this machine hid a switch in each of them")
        return
    sums = [recording.behind(*wait) for wait in seen]
    behind, in_slices, total = map(sum, zip(*sums))
    note(f"{name}: {len(seen)} of {len(waits)}, {total / MS:.1f} ms, behind the other "
         f"{behind / MS:.1f}, in slices {in_slices / MS:.1f}")
    ok(behind >= 0.9 * total, f"{name}: its time is that of who it waited for", sums)
    ok(in_slices >= 0.9 * behind, f"{name}: by one wait in slices", sums)


def check_single(name, recording, tid, begin):
    """No wait of a thread that began after `begin` is a slice of another one."""
    waits = [w for w in recording.of(tid) if w["start"] > begin]
    retried = [w for w in waits if w["retried"]]
    ok(
        len(waits) >= 10 and not retried, f"{name}: each of its waits is one of its own",
        f"{len(waits)} waits, retried: {retried[:2]}")


def session(cluster, *statements):
    """A client of a cluster; its first line of output is its backend's pid."""
    client = subprocess.Popen([
        f"{cluster.programs}/psql", "-h", cluster.place, "-qAtX", "postgres", "-c",
        "select pg_backend_pid()"
    ] + [word for statement in statements for word in ("-c", statement)],
                              stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL,
                              text=True,
                              **cluster.user)
    return client, int(client.stdout.readline())


def ask(cluster, question):
    """The one value that a statement gives, as text."""
    return run(f"{cluster.programs}/psql", "-h", cluster.place, "-qAtX", "postgres", "-c", question,
               **cluster.user).stdout.strip()


def await_state(cluster, backend, event):
    """Until a backend waits for an event, by PostgreSQL's own word."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if ask(cluster, f"select wait_event from pg_stat_activity where pid = {backend}") == event:
            return
    raise Refused(f"backend {backend} never came to {event}")


def lock_row(cluster):
    """One holds a row's lock in its sleep, and another one waits for it: (waiter, holder, when)."""
    update = "update pgbench_accounts set abalance = 1 where aid = 1"
    holder, holds = session(cluster, "begin", update, "select pg_sleep(600)", "rollback")
    await_state(cluster, holds, "PgSleep")
    waiter, waits = session(cluster, update)
    await_state(cluster, waits, "transactionid")
    begin = time.monotonic_ns()
    time.sleep(0.5)
    end = time.monotonic_ns()
    ask(cluster, f"select pg_cancel_backend({holds})")
    for client in holder, waiter:
        client.communicate(timeout=PATIENCE)
    return waits, holds, (begin, end)


def postgres():
    name = "PostgreSQL's row lock"
    if not programs():
        skip(name, "PostgreSQL is not installed")
        return
    path = scratch("postgres.clew")
    try:
        with Cluster(1, "deadlock_timeout=300ms") as cluster:
            recording = start_recording(path)
            try:
                waiter, holder, interval = lock_row(cluster)
            finally:
                status, said = stop_recording(recording)
    except Refused as error:
        ok(False, "a row of PostgreSQL's is locked", error)
        return
    if ok(status == 0, "postgres is recorded", said):
        check_followed(name, Recording(path), [(waiter, holder, interval)])


def java():
    name = "a JVM's monitors"
    if not shutil.which("java"):
        skip(name, "there is no java here")
        return
    said = recorded(scratch("java.clew"), "java", "-XX:TieredStopAtLevel=1",
                    os.path.join(HERE, "_monitors.java"))
    if said is None:
        return
    recording, laps = Recording(scratch("java.clew")), collections.defaultdict(list)
    for line in said.splitlines():
        what, waiter, other, begin, end = line.split()
        laps[what].append((int(waiter), int(other), (int(begin), int(end))))
    check_followed("a thread blocked on a monitor", recording, laps["monitor"])
    check_followed("Object.wait(timeout) in a loop", recording, laps["listen"])
    ticker, _, (begin, _) = laps["ticks"][0]
    check_single("such a loop that does something each time", recording, ticker, begin)


def safepoint():
    """
    The VM thread naps until all threads have stopped. Nearly all of that is time of the only one
    that did not, or what is left of a nap behind that; the JVM says how long it was at most.
    """
    name = "a JVM's safepoint"
    if not shutil.which("java"):
        skip(name, "there is no java here")
        return
    path = scratch("safepoint.clew")
    said = recorded(path, "java", "-XX:+UseParallelGC", "-Xmx600m", "-Xlog:safepoint",
                    os.path.join(HERE, "_safepoint.java"))
    if said is None:
        return
    recording, laps = Recording(path), []
    for reaching, lap in re.findall(r"SystemGC.* Reaching safepoint: (\d+) ns.*\nlap (.*)", said):
        main, copier, begin, end = (int(word) for word in lap.split())
        # A thread of which that is not known may be the late one, too.
        if recording.hidden_within(main, begin, end):
            continue
        naps = [
            w for w in recording.waits if w["comm"] == "VM Thread" and w["kind"] == "sleep"
            and w["start"] >= begin and w["start"] < end
        ]
        why = answer("why", path, "--tid", main, "--from", begin, "--to", end)
        of_naps = [s for s in why["segments"] if "tried" in s]
        behind = [s for s in of_naps if s["tid"] == copier]
        ok(all(s["via"]["evidence"] == "candidate" for s in behind), f"{name}: as a candidate",
           behind)
        laps.append((int(reaching), sum(w["end"] - w["start"] for w in naps if len(naps) > 1),
                     sum(s["ns"] for s in of_naps), sum(s["ns"] for s in behind)))
    if not any(nap for _, nap, _, _ in laps):
        skip(name, "this machine hid a switch in each of its waits, or no thread was late")
        return
    reached, naps, of_naps, behind = map(sum, zip(*laps))
    note(f"{name}: {reached / MS:.1f} ms by the JVM's word, {naps / MS:.1f} in naps, "
         f"behind the thread {behind / MS:.1f}")
    ok(of_naps >= 0.8 * naps, f"{name}: its naps are for who did not stop", laps)
    ok(0.6 * of_naps <= behind <= reached, f"{name}: until that one did", laps)


def python():
    path = scratch("python.clew")
    said = recorded(path, sys.executable, os.path.join(HERE, "_interpreter.py"))
    if said is None:
        return
    told, recording = json.loads(said), Recording(path)
    laps = [(begin, end) for begin, end in told["laps"] if end - begin > 5 * MS]
    # The lock is asked for at the timeout. It may be given up before its waiter sleeps again, or
    # the second slice may be at the condition variable's other word: then no record shows whose
    # the lock was, and the wait is told as one for a timer.
    cut = [lap for lap in laps if any(w["retried"] for w in recording.of(told["sleeper"], *lap))]
    note(f"{len(cut)} of {len(laps)} waits for Python's global lock are cut into slices")
    if cut:
        check_followed("Python's global lock", recording,
                       [(told["sleeper"], told["busy"], lap) for lap in cut])
    else:
        skip("Python's global lock", "no wait was cut into slices: it was given up at once")
    check_single("a thread that waits for nothing", recording, *told["given_up"])
    check_single("a thread that does something at each tick", recording, *told["ticker"])


def main():
    postgres()
    java()
    safepoint()
    python()
    finish()


if __name__ == "__main__":
    main()
