#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# alone: it compares times, and sets limits of the kernel for all dirty pages
"""
Real programs on a file system of the test's own: PostgreSQL beside a bulk copy, Redis,
SQLite, git and dpkg under sync.

Of each: the slowest of what it did is explained, nearly nothing of it unknown; what `clew
io` says of bytes is what the
programs' own files, /proc/PID/io and the disk's statistics say, sectors are FIEMAP's; who
waited for a request waited for
pages of its own file, or stood behind what the answer names.

Usage: real.py [--only NAME,..] [--system ext4|xfs|btrfs] [--seconds N]
"""

import argparse
import bisect
import collections
import contextlib
import os
import time

import _postgres
import _programs
from _live import GUEST, answer, clew, finish, note, ok, scratch, skip, skip_all, start_recording, stop_recording
from _place import Place

UNKNOWN_MOST = 0.02
HIDDEN_MOST = 0.1  # of what a machine hides from every tracer
MEGABYTES = 1024  # of the file system, and so many more for each second
MEGABYTES_A_SECOND = 100
DISK_KINDS = ("read", "write", "fsync", "file", "io", "journal")


def number_of(path):
    device = os.stat(path).st_dev
    return f"{os.major(device)}:{os.minor(device)}"


def disk_of(place, system):
    """Of a file system with files of no disk of their own, the place tells it."""
    try:
        with open(os.path.join(place.path, system + ".disk"), encoding="ascii") as file:
            return file.read().split()[0]
    except FileNotFoundError:
        return number_of(os.path.join(place.path, system))


def written_of(number):
    """Bytes written to a disk so far, by its own count."""
    with open(f"/sys/dev/block/{number}/stat", encoding="ascii") as file:
        return int(file.read().split()[6]) * 512


class Recorded:
    """What a recording says, asked for once."""

    def __init__(self, path, top, number, written):
        self.path = path
        self.top = top
        self.number = number_of(top)  # of the file system; of btrfs it is no disk's
        self.disk_number = number
        self.written = written
        self.requests = answer("requests", path)["requests"]
        self.io = answer("io", path)
        self.files = {file["path"]: file for file in self.io["files"] if file["path"]}
        self.disk = next((disk for disk in self.io["devices"] if disk["dev"] == number), None)
        self.system = os.path.basename(top)

    def why(self, *arguments):
        return answer("why", self.path, *arguments)

    def of_disk(self):
        return [request for request in self.requests if request["dev"] == self.disk_number]


@contextlib.contextmanager
def recorded(name, top, disk, result):
    """
    Records what is done meanwhile, from a clean file system to a clean one;
    what it says is put in `result`.
    """
    path = scratch(name + ".clew")
    os.sync()
    before = written_of(disk)
    recording = start_recording(path, "--ring-size", "16M")
    try:
        yield
        descriptor = os.open(top, os.O_RDONLY)
        os.sync()
        os.close(descriptor)
        written = written_of(disk) - before
    finally:
        status, said = stop_recording(recording)
        note(f"{name}: {said.splitlines()[0] if said else ''}")
    if status:
        raise RuntimeError(f"clew record: status {status}: {said}")
    result.append(Recorded(path, top, disk, written))


def shorter(text, top):
    return text.replace(top + "/", "")


def length(segments):
    return sum(segment["ns"] for segment in segments)


explained = {"hidden": 0, "total": 0}  # ns, of all programs: one slow operation may be short


def check_explained(name, capture, operations, wanted=1):
    """Nearly nothing of these is unknown. Returns the segments of all."""
    segments = [segment for operation in operations for segment in operation["segments"]]
    total = max(1, length(segments))
    unknown = [s for s in segments if s["kind"] == "unknown"]
    hidden = [s for s in unknown if s.get("blind") or s["object"]["wait"] == "unknown"]
    leaves = [s for s in segments if s["kind"] in DISK_KINDS]
    for operation in operations[:2]:
        for cause in operation["causes"][:3]:
            note(
                f"{name}: {operation['total_ns'] / 1e6:.1f} ms: {100 * cause['share']:.0f} % {shorter(cause['text'], capture.top)}"
            )
    if hidden:
        note(f"{name}: {100 * length(hidden) / total:.2f} % more this machine hides")
    ok(
        len(operations) >= wanted and length(unknown) - length(hidden) < UNKNOWN_MOST * total,
        f"{name}: of {total / 1e6:.1f} ms of the {len(operations)} slowest {100 * (length(unknown) - length(hidden)) / total:.2f} % are unknown",
        unknown[:2])
    ok(
        length(leaves) < 0.05 * total,
        f"{name}: {100 * length(leaves) / total:.2f} % end at a wait for the disk without a request",
        leaves[:2])
    explained["hidden"] += length(hidden)
    explained["total"] += total
    return segments


