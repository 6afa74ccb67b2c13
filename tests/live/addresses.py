#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Futexes have the names of the variables that they are in, as the program itself says: in .data,
.bss and structures; stripped, static, in a deleted file; in each file of a recording. Memory
without a name gets none, and a program has none of the names of the one before it.
"""

import collections
import json
import os
import shutil
import subprocess

from _live import (WORKLOADS, answer, clew, finish, note, ok, scratch, start_recording,
                   stop_recording)

RUNS = 20
NAMED_AFTER = 100_000_000  # ns: a file has the names of what was met that long before its end


def truth_of(text):
    """The pid, and name, offset and kind of memory by address."""
    first, *lines = text.splitlines()
    rows = [line.split() for line in lines]
    return int(first.split()[1]), {
        int(address): (memory, name, int(offset))
        for memory, name, offset, address in rows
    }


def all_futexes(path):
    """
    By process, what its waits say of each address that they were at, and when the first of them
    began. Not every file has every process.
    """
    found = collections.defaultdict(dict)
    for wait in answer("waits", path)["waits"]:
        thing = wait["object"]
        if thing and thing["kind"] == "futex":
            said, _ = found[wait["pid"]].setdefault(int(thing["address"], 16),
                                                    (set(), wait["start"]))
            said.add((thing["name"], thing["symbol"], thing["offset"], thing["path"]))
    return found


def futexes(path, pid):
    """What the waits of a process say of each address that they were at."""
    return {address: said for address, (said, _) in all_futexes(path)[pid].items()}


def problem(want, said, file, named):
    """What is wrong with the answers for an address, or nothing."""
    memory, name, offset = want
    if len(said) != 1:
        return f"{said} for one address"
    (text, symbol, at, path), = said
    if memory == "unnamed":
        return "" if (symbol, at, path) == (None, None, None) else f"{said} for {want}"
    if memory == "thread" and symbol is None:
        return ""  # a static program has it in the heap
    if memory == "heap":
        return "" if text.startswith("futex heap+0x") and not symbol else f"{said} for {want}"
    if path != file:
        return f"{path}, not {file}"
    if not named:
        good = symbol is None and text == f"futex {os.path.basename(file)}+0x{at:x}"
        return "" if good else f"{said} for {want}"
    shown = f"futex {name}" + (f"+0x{offset:x}" if offset else "")
    return "" if (text, symbol, at) == (shown, name, offset) else f"{said} for {want}"


def wrong_of(found, truth, file, named):
    wrong = [problem(want, found[address], file, named) for address, want in truth.items()
             if address in found]
    return [each for each in wrong if each]


def check_program(name, named):
    program, path = os.path.join(WORKLOADS, name), scratch(name + ".clew")
    done = clew("record", "-o", path, "--", program)
    pid, truth = truth_of(done.stdout)
    found = futexes(path, pid)
    missing = [want for address, want in truth.items() if address not in found]
    ok(not missing, f"{name}: all locks were waited for", missing)
    wrong = wrong_of(found, truth, program, named)
    ok(not wrong, f"{name}: each has its name and offset", wrong[:3])
    if not named:
        linked = {name: int(address, 16) for address, name in symbols(program[:-len("-stripped")])}
        wrong = [(want, said) for address, want in truth.items() if want[0] == "variable"
                 for said in found[address] if said[2] != linked[want[1]] + want[2]]
        ok(not wrong, f"{name}: without names it is the address as linked", wrong[:3])
    return path


def symbols(program):
    """Addresses and names of variables, by nm."""
    lines = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in lines.splitlines()]
    return [(row[0], row[2]) for row in rows if len(row) == 3 and row[1] in "bBdD"]


def check_converted(path):
    """A converted trace has the names that the capture has."""
    trace = scratch("converted.trace")
    clew("convert", path, "-o", trace)
    one, other = (json.loads(clew("locks", each, "--json").stdout)["locks"]
                  for each in (path, trace))
    names = [lock["name"] for lock in one]
    ok(names == [lock["name"] for lock in other] and any("in_structure" in name for name in names),
       "a trace in notation has the same names", names)


def check_deleted():
    folder = scratch("deleted")
    os.mkdir(folder)
    program, path = os.path.join(folder, "gone"), scratch("gone.clew")
    shutil.copy(os.path.join(WORKLOADS, "addresses"), program)
    recorder = start_recording(path)
    process = subprocess.Popen([program], stdout=subprocess.PIPE, text=True)
    first = process.stdout.readline()
    os.unlink(program)
    pid, truth = truth_of(first + process.communicate()[0])
    stop_recording(recorder)
    wrong = wrong_of(futexes(path, pid), truth, program + " (deleted)", True)
    ok(not wrong, "a deleted program's locks have names", wrong[:3])


def check_files():
    """Each file of a recording has the names of the waits in it, but of those at its end."""
    ring, program = scratch("ring"), os.path.join(WORKLOADS, "addresses")
    recorder = start_recording(ring, "--rotate", "500ms")
    runs = [truth_of(clew_free(program)) for _ in range(RUNS)]
    stop_recording(recorder)
    named = unnamed = files = 0
    wrong, before = [], set()
    for name in sorted(os.listdir(ring)):
        path = os.path.join(ring, name)
        found, end = all_futexes(path), answer("info", path)["end"]
        files += any(pid in found for pid, _ in runs)
        for pid, truth in runs:
            for address, want in truth.items():
                if want[0] != "variable" or address not in found[pid]:
                    continue
                said, first = found[pid][address]
                # Its end may be too near also for a process that has begun in another file.
                surely = pid not in before and first + NAMED_AFTER < end
                named += surely
                unnamed += not any(each[1] for each in said)
                wrong += [each for each in said
                          if each[1] != want[1] and (surely or each[1] is not None)]
        before.update(pid for pid, places in found.items() if places)
    note(f"{named} locks were met before their file's end, {unnamed} have no name in {files} files")
    ok(named >= RUNS and files > 1 and not wrong, "each file has names of its own",
       (named, files, wrong[:3]))


def clew_free(program):
    return subprocess.run([program], capture_output=True, text=True, check=True).stdout


def check_exec():
    """A shell runs short-lived programs in its own place: none has another one's names."""
    path, program = scratch("exec.clew"), os.path.join(WORKLOADS, "addresses-static")
    recorder = start_recording(path)
    runs = [
        truth_of(
            subprocess.run(["sh", "-c", f"sleep 0.0{i % 5}; exec {program}"],
                           capture_output=True,
                           text=True,
                           check=True).stdout) for i in range(10)
    ]
    stop_recording(recorder)
    wrong = []
    for pid, truth in runs:
        wrong += wrong_of(futexes(path, pid), truth, program, True)
    ok(not wrong, "after an exec names are those of the new program", wrong[:3])


first = check_program("addresses", True)
check_program("addresses-stripped", False)
check_program("addresses-static", True)
check_converted(first)
check_deleted()
check_files()
check_exec()
finish()
