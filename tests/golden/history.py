#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
`clew history` and `clew compare --yesterday` about a history whose change is known: since when, by
how much and because of what; what is noise; and files that are damaged, cut off or foreign. Prints
TAP.
"""
import datetime
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import time
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from _trace import CLEW, Tap  # noqa: E402  pylint: disable=wrong-import-position

PERIOD, HOUR = 120 * 10**9, 3600 * 10**9
MS = 1_000_000
NAME = "requests of nginx at 0.0.0.0:8080"
SERVED, RUNNING, DISK = 1, 0, 4
SYNC, RAN = "waited for fsync /var/log/nginx", "ran"


def checksum(data):
    value = 0xcbf29ce484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001b3 % (1 << 64)
    return value


def block(text):
    packed = zlib.compress(text.encode())
    rest = struct.pack("<II", len(text), 0) + packed
    return struct.pack("<IIQ", 0x48574c43, len(packed), checksum(rest)) + rest


def day_of(at):
    moment = datetime.datetime.fromtimestamp(at / 10**9, datetime.timezone.utc)
    return moment.strftime("history-%Y-%m-%d")


class History:
    """Periods of a server that runs for 1 ms a request and syncs for 3 ms, or for longer."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.files = {}
        self.sums = {}  # (period, cause) -> ns

    def add(self, at, sync=3 * MS, classes=1):
        count = self.random.randint(80, 120)
        text = f"period {at} {at + PERIOD}\nload {PERIOD} {count} 5 2 0 0 0 0 0 0 0 0 0 24\n"
        for number in range(classes):
            times = {
                name: int(count * mean * self.random.gauss(1, .05))
                for name, mean in ((RAN, MS), (SYNC, sync))
            }
            name = NAME if not number else f"requests of other{number} at 0.0.0.0:{number}"
            text += f"class {SERVED} {count} {sum(times.values())} 1 2\tnginx\t{name}\n"
            text += f"lengths 16:{count - 2} 22:2\n"
            text += f"cause {times[RAN]} {count} {count} {RUNNING} 28 -1\t\t{RAN}\n"
            text += f"cause {times[SYNC]} {count} {count} {DISK} 4 -1\t\t{SYNC}\n"
            if not number:
                self.sums[at] = (count, times)
        self.files.setdefault(day_of(at), []).append(block(text))

    def write(self, directory):
        for name, blocks in self.files.items():
            with open(os.path.join(directory, name), "wb") as file:
                file.write(b"".join(blocks))
        return directory

    def mean(self, first, end, cause=None):
        found = [it for at, it in self.sums.items() if first <= at < end]
        return sum(times[cause] if cause else sum(times.values())
                   for _, times in found) / sum(count for count, _ in found)


def clew(*arguments):
    return subprocess.run([CLEW, *arguments],
                          capture_output=True,
                          text=True,
                          timeout=120,
                          check=False)


def answer(*arguments):
    done = clew(*arguments, "--json")
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr


def this_hour():
    now = time.time_ns()
    return now - now % HOUR


def test_since_when(tap, directory):
    """The sync takes 1 ms longer since three whole hours."""
    history, end = History(1), this_hour()
    since = end - 3 * HOUR
    for at in range(end - 20 * HOUR, end, PERIOD):
        history.add(at, 4 * MS if at >= since else 3 * MS)
    history.write(directory)
    found = answer("history", directory, "--class", "requests :8080")["classes"]
    tap.same("one class", [it["text"] for it in found], [NAME])
    hours = found[0]["hours"]
    tap.same("all hours", len(hours), 20)
    changed = [hour for hour in hours if hour["verdict"] == "differs"]
    tap.report(
        "one hour of 20 changed, or by chance two more", "" if 1 <= len(changed) <= 3
        and since in [it["from"] for it in changed] else repr([it["from"] for it in changed]))
    hour = next(it for it in hours if it["from"] == since)
    truth = history.mean(since, since + HOUR) - history.mean(since - HOUR, since)
    tap.report("by how much", "" if abs(hour["change_ns"] - truth) <= 1 else repr(hour))
    tap.same("what was left out", (hour["cut"], hour["blind"]), (60, 30))
    tap.report("within its interval",
               "" if hour["low_ns"] <= truth <= hour["high_ns"] else repr(hour))
    tap.same("because of what", [(it["text"], it["changed"]) for it in hour["causes"]],
             [(SYNC, True), (RAN, False)])
    tap.same("causes add up", sum(it["change_ns"] for it in hour["causes"]), hour["change_ns"])
    said = clew("history", directory).stdout
    lines = [line for line in said.splitlines() if "differs" in line and SYNC in line]
    tap.report("in words", "" if lines and NAME in said else said)
    nothing = clew("history", directory, "--class", "requests :9090")
    tap.same("no such class", (nothing.returncode, nothing.stdout), (1, ""))


