#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
The machine is in user/arch/, bpf/arch.h, and NAME_x86 and NAME_arm64. The other files that know one are listed, each
with what it knows: for another machine these are the places. Prints TAP.
"""
import glob
import os
import re

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
HOME = re.compile(r"user/arch/|bpf/arch|.*_(?:x86|arm64)\.[ch]$")
# An instruction set, its decoder, a processor by name, and the fields of its saved registers.
KNOWS = re.compile(
    r"x86|aarch64|arm64|EM_X86_64|zydis|\bint \$0x80|"
    r"\breg(?:s|isters)?->(?:[sbi]p|[abcd]x|[sd]i|flags|cs)\b", re.I)
LISTED = dict([("bpf/context.bpf.c", "which interrupts between processors there are"),
               ("bpf/context.h", "where the preempt count is"),
               ("bpf/kernel.h", "where the preempt count is"),
               ("bpf/order.h", "the order of stores"),
               ("bpf/unwind.h", "which header unwinds"),
               ("bpf/unwind_walk.h", "the registers of a frame"),
               ("include/clew/announce.h", "the instruction of a probe that programs compile in"),
               ("include/clew/kernel/call_numbers.h", "whose numbers system calls have"),
               ("include/clew/kernel/maps/unwind.h", "where a frame's caller is"),
               ("user/export/ctf_metadata.c", "LTTng's names of interrupts"),
               ("user/export/ctf_wakes.c", "the number of an interrupt"),
               ("user/export/perfetto.c", "the machine of captures that do not say theirs"),
               ("user/record/features.c", "how a 32-bit program enters the kernel"),
               ("user/record/functions/probe_cost.c", "whether a nop may become a call"),
               ("user/record/load_prepare.c", "whether system calls have other numbers"),
               ("user/record/stacks/direct_map.c", "how many levels page tables have"),
               ("user/record/stream/calls.h", "whose numbers are translated"),
               ("user/record/stream/kernel.c", "where the preempt count is"),
               ("user/record/stream/kernel.h", "where the preempt count is"),
               ("user/record/stream/program_table.c", "which interrupts there are"),
               ("user/symbol/code/instruction.h", "what is kept from one instruction to the next"),
               ("user/symbol/code/probes.c", "how a probe's arguments are written"),
               ("user/symbol/code/stack_state.h", "instructions"),
               ("user/symbol/elf/pointer_table.c", "which relocations hold an address"),
               ("user/symbol/unwind/unwind.c", "the machines of files"),
               ("user/symbol/unwind/unwind_program.c", "the numbers of registers"), ])


def knows(path):
    with open(path, encoding="utf-8") as file:
        return KNOWS.search(file.read())


found = {
    path
    for pattern in ("bpf/*.[ch]", "include/**/*.h", "user/**/*.[ch]")
    for path in glob.glob(pattern, recursive=True) if not HOME.match(path) and knows(path)
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
