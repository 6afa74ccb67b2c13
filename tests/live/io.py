#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
The sums of `clew io` against what programs do: bytes that go through two disks, what is
made dirty in large folios, deleted files, and the order of programs.
"""

import os
import sys

from _live import PATIENCE, TRIES, answer, clew, finish, ok, scratch, skip
from _place import Place

MEGABYTE = 1 << 20
PAGE = 4096

# Writes so many megabytes to a file, and syncs it.
STACKED = """
import os, sys
open("/proc/self/comm", "w").write("clew-stacked")
fd = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
for _ in range(int(sys.argv[2])):
    os.write(fd, bytes([7]) * (1 << 20))
os.fsync(fd)
"""

# Reads a file, so that its folios are large, and writes 100 bytes to each 16th page of it, three
# times with a sync after each.
PIECES = """
import os, sys
fd = os.open(sys.argv[1], os.O_RDWR)
while os.read(fd, 1 << 20):
    pass
size = os.fstat(fd).st_size
for i in range(3):
    for at in range(0, size, 16 * 4096):
        os.pwrite(fd, bytes(100), at + 100 * i)
    os.fsync(fd)
"""

# Files that keep their name, lose it while they are written to, after that, or before that.
DELETED = """
import os, sys
for name in ("kept", "open", "gone", "before"):
    path = os.path.join(sys.argv[1], "clew-" + name)
    fd = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    if name == "before":
        os.unlink(path)
    os.write(fd, bytes(100000))
    if name in ("open", "gone"):
        os.unlink(path)
    if name == "open":
        os.write(fd, bytes(50000))
    else:
        os.close(fd)
"""


def record(program, *arguments):
    """The answer about a recording in which nothing was lost, as on a host that takes the CPUs away."""
    capture = scratch("io.clew")
    for _ in range(TRIES):
        done = clew("record",
                    "-o",
                    capture,
                    "--",
                    "/usr/bin/python3",
                    "-c",
                    program,
                    *arguments,
                    timeout=PATIENCE)
        if done.returncode or "lost 0" in done.stderr:
            break
    if done.returncode or "lost 0" not in done.stderr:
        raise RuntimeError(f"clew record: status {done.returncode}: {done.stderr}")
    return answer("io", capture)


def number_of(path):
    device = os.stat(path).st_dev
    return f"{os.major(device)}:{os.minor(device)}"


def check_stacked(place, megabytes):
    path = os.path.join(place.path, "ext4", "stacked")
    told = record(STACKED, path, megabytes)
    programs = [p for p in told["programs"] if p["comm"] == "clew-stacked"]
    files = [f for f in told["files"] if f["path"] == path]
    size = megabytes * MEGABYTE
    # A few blocks of metadata may be the program's too.
    written = programs[0]["written_bytes"] if len(programs) == 1 else 0
    ok(size <= written < size + MEGABYTE // 2,
       f"a program that wrote {megabytes} MiB to a loop device has written that", programs)
    levels = {level["dev"]: level["bytes"] for p in programs for level in p["levels"]}
    ok(
        len(levels) == 2 and number_of(path) in levels
        and all(size <= found < size + MEGABYTE // 2 for found in levels.values()),
        "its levels are the loop device and the disk below", levels)
    ok(
        len(files) == 1 and files[0]["written_bytes"] == size
        and files[0]["levels"] == [{"dev": number_of(path), "bytes": size}],
        "the file has its own level", files)


def check_dirtied(place, system):
    path = os.path.join(place.path, system, "pieces")
    with open(path, "wb") as file:
        file.write(bytes(8 * MEGABYTE))
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    told = record(PIECES, path)
    files = [f for f in told["files"] if f["path"] == path]
    wanted = 3 * 8 * MEGABYTE // 16
    found = files[0] if len(files) == 1 else {"dirtied_bytes": None}
    ok(found["dirtied_bytes"] == wanted,
       f"{system}: pages that are written to become dirty, not whole folios",
       f"{found['dirtied_bytes']} bytes, not {wanted}")
    ok(found.get("unused_bytes") == 0, f"{system}: what is read is read for somebody", found)


def check_deleted():
    told = record(DELETED, scratch())
    found = {
        os.path.basename(f["path"]): f["deleted"]
        for f in told["files"] if f["path"] and "/clew-" in f["path"] and "live" in f["path"]
        and os.path.basename(f["path"]).startswith("clew-")
    }
    ok(found == {"clew-kept": False, "clew-open": True, "clew-gone": True, "clew-before": True},
       "files that lost their names are told as deleted", found)
    sizes = [(p["asked_bytes"] + p["stored_bytes"] or p["dirtied_bytes"]) + p["dirtied_bytes"] +
             p["written_bytes"] for p in told["programs"]]
    ok(sizes == sorted(sizes, reverse=True) and len(sizes) > 1, "the largest program comes first",
       sizes)


def main():
    with Place(("ext4", "xfs"), 128) as place:
        for system in ("ext4", "xfs"):
            if system in place.lacks:
                skip(f"{system}: sums", place.lacks[system])
                continue
            if system == "ext4":
                for megabytes in (3, 12):
                    check_stacked(place, megabytes)
            check_dirtied(place, system)
    check_deleted()
    finish()


if __name__ == "__main__":
    sys.exit(main())
