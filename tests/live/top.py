#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
clew top tells of a lock that is held for some seconds who waits for it and who has it, in each
period, and leaves nothing behind. Prints TAP.
"""
import fcntl
import glob
import json
import os
import pty
import select
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CLEW = os.environ.get("CLEW", os.path.join(ROOT, "clew"))
count = failed = 0


def ok(good, name, why=""):
    global count, failed
    count += 1
    failed += not good
    print(f"{'ok' if good else 'not ok'} {count} - {name}" + ("" if good else f": {why}"),
          flush=True)


def waiter(path, held):
    """A process that waits for a lock which this one has through an open file."""
    pid = os.fork()
    if not pid:
        held.close()
        with open(path, "w", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
        os._exit(0)
    return pid


def folders():
    return set(glob.glob("/dev/shm/clew-top.*") + glob.glob("/tmp/clew-top.*"))


BEFORE = folders()


def left_behind():
    return folders() - BEFORE


def test_json(folder):
    path = os.path.join(folder, "lock")
    with open(path, "w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        pid = waiter(path, file)
        done = subprocess.run([CLEW, "top", "-n", "3", "--period", "500ms", "--json"],
                              capture_output=True,
                              text=True,
                              timeout=60,
                              check=False)
    os.waitpid(pid, 0)
    periods = [json.loads(line) for line in done.stdout.splitlines()]
    ok(done.returncode == 0 and not done.stderr and len(periods) == 3, "three periods, a line each",
       f"{done.returncode}: {done.stderr} {done.stdout[:300]}")
    found = [[it for it in period["now"] if it["tid"] == pid] for period in periods]
    ok(all(len(it) == 1 for it in found), "each tells of the waiter", found)
    ok(all(it[0]["longer"] and it[0]["object"]["name"] == path for it in found if it),
       "what it waits for, and that it did so before", found)
    holder = f"-{os.getpid()}"
    ok(all(holder in (it[0]["text"] or "") for it in found if it), "who has the lock", found)
    ok(all(it[0]["ns"] >= 0.9 * (period["to"] - period["from"])
           for it, period in zip(found, periods) if it), "it waited for all of each period", found)
    ok(all(a["to"] <= b["from"] + 1000000 for a, b in zip(periods, periods[1:])),
       "periods follow each other", [(it["from"], it["to"]) for it in periods])
    ok(not left_behind(), "nothing is left behind", left_behind())


def read_until(terminal, text, seconds):
    """What a terminal shows until it shows that text."""
    shown, until = b"", time.monotonic() + seconds
    while text not in shown and time.monotonic() < until:
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                shown += os.read(terminal, 65536)
            except OSError:
                break
    return shown


def test_screen():
    pid, terminal = pty.fork()
    if not pid:
        os.environ["TERM"] = "xterm"
        os.execv(CLEW, [CLEW, "top", "--period", "500ms"])
    shown = read_until(terminal, b"Where each program's time went", 30)
    ok(b"Under way now" in shown and b"\x1b[?1049h" in shown, "a screen on a terminal", shown[-300:])
    os.write(terminal, b"q")
    shown = read_until(terminal, b"\x1b[?1049l", 20)
    status = os.waitpid(pid, 0)[1]
    os.close(terminal)
    ok(b"\x1b[?1049l" in shown and os.waitstatus_to_exitcode(status) == 0,
       "q ends it, and the terminal is as before", (status, shown[-100:]))
    ok(not left_behind(), "nothing is left behind the screen", left_behind())


def test_interrupted():
    with subprocess.Popen([CLEW, "top", "--period", "500ms", "--json"],
                          stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        error = process.communicate(timeout=30)[1]
    ok(process.returncode == 0 and not error and not left_behind(), "an interrupt ends it cleanly",
       (process.returncode, error, left_behind()))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        test_json(place)
    test_screen()
    test_interrupted()
    print(f"1..{count}")
    sys.exit(1 if failed else 0)
