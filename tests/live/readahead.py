#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Pages that are read ahead for nobody: none of a file whose every byte is read, in pieces of
any size or through a mapping, and just those that are not read of another.
"""

import contextlib
import os
import sys

from _host import undisturbed
from _live import answer, clew, feature, finish, note, ok, scratch, skip, skip_all
from _place import Lacking, controller, write

PAGE = 4096
LARGE = 8 << 20

# Each reads a file whose pages have left the page cache. Arguments: the file, and a number.
PROGRAMS = {
    "calls":
    """
def run(fd, piece):
    while os.read(fd, piece):
        pass
""",
    # Each page once, by the fault that reads it, in a scrambled order.
    "faults":
    """
def run(fd, _):
    size = os.fstat(fd).st_size
    with mmap.mmap(fd, size, prot=mmap.PROT_READ) as mapping:
        mapping.madvise(mmap.MADV_RANDOM)
        for i in range(size // 4096):
            mapping[i * 7919 % (size // 4096) * 4096]
""",
    # All of it is asked for, and the first `wanted` bytes are read in small pieces.
    "part":
    """
def run(fd, wanted):
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_WILLNEED)
    for at in range(0, wanted, 200):
        os.pread(fd, min(200, wanted - at), at)
""",
    # Half of it is read so often that uses are not recorded any more when the rest is.
    "often":
    """
def run(fd, times):
    half = os.fstat(fd).st_size // 2
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_WILLNEED)
    for _ in range(times):
        for at in range(0, half, 4096):
            os.pread(fd, 1, at)
    for at in range(half, 2 * half, 4096):
        os.pread(fd, 1, at)
""",
    # As before, and then a second file that is asked for and not read.
    "later":
    """
def run(fd, times):
    for _ in range(times):
        for at in range(0, os.fstat(fd).st_size, 4096):
            os.pread(fd, 1, at)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_WILLNEED)
""",
}
COMMON = """
import mmap, os, sys, time
fd = os.open(sys.argv[1], os.O_RDONLY)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
run(fd, int(sys.argv[2]))
time.sleep(0.05) # what was asked for last arrives
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
"""


def unused_pages(program, number, size=LARGE, group=None):
    """How many pages of a file of `size` bytes are said to be read ahead for nobody."""
    data, capture = scratch("data"), scratch("capture.clew")
    with open(data, "wb") as file:
        file.write(os.urandom(size))
        os.fsync(file.fileno())
    inside = f"import os; open({group!r} + '/cgroup.procs', 'w').write(str(os.getpid()))\n"
    script = (inside if group else "") + PROGRAMS[program] + COMMON
    done = undisturbed(
        lambda: clew("record", "-o", capture, "--", "/usr/bin/python3", "-c", script, data, number),
        lambda found: "lost 0" not in found.stderr)
    if done.returncode or "lost 0" not in done.stderr:
        raise RuntimeError(f"clew record: status {done.returncode}: {done.stderr}")
    found = [f for f in answer("io", capture)["files"] if f["path"] == data]
    os.unlink(data)
    if not found or found[0]["read_bytes"] < size:
        raise RuntimeError(f"{program} {number}: the file was not read from the disk: {found}")
    return found[0]["unused_bytes"] // PAGE


@contextlib.contextmanager
def small_group(limit):
    directory, unified = controller("memory")
    group = os.path.join(directory, f"clew-live-{os.getpid()}-readahead")
    os.makedirs(group)
    try:
        write(f"{group}/memory.max" if unified else f"{group}/memory.limit_in_bytes", limit)
        yield group
    finally:
        with contextlib.suppress(OSError):
            os.rmdir(group)


def main():
    uses, reason = feature("use of cached pages")
    if not uses:
        skip_all(reason)
    if os.statvfs(scratch()).f_bsize != PAGE:
        skip_all("no such file system: with blocks of a page")
    for piece in (50, 100, 3000, 70000):
        pages = unused_pages("calls", piece)
        ok(pages == 0, f"a file that is read {piece} bytes at a time is read for somebody",
           f"{pages} pages for nobody")
    pages = unused_pages("faults", 0)
    ok(pages == 0, "a mapped file is read for the faults that read it", f"{pages} pages for nobody")
    try:
        with small_group(12 << 20) as group:
            pages = unused_pages("faults", 0, 32 << 20, group)
        ok(pages == 0, "so it is in a small memory group", f"{pages} pages for nobody")
    except (Lacking, OSError) as error:
        skip("so it is in a small memory group", str(error))
    for wanted in (PAGE, 1 << 20):
        pages = unused_pages("part", wanted)
        ok(pages == (LARGE - wanted) // PAGE,
           f"what is read for nobody is counted: all but {wanted} bytes",
           f"{pages} pages, not {(LARGE - wanted) // PAGE}")
    pages = unused_pages("often", 80, 1 << 20)
    ok(pages == 0, "a use that is not recorded is no sign that there was none",
       f"{pages} pages for nobody")
    pages = unused_pages("later", 80, 1 << 20)
    ok(pages == (1 << 20) // PAGE, "what is read later for nobody is counted again",
       f"{pages} pages, not {(1 << 20) // PAGE}")
    finish()


if __name__ == "__main__":
    note(f"Python {sys.version.split()[0]}")
    main()
