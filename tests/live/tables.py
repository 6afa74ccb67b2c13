#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Programs come and go whose unwind tables together take more than there is room for. Those that come
later have whole stacks as well.
"""

import shutil
import subprocess
import sys

from _live import answer, finish, note, ok, require_stacks, run, scratch, start_recording, stop_recording

BYTES = 2 << 20  # of code, each with a rule of its own: 8 MB of tables
PROGRAMS = 12
FIT, LATE = 6, 5  # so many fit into 64 MB beside all others; so many are well beyond that
PROGRAM = r"""
#include <time.h>
int __attribute__((noinline)) doze_inside(void)
{
	struct timespec time = {0, 5000000};
	int r = nanosleep(&time, 0);

	__asm__("");
	return r;
}
int __attribute__((noinline)) doze(void) { int r = doze_inside(); __asm__(""); return r + 1; }
int main(void)
{
	for (int i = 0; i < 150; i++)
		doze();
	return 0;
}
"""
# A function that is never called; its rule changes with each byte.
LARGE = """
	.text
large:	.fill {bytes}, 1, 0x90
	.section .eh_frame, "a", @progbits
.Lcie:	.long .Lcie_end - .Lcie - 4, 0
	.byte 1
	.string "zR"
	.uleb128 1
	.sleb128 -8
	.uleb128 16, 1
	.byte 0x1b, 0x0c
	.uleb128 7, 8
	.byte 0x90, 1
	.balign 8
.Lcie_end:
.Lfde:	.long .Lfde_end - .Lfde - 4, . - .Lcie
	.long large - ., {bytes}
	.uleb128 0
	.incbin "{rules}"
	.balign 8
.Lfde_end:
	.section .note.GNU-stack, "", @progbits
"""


def build():
    """The small program, and one with a large table."""
    # From the next byte on the frame is 16, or 8, bytes long.
    with open(scratch("rules"), "wb") as file:
        file.write(b"\x41\x0e\x10\x41\x0e\x08" * (BYTES // 2 - 1))
    with open(scratch("large.s"), "w", encoding="ascii") as file:
        file.write(LARGE.format(bytes=BYTES, rules=scratch("rules")))
    with open(scratch("small.c"), "w", encoding="ascii") as file:
        file.write(PROGRAM)
    for name, sources in (("small", ["small.c"]), ("large", ["small.c", "large.s"])):
        subprocess.run(["gcc", "-O1", "-o", scratch(name), *map(scratch, sources)], check=True)


def whole_stacks(path, comm):
    """Of the sleeps of a program of that name: those whose stacks are known, and all."""
    sleeps = [
        wait for wait in answer("waits", path, "--idle", "--comm", comm, "--stacks")["waits"]
        if wait["kind"] == "sleep"
    ]
    names = [{frame["name"] for frame in wait["stack"]["frames"]} for wait in sleeps
             if wait["stack"]]
    return sum({"doze_inside", "doze", "main"} <= each for each in names), len(sleeps)


def main():
    require_stacks()
    build()
    path = scratch("tables.clew")
    process = start_recording(path, "--stacks")
    for number in range(PROGRAMS):
        name = scratch(f"large-{number}")
        shutil.copy(scratch("large"), name)
        run(name)
    run(scratch("small"))
    status, said = stop_recording(process)
    ok(status == 0, "it records", said)
    found = [whole_stacks(path, f"large-{number}") for number in range(PROGRAMS)]
    note("sleeps with their whole stack, and all: " + ", ".join(f"{a}/{b}" for a, b in found))
    ok(any(whole for whole, _ in found[:FIT]), "programs have their stacks", found)
    late = [whole for whole, _ in found[-LATE:]]
    ok(any(late), "and so have those that come when the room is full", found)
    whole, sleeps = whole_stacks(path, "small")
    ok(whole >= sleeps / 2 > 0, "and one that comes last", f"{whole} of {sleeps}")
    finish()


if __name__ == "__main__":
    sys.exit(main())
