#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# alone: CPUs are all busy
"""Records are encoded late while CPUs are busy, and nothing of them is lost.

Pairs of processes keep all CPUs busy until the capture has quick chunks. Then the recording is
killed, or stopped.
"""
import os
import struct
import subprocess
import sys
import tempfile
import time

from _live import PATIENCE, ROOT, answer, finish, ok, run, start_recording, stop_recording

STORM = os.path.join(ROOT, "build", "tools", "storm")
READER = os.path.join(ROOT, "tests", "capture_reader.py")
MANY = 200000
MAGIC, RECORDS, QUICK = b"\xc1chk", 4, 0x40


def raw_rows(path):
    """Rows in quick chunks of a file that is being written, as far as the chunks follow each other."""
    with open(path, "rb") as file:
        data = file.read()
    at, rows = 16, 0
    while data[at:at + 4] == MAGIC and len(data) > at + 48:
        kind, _, size, _, count = struct.unpack_from("<HHIII", data, at + 8)
        if kind == RECORDS and data[at + 48] & QUICK:
            rows += count
        at += 48 + size
    return rows


def becomes_raw(path):
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if os.path.exists(path) and raw_rows(path) > MANY:
            return True
        time.sleep(0.1)
    return False


def busy():
    cpus = sorted(os.sched_getaffinity(0))
    return subprocess.Popen([STORM, str(PATIENCE), "100000", *(f"{cpu}" for cpu in cpus)],
                            stdout=subprocess.DEVNULL)


def record(path, end):
    """Records until there is something raw, and then what `end` does; returns how it ended."""
    recorder, storm = start_recording(path), busy()
    try:
        ok(becomes_raw(path), "busy CPUs make quick chunks")
        return end(recorder)
    finally:
        storm.kill()
        storm.wait()
        if recorder.poll() is None:
            recorder.kill()
            recorder.wait()


def check_whole(path, ended, what):
    info = answer("info", path)
    good = ended[0] == 0 and info["complete"] and info["raw_records"] == 0
    ok(good, f"{what}: all is small", f"{ended}, {info['raw_records']} raw")
    ok(info["ledger"]["balanced"] and not info["ledger"]["lost"] and not info["damaged_chunks"],
       f"{what}: nothing is lost", info["ledger"])


def when_killed(folder):
    path = os.path.join(folder, "killed.clew")

    def kill(recorder):
        recorder.kill()
        recorder.wait()

    record(path, kill)
    info = answer("info", path)
    ok(not info["complete"] and info["raw_records"] > 0 and not info["damaged_chunks"],
       "killed: it opens, and says what is raw",
       f"{info['raw_records']} raw, {info['damaged_chunks']} damaged")
    read = run(sys.executable, READER, path, stdout=subprocess.PIPE).stdout
    switches = sum(line.startswith('{"kind":"switch"') for line in read.splitlines())
    ok(switches == info["events"]["switch"], "killed: the independent reader has as many switches",
       f"{switches}, {info['events']['switch']}")


def when_stopped(folder):
    path = os.path.join(folder, "stopped.clew")
    check_whole(path, record(path, stop_recording), "stopped")


def main():
    # A file in memory has no quick chunks.
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        when_killed(folder)
        when_stopped(folder)
    finish()


main()
