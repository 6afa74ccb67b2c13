#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Files that call each other in a circle cannot be read one after the other. The
ones that may are listed here, each with its reason; prints TAP.
"""
import collections
import os
import subprocess

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
BUILD = "build/user"
# A list, and an entry that is about the list; a state and its parts.
LIST, PARTS = "list", "parts"
ALLOWED = [
    # A wake needs the request behind it, and a request the pages that it carries.
    ("builder", "block cause flight journal limit request work writeback", PARTS),
    ("trace", "acceptors exchange part recent rest trace vain", PARTS),
    ("trace", "frames identity priority", PARTS),
    ("symbol/code", "code jump_table_x86 ranges", PARTS),
    ("explain", "locks locks_cycle locks_hold locks_order", PARTS),
    ("explain", "why why_end why_job why_unanswered", PARTS),
    ("words", "hops stack", PARTS),
    ("answers/locks", "locks_json locks_taken locks_text", PARTS),
    ("answers/report", "report_places report_programs report_text", PARTS),
    ("tables", "about tables", LIST),
    ("cli/front", "fail screen terminal words", PARTS),
]
count = 0


def ok(good, name, why=""):
    global count
    count += 1
    print(f"{'ok' if good else 'not ok'} {count} - {name}" + ("" if good else f": {why}"))


def calls():
    """For each file of user/ the others whose functions or data it names."""
    objects = [
        os.path.join(folder, name)[:-2] for folder, _, names in os.walk("user") for name in names
        if name.endswith(".c") and not name.endswith("_arm64.c")
    ]
    # The files of another machine are not built here.
    objects = [name for name in objects if os.path.exists(f"build/{name}.o") or
               not name.endswith(("_x86", "_arm64"))]
    lines = subprocess.run(["nm", "-A", "-g", *(f"build/{name}.o" for name in objects)],
                           capture_output=True, text=True, check=True).stdout.splitlines()
    defined, named = {}, collections.defaultdict(set)
    for line in lines:
        path, _, rest = line.partition(":")
        file = os.path.relpath(path, BUILD)[:-2]
        *_, kind, symbol = rest.split()
        if kind == "U":
            named[file].add(symbol)
        else:
            defined[symbol] = file
    return {
        file: {defined[symbol] for symbol in symbols if symbol in defined} - {file}
        for file, symbols in named.items()
    }


def reached(graph, begin):
    """All files that a file leads to."""
    seen, open_ = set(), [begin]
    while open_:
        for other in graph.get(open_.pop(), ()):
            if other not in seen:
                seen.add(other)
                open_.append(other)
    return seen


graph = calls()
leads = {file: reached(graph, file) for file in graph}
circles = {
    frozenset(other for other in leads[file] if file in leads.get(other, ()))
    for file in graph if file in leads[file]
}
ok(len(graph) > 300, "the files and what they call are known", str(len(graph)))
allowed = [{f"{folder}/{name}" for name in names.split()} for folder, names, _ in ALLOWED]
new = [" ".join(sorted(circle)) for circle in circles if circle not in allowed]
ok(not new, "no files call each other in a circle but those that are listed", "; ".join(new))
gone = [" ".join(sorted(files)) for files in allowed if files not in circles]
ok(not gone, "each circle that is listed is there", "; ".join(gone))
print(f"1..{count}")
