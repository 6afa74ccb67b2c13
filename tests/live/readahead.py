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
from _live import answer, feature, finish, note, ok, run, scratch, skip, skip_all, start_recording, stop_recording
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


class Use:
    """A program, its number, and a file of `size` bytes that it reads, in a memory group or in none."""

    def __init__(self, program, number, size=LARGE, group=None):
        self.what, self.size = f"{program} {number}", size
        self.data = scratch(f"{program}-{number}-{size}")
        inside = f"import os; open({group!r} + '/cgroup.procs', 'w').write(str(os.getpid()))\n"
        script = (inside if group else "") + PROGRAMS[program] + COMMON
        self.command = ["/usr/bin/python3", "-c", script, self.data, number]


def record(capture, uses):
    """Returns what the recording said."""
    recording = start_recording(capture)
    for use in uses:
        done = run(*use.command)
        if done.returncode:
            raise RuntimeError(f"{use.what}: status {done.returncode}: {done.stderr}")
    return stop_recording(recording)


def unused_pages(*uses):
    """How many pages of the file of each use are said to be read ahead for nobody."""
    capture = scratch("capture.clew")
    for use in uses:
        with open(use.data, "wb") as file:
            file.write(os.urandom(use.size))
            os.fsync(file.fileno())
    status, said = undisturbed(lambda: record(capture, uses), lambda found: "lost 0" not in found[1])
    if status or "lost 0" not in said:
        raise RuntimeError(f"clew record: status {status}: {said}")
    files = {file["path"]: file for file in answer("io", capture)["files"]}
    for use in uses:
        os.unlink(use.data)
        if files.get(use.data, {"read_bytes": 0})["read_bytes"] < use.size:
            raise RuntimeError(f"{use.what}: the file was not read from the disk: "
                               f"{files.get(use.data)}")
    return [files[use.data]["unused_bytes"] // PAGE for use in uses]


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
    with contextlib.ExitStack() as stack:
        pieces, parts = (50, 100, 3000, 70000), (PAGE, 1 << 20)
        uses = [Use("calls", piece) for piece in pieces] + [Use("part", wanted) for wanted in parts]
        uses.append(Use("faults", 0))
        try:
            group = stack.enter_context(small_group(12 << 20))
            uses.append(Use("faults", 0, 32 << 20, group))
        except (Lacking, OSError) as error:
            skip("so it is in a small memory group", str(error))
        found = unused_pages(*uses)
    for piece in pieces:
        pages = found.pop(0)
        ok(pages == 0, f"a file that is read {piece} bytes at a time is read for somebody",
           f"{pages} pages for nobody")
    for wanted in parts:
        pages = found.pop(0)
        ok(pages == (LARGE - wanted) // PAGE,
           f"what is read for nobody is counted: all but {wanted} bytes",
           f"{pages} pages, not {(LARGE - wanted) // PAGE}")
    for pages, name in zip(found, ("a mapped file is read for the faults that read it",
                                   "so it is in a small memory group")):
        ok(pages == 0, name, f"{pages} pages for nobody")
    # Each by itself: what is read so often uses up what is recorded of uses.
    pages, = unused_pages(Use("often", 80, 1 << 20))
    ok(pages == 0, "a use that is not recorded is no sign that there was none",
       f"{pages} pages for nobody")
    pages, = unused_pages(Use("later", 80, 1 << 20))
    ok(pages == (1 << 20) // PAGE, "what is read later for nobody is counted again",
       f"{pages} pages, not {(1 << 20) // PAGE}")
    finish()


if __name__ == "__main__":
    note(f"Python {sys.version.split()[0]}")
    main()
