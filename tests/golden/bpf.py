#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
The files of the kernel side: each compiles alone, and includes the headers of
bpf/ that it uses and no other; prints TAP. NAME_MACHINE.h has what is different on a machine, and
NAME.h includes it: whoever uses it includes NAME.h.
"""
import concurrent.futures
import os
import re
import subprocess

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bpf"))
ALL = "clew.bpf.c"  # includes all programs
MACHINES = ("x86", "arm64")
count = 0


def ok(good, name, why=""):
    global count
    count += 1
    print(f"{'ok' if good else 'not ok'} {count} - {name}" + ("" if good else f": {why}"))


def code(text):
    """Without comments, strings and #include lines."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r'"(\\.|[^"\n])*"', '""', text)
    return re.sub(r"^#include.*$", "", text, flags=re.M)


def definitions(text):
    """Names that a header defines, as patterns that find their uses."""
    patterns = {}
    for name in re.findall(r"^#\s*define (\w+)", text, re.M) + re.findall(
            r"^\} (\w+);", text, re.M):
        patterns[name] = rf"(?<![\w.])(?<!->){name}\b"
    for body in re.findall(r"^enum \w* ?\{(.*?)\}", text, re.M | re.S):
        for name in re.findall(r"\w+", re.sub(r"=[^,]*", "", body)):
            patterns[name] = rf"(?<![\w.])(?<!->){name}\b"
    for name in re.findall(r"^(?:struct|union|enum) (\w+) \{", text, re.M):
        patterns["struct " + name] = rf"\b(?:struct|union|enum) {name}\b"
    functions = re.findall(
        r"^(?:static )?(?:__always_inline|__noinline|long|extern)\b[^;{(]*?\b(\w+)\(", text, re.M)
    for name in functions:
        patterns[name + "()"] = rf"(?<![\w.])(?<!->){name}\b"
    for name in re.findall(r"^\} (\w+) SEC", text, re.M) + re.findall(
            r"^(?:static struct |(?:const )?volatile |__u)\w+\s+(\w+)[\[; ]", text, re.M):
        patterns["variable " + name] = rf"(?<![\w.])(?<!->){name}\b"
    return patterns


def machine_of(name):
    """The machine that a header is for, None if it is for all."""
    return next((machine for machine in MACHINES if name.endswith("_%s.h" % machine)), None)


def umbrella(name):
    """The header that includes what a machine's header has."""
    machine = machine_of(name)
    return name.replace("_%s.h" % machine, ".h") if machine else name


def compiles(name):
    multiarch = subprocess.run(["gcc", "-print-multiarch"],
                               capture_output=True,
                               text=True,
                               check=True).stdout.strip()
    done = subprocess.run([
        "clang", "-fsyntax-only", "-x", "c", "-O2", "-Wall", "-Wno-unused", "-target", "bpf",
        "-mcpu=v3", "-D__TARGET_ARCH_" + (machine_of(name) or "x86"), "-I../include", "-I.", f"-I/usr/include/{multiarch}",
        name
    ],
                          capture_output=True,
                          text=True,
                          check=False)
    return name, done.returncode == 0 and not done.stderr, done.stderr.strip().partition("\n")[0]


names = sorted(name for name in os.listdir(".") if name.endswith((".h", ".bpf.c")))
with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    failed = [f"{name}: {why}" for name, good, why in pool.map(compiles, names) if not good]
ok(not failed, f"{len(names)} files of bpf/ compile alone", "; ".join(failed))

texts = {name: open(name, encoding="utf-8").read() for name in names}
codes = {name: code(text) for name, text in texts.items()}
defined = {}
for name, text in codes.items():
    if name.endswith(".h"):
        defined.setdefault(umbrella(name), {}).update(definitions(text))
# A file may define a name that a header defines, too.
own = {name: definitions(text).keys() for name, text in codes.items()}
# Most names of a header are in few files: only what has the word is searched for the pattern.
words = {name: set(re.findall(r"\w+", text)) for name, text in codes.items()}


def uses(name, header):
    """What a file uses of a header."""
    return [
        what for what, pattern in defined[header].items()
        if re.findall(r"\w+", what)[-1] in words[name] and what not in own[name]
        and re.search(pattern, codes[name])
    ] if header != umbrella(name) else []


idle, missing = [], []
for name in names:
    included = re.findall(r'^#include "(.*)"', texts[name], re.M)
    for header in defined:
        used = uses(name, header)
        if header in included and not used:
            idle.append(f"{name} uses nothing of {header}")
        # The kernel's structures are declared where they are pointed to.
        if used and header not in included and name != ALL and not name.startswith("kernel"):
            missing.append(f"{name} uses {used[0]} of {header}")
ok(not idle, "an included header is used", ", ".join(idle))
ok(not missing, "a used header is included", ", ".join(missing))
together = re.findall(r'^#include "(.*)"', texts[ALL], re.M)
programs = [name for name in names if name.endswith(".bpf.c") and name != ALL]
ok(
    sorted(together) == programs, f"{ALL} includes all {len(programs)} files of programs",
    ", ".join(sorted(set(together) ^ set(programs))))
print(f"1..{count}")
