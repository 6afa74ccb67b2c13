#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Groups inside groups: a wait for memory is for the group whose limit is met, not
for the one inside it that the task is in.
"""

import contextlib
import os

from _live import answer, clew, finish, note, ok, scratch, skip_all
from _place import Lacking, controller, write

LIMIT = 12 << 20
PIECE = 1 << 20


def spend(child, path):
    """Writes more than the limit, so that it waits for what it wrote before."""
    write(f"{child}/cgroup.procs", os.getpid())
    print(os.getpid())
    with open(path, "wb", buffering=0) as file:
        for _ in range(5 * LIMIT // PIECE):
            file.write(bytes(PIECE))
        os.fsync(file.fileno())


def waited_for(directory, unified, room):
    """
    What a task in a group inside a limited one waits for; the inner group's own
    limit is by `room` bytes higher, None: it has none.
    """
    limited = os.path.join(directory, f"clew-live-{os.getpid()}-limited")
    child = os.path.join(limited, "inside")
    capture, data = scratch("groups.clew"), scratch("data")
    limit = "memory.max" if unified else "memory.limit_in_bytes"
    os.makedirs(limited)
    try:
        if unified:
            write(f"{limited}/cgroup.subtree_control", "+memory")
        os.makedirs(child)
        write(f"{limited}/{limit}", LIMIT)
        if room is not None:
            write(f"{child}/{limit}", LIMIT + room)
        script = f"import sys; sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r}); import groups; groups.spend({child!r}, {data!r})"
        done = clew("record", "-o", capture, "--", "/usr/bin/python3", "-c", script)
    finally:
        for group in (child, limited):
            with contextlib.suppress(OSError):
                os.rmdir(group)
    ok(done.returncode == 0, "recorded", done.stderr)
    # Other programs of the machine may wait for memory, too.
    waits = [
        w for w in answer("waits", capture, "--kind", "memory", "--tid", done.stdout.strip())
        ["waits"] if w["call"] == "write"
    ]
    named = sorted({(w["object"] or {}).get("name") for w in waits}, key=str)
    note(f"{len(waits)} waits for memory, of {named}")
    return waits, named, "cgroup /" + os.path.relpath(limited, directory)


def main():
    try:
        directory, unified = controller("memory")
    except (Lacking, OSError) as error:
        skip_all(str(error))
    waits, named, limited = waited_for(directory, unified, None)
    # Where a group's writers are slowed down before it is full they need not
    # wait for what they wrote.
    ok((unified and not waits) or named == [limited],
       "a wait for memory is for the group whose limit is met", named)
    waits, named, limited = waited_for(directory, unified, PIECE)
    ok((unified or waits) and limited + "/inside" not in named,
       "a wait for memory is not for a group that still has room", named)
    finish()


if __name__ == "__main__":
    main()