def test_yesterday(tap, directory):
    """The last hour with that hour yesterday."""
    history, now = History(2), time.time_ns()
    hours = {}
    for name, end, sync in (("after", now, 4 * MS), ("before", now - 24 * HOUR, 3 * MS)):
        begin = end - HOUR
        hours[name] = begin
        # No period is at an edge, as time goes on.
        for at in range(begin + PERIOD, end - PERIOD, PERIOD):
            history.add(at, sync)
    history.write(directory)
    found = answer("compare", "--yesterday", "--history", directory)
    it = found["classes"][0]
    tap.same("yesterday: it differs", (it["text"], it["verdict"]), (NAME, "differs"))
    for side in "before", "after":
        count = sum(count for at, (count, _) in history.sums.items()
                    if hours[side] <= at < hours[side] + HOUR)
        tap.same(f"yesterday: all operations {side}", it[side]["count"], count)
    tap.same("yesterday: because of what",
             [(cause["text"], cause["changed"]) for cause in it["causes"]], [(SYNC, True),
                                                                             (RAN, False)])
    tap.report("yesterday: how much",
               "" if abs(it["causes"][0]["change_ns"] - MS) < MS / 10 else repr(it["causes"][0]))
    said = clew("compare", "--yesterday", "--history", directory)
    tap.report(
        "yesterday: in words",
        "" if "that hour yesterday, 28 periods -> the last hour" in said.stdout else said.stdout +
        said.stderr)


def test_damaged(tap, directory):
    """A block that is damaged is left out, and one that was cut off; foreign files are ignored."""
    history, end = History(3), this_hour()
    for at in range(end - 2 * HOUR, end, PERIOD):
        history.add(at)
    history.write(directory)
    whole = answer("history", directory)
    counts = {hour["from"]: hour["count"] for hour in whole["classes"][0]["hours"]}
    tap.same("undamaged", whole["damaged"], 0)
    path = os.path.join(directory, day_of(end - HOUR))
    with open(path, "rb") as file:
        data = bytearray(file.read())
    blocks = history.files[day_of(end - HOUR)]
    data[len(blocks[0]) + len(blocks[1]) // 2] ^= 0x40
    with open(path, "wb") as file:
        file.write(data[:-10])
    with open(os.path.join(directory, "history-of-art"), "wb") as file:
        file.write(b"x" * 100)
    found = answer("history", directory)
    tap.same("damaged and cut off: two parts", found["damaged"], 2)
    left = sum(counts.values()) - sum(hour["count"] for hour in found["classes"][0]["hours"])
    periods = sorted(at for at in history.sums if day_of(at) == day_of(end - HOUR))
    tap.same("only these are missing", left,
             sum(history.sums[at][0] for at in (periods[1], periods[-1])))
    with open(path, "wb") as file:
        file.write(random.Random(4).randbytes(100000))
    done = clew("history", directory)
    tap.report("a file of anything",
               "" if done.returncode in (0, 1) and not done.stdout.count("\0") else repr(done))


def test_places(tap, directory):
    done = clew("history", os.path.join(directory, "nowhere"))
    tap.report("no directory",
               "" if done.returncode == 2 and "nowhere" in done.stderr else repr(done))
    done = clew("compare", "--yesterday", "--history", directory)
    tap.report("nothing of yesterday",
               "" if done.returncode == 1 and "yesterday" in done.stderr else repr(done))
    for words in (["--yesterday",
                   "a.clew"], ["--yesterday",
                               "--halves"], ["--history", directory, "a.clew", "b.clew"]):
        done = clew("compare", *words)
        tap.report("compare " + " ".join(words[:1] + words[-1:]).replace(directory, ""),
                   "" if done.returncode == 2 and done.stderr.count("\n") == 1 else repr(done))


def main():
    tap = Tap()
    for test in (test_since_when, test_yesterday, test_damaged, test_places):
        with tempfile.TemporaryDirectory() as directory:
            test(tap, directory)
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
