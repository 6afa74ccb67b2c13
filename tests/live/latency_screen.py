#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
The screen of `clew latency --live` in tmux: keys sort and filter groups, a resize and an interrupt
leave no trace on the terminal.
"""

import os
import shutil
import subprocess
import time

from _live import CLEW, PATIENCE, WORKLOADS, feature, finish, ok, scratch, skip_all

PROGRAM = os.path.join(WORKLOADS, "dearest")
SOCKET = scratch("tmux")
SIZES = ((80, 24), (200, 50))


def tmux(*words):
    return subprocess.run(["tmux", "-S", SOCKET, *words],
                          capture_output=True,
                          text=True,
                          timeout=PATIENCE,
                          check=False).stdout


def screen():
    return tmux("capture-pane", "-p", "-t", "it").splitlines()


def wait_for(wanted, seconds=40):
    """The screen as soon as it is as wanted; else as it is after that time."""
    until = time.monotonic() + seconds
    while True:
        lines = screen()
        if wanted(lines) or time.monotonic() > until:
            return lines
        time.sleep(.2)


def names(lines):
    """Of functions, in order."""
    return [line.split()[-1] for line in lines
            if line.split() and line.split()[-1] in ("first", "steady", "seldom")]


def has(text):
    return lambda lines: any(text in line for line in lines)


def main():
    available, reason = feature("functions")
    if not available:
        skip_all(reason)
    if not shutil.which("tmux"):
        skip_all("tmux is not installed")
    width, height = SIZES[0]
    words = " ".join(f"-f {PROGRAM}:{name}" for name in ("first", "steady", "seldom"))
    tmux("new-session", "-d", "-s", "it", "-x", str(width), "-y", str(height), "sh")
    tmux("send-keys", "-t", "it",
         f"PS1='$ '; {CLEW} latency --live --max-cost 1000 {words}; echo status $?", "Enter")
    lines = wait_for(has("so far"))
    ok(has("q quit")(lines), "the first line has the keys", lines[:3])
    with subprocess.Popen([PROGRAM, "3"], stdout=subprocess.DEVNULL):
        lines = wait_for(lambda lines: len(names(lines)) == 3)
    ok(names(lines) == ["first", "steady", "seldom"], "what took most comes first", lines)
    tmux("send-keys", "-t", "it", "/", "SELD")
    lines = wait_for(lambda lines: names(lines) == ["steady", "seldom"])
    ok(names(lines) == ["steady", "seldom"] and has("SELD_")(lines),
       "a filter leaves the groups with the text and their callers", lines)
    tmux("send-keys", "-t", "it", "Enter", "s")
    lines = wait_for(has("s sort (count)"))
    ok(has("s sort (count)")(lines) and has("/ filter (SELD)")(lines), "s sorts by the next figure",
       lines[:3])
    width, height = SIZES[1]
    tmux("resize-window", "-t", "it", "-x", str(width), "-y", str(height))
    tmux("send-keys", "-t", "it", "/", "Escape")
    lines = wait_for(lambda lines: len(names(lines)) == 3)
    ok(len(names(lines)) == 3 and len(lines) <= height, "all are there again, on a larger screen",
       lines)
    tmux("send-keys", "-t", "it", "C-c")
    lines = wait_for(has("status 0"))
    ok(has("status 0")(lines) and not has("q quit")(lines) and len(names(lines)) == 3,
       "an interrupt leaves the shell's screen, with the last answer", lines)
    tmux("send-keys", "-t", "it", f"{CLEW} latency --live -f {PROGRAM}:nobody", "Enter")
    lines = wait_for(has("no function of that name"))
    ok(has("no function of that name")(lines), "what went wrong is on the shell's screen", lines)
    tmux("send-keys", "-t", "it", "echo typed", "Enter")
    ok(has("$ echo typed")(wait_for(has("$ echo typed"))), "and what is typed is seen again")
    tmux("kill-server")
    finish()


main()
