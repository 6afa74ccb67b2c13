#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Objects are made again when a header that they include changes: what make says
against the #include lines. Prints TAP.
"""
import os
import re
import subprocess

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
BUILD = "build"
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
os.chdir(ROOT)
count = 0


def ok(good, name, why=""):
    global count
    count += 1
    print(f"{'ok' if good else 'not ok'} {count} - {name}" + ("" if good else f": {why}"))


def of_another_build(target):
    """Builds with other flags have directories of their own inside this one."""
    return os.path.exists(os.path.join(BUILD, target.split("/")[1], "libclew.a"))


def database():
    """
    Each object's prerequisites, as make knows them. What was built of sources
    that are gone is left out.
    """
    done = subprocess.run(["make", "-pnq", "all"], capture_output=True, text=True, check=False)
    found = {}
    for line in done.stdout.splitlines():
        target, colon, needed = line.partition(": ")
        if not colon or not re.fullmatch(BUILD + r"/[^ %]+[.]o",
                                         target) or of_another_build(target):
            continue
        paths = [os.path.normpath(path) for path in needed.split()]
        if all(os.path.exists(path) for path in paths):
            found[target] = paths
    return found


def included(source, seen):
    """Paths of the repository's headers that a file includes, and those that these include."""
    with open(source, encoding="utf-8") as file:
        names = INCLUDE.findall(file.read())
    for name in names:
        for directory in (os.path.dirname(source), "include", "user", "bpf"):
            path = os.path.normpath(os.path.join(directory, name))
            if os.path.exists(path):
                if path not in seen:
                    seen.add(path)
                    included(path, seen)
                break
    return seen


def check(name, objects, known):
    """All headers of these objects' sources are among their prerequisites."""
    missing, headers = [], set()
    for target in objects:
        sources = [path for path in known[target] if path.endswith(".c")]
        wanted = set()
        for source in sources:
            included(source, wanted)
        # The preprocessor leaves out the header of the machine that the object is not for.
        other = "_x86.h" if "arm64" in target else "_arm64.h"
        wanted = {path for path in wanted if not path.endswith(other)}
        headers |= wanted
        missing += [f"{target}: {path}" for path in sorted(wanted - set(known[target]))]
    ok(headers and not missing,
       f"{name}: {len(objects)} objects depend on the {len(headers)} headers that they include",
       missing[:5] or "no header")


known = database()
kernel = [target for target in known if target.endswith(".bpf.o")]
if not kernel:
    print("ok 1 - dependencies # SKIP nothing is built here")
    print("1..1")
    raise SystemExit(0)
check("the kernel's side", kernel, known)
check("the library and the program", [target for target in known if target not in kernel], known)
print(f"1..{count}")
