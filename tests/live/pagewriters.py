#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Who wrote pages that others make dirty again, or that are dirty without having been written to.

* ext4 that journals data: a commit, a sync and the flusher make a page dirty again. None of them is
  a writer, neither of what goes to the journal nor of what goes to its place.
* Stores to a folio of many pages, on ext4 and xfs: each page has its own writer. A page that
  nobody stored to has no exact writer.
* Calls that zero a part of a page (FALLOC_FL_ZERO_RANGE and _PUNCH_HOLE, ftruncate) make their
  caller a writer, be the page dirty already or not, and in folios of one page and of many.

Each act is a process of its own, one after the other, so the writers of every pass are known.
Usage: pagewriters.py [--keep DIR]
"""

import argparse
import collections
import json
import os
import sys

from _accuracy import measured
from _live import CLEW, PATIENCE, answer, clew, feature, finish, note, ok, scratch, skip
from _place import Place

PAGE = 4096
SYSTEMS = ("journalled", "ext4", "xfs")

ACTS = r"""
import ctypes, json, mmap, os, sys, time
top, PAGE = sys.argv[1], 4096
libc = ctypes.CDLL(None, use_errno=True)
libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
KEEP, PUNCH, ZERO = 1, 2, 16

def task(what, *arguments):
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            what(*arguments)
            status = 0
        finally:
            os._exit(status)
    if os.waitpid(pid, 0)[1]:
        raise SystemExit("a task failed")
    return pid

def fallocate(fd, mode, at, size):
    if libc.fallocate(fd, mode, at, size):
        raise OSError(ctypes.get_errno(), "fallocate")

def write(fd, *pages):
    for page in pages:
        os.pwrite(fd, os.urandom(PAGE), page * PAGE)

def store(fd, size, *pages):
    with mmap.mmap(fd, size) as memory:
        for page in pages:
            memory[page * PAGE + 8] = (memory[page * PAGE + 8] + 1) & 255

def opened(name, pages, whole):
    fd = os.open(os.path.join(top, name), os.O_CREAT | os.O_RDWR | os.O_TRUNC, 0o600)
    if whole:
        os.write(fd, os.urandom(pages * PAGE))
    else:
        write(fd, *range(pages))
    os.fsync(fd)
    libc.syncfs(fd)
    return fd

def tell(what, fd, writers, syncs):
    # writers: page -> tasks that wrote to it since it was clean
    print(json.dumps({"what": what, "ino": os.fstat(fd).st_ino, "after": after,
                      "writers": writers, "syncs": syncs}), flush=True)

# The first stores only make the recorder note where stores fault.
fd = opened("first", 16, True)
store(fd, 16 * PAGE, 3)
time.sleep(1.5)
if os.path.basename(top) == "journalled":
    fd = opened("journal", 8, False)
    after = time.monotonic_ns()
    a, b = task(write, fd, *range(8)), task(write, fd, 2)
    syncs = [task(os.fsync, fd), task(libc.syncfs, fd)]
    tell("two write", fd, {page: [a, b] if page == 2 else [a] for page in range(8)}, syncs)
    after = time.monotonic_ns()
    c = task(store, fd, 8 * PAGE, 1, 5)
    syncs = [task(os.fsync, fd), task(libc.syncfs, fd)]
    tell("one stores", fd, {1: [c], 5: [c]}, syncs)
    after = time.monotonic_ns()
    d = task(write, fd, 3, 4)
    syncs = [task(libc.syncfs, fd), task(os.sync), task(os.sync)]
    tell("one writes again", fd, {3: [d], 4: [d]}, syncs)
for name, first in (("stored", 0), ("stored-apart", 64)):
    fd = opened(name, 256, True)
    after = time.monotonic_ns()
    a = task(store, fd, 256 * PAGE, first + 3, first + 40)
    b = task(store, fd, 256 * PAGE, first + 9, first + 10, first + 40)
    tell("stores to large folios", fd,
         {first + 3: [a], first + 9: [b], first + 10: [b], first + 40: [a, b]}, [task(os.fsync, fd)])
for what, act, touched in (
        ("ZERO_RANGE", lambda fd: fallocate(fd, ZERO, 100, 3 * PAGE), (0, 3)),
        ("PUNCH_HOLE", lambda fd: fallocate(fd, PUNCH | KEEP, 100, 3 * PAGE), (0, 3)),
        ("PUNCH_HOLE in one page", lambda fd: fallocate(fd, PUNCH | KEEP, 3 * PAGE + 10, 200), (3,)),
        ("ZERO_RANGE up to the end", lambda fd: fallocate(fd, ZERO, 2 * PAGE + 9, 14 * PAGE - 9), (2,)),
        ("ftruncate", lambda fd: os.ftruncate(fd, 3 * PAGE + 100), (3,))):
    for dirty in (False, True):
        for large in (False, True):
            fd = opened(what.replace(" ", "-") + str(dirty) + str(large), 16, large)
            after = time.monotonic_ns()
            writers = {}
            if dirty:
                a = task(write, fd, 0, touched[-1])
                writers = {0: [a], touched[-1]: [a]}
            b = task(act, fd)
            for page in touched:
                writers[page] = writers.get(page, []) + [b]
            tell(f"{what}{' of dirty pages' if dirty else ''}, folios of {'many pages' if large else 'one page'}",
                 fd, writers, [task(os.fsync, fd), task(libc.syncfs, fd)])
