#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Keyframes of a recording: an answer about an interval, which is read from a keyframe on, is the same
as that of a copy whose keyframes are damaged, which is read from the start. It takes as long wherever
the interval is. The independent reader finds the keyframes and all records.
"""

import concurrent.futures
import json
import os
import resource
import struct
import subprocess
import sys
import threading
import time

from _load import wait_in_many_ways
from _live import CLEW, answer, clew, feature, finish, note, ok, scratch, skip, start_recording, stop_recording

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from capture_reader import KEYFRAME, Capture  # noqa: E402  pylint: disable=wrong-import-position

LENGTH = 40  # s
SECOND = 1_000_000_000
BEFORE = 10 * SECOND  # of an interval, in which all is known
WINDOW = 2 * SECOND
SHOWN = 3
MAGIC = b"\xc1chk"
HEADER = 48


def work(place, seconds):
    """Waits of many kinds, and a sleep that lasts nearly as long as all of them."""
    sleeper = threading.Thread(target=time.sleep, args=(0.9 * seconds, ))
    sleeper.start()
    wait_in_many_ways(place, seconds, (0.003, 0.005, 0.3), 0.01)
    sleeper.join()


def damage(path, copy):
    """Makes a copy whose keyframes are not whole. Returns how many there were."""
    with open(path, "rb") as file:
        data = bytearray(file.read())
    at, count = data.find(MAGIC), 0
    while at >= 0:
        kind, size = struct.unpack_from("<H", data,
                                        at + 8)[0], struct.unpack_from("<I", data, at + 12)[0]
        if kind == KEYFRAME and size == 16:
            data[at + HEADER] ^= 0xff
            count += 1
        at = data.find(MAGIC, at + 1)
    with open(copy, "wb") as file:
        file.write(data)
    return count


def waits(rows):
    """
    Calls are numbered by their task as they come. What an open wait is about may be said by the
    keyframe, and is then what held at that time. A task that no list of tasks has is found asleep.
    """
    calls, found = {}, []
    for row in rows:
        numbers = calls.setdefault(row["tid"], {})
        row = dict(row, call_id=numbers.setdefault(row["call_id"], len(numbers)), other_end=0)
        if row["open"] == "start" and row["kind"] == "unknown":
            row["start"] = 0
        found.append(dict(row, function=0) if row["open"] else row)
    return found


def first_slices(part, whole, first):
    """
    Of a wait that began before what is read, the rest knows the last slice alone: a keyframe states
    no earlier one.
    """
    begun = {(row["tid"], row["end"])
             for row in whole if row["slices"] > 1 and row["start"] < first}
    return [[dict(row, start=0) if (row["tid"], row["end"]) in begun else row for row in rows]
            for rows in (part, whole)]


def requests(rows):
    """
    A request's number among those that were read, and those below it, differ. Pages that are written
    after 30 s were dirtied before what is read.
    """
    return [
        dict(row,
             index=0,
             lower=len(row["lower"]),
             pages=row["reason"] != "periodic" and row["pages"]) for row in rows
    ]


def births(path):
    """Threads that were made while it recorded, each with the time of that."""
    found = answer("sql", path, "SELECT tid, start FROM tasks WHERE start IS NOT NULL")["rows"]
    return {(row["tid"], row["start"]) for row in found}


def edges(part, whole, first, born):
    """
    Those that are from what both have read. A writer and a pass have one edge, from when the first
    page became dirty whose writers are known. If that was before what is read, the rest may know
    those of a later page only. An edge that begins at its writer's birth has a page that was dirty
    before, since when is not known.
    """

    def begun(row):
        return min(end["at"] or 0 for end in row["from"])

    def of_pass(row):
        return (row["type"], row["from"][0]["tid"], [(end["at"], end["tid"]) for end in row["to"]])

    def is_before(row):
        return begun(row) < first or (row["from"][0]["tid"], row["from"][0]["at"]) in born

    before = [of_pass(row) for row in whole if row["type"] == "writeback" and is_before(row)]
    return [[row for row in rows if begun(row) >= first and of_pass(row) not in before]
            for rows in (part, whole)]


def used():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def essence(command, row):
    """What must be the same. What happened before that is read may be unknown in the rest."""
    if command == "waits":
        ended = row["ended_by"]
        return (row["tid"], row["start"], row["end"], row["kind"], row["call"], row["open"], ended
                and (ended["at"], ended["tid"], ended["context"]))
    if command == "edges":
        return (row["type"], row["context"], [(end["at"], end["tid"]) for end in row["from"]],
                [(end["at"], end["tid"]) for end in row["to"]])
    return tuple(row[name] for name in ("queued", "issued", "completed", "dev", "sector", "op"))


def check_lists(command, got, expected):
    """Returns how many rows there were, and how many were not the same, field for field."""
    cores = [sorted(json.dumps(essence(command, row)) for row in rows) for rows in (got, expected)]
    ok(cores[0] == cores[1], "%s of an interval are as when all is read" % command,
       (len(got), len(expected), sorted(set(cores[0]) ^ set(cores[1]))[:SHOWN]))
    whole = [{json.dumps(row, sort_keys=True) for row in rows} for rows in (got, expected)]
    pairs = zip(*(sorted(each - other) for each, other in (whole, whole[::-1])))
    for one, other in list(pairs)[:SHOWN]:
        one, other = json.loads(one), json.loads(other)
        note("%s differ in %s" % (command, [name for name in one if one[name] != other.get(name)]))
    return len(got), len(whole[0] - whole[1])


def ask_all(path, copy, begins):
    """Rows by the begin of a window, the command and the file; two questions are asked at a time."""
    asked = [(begin, command, each) for begin in begins
             for command in ("waits", "edges", "requests") for each in (path, copy)]

    def ask(question):
        begin, command, each = question
        return answer(command, each, "--from", str(begin), "--to", str(begin + WINDOW))[command]

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return dict(zip(asked, pool.map(ask, asked)))


def check_windows(path, copy):
    info, born = answer("info", path), births(path)
    start, end = info["start"], info["end"]
    begins = [int(start + at * (end - start)) for at in (0.4, 0.55, 0.7)]
    found, differ = {}, {}
    rows = ask_all(path, copy, begins)
    for begin in begins:
        for command, rows_of in (("waits", waits), ("edges", list), ("requests", requests)):
            lists = [rows_of(rows[begin, command, each]) for each in (path, copy)]
            if command == "waits":
                lists = first_slices(*lists, begin - BEFORE)
            if command == "edges":
                lists = edges(*lists, begin - BEFORE, born)
            count, others = check_lists(command, *lists)
            found[command] = found.get(command, 0) + count
            differ[command] = differ.get(command, 0) + others
    note("compared: %s, differ: %s" % (found, differ))
    ok(all(differ[each] * 20 <= found[each] for each in found),
       "nineteen in twenty are the same field for field", (found, differ))
    ok(found["waits"] > 100 and min(found.values()) > 10, "there was enough to compare", found)


def cost(path, begin):
    before = used()
    done = subprocess.run(
        [CLEW, "waits", path, "--json", "--from",
         str(begin), "--to",
         str(begin + SECOND)],
        stdout=subprocess.DEVNULL,
        check=False)
    return used() - before if done.returncode == 0 else None


def check_cost(path):
    """CPU time, as others use the machine, too."""
    info = answer("info", path)
    length = info["end"] - info["start"]
    early, late = (min(cost(path, info["start"] + int(at * length)) for _ in range(3))
                   for at in (0.3, 0.9))
    note("%.2f s early, %.2f s late" % (early, late))
    ok(late < 1.5 * early + 0.1, "a late interval takes no longer", (early, late))


# Arguments: seconds. A server that answers after so long, and its client, which waits.
ASKING = """
import os, socket, sys, time
def name(comm):
    with open("/proc/self/comm", "w") as file:
        file.write(comm)