def check_requests(name, capture):
    """Writes tell why they were made and what they carry."""
    writes = [r for r in capture.of_disk() if r["op"] == "write" and r["bytes"]]
    total = sum(r["bytes"] for r in writes)
    reasons = collections.Counter()
    for request in writes:
        reasons[request["reason"] or "unknown"] += request["bytes"]
    carried = sum(p["bytes"] for r in writes for p in r["pages"]) + sum(
        r["bytes"] for r in writes if not r["pages"] and r["reason"] in ("journal", "metadata"))
    nameless = sum(p["bytes"] for r in writes for p in r["pages"] if not p["writers"] and p["path"])
    # Of btrfs' workers that write for a sync it is not known.
    most = 0.3 if capture.system == "btrfs" else 0.01
    ok(writes and reasons["unknown"] <= most * total,
       f"{name}: {len(writes)} writes, {total >> 10} KiB: {dict(reasons)}", dict(reasons))
    ok(carried >= 0.99 * total,
       f"{name}: what {100 * carried / max(total, 1):.2f} % of it is, is told", carried)
    ok(nameless <= 0.01 * total,
       f"{name}: of {100 * nameless / max(total, 1):.2f} % of it the writers are unknown", nameless)


def check_disk(name, capture):
    """Bytes, against the disk's own count."""
    said = capture.disk["written_bytes"] if capture.disk else 0
    ok(said == capture.written, f"{name}: {said} bytes reached the disk, as it counts itself",
       f"it counts {capture.written}")


def check_asked(name, capture, paths):
    """
    Bytes asked, by file, against the files' sizes: each was written once. btrfs
    tells whole blocks.
    """
    if capture.system == "btrfs":
        return
    said = {
        file["ino"]: file["asked_bytes"]
        for file in capture.io["files"] if file["dev"] == capture.number
    }
    wrong = []
    for path in paths:
        status = os.stat(path)
        if said.get(status.st_ino) != status.st_size:
            wrong.append((path, said.get(status.st_ino), status.st_size))
    ok(paths and not wrong,
       f"{name}: bytes asked for of {len(paths)} files are those that they have", wrong[:3])


def check_sectors(name, capture, paths):
    """
    Where each page of a file went, against FIEMAP: what was written last is
    there. btrfs' addresses are its own.
    """
    if capture.system == "btrfs":
        return
    wrong, right = [], 0
    by_ino = {os.stat(path).st_ino: path for path in paths}
    maps = {ino: _programs.sectors_of(path) for ino, path in by_ino.items()}
    last = {}
    for request in capture.of_disk():
        if request["op"] != "write" or not request["completed"]:
            continue
        for page in request["pages"]:
            if page["ino"] in maps and page["dev"] == capture.number:
                for at in range(0, page["bytes"], 4096):
                    last[(page["ino"], page["offset"] + at)] = page["sector"] + at // 512
    for (ino, offset), sector in last.items():
        expected = _programs.sector_at(maps[ino], offset)
        if expected is None:
            continue
        if expected == sector:
            right += 1
        else:
            wrong.append((by_ino[ino], offset, sector, expected))
    ok(right and not wrong,
       f"{name}: {right} pages of {len(paths)} files went where FIEMAP has them", wrong[:3])


def check_own(name, capture, tids, path):
    """Who waited for a write of his file waited for pages that he or his like wrote."""
    mine = [
        r for r in capture.of_disk()
        if r["op"] == "write" and any(w["tid"] in tids
                                      for w in r["woke"]) and any(p["path"] == path
                                                                  for p in r["pages"])
    ]
    writers = {
        w["tid"]
        for r in mine for p in r["pages"] if p["path"] == path for w in p["writers"] or []
    }
    ok(
        mine and writers and writers <= tids,
        f"{name}: {len(mine)} writes that were waited for carry pages of {os.path.basename(path)} by its own tasks",
        (len(mine), writers - tids))


