#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
The screen of `clew latency --live` in tmux: keys sort and filter groups, a resize and an interrupt
leave no trace on the terminal.
"""

import os
import shutil
import subprocess

from _live import CLEW, WORKLOADS, feature, finish, ok, skip_all
from _tmux import Terminal, all_of, has

PROGRAM = os.path.join(WORKLOADS, "dearest")
SIZES = ((80, 24), (200, 50))


def names(lines):
    """Of functions, in order."""
    return [line.split()[-1] for line in lines
            if line.split() and line.split()[-1] in ("first", "steady", "seldom")]


def main():
    available, reason = feature("functions")
    if not available:
        skip_all(reason)
    if not shutil.which("tmux"):
        skip_all("tmux is not installed")
    words = " ".join(f"-f {PROGRAM}:{name}" for name in ("first", "steady", "seldom"))
    terminal = Terminal(*SIZES[0])
    terminal.send(f"{CLEW} latency --live --max-cost 1000 {words}; echo status $?", "Enter")
    # A screen may be looked at while it is drawn: all that is wanted is waited for.
    lines = terminal.wait_for(all_of("so far", "q quit"))
    ok(has("q quit")(lines), "the first line has the keys", lines[:3])
    with subprocess.Popen([PROGRAM, "3"], stdout=subprocess.DEVNULL):
        lines = terminal.wait_for(lambda lines: names(lines) == ["first", "steady", "seldom"])
    ok(names(lines) == ["first", "steady", "seldom"], "what took most comes first", lines)
    terminal.send("/", "SELD")
    lines = terminal.wait_for(lambda lines: names(lines) == ["steady", "seldom"] and has("SELD_")
                              (lines))
    ok(names(lines) == ["steady", "seldom"] and has("SELD_")(lines),
       "a filter leaves the groups with the text and their callers", lines)
    terminal.send("Enter", "s")
    lines = terminal.wait_for(all_of("s sort (count)", "/ filter (SELD)"))
    ok(has("s sort (count)")(lines) and has("/ filter (SELD)")(lines), "s sorts by the next figure",
       lines[:3])
    terminal.resize(*SIZES[1])
    terminal.send("/", "Escape")
    lines = terminal.wait_for(lambda lines: len(names(lines)) == 3)
    ok(len(names(lines)) == 3 and len(lines) <= SIZES[1][1], "all are there again, on a larger screen",
       lines)
    terminal.send("C-c")
    lines = terminal.wait_for(lambda lines: has("status 0")(lines) and not has("q quit")(lines) and
                              len(names(lines)) == 3)
    ok(has("status 0")(lines) and not has("q quit")(lines) and len(names(lines)) == 3,
       "an interrupt leaves the shell's screen, with the last answer", lines)
    terminal.send(f"{CLEW} latency --live -f {PROGRAM}:nobody", "Enter")
    lines = terminal.wait_for(has("no function of that name"))
    ok(has("no function of that name")(lines), "what went wrong is on the shell's screen", lines)
    # The keys may arrive before the shell's prompt: then they are seen in front of it.
    terminal.send("echo typed", "Enter")
    ok(has("echo typed")(terminal.wait_for(has("echo typed"))), "and what is typed is seen again")
    finish()


main()
