#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
On a busy machine, programs that nobody ran before and that end at once have their files in their
stacks: each frame of each stack that was taken of them has the path of its file.
"""

import os
import shutil

from _live import answer, clew, finish, note, ok, require_stacks, scratch

PROGRAMS = 40
SLEEP = 0.003  # s: long enough for a stack
LOOPS = 4  # for each CPU, that keep it busy

SCRIPT = """
loops=
for i in $(seq %d); do sh -c 'while :; do :; done' & loops="$loops $!"; done
for i in $(seq %d); do "$0/program-$i" %g; done
kill $loops
"""


def main():
    require_stacks()
    folder = scratch("programs")
    os.mkdir(folder)
    for number in range(1, PROGRAMS + 1):
        # A copy is a file of its own.
        shutil.copy(shutil.which("sleep"), os.path.join(folder, f"program-{number}"))
    path = scratch("short.clew")
    script = SCRIPT % (LOOPS * os.cpu_count(), PROGRAMS, SLEEP)
    done = clew("record", "-o", path, "--", "sh", "-c", script, folder)
    if done.returncode != 0:
        raise RuntimeError(f"record: status {done.returncode}: {done.stderr[-500:]}")
    stacks = {}
    for wait in answer("waits", path, "--stacks", "--idle")["waits"]:
        if wait["comm"].startswith("program-") and wait["kind"] == "sleep" and wait["stack"]:
            stacks[wait["comm"]] = wait["stack"]
    whole = [name for name, stack in stacks.items() if stack["end"] == "root"]
    note(f"{len(stacks)} of {PROGRAMS} sleeps have stacks, {len(whole)} of them to the root")
    ok(len(stacks) >= PROGRAMS * 0.9, "short programs have stacks", len(stacks))
    without = {
        name: stack
        for name, stack in stacks.items()
        if not stack["frames"] or not all(f["object"] for f in stack["frames"])
    }
    ok(not without, "each frame of them has its file", list(without.items())[:2])
    other = {
        name: stack
        for name, stack in stacks.items()
        if os.path.join(folder, name) not in [f["object"] for f in stack["frames"]]
    }
    ok(not other, "each leads through the program's own file", list(other.items())[:2])
    finish()


if __name__ == "__main__":
    main()
