# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
A writer as fast as the disk takes, who rewrites a file of twice what may be dirty: what
the recorder then needs.

What may be dirty is lowered meanwhile, so that the file need not be large.
"""
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time

from _place import Place, settings

LIMIT = 64 << 20
# kB. A stream's buffers grow to the size of its largest chunk, and the
# encoders' with them: in steps, and when each kind's first large
# chunk is full. What grew with the records would be larger than that by far.
STEP = 32 << 10
MOST = 256 << 10
VM = "/proc/sys/vm/"
WRITER = """
import os, signal, sys
size, ended = int(sys.argv[2]), []
signal.signal(signal.SIGTERM, lambda *_: ended.append(1))
file, block, written, passes = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT), os.urandom(65536), 0, 0
while not ended:
    for at in range(0, size, len(block)):
        written += os.pwrite(file, block, at)
        if ended:
            break
    passes += 1
print(written, passes)
"""


def filled(pid):
    """Entries in each of a process' maps that can grow, and how many it may have."""
    found = {}
    ids = set()
    for number in os.listdir(f"/proc/{pid}/fdinfo"):
        try:
            with open(f"/proc/{pid}/fdinfo/{number}", encoding="ascii") as file:
                ids.update(re.findall(r"^map_id:\s*(\d+)", file.read(), re.MULTILINE))
        except OSError:
            pass
    for number in sorted(ids):
        shown = subprocess.run(["bpftool", "-j", "map", "show", "id", number],
                               capture_output=True,
                               text=True,
                               check=False)
        try:
            one = json.loads(shown.stdout)
            if "hash" in one["type"]:
                entries = json.loads(
                    subprocess.run(["bpftool", "-j", "map", "dump", "id", number],
                                   capture_output=True,
                                   text=True,
                                   check=False).stdout)
                found[one["name"]] = (len(entries), one["max_entries"])
        except (ValueError, KeyError):
            pass
    return found


def resident(pid):
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as status:
        # Who has ended has none.
        return next((int(line.split()[1]) for line in status if line.startswith("VmRSS:")), 0)


def ask(clew, capture, command):
    """
    An answer, put beside the capture; whether there is one, its seconds of CPU
    time, and its largest resident size in kB.
    """
    with open(capture + "." + command,
              "wb") as said, subprocess.Popen([clew, command, "--json", capture],
                                              stdout=said) as process:
        # What is measured begins with what this program has when it forks:
        # nothing large may have been read before.
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode == 0, used.ru_utime + used.ru_stime, used.ru_maxrss


def answer_of(capture, command):
    with open(capture + "." + command, encoding="utf-8") as file:
        return json.load(file)


def settled(looks):
    """
    The largest of the two halves of what was seen, without its first eighth:
    buffers and tables fill then.
    """
    looks = looks[len(looks) // 8:]
    half = len(looks) // 2
    return max(looks[:half]), max(looks[half:])


def watch(recorder, writer, seconds, memory, maps):
    end = time.monotonic() + seconds
    while time.monotonic() < end and recorder.poll() is None and writer.poll() is None:
        time.sleep(max(0.5, seconds / 120))
        memory.append(resident(recorder.pid))
        if len(memory) % 10 == 0:
            maps.append(filled(recorder.pid))


def record(clew, directory, capture, seconds, tap):
    path = os.path.join(directory, "rewritten")
    memory, maps = [], []
    with subprocess.Popen([clew, "record", "-o", capture], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as recorder, \
            contextlib.ExitStack() as ends:
        # Whatever goes wrong: nobody is waited for who goes on for ever.
        ends.callback(recorder.kill)
        time.sleep(2)
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, path, str(2 * LIMIT)], stdout=subprocess.PIPE,
                text=True) as writer:
            ends.callback(writer.kill)
            try:
                watch(recorder, writer, seconds, memory, maps)
            finally:
                writer.send_signal(signal.SIGTERM)
            written, passes = map(int, writer.communicate()[0].split())
        os.sync()
        early = recorder.poll()
        if early is None:
            recorder.send_signal(signal.SIGINT)
        said = recorder.communicate(timeout=60)[1]
    for line in said.splitlines():
        print("# " + line)
    tap.check(early is None and recorder.returncode == 0,
              "rewriting: the recorder runs to the end and stops when asked",
              "status %s" % recorder.returncode)
    print("# resident MB: " +
          " ".join(str(kilobytes // 1024) for kilobytes in memory[::max(1,
                                                                        len(memory) // 30)]))
    before, after = settled(memory)
    tap.check(after <= before + STEP and after <= MOST, "rewriting: memory stays flat",
              "%d kB at most in the first half, %d kB in the second" % (before, after))
    for name in sorted(maps[0]) if maps else []:
        count, most = max(one.get(name, (0, 1)) for one in maps)
        tap.check(count < 0.9 * most, "rewriting: " + name + " does not fill",
                  "%d entries at most, of %d" % (count, most))
    return path, written, passes, said


def judge(clew, capture, path, written, said, tap):
    used = {command: ask(clew, capture, command) for command in ("info", "io", "requests")}
    for command, (answers, took, memory) in used.items():
        tap.check(answers, "rewriting: clew " + command + " answers",
                  "%.1f s of CPU time, %d MB" % (took, memory // 1024))
    if not used["info"][0] or not used["io"][0]:
        return
    info, io = answer_of(capture, "info"), answer_of(capture, "io")
    ledger = info["ledger"]
    tap.check(info["complete"] and ledger["balanced"], "rewriting: the ledger balances",
              "lost %d, missed %d" % (ledger["lost"], ledger["missed"]))
    tap.check("lost %d" % ledger["lost"] in said, "rewriting: what is lost is said",
              "%d records" % ledger["lost"])
    count = sum(info["events"].values())
    print("# %d records, %.0f a GB written; file %.1f MB, %.2f bytes a record" %
          (count, count * 1e9 / written, info["bytes"] / 1e6, info["bytes"] / count))
    print("# " + ", ".join("%s %d" % item for item in info["events"].items() if item[1]))
    status = os.stat(path)
    mine = [
        file for file in io["files"] if file["ino"] == status.st_ino and file["dev"] == "%d:%d" %
        (os.major(status.st_dev), os.minor(status.st_dev))
    ]
    asked, reached = (mine[0]["asked_bytes"], mine[0]["written_bytes"]) if mine else (0, 0)
    whole = asked == written if not ledger["lost"] else asked <= written
    tap.check(whole, "rewriting: bytes asked for are those that the writer counts",
              "%d of %d" % (asked, written))
    tap.check(
        0 < reached <= written and (ledger["lost"] or mine[0]["unknown_bytes"] <= 0.0002 * written),
        "rewriting: no more is written than was asked, and all of it is known whose",
        "%d of %d, %d unknown" % (reached, written, mine[0]["unknown_bytes"] if mine else 0))


def run(clew, directory, seconds, tap):
    """Records and judges; `directory` is on a disk."""
    capture = os.path.join(directory, "rewrite.clew")
    with Place(only=["none"]) as place:
        with settings(place,
                      {VM + "dirty_bytes": LIMIT, VM + "dirty_background_bytes": LIMIT // 2}):
            path, written, passes, said = record(clew, place.path, capture, seconds, tap)
        print("# %.0f MB/s written, %d passes over %d MB" %
              (written / seconds / 1e6, passes, 2 * LIMIT >> 20))
        tap.check(written >= 8 * LIMIT, "rewriting: the file is written again and again",
                  "%d passes" % passes)
        judge(clew, capture, path, written, said, tap)
