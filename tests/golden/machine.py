#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
The machine is in user/arch/, bpf/arch*.h and bpf/unwind_*.h. The other files that know one are listed here, each
with what it knows: for another machine these are the places. Prints TAP.
"""
import glob
import os
import re

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
HOME = ("user/arch/", "bpf/arch", "bpf/unwind_x86.h", "bpf/unwind_arm64.h")
# An instruction set, its decoder, a processor by name, and the fields of its saved registers.
KNOWS = re.compile(
    r"x86|aarch64|arm64|EM_X86_64|zydis|\bint \$0x80|"
    r"\breg(?:s|isters)?->(?:[sbi]p|[abcd]x|[sd]i|flags|cs)\b", re.I)
LISTED = dict([("bpf/context.bpf.c", "which interrupts between processors there are"),
               ("bpf/unwind.h", "which header unwinds"),
               ("bpf/unwind_walk.h", "the registers of a frame"),
               ("include/clew/kernel/call_numbers.h", "whose numbers system calls have"),
               ("include/clew/kernel/maps/unwind.h", "where a frame's caller is"),
               ("user/record/load.c", "whether system calls have other numbers"),
               ("include/clew/announce.h", "the instruction of a probe that programs compile in"),
               ("user/export/ctf_metadata.c", "LTTng's names of interrupts"),
               ("user/export/ctf_wakes.c", "the number of an interrupt"),
               ("user/export/perfetto.c", "the machine of captures that do not say theirs"),
               ("user/record/features.c", "how a 32-bit program enters the kernel"),
               ("user/record/functions/probe_cost.c", "what a probe costs, by instruction"),
               ("user/record/functions/tracer_resolve.c", "the name of a library"),
               ("user/record/stream/calls.h", "whose numbers are translated"),
               ("user/symbol/code/code.c", "instructions"),
               ("user/symbol/code/entry_point.c", "instructions"),
               ("user/symbol/code/exits.c", "instructions"),
               ("user/symbol/code/function.c", "the machine of a file"),
               ("user/symbol/code/jump_table.c", "instructions"),
               ("user/symbol/code/pointers.c", "relocations"),
               ("user/symbol/code/site.c", "instructions"),
               ("user/symbol/code/site.h", "instructions"),
               ("user/symbol/code/stack_state.c", "instructions"),
               ("user/symbol/code/stack_state.h", "instructions"),
               ("user/symbol/code/stack_walk.c", "instructions"),
               ("user/symbol/elf/library.c", "where libraries are"),
               ("user/symbol/elf/library.h", "where libraries are"),
               ("user/symbol/unwind/unwind.c", "the machine of a file"), ])


def knows(path):
    with open(path, encoding="utf-8") as file:
        return KNOWS.search(file.read())


found = {
    path
    for pattern in ("bpf/*.[ch]", "include/**/*.h", "user/**/*.[ch]")
    for path in glob.glob(pattern, recursive=True) if not path.startswith(HOME) and knows(path)
}
def call_numbers(path, prefix):
    with open(path, encoding="ascii") as file:
        return dict(re.findall(r"^#define %s(\w+)\s+(\d+)$" % prefix, file.read(), re.M))


HEADER = "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"
print("1..3")
for number, (name, paths) in enumerate(
    (("files that know the machine are in their places or listed", found - set(LISTED)),
     ("the files that are listed know it", set(LISTED) - found)), 1):
    print(f"{'not ok' if paths else 'ok'} {number} - {name}" +
          (": " + ", ".join(sorted(paths)) if paths else ""))
if os.path.exists(HEADER):
    wrong = set(call_numbers("include/clew/kernel/call_numbers.h", "CLEW_NR_").items()) ^ set(
        call_numbers(HEADER, "__NR_").items())
    print(f"{'not ok' if wrong else 'ok'} 3 - system calls have the numbers of the kernel's header" +
          (": " + ", ".join(" ".join(row) for row in sorted(wrong)) if wrong else ""))
else:
    print("ok 3 # SKIP this machine has no headers of x86-64")