def slowest(capture, *arguments):
    return capture.why(*map(str, arguments), "--slowest", "20")["operations"]


def check_copy(name, capture, segments, copy, tid):
    """
    The copy is named, with its program, where commits stood behind it; and it
    is what the requests say.
    """
    named, wrong = 0, []
    issued = sorted((r for r in capture.of_disk() if r["issued"] and r["completed"]),
                    key=lambda r: r["issued"])
    starts = [r["issued"] for r in issued]
    for segment in segments:
        if segment["kind"] not in ("device", "queued"):
            continue
        files = segment["beside"]["files"]
        mine = [f for f in files if f["path"] == copy]
        if mine or segment["object"].get("path") == copy:
            named += segment["ns"]
        wrong += [f for f in mine if [w["tid"] for w in f["writers"]] != [tid]]
    ok(
        named and not wrong,
        f"{name}: {named / 1e6:.1f} ms of the slowest beside the copy are behind its pages, which dd wrote",
        wrong[:2] or "the copy is in none")
    # Counted once more, from the list of requests.
    checked = 0
    for segment in segments:
        if segment["kind"] != "device" or segment["object"][
                "dev"] != capture.disk_number or segment["object"]["sector"] is None:
            continue
        near = issued[max(0,
                          bisect.bisect(starts, segment["start"]) -
                          4096):bisect.bisect(starts, segment["start"])]
        own = [
            r for r in near
            if r["sector"] == segment["object"]["sector"] and r["completed"] >= segment["end"]
        ]
        if len(own) != 1:
            continue
        ahead = [
            r for r in near
            if r["bytes"] and r["issued"] < own[0]["issued"] and r["completed"] > segment["start"]
        ]
        if "below" in segment and not ahead:
            continue  # then it is what the disk below had
        checked += 1
        if sum(r["bytes"] for r in ahead) != segment["beside"]["bytes"] or len(
                ahead) != segment["beside"]["requests"]:
            wrong.append((segment["start"], len(ahead), segment["beside"]))
    ok(
        checked and not wrong,
        f"{name}: what the disk had in hand meanwhile, of {checked} requests, is as the list of requests has it",
        wrong[:2])


def postgres(place, top, disk, seconds):
    if not _postgres.programs():
        return skip("postgres", "PostgreSQL is not installed")
    captures = []
    with _postgres.Cluster(2, "shared_buffers=64MB", top=top) as cluster:
        with contextlib.ExitStack() as after, recorded("postgres", top, disk, captures):
            copy, tid, begun, ended = _programs.bench_beside_copy(place, cluster, top, seconds)
            after.enter_context(_programs.stopped(cluster.server.pid))
    capture = captures[0]
    check_explained("postgres", capture, slowest(capture, "--comm", "postgres"), 20)
    beside = slowest(capture, "--comm", "postgres", "--from", begun, "--to", ended)
    check_copy("postgres", capture, check_explained("postgres beside the copy", capture, beside, 5),
               copy, tid)
    check_requests("postgres", capture)
    check_disk("postgres", capture)
    check_asked("postgres", capture, [copy])
    check_sectors("postgres", capture, [copy])
    os.unlink(copy)


def redis(place, top, disk, seconds):
    if not _programs.redis_program():
        return skip("redis", "Redis is not installed")
    captures = []
    with _programs.Redis(top) as server:
        with contextlib.ExitStack() as after, recorded("redis", top, disk, captures):
            before = os.stat(server.log).st_size
            server.bench(seconds, MEGABYTES_A_SECOND)
            after.enter_context(_programs.stopped(server.pid))
            grown = os.stat(server.log).st_size - before
        tids = server.tids()
        capture = captures[0]
        check_sectors("redis", capture, [server.log])
    syncer = next(tid for tid, comm in tids.items() if comm.startswith("bio_aof"))
    check_explained("redis", capture, slowest(capture, "--comm", "bio_aof*", "--idle", "futex"))
    check_explained("redis' main thread", capture, slowest(capture, "--tid", str(server.pid)))
    waited = [
        r for r in capture.of_disk() if any(w["tid"] == syncer for w in r["woke"]) and r["bytes"]
    ]
    writers = {
        w["tid"]
        for r in waited for p in r["pages"] if p["path"] == server.log for w in p["writers"]
    }
    ok(
        waited and writers == {server.pid},
        f"redis: the syncing thread waits for {len(waited)} requests, with pages that the main thread wrote",
        writers)
    check_requests("redis", capture)
    check_disk("redis", capture)
    said = capture.files[server.log]["asked_bytes"]
    ok(said == grown or capture.system == "btrfs",
       f"redis: {said} bytes asked for are what its log grew by", grown)