"""

Taken = collections.namedtuple("Taken", "sector writers evidence submitter")


def passes_of(requests, case, until):
    """The passes of each page of a case, until the file's next one begins."""
    found = collections.defaultdict(list)
    for request in requests:
        if request["op"] != "write" or not case["after"] <= request["queued"] < until:
            continue
        for part in request["pages"]:
            for i in range((part["bytes"] + PAGE - 1) // PAGE if part["ino"] == case["ino"] else 0):
                found[part["offset"] // PAGE + i].append(
                    Taken(part["sector"] + 8 * i, {w["tid"]
                                                   for w in part["writers"]}, part["evidence"],
                          request["submitter"].get("comm")))
    return found


def judge(case, found):
    """What is wrong. The kernel may write a page before it zeroes a part of it, in a pass of its own."""
    truth = {int(page): set(tasks) for page, tasks in case["writers"].items()}
    for page, passes in sorted(found.items()):
        wrote = truth.get(page, set())
        for taken in passes:
            if taken.evidence == "exact" and not taken.writers <= wrote:
                yield f"page {page}: {taken}, not {sorted(wrote)}"
    for page, wrote in sorted(truth.items()):
        passes = found.get(page, [])
        told = set().union(*(taken.writers for taken in passes if taken.evidence == "exact"))
        if not passes:
            yield f"page {page}: in no request"
        elif told != wrote:
            yield f"page {page}: exactly {sorted(told)} of {sorted(wrote)}, {passes}"


def what_is_missing(system, what):
    """Why not all writers of the pages are told on this kernel; None if they are."""
    if system == "journalled" and "write" not in what and "one store" not in what:
        return "a page that is dirty already is stored to, or zeroed, without a tracepoint"
    if system == "xfs" and "ftruncate of dirty" in what and not os.path.exists(
            "/sys/kernel/tracing/events/iomap/iomap_zero_iter"):
        return "no such tracepoint: iomap_zero_iter"
    return None


def check(system, directory, path):
    done = clew("record", "-o", path, "--", sys.executable, "-c", ACTS, directory, timeout=PATIENCE)
    ok(done.returncode == 0, f"{system}: the acts are recorded", done.stderr.strip())
    cases = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    requests = answer("requests", "--idle", path)["requests"]
    journal, unknown = 0, {}
    for number, case in enumerate(cases):
        until = next((later["after"]
                      for later in cases[number + 1:] if later["ino"] == case["ino"]), 1 << 62)
        found = passes_of(requests, case, until)
        journal += sum((taken.submitter or "").startswith("jbd2") for passes in found.values()
                       for taken in passes)
        problems = list(judge(case, found))
        missing = what_is_missing(system, case["what"])
        untold = sum("exactly" in problem for problem in problems) if missing else 0
        measured("pages writers", len(case["writers"]), len(problems) - untold, untold,
                 witness=f"one process an act, {system}", unit="pages")
        if missing:
            wrong = [p for p in problems if "exactly" not in p]
            ok(not wrong, f"{system}: {case['what']}: nobody who did not write", (wrong or [""])[0])
            unknown.setdefault(missing, []).append(case["what"])
            continue
        for problem in problems[:5]:
            note(problem)
        ok(not problems, f"{system}: {case['what']}: writers of {len(case['writers'])} pages",
           (problems or [""])[0])
    for missing, what in unknown.items():
        skip(f"{system}: all writers in {len(what)} cases", missing)
    if system == "journalled":
        ok(journal, f"{system}: {journal} pages went to the journal", "none")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--keep", metavar="DIR", help="leave the captures here")
    options = parser.parse_args()
    top = options.keep or scratch("pagewriters")
    os.makedirs(top, exist_ok=True)
    dirty, reason = feature("dirty pages")
    if not dirty:
        skip("writers of pages", reason)
        finish()
    with Place(SYSTEMS) as place:
        for system in SYSTEMS:
            if system in place.lacks:
                skip(f"{system}: writers of pages", place.lacks[system])
                continue
            check(system, os.path.join(place.path, system), os.path.join(top, f"{system}.clew"))
    finish()


if __name__ == "__main__":
    assert os.path.exists(CLEW), "clew is not built"
    main()
