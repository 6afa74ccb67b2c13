#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
A group's memory limit and its programs: pages of a file that are read again because the limit had
evicted them, against the kernel's own count, and waits while a task reclaims memory of
its group. A program outside reads as often, and drops its pages itself.
"""

import ctypes
import mmap
import os
import random
import time

from _live import CLEW, answer, finish, note, ok, run, scratch, skip_all, start_recording, stop_recording
from _place import Place

PAGE = mmap.PAGESIZE
FILE_PAGES = 6000  # more than twice the group's limit
READS = 16000
PR_SET_NAME = 15

libc = ctypes.CDLL(None)


def statistic(group, name):
    with open(os.path.join(group, "memory.stat"), encoding="ascii") as file:
        return int(dict(line.split() for line in file).get(name, -1))


def make(path):
    with open(path, "wb") as file:
        file.write(os.urandom(FILE_PAGES * PAGE))
        file.flush()
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def child(name, group, function, *arguments):
    made = os.fork()
    if made:
        return made
    libc.prctl(PR_SET_NAME, name.encode(), 0, 0, 0)
    if group:
        with open(os.path.join(group, "cgroup.procs"), "w", encoding="ascii") as file:
            file.write(str(os.getpid()))
    function(*arguments)
    os._exit(0)


def read_pages(path, seed):
    """Pages in no order, each by itself."""
    draw = random.Random(seed)
    fd = os.open(path, os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
    for _ in range(READS):
        os.pread(fd, 1, draw.randrange(FILE_PAGES) * PAGE)
    os.close(fd)


def read_twice(path):
    """All of it, twice; in between it drops what it has read."""
    fd = os.open(path, os.O_RDONLY)
    for _ in range(2):
        for page in range(FILE_PAGES):
            os.pread(fd, 1, page * PAGE)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


def write_much(path):
    """Pages that have to be written before they can be evicted, for longer than it is recorded."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT)
    block = bytes(256 * PAGE)
    for lap in range(300):
        os.pwrite(fd, block, lap % 40 * len(block))
    os.close(fd)


def check_read(capture, path, task, times, refaults):
    files = {f["path"]: f for f in answer("io", capture)["files"]}
    told = files.get(path, {}).get("again_bytes", -PAGE) // PAGE
    # Evictions before anything of the file had been read are not told.
    ok(0.9 * refaults <= told <= 1.02 * refaults and refaults > 1000,
       "pages that the limit had evicted are told as read again", f"{told} of {refaults}")
    segments = answer("why", capture, "--tid", task, "--from", times[0], "--to",
                      times[1])["segments"]
    device = [s for s in segments if s["kind"] in ("device", "queued")]
    again = sum(s["ns"] for s in device if s.get("read_again"))
    share = again / max(1, sum(s["ns"] for s in device))
    note(f"{told} pages of {refaults} refaults; {100 * share:.0f} % of the disk's time")
    reads = refaults + FILE_PAGES
    ok(
        abs(share - refaults / reads) <= 0.2, "why tells first reads and later ones apart",
        f"{share:.2f}, {refaults / reads:.2f} expected")
    text = run(CLEW, "why", capture, "--tid", task, "--from", times[0], "--to", times[1]).stdout
    ok("again, as a group's memory limit had evicted it" in " ".join(text.split()),
       "and text says so", text)
    text = run(CLEW, "io", capture).stdout
    ok("read again, as a group's memory limit had evicted them" in " ".join(text.split()),
       "io says so in text", text)


def check_outside(capture, path, task):
    files = {f["path"]: f for f in answer("io", capture)["files"]}
    ok(
        files.get(path, {}).get("again_bytes") == 0
        and files[path]["read_bytes"] >= 2 * FILE_PAGES * PAGE,
        "what a program drops itself is not told as evicted", files.get(path))
    segments = answer("why", capture, "--tid", task)["segments"]
    ok(not any(s.get("read_again") for s in segments), "nor does why", "")


def check_reclaim(capture, task, others, group):
    """Waits while it reclaims memory of its group are waits for memory, and of that group."""
    name = os.path.basename(group)
    waits = answer("waits", capture, "--tid", task)["waits"]
    memory = [w for w in waits if w["kind"] == "memory"]
    ours = [w for w in memory if w["object"] and w["object"]["kind"] == "cgroup"]
    wrong = [w for w in ours if not w["object"]["path"].endswith(name)]
    took = sum(w["end"] - w["start"] for w in ours if w["end"] is not None)
    note(f"{len(memory)} waits for memory, {len(ours)} of the group, {took / 1e6:.1f} ms")
    ok(ours and not wrong, "waits in the reclaim of a group are told with the group", wrong[:1]
       or memory[:1] or len(waits))
    restraints = answer("why", capture, "--tid", task)["restraints"]
    told = sum(r["ns"] for r in restraints if r["kind"] == "memory" and r["tid"] == task and (
        r["object"] or {}).get("path", "").endswith(name))
    ok(told >= 0.8 * took, "why adds up how long the group was short of memory", (told, took))
    stray = [
        w for other in others for w in answer("waits", capture, "--tid", other)["waits"]
        if w["kind"] == "memory" and (w["object"] or {}).get("kind") == "cgroup"
    ]
    ok(not stray, "who is in no such group waits for none", stray[:1])


def main():
    with Place(("limit", )) as place:
        if "limit" in place.lacks:
            skip_all(place.lacks["limit"])
        group = os.path.realpath(os.path.join(place.path, "limit"))
        inside, outside, written = (os.path.join(place.path, name)
                                    for name in ("inside", "outside", "written"))
        make(inside)
        make(outside)
        capture = scratch("evicted.clew")
        recording = start_recording(capture)
        before, begun = statistic(group, "workingset_refault_file"), time.monotonic_ns()
        reader = child("again-reader", group, read_pages, inside, 1)
        os.waitpid(reader, 0)
        times = begun, time.monotonic_ns()
        refaults = statistic(group, "workingset_refault_file") - before
        twice = child("outside-reader", None, read_twice, outside)
        os.waitpid(twice, 0)
        writer = child("group-writer", group, write_much, written)
        os.waitpid(writer, 0)
        stop_recording(recording)
        check_read(capture, inside, reader, times, refaults)
        check_outside(capture, outside, twice)
        check_reclaim(capture, writer, [twice], group)
    finish()


if __name__ == "__main__":
    main()