listening = socket.create_server(("127.0.0.1", 0))
if os.fork():
    name("keyasker")
    with socket.create_connection(listening.getsockname()) as connection:
        for answer in (b"a", b"b"):
            connection.sendall(b"q")
            connection.recv(1)
else:
    name("keyserver")
    with listening.accept()[0] as connection:
        for nap in (0.01, float(sys.argv[1])):
            connection.recv(1)
            end = time.monotonic() + nap
            while time.monotonic() < end:
                time.sleep(0.01)
            connection.sendall(b"a")
"""


def check_questions(path, copy):
    """A question that left long before what is read is as long as when all is read."""
    info = answer("info", path)
    window = ("--from", str(int(info["start"] + 0.6 * (info["end"] - info["start"]))))
    for comm in "keyasker", "keyserver":
        found = []
        for each in path, copy:
            done = clew("why", each, "--comm", comm, "--slowest", "--json", *window)
            said = json.loads(done.stdout) if done.stdout else {"operations": [{}], "class": {}}
            found.append((said["operations"][0].get("from"), said["operations"][0].get("to"),
                          said["class"].get("kind")))
        ok(found[0] == found[1] and found[1][2] in ("request", "served"),
           f"{comm}: a question that is open at a keyframe", found)


def check_reader(path):
    """A short recording, as the independent reader takes its time."""
    process = start_recording(path, "--keyframe", "300ms")
    time.sleep(1.5)
    status, said = stop_recording(process)
    info = answer("info", path)
    with open(path, "rb") as file:
        capture = Capture(file.read())
    frames = capture.keyframes
    counts = {}
    stated = [set() for _ in frames]
    for record in capture.records():
        counts[record["kind"]] = counts.get(record["kind"], 0) + 1
        for (first, last), names in zip(frames, stated):
            if record["kind"] == "state" and first <= record["time"] <= last:
                names.add(record["prev"])
    ok(status == 0 and info["ledger"]["balanced"], "a recording with keyframes", said)
    # It lasts longer where the machine has no CPU for the test.
    most = (info["end"] - info["start"]) // 300_000_000
    ok(3 <= len(frames) <= most and all(a[1] < b[0] for a, b in zip(frames, frames[1:])),
       "the independent reader finds its keyframes", (frames, most))
    ok(counts == {kind: count
                  for kind, count in info["events"].items()
                  if count}, "it finds all records", (counts, info["events"]))
    ok(all(len(names) > 20 for names in stated), "each keyframe states the tasks",
       [len(names) for names in stated])


def main():
    path = scratch("frames.clew")
    messages, reason = feature("messages")
    process = start_recording(path, "--keyframe", "2s", *["--messages"] * messages)
    with subprocess.Popen([sys.executable, "-c", ASKING, str(0.85 * LENGTH)]):
        work(scratch(), LENGTH)
    status, said = stop_recording(process)
    info = answer("info", path)
    ok(status == 0 and info["complete"] and info["ledger"]["balanced"],
       "a long recording with keyframes", said)
    copy = scratch("damaged.clew")
    ok(damage(path, copy) >= LENGTH // 2 - 2, "there are keyframes")
    check_windows(path, copy)
    if messages:
        check_questions(path, copy)
    else:
        skip("a question that is open at a keyframe", reason)
    check_cost(path)
    check_reader(scratch("short.clew"))
    finish()


main()
