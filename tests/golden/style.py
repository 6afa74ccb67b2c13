#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The code's style: clang-format's, a licence line in every file, no file over a thousand lines; prints TAP."""
import os
import subprocess

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
count = 0


def files(*patterns):
    """What git knows, or where there is no git, what lies there."""
    listed = subprocess.run(["git", "ls-files", "-z", *patterns], capture_output=True, text=True, check=False).stdout
    return [name for name in listed.split("\0") if name]


def ok(good, name, why=""):
    global count
    count += 1
    print(f"{'ok' if good else 'not ok'} {count} - {name}" + ("" if good else f": {why}"))


sources = files("bpf/*.[ch]", "include/*.h", "user/*.[ch]", "tests/unit/*.[ch]", "tests/fuzz/*.c", "tools/*.[ch]")
if not sources:
    print("ok 1 - style # SKIP not a git checkout: nothing says which files are the project's")
    print("1..1")
    raise SystemExit(0)
done = subprocess.run(["clang-format", "--dry-run", "--Werror", *sources], capture_output=True, text=True, check=False)
ok(done.returncode == 0, f"{len(sources)} files are as clang-format writes them", done.stderr.strip().partition("\n")[0])

texts = [name for name in files() if not name.startswith(("LICENSES/", "README.md", "tests/golden/expected/", "tests/golden/old/", "tests/fuzz/seeds/")) and os.path.isfile(name)]
without = [name for name in texts if "SPDX-License-Identifier" not in open(name, encoding="utf-8", errors="replace").read(2000)
           and not name.startswith(".") and not name.endswith(".records")]
ok(not without, f"{len(texts)} files name their licence", ", ".join(without))
long = [name for name in sources if sum(1 for _ in open(name, encoding="utf-8")) > 1000]
ok(not long, "no source is over 1,000 lines", ", ".join(long))
print(f"1..{count}")
