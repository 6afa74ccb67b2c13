#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# alone: records come as fast as they can, and none may be late
"""
A live builder beside the capture file finds what the file gives later, and says
how much it left out where it cannot keep up.
"""

import contextlib
import json
import os
import subprocess
import sys

from _host import undisturbed
from _live import PATIENCE, ROOT, TRIES, WORKLOADS, await_detached, finish, note, ok, scratch, skip_all

BOTH = os.environ.get("CLEW_RECORD_BOTH", os.path.join(ROOT, "build", "record_both"))
LOADS = ("mutex", "pipe", "condition", "pagecache", "work", "epoll", "socket", "tree")
# What any machine gives under these loads; the rest depends on its disks and locks.
SURE = ("identity", "run", "sleep", "ready", "edge")


@contextlib.contextmanager
def loads():
    """All loads at once, each by itself, so that a slow one holds up no other."""
    script = (f"cd {scratch()}; for load in {' '.join(LOADS)}; do while :; do {WORKLOADS}/$load"
              " >/dev/null 2>&1; done & done; echo begun; wait")
    # The group is killed, as some loads have children that outlive them.
    with subprocess.Popen(["/bin/sh", "-c", script],
                          start_new_session=True,
                          stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE) as load:
        load.stdout.readline()
        try:
            yield
        finally:
            os.killpg(load.pid, 9)


def record(name, seconds, queue):
    """
    Records under all loads at once, which are there only meanwhile: an emulated machine has no time
    for them while programs are loaded and findings compared. Returns what the recorder with the live
    builder said, or None and why.
    """
    kept = [scratch(name)] if os.environ.get("CLEW_KEEP") == "1" else []
    with subprocess.Popen([BOTH, scratch(name), str(seconds), str(queue), *kept],
                          stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE,
                          text=True) as both:
        begun = both.stderr.readline()
        if begun == "ready\n":
            with loads():
                both.stdin.write("\n")
                both.stdin.flush()
                begun = both.stderr.readline()
        said, why = both.communicate(timeout=PATIENCE)
    if both.returncode != 0 or begun != "recorded\n":
        return None, f"status {both.returncode}: {begun}{why.strip()}"
    return json.loads(said), ""


def lost(found):
    return found[0] and found[0]["lost"]


def counts(findings):
    return " ".join(f"{tag} {count}" for tag, (count, _) in findings.items())


def same():
    """
    What comes too late to be put in order is not the merge's fault, and rare, nor is what is lost
    while the host has a CPU: then it is tried again.
    """
    for attempt in range(TRIES):
        said, why = undisturbed(lambda: record("same.clew", 4, 0), lost)
        if not said:
            ok(False, "it records with a live builder", why)
            return
        if not said["late"] and not said["missed"]:
            break
        note(f"attempt {attempt + 1}: {said['late']} records late, {said['missed']} missed")
    note(counts(said["file"]))
    ok(said["balanced"] and not said["lost"], "the capture beside a live builder is whole", said)
    ok(said["missed"] == 0 and said["late"] == 0,
       "the live builder misses nothing, and nothing is late",
       f"{said['missed']} missed, {said['late']} late")
    ok(said["fed"] == said["read"] > 1000, f"it gets the {said['read']} records of the file",
       said["fed"])
    for tag, found in said["file"].items():
        ok(said["live"][tag] == found, f"{tag}: live as from the file ({found[0]})",
           f"{said['live'][tag]} and {found}")
    poor = [tag for tag in SURE if said["file"][tag][0] < 50]
    ok(not poor, "there are findings to compare", poor)


def too_small():
    """Queues that hold a few records: not even the tasks there are find room in theirs."""
    said, why = undisturbed(lambda: record("small.clew", 1, 4096), lost)
    if not said:
        ok(False, "it records with small queues", why)
        return
    ok(said["balanced"] and not said["lost"],
       "a live builder that cannot keep up costs the capture nothing", said)
    ok(said["missed"] > 0 and said["fed"] + said["missed"] == said["read"],
       f"it says how much it missed ({said['missed']} of {said['read']})", said)
    ok(
        said["live"]["run"][0] > 0 and said["live"]["identity"][0] < said["file"]["identity"][0],
        "and goes on with the rest",
        f"runs {said['live']['run']}, identities {said['live']['identity']} of {said['file']['identity']}"
    )


def main():
    if not os.access(BOTH, os.X_OK):
        if os.environ.get("CLEW_LIVE_GUEST") == "1":
            skip_all("the recorder with a live builder is not in the guest")
        ok(False, "there is a recorder with a live builder", f"{BOTH} is missing: make unit")
        finish()
    same()
    too_small()
    left = await_detached()
    ok(not left, "nothing stays attached", [p.get("name") for p in left])
    finish()


if __name__ == "__main__":
    sys.exit(main())
