#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Threads that are woken for nothing: all readers of an eventfd are woken for each count, and one
gets it. One of the readers of a pipe is woken. The kernel counts how often each reader slept.
"""

import ctypes
import os
import resource
import struct
import time

from _live import CLEW, answer, finish, note, ok, run, scratch, start_recording, stop_recording

READERS = 5
LAPS = 40
PR_SET_NAME = 15

libc = ctypes.CDLL(None)


def slept():
    return resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw


def read_all(fd, last, report):
    """
    Reads until it gets `last`. Reports how often it slept without getting something then: all
    sleeps of a read but the last one were for nothing.
    """
    got, more = None, 0
    while got != last:
        before = slept()
        got = os.read(fd, len(last))
        more += max(0, slept() - before - 1)
    os.write(report, struct.pack("II", os.getpid(), more))
    os._exit(0)


def herd(name, read, write, message, last):
    """Readers that all wait at one descriptor. Returns {pid: sleeps for nothing}."""
    results, report = os.pipe()
    children = []
    for _ in range(READERS):
        child = os.fork()
        if not child:
            libc.prctl(PR_SET_NAME, name.encode(), 0, 0, 0)
            read_all(read, last, report)
        children.append(child)
    time.sleep(0.2)
    for _ in range(LAPS):
        os.write(write, message)
        time.sleep(0.01)
    for _ in range(READERS):
        os.write(write, last)
        time.sleep(0.02)
    for child in children:
        os.waitpid(child, 0)
    return dict(struct.unpack("II", os.read(results, 8)) for _ in children)


def check(path, what, readers, call_object):
    """The sums by object, by task and the line of why against the kernel's counts."""
    # Not those of a start or an end.
    waits = [w for w in answer("waits", path)["waits"]
             if w["tid"] in readers and (w["object"] or {}).get("kind") == call_object]
    vain = [w for w in waits if "for_nothing_ns" in w]
    expected = sum(readers.values())
    note(f"{what}: {len(vain)} of {len(waits)} waits ended for nothing, {expected} expected")
    ok(
        abs(len(vain) - expected) <= 0.05 * expected + 3,
        f"{what}: the wakes for nothing are as many as the kernel counted", (len(vain), expected))
    sums = [
        s for s in answer("waits", path, "--by", "object")["sums"]
        if s["object"] and s["object"]["kind"] == call_object and s["count"] >= READERS *
        2 and s["name"] == waits[0]["object"]["name"]
    ]
    told = sum(s.get("for_nothing", 0) for s in sums)
    took = sum(s.get("for_nothing_ns", 0) for s in sums)
    ok(
        len(sums) == 1 and told == len(vain) and took == sum(w["for_nothing_ns"] for w in vain),
        f"{what}: the sum by object has them", (sums, len(vain)))
    return vain


def check_why(path, reader, vain):
    own = [w for w in vain if w["tid"] == reader]
    why = answer("why", path, "--tid", reader)["woken_for_nothing"]
    ok(why == {"times": len(own), "ns": sum(w["for_nothing_ns"] for w in own)},
       "why has those of its thread", (why, len(own)))
    text = " ".join(run(CLEW, "why", path, "--tid", reader).stdout.split())
    ok(f"It was woken {len(own)} times for nothing, which took" in text, "and says so", text)


def main():
    path = scratch("herd.clew")
    recording = start_recording(path)
    counter = libc.eventfd(0, 0)
    counts = herd("count-reader", counter, counter, struct.pack("Q", 1), struct.pack("Q", 1000))
    read, write = os.pipe()
    bytes_read = herd("pipe-reader", read, write, b"x", b"q")
    stop_recording(recording)
    vain = check(path, "an eventfd", counts, "eventfd")
    ok(len(vain) >= LAPS, "readers of an eventfd are woken for nothing", len(vain))
    if vain:
        check_why(path, vain[0]["tid"], vain)
        text = " ".join(run(CLEW, "waits", path, "--by", "object").stdout.split())
        ok(f"{len(vain)} of them for nothing" in text, "the table by object says so", text)
    check(path, "a pipe", bytes_read, "pipe")
    finish()


if __name__ == "__main__":
    main()