def sqlite(place, top, disk, seconds):
    captures = []
    database = _programs.sqlite_database(top)
    with recorded("sqlite", top, disk, captures):
        done = _programs.sqlite(database, seconds)
    capture = captures[0]
    tids = set(done["tids"])
    note(f"sqlite: {done['transactions']} transactions by {len(tids)} processes")
    # SQLite sleeps for a while and tries again where another writes: of that the slowest are made.
    found = capture.why("--comm", "clew-sqlite", "--slowest", "400")["operations"]
    check_explained("sqlite", capture, found[:20], 20)
    check_explained("sqlite's commits", capture,
                    [o for o in found if not any(s["kind"] == "sleep" for s in o["segments"])][:20],
                    5)
    check_own("sqlite", capture, tids, done["log"])
    check_requests("sqlite", capture)
    check_disk("sqlite", capture)
    said = sum(f["asked_bytes"] for p, f in capture.files.items() if p.startswith(done["database"]))
    ok(said == done["written"] or capture.system == "btrfs",
       f"sqlite: {said} bytes asked for, as its processes count", f"they count {done['written']}")
    check_sectors("sqlite", capture, [done["log"]])


def lifetimes(capture, tids):
    return [capture.why("--tid", str(tid)) for tid in tids]


def check_under_sync(name, capture, done):
    """A command beside syncs of the whole system, and the files that it wrote."""
    check_explained(name, capture, lifetimes(capture, [done["tid"]]))
    check_explained("sync beside " + name, capture, lifetimes(capture, done["syncs"]))
    check_requests(name, capture)
    check_disk(name, capture)
    check_asked(name, capture, done["files"])
    check_sectors(name, capture, done["files"])


def git(place, top, disk, seconds):
    if not _programs.has("git"):
        return skip("git", "git is not installed")
    captures = []
    repository = _programs.repository(top, 2000)
    with recorded("git", top, disk, captures):
        done = _programs.under_sync(repository, "git", "-C", repository, "checkout", "-q", "--",
                                    ".")
    check_under_sync("git", captures[0], done)


def dpkg(place, top, disk, seconds):
    if not _programs.has("dpkg", "dpkg-deb"):
        return skip("dpkg", "dpkg is not installed")
    captures = []
    package = _programs.package(scratch())
    with recorded("dpkg", top, disk, captures):
        done = _programs.unpack(package, top)
    check_under_sync("dpkg", captures[0], done)


PARTS = {"postgres": postgres, "redis": redis, "sqlite": sqlite, "git": git, "dpkg": dpkg}


def main():
    if GUEST:
        skip_all("big programs are left out in a guest")
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--system", default="ext4")
    parser.add_argument("--seconds", type=float, default=2)
    options = parser.parse_args()
    with Place(only=[options.system],
               megabytes=MEGABYTES + int(MEGABYTES_A_SECOND * options.seconds)) as place:
        if options.system in place.lacks:
            skip_all(place.lacks[options.system])
        top = os.path.join(place.path, options.system)
        os.chmod(place.path, 0o755)
        for name in options.only.split(","):
            begun = time.monotonic()
            PARTS[name](place, top, disk_of(place, options.system), options.seconds)
            note(f"{name}: {time.monotonic() - begun:.1f} s in all")
    hidden = explained["hidden"] / max(1, explained["total"])
    ok(hidden < HIDDEN_MOST, "this machine hides less than a tenth of all", f"{100 * hidden:.2f} %")
    finish()


if __name__ == "__main__":
    main()
