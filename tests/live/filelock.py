#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Who has a lock on a file: taken before the start or never let go, wanted by one
who gives up, and by two in a circle.
"""

import os
import subprocess
import sys
import time

from _live import answer, clew, feature, finish, ok, scratch, skip_all, sleeps_of, start_recording, stop_recording

# Does what it is told, line by line: take or leave a lock of the whole file
# (flock) or of ten bytes of it (fcntl); "try" gives up after 2 s.
LOCKER = """
import fcntl, signal, sys
class Enough(Exception):
    pass
def give_up(*_):
    raise Enough
signal.signal(signal.SIGALRM, give_up)
files = {}
for line in sys.stdin:
    what, how, path = line.split()
    file = files.setdefault(path, None) or open(path, "r+")
    files[path] = file
    operation = fcntl.LOCK_UN if what == "leave" else fcntl.LOCK_EX
    try:
        signal.setitimer(signal.ITIMER_REAL, 2 if what == "try" else 0)
        if how == "flock":
            fcntl.flock(file, operation)
        else:
            fcntl.lockf(file, operation, 10, 100)
        signal.setitimer(signal.ITIMER_REAL, 0)
    except Enough:
        pass
    print("done", flush=True)
"""
CALLS = {"flock": 73, "fcntl": 72}


class Locker:

    def __init__(self):
        self.process = subprocess.Popen([sys.executable, "-c", LOCKER],
                                        stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE,
                                        text=True)
        self.pid = self.process.pid

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def done(self):
        self.process.stdout.readline()

    def do(self, line):
        self.tell(line)
        self.done()

    def is_refused(self, line):
        """Tells it to take what somebody else has, and sees it wait."""
        self.tell(line)
        call, end = str(CALLS[line.split()[1]]), time.monotonic() + 20
        while time.monotonic() < end:
            with open(f"/proc/{self.pid}/syscall", encoding="ascii") as file:
                if file.read().split()[0] == call:
                    return
            time.sleep(0.005)
        raise TimeoutError(line)

    def await_sleep(self, before):
        """Waits until it has gone to sleep again."""
        end = time.monotonic() + 20
        while sleeps_of(self.pid) == before:
            if time.monotonic() > end:
                raise TimeoutError("it does not wait anew")
            time.sleep(0.005)

    def end(self):
        self.process.kill()
        self.process.communicate()


def holders(wait):
    return [holder["tid"] for holder in wait["holders"]]


def check(path, lockers, files):
    has, waits_flock, waits_fcntl, gives_up, behind, left, right = lockers
    waits = [wait for wait in answer("waits", path)["waits"] if wait["call"] in CALLS]
    of = {locker.pid: [wait for wait in waits if wait["tid"] == locker.pid] for locker in lockers}
    edges = {(edge["from"][0]["tid"], edge["to"][0]["tid"]): edge["type"]
             for edge in answer("edges", path)["edges"]
             if edge["object"] and edge["object"].get("path") in files}
    first = of[waits_flock.pid]
    ok(
        len(first) == 1 and first[0]["kind"] == "file" and first[0]["open"] == "start"
        and holders(first[0]) == [has.pid] and edges.get((has.pid, waits_flock.pid)) == "unlock",
        "flock: wanted since before the start, then had", (first, edges))
    first = of[waits_fcntl.pid]
    ok(
        len(first) == 1 and first[0]["open"] == "both" and holders(first[0]) == [has.pid],
        "fcntl: wanted since before the start, never had", first)
    ok([holders(wait) for wait in of[gives_up.pid]] == [[has.pid]]
       and [holders(wait) for wait in of[behind.pid]] == [[has.pid]] * 2 and edges.get(
           (gives_up.pid, behind.pid)) == "wake" and edges.get((has.pid, behind.pid)) == "unlock",
       "flock: who gives up wakes who is behind him, but never had it",
       (of[gives_up.pid], of[behind.pid], edges))
    segments = answer("why", path, "--tid", str(left.pid))["segments"]
    last = segments[-1]
    ok(last.get("cycle") and last["kind"] == "file" and set(last["chain"]) == {left.pid, right.pid},
       "flock: two in a circle", last)
    said = clew("why", path, "--tid", str(waits_fcntl.pid)).stdout
    ok(", holding " in " ".join(said.split()), "why says who has what was never had", said)


def main():
    lacking = feature("locks on files")[1]
    if lacking:
        skip_all(lacking)
    files = [scratch(f"filelock-{letter}") for letter in "abcde"]
    for file in files:
        with open(file, "w", encoding="ascii") as empty:
            empty.write("")
    a, b, c, d, e = files
    path = scratch("filelock.clew")
    lockers = [Locker() for _ in range(7)]
    has, waits_flock, waits_fcntl, gives_up, behind, left, right = lockers
    try:
        for line in (f"take flock {a}", f"take fcntl {b}", f"take flock {c}"):
            has.do(line)
        left.do(f"take flock {d}")
        right.do(f"take flock {e}")
        waits_flock.is_refused(f"take flock {a}")
        waits_fcntl.is_refused(f"take fcntl {b}")
        recording = start_recording(path)
        gives_up.is_refused(f"try flock {c}")
        behind.is_refused(f"take flock {c}")
        asleep = sleeps_of(behind.pid)
        gives_up.done()
        behind.await_sleep(asleep)  # who was behind him waits anew
        time.sleep(0.1)
        has.do(f"leave flock {a}")
        waits_flock.done()
        has.do(f"leave flock {c}")
        behind.done()
        left.is_refused(f"take flock {e}")
        right.is_refused(f"take flock {d}")
        time.sleep(0.1)
        status, said = stop_recording(recording)
    finally:
        for locker in lockers:
            locker.end()
    if ok(status == 0, "recorded", said):
        check(path, lockers, files)
    finish()


if __name__ == "__main__":
    main()
