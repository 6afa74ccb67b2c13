#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Paths are whole, or say that they are cut: names of up to 255 bytes, files and groups
deeper than a capture keeps.
"""

import contextlib
import os

from _host import undisturbed
from _live import answer, clew, finish, ok, scratch, skip
from _place import Lacking, controller, write

FILES = """
import os, sys
for path in sys.argv[1:]:
    os.chdir("/")
    *directories, name = path.split("/")[1:]
    for directory in directories: # a path may be longer than calls take
        os.chdir(directory)
    fd = os.open(name, os.O_CREAT | os.O_WRONLY, 0o600)
    os.write(fd, bytes(5000))
    os.fsync(fd)
"""

SPEND = """
import os, sys, time
def throttled(group):
    with open(group + "/cpu.stat") as file:
        return int(dict(line.split() for line in file)["nr_throttled"])
group, limited = sys.argv[1:]
with open(group + "/cgroup.procs", "w") as file:
    file.write(str(os.getpid()))
# On a busy machine it gets little of a CPU anyway.
end, before = time.monotonic() + 60, throttled(limited)
while throttled(limited) < before + 5 and time.monotonic() < end:
    pass
"""


def record(program, *arguments):
    capture = scratch("paths.clew")
    done = undisturbed(
        lambda: clew("record", "-o", capture, "--", "/usr/bin/python3", "-c", program, *arguments),
        lambda found: "lost 0" not in found.stderr)
    if done.returncode or "lost 0" not in done.stderr:
        raise RuntimeError(f"clew record: status {done.returncode}: {done.stderr}")
    return capture


def check_files():
    names = ["n" * 250 + end for end in ("", "A", "B", "abcde")] + ["short"]
    paths = [scratch(name) for name in names]
    deep = scratch(*["d" * 200 + str(i) for i in range(3)])
    deeper = os.path.join(deep, *["e" * 200 + str(i) for i in range(4)])
    flat = scratch(*["f"] * 70)
    for directory in (deeper, flat):
        os.makedirs(directory)
    paths += [deep + "/whole", flat + "/whole", deeper + "/cut"]
    told = [f["path"] for f in answer("io", record(FILES, *paths))["files"] if f["path"]]
    for path in paths[:-1]:
        ok(told.count(path) == 1, f"a path of {len(path)} bytes is whole", told[:8])
    cut = [path for path in told if path.endswith("/cut")]
    ok(
        len(cut) == 1 and cut[0].startswith(".../")
        and paths[-1].endswith(cut[0].removeprefix("...")),
        f"a path of {len(paths[-1])} bytes is marked as cut", cut)


def limit(group, unified, quota):
    """Microseconds in 20 ms; None: as many as it likes."""
    if unified:
        write(f"{group}/cpu.max", f"{quota or 'max'} 20000")
    else:
        write(f"{group}/cpu.cfs_period_us", 20000)
        write(f"{group}/cpu.cfs_quota_us", quota or -1)


@contextlib.contextmanager
def deep_groups():
    """44 groups, one in the other, and whether they are of version 2."""
    directory, unified = controller("cpu")
    groups = [os.path.join(directory, f"clew-live-{os.getpid()}-deep")]
    try:
        for level in range(1, 45):
            groups.append(os.path.join(groups[-1], f"level-{level}-of-a-very-deep-hierarchy"))
        for group in groups:
            os.mkdir(group)
            if unified and group != groups[-1]:
                write(f"{group}/cgroup.subtree_control", "+cpu")
        yield directory, groups, unified
    finally:
        for group in reversed(groups):
            with contextlib.suppress(OSError):
                os.rmdir(group)


def paths_told(capture):
    """Of groups whose quota was used up."""
    return {
        w["object"]["path"]
        for w in answer("waits", capture, "--kind", "throttle")["waits"]
        if w["object"] and "very-deep" in (w["object"].get("path") or "")
    }


def check_groups():
    with deep_groups() as (directory, groups, unified):
        path = {group: "/" + os.path.relpath(group, directory) for group in groups}
        high, deepest = groups[20], groups[-1]
        limit(deepest, unified, 4000)
        cut = paths_told(record(SPEND, deepest, deepest))
        ok(
            len(cut) == 1 and min(cut).startswith(".../level-") and path[deepest].endswith(min(cut)[3:]),
            f"a group's path of {len(path[deepest])} bytes is marked as cut", cut)
        limit(deepest, unified, None)
        limit(high, unified, 4000)
        told = paths_told(record(SPEND, deepest, high))
        ok(told == {path[high]},
           f"a quota 24 groups above is told so, with a path of {len(path[high])} bytes", told)


def main():
    check_files()
    try:
        check_groups()
    except (Lacking, OSError) as error:
        skip("paths of groups", str(error))
    finish()


if __name__ == "__main__":
    main()
