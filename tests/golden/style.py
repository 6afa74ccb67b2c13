#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
The code's style: clang-format's, a licence line in every file, no file over a
thousand lines, folders that use only those below; prints TAP.
"""
import os
import re
import subprocess

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
count = 0

# From the ground up. A folder includes its own headers and those of lower floors; folders of one
# floor do not include each other.
FLOORS = [
    ["base"],
    ["arch", "opener"],
    ["containers", "format", "model", "store", "symbol/elf"],
    ["builder", "import", "symbol/code", "symbol/unwind", "analyse/forest"],
    ["trace", "query"],
    ["relate", "record/fields"],
    ["explain", "record/stream"],
    ["convert", "live", "record/stacks"],
    ["notation", "analyse", "record/functions"],
    ["words"],
    [
        "answers", "answers/functions", "answers/latency", "answers/locks", "answers/path",
        "answers/stitch", "answers/took", "answers/why", "record", "stacks", "cli/front"
    ],
    [
        "answers/doctor", "answers/edges", "answers/info", "answers/io", "answers/model",
        "answers/report", "answers/requests", "answers/spans", "answers/trigger", "answers/waits",
        "answers/whatif", "compare", "delay"
    ],
    ["answers/ask", "answers/compare", "answers/delay", "daemon", "library", "cli/operand"],
    [
        "answers/daemon", "page", "tables", "top", "cli/ask", "cli/record", "cli/segments"
    ],
    [
        "answers/top", "export", "cli/blame", "cli/daemon", "cli/io", "cli/latency", "cli/locks", "cli/one",
        "cli/path", "cli/report", "cli/spans", "cli/waits"
    ],
    ["cli/export", "cli/top"],
    ["cli"],
]
FLOOR = {folder: floor for floor, folders in enumerate(FLOORS) for folder in folders}
# The folder that implements a public header. A header of include/clew/kernel/ is below them all.
PUBLIC = {
    "announce": "base", "tokens": "base", "wait_kinds": "base", "edge_types": "base", "model":
    "model", "model_make": "model", "query": "query",
    "notation": "notation", "forest": "analyse/forest", "annotate": "analyse", "blame": "analyse",
    "pair": "analyse", "path": "analyse", "slack": "analyse", "stitch": "analyse", "what_if":
    "analyse", "spent": "explain", "capture": "library", "waits": "library", "why": "library",
    "report": "library"
}


def files(*patterns):
    """What git knows, or where there is no git, what lies there."""
    listed = subprocess.run(["git", "ls-files", "-z", *patterns],
                            capture_output=True,
                            text=True,
                            check=False).stdout
    return [name for name in listed.split("\0") if name]


def ok(good, name, why=""):
    global count
    count += 1
    print(f"{'ok' if good else 'not ok'} {count} - {name}" + ("" if good else f": {why}"))


sources = files("bpf/*.[ch]", "include/*.h", "user/*.[ch]", "tests/unit/*.[ch]", "tests/fuzz/*.c",
                "tools/*.[ch]")
if not sources:
    print("ok 1 - style # SKIP not a git checkout: nothing says which files are the project's")
    print("1..1")
    raise SystemExit(0)
done = subprocess.run(["clang-format", "--dry-run", "--Werror", *sources],
                      capture_output=True,
                      text=True,
                      check=False)
ok(done.returncode == 0, f"{len(sources)} files are as clang-format writes them",
   done.stderr.strip().partition("\n")[0])

texts = [
    name for name in files()
    if not name.startswith(("LICENSES/", "README.md", "tests/golden/expected/", "tests/golden/old/",
                            "tests/fuzz/seeds/", "tests/kernels/btf.tar.xz", "docs/pictures/",
                            "docs/accuracy.json"))
    and os.path.isfile(name)
]
without = [
    name for name in texts
    if "SPDX-License-Identifier" not in open(name, encoding="utf-8", errors="replace").read(2000)
    and not name.startswith(".") and not name.endswith(".records")
]
ok(not without, f"{len(texts)} files name their licence", ", ".join(without))
# Sentences in comments have a subject.
without_subject = []
for name in sources:
    text = open(name, encoding="utf-8").read()
    for comment in re.findall(r"/\*(.*?)\*/", text, re.DOTALL):
        words = " ".join(re.sub(r"^\s*\*", "", line) for line in comment.splitlines())
        without_subject += [
            f"{name}: {sentence}" for sentence in re.split(r"(?<=[.:])\s+", words.strip())
            if re.match(r"(What|Of|Who|Whether|Those|Which|How)\b", sentence)
        ]
ok(not without_subject, "sentences in comments have a subject", "; ".join(without_subject[:2]))
long = [name for name in sources if sum(1 for _ in open(name, encoding="utf-8")) > 1000]
heads = [
    path for path in sources if path.endswith(".c") and re.search(
        r"\bSee [a-z_/]+\.h\.", " ".join(open(path).read().partition("*/\n")[2].partition("*/")[0]
                                        .replace("\n *", " ").split()))
]
ok(not heads, "the head of a source says what is in it, and not where that is said",
   ", ".join(heads[:3]))
ok(not long, "no source is over 1,000 lines", ", ".join(long))


def folder_of(name):
    """
    The folder that a file of user/ or include/clew/ belongs to; None: it is
    below all, or none of these.
    """
    if name.startswith("include/clew/"):
        return PUBLIC.get(os.path.splitext(os.path.basename(name))[0]) if os.path.dirname(
            name) == "include/clew" else None
    path = os.path.dirname(name.removeprefix("user/"))
    return max((folder for folder in FLOOR if (path + "/").startswith(folder + "/")),
               key=len,
               default=None)


upward, unknown, included = [], [], 0
for name in files("user/*.[ch]", "include/*.h", "bpf/*.[ch]"):
    folder = folder_of(name)
    if folder is None and not name.startswith(("include/clew/kernel/", "bpf/")):
        unknown.append(name)
        continue
    for header in re.findall(r'^#include ["<]([^">]+)[">]',
                             open(name, encoding="utf-8").read(), re.MULTILINE):
        path = next(
            (path for path in ("include/" + header, "user/" + header) if os.path.isfile(path)),
            None)
        if path is None or path.startswith("include/clew/kernel/"):
            continue
        included += 1
        other = folder_of(path)
        if folder is None or other is None or (other != folder and
                                               FLOOR[other] >= FLOOR[folder]):
            upward.append(f"{name} includes {header}")
ok(not unknown, "every folder has its place in the order", ", ".join(unknown))
ok(included and not upward, f"{included} includes lead to the same folder or a lower one",
   ", ".join(upward))

# The same floors in CONTRIBUTING.md; a folder that is not there is a part of one that is.
described, floor = {}, 0
for line in open("CONTRIBUTING.md", encoding="utf-8"):
    row = re.match(r"\| (\d*) ?\| ((?:`[a-z/]+/`,? ?)+)\|", line)
    if row and (row[1] or floor):
        floor = int(row[1] or floor)
        described |= {folder: floor - 1 for folder in re.findall(r"`([a-z/]+)/`", row[2])}
wrong = [folder for folder in described if FLOOR.get(folder) != described[folder]]
wrong += [
    folder for folder in FLOOR
    if folder not in described and FLOOR.get(os.path.dirname(folder)) != FLOOR[folder]
]
ok(not wrong, "CONTRIBUTING.md has the same floors", ", ".join(wrong))
print(f"1..{count}")
