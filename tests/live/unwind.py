#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
User stacks by unwind tables: frame for frame those that libdw finds from the same registers and
the same memory, in Debian's programs as they are, without frame pointers. A sleeper's stack that
another task's switch reads is the one that the sleeper had when it left.
"""

import json
import os
import shutil
import subprocess

from _accuracy import measured
from _live import GUEST, ROOT, finish, note, ok, run, scratch, skip, skip_all

COMPARE = os.environ.get("CLEW_UNWIND_COMPARE", os.path.join(ROOT, "build", "unwind_compare"))
SECONDS = 15 if GUEST else 3  # a program takes seconds to start on an emulated CPU
HERTZ = 499
FEW = 200  # stacks, for a share to mean something

PYTHON = """
import hashlib, time
def work(n):
    return sum(i * i for i in range(n)) + (work(n - 1) if n > 190 else 0)
while True:
    work(200)
    sorted(str(i) for i in range(3000))
    hashlib.sha256(b"x" * 100000).hexdigest()
    time.sleep(0.001)
"""
BASH = "while :; do x=$(( (x * 7 + 3) % 1000 )); a=$a.$x; a=${a:0:100}; read -t 0.0005 <> <(:); done"
PROGRAMS = {
    "bash": ("/bin/bash", "-c", BASH), "python": ("/usr/bin/python3", "-c", PYTHON), "openssl":
    ("openssl", "speed", "-seconds", "3", "sha256"),
}


def compare(name, command):
    if not shutil.which(command[0]):
        skip(f"{name}: stacks", "it is not installed")
        return
    done = run(COMPARE, SECONDS, HERTZ, *command)
    if done.returncode != 0:
        ok(False, f"{name}: stacks are walked", done.stderr[-2000:])
        return
    found = json.loads(done.stdout[done.stdout.index("{"):])
    stacks, same = found["stacks"], found["same"]
    note(f"{name}: {stacks} stacks of {found['frames']} frames, {same} as libdw, "
         f"{found['cut']} cut, {found['longer']} longer, {found['no_table']} before their table; "
         f"{found['equal']} of {found['pairs']} waits equal")
    measured("stacks samples", stacks, found["different"], stacks - same - found["different"],
             witness=f"libdw, {name}")
    ok(stacks >= FEW, f"{name}: {stacks} stacks that libdw walks to their root")
    ok(same >= stacks * 0.99, f"{name}: {same} of {stacks} are whole", done.stderr[-2000:])
    ok(found["different"] == 0, f"{name}: no frame is false", done.stderr[-2000:])
    ok(found["direct_map"] and found["equal"] >= found["pairs"] * 0.999,
       f"{name}: {found['equal']} of {found['pairs']} sleepers' stacks are read as they were")


def main():
    if os.geteuid() != 0:
        skip_all("it needs root")
    for name, command in PROGRAMS.items():
        compare(name, command)
    finish()


if __name__ == "__main__":
    main()
