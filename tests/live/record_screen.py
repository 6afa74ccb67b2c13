#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
What `clew record` says while it loads and records: on a terminal from the first moment on, and a
line each second in one place; with a command the first line and the end; elsewhere nothing. An
interrupt before it records leaves no file, and an older one as it was.
"""

import os
import re
import shutil
import signal
import subprocess

from _live import CLEW, PATIENCE, finish, ok, run, scratch, skip
from _tmux import Terminal, has

LINE = re.compile(r"clew: (\d+) s, (\d+) records, [0-9.]+ MB, lost \d+$")
END = re.compile(r"clew: \S+: [0-9.]+ s, \d+ records, [0-9.]+ MB, lost \d+, missed \d+")


def ticks(lines):
    """(seconds, records) of the lines that say how far the recording is."""
    return [tuple(map(int, match.groups())) for match in map(LINE.match, lines) if match]


def is_over(lines):
    """The shell has said a status."""
    return any(line.startswith("status ") for line in lines)


def check_machine():
    path = scratch("machine.clew")
    terminal = Terminal(150, 40)
    terminal.send(f"cd {os.path.dirname(path)}; {CLEW} record -o machine.clew; echo status $?",
                  "Enter")
    lines = terminal.wait_for(has("clew: loading"))
    ok(has("clew: loading")(lines), "a terminal is told that it loads", lines)
    first = terminal.wait_for(ticks, PATIENCE)
    said = [line for line in first if line.startswith("clew: ")]
    ok(
        said[:2] == ["clew: loading", "clew: recording this machine; Ctrl-C ends it"]
        and ticks(first), "then that it records, and how much", said)
    then = terminal.wait_for(lambda lines: ticks(lines) and ticks(lines) > ticks(first))
    ok(
        len(ticks(then)) == 1 and all(a < b for a, b in zip(ticks(first)[0],
                                                            ticks(then)[0])),
        "this line is written again", (ticks(first), ticks(then)))
    terminal.send("C-c")
    last = terminal.wait_for(is_over, PATIENCE)
    ok(
        any(map(END.match, last)) and not ticks(last) and has("status 0")(last)
        and os.path.exists(path), "and goes when Ctrl-C ends the recording", last)


def check_command():
    terminal = Terminal(150, 40)
    terminal.send(f"cd {os.path.dirname(scratch('x'))}", "Enter")
    terminal.send(f"{CLEW} record -o command.clew -- sh -c 'sleep 1.5; echo over'; echo status $?",
                  "Enter")
    lines = terminal.wait_for(is_over, PATIENCE)
    said = [line for line in lines if line.startswith(("clew: ", "over", "status "))]
    ok(said[:2] == ["clew: loading", "over"] and END.match(said[2]) and said[-1] == "status 0",
       "a command has the terminal until it ends", lines)


def interrupted():
    """The interrupt is there before clew is: it stays pending."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    os.kill(os.getpid(), signal.SIGINT)


def check_interrupted():
    old, none, mark = scratch("old.clew"), scratch("none.clew"), scratch("mark")
    with open(old, "w", encoding="ascii") as file:
        file.write("as it was")
    for path, command, word in ((old, (), "nothing was recorded: "),
                                (none, ("--", "touch", mark),
                                 "nothing was recorded, and the command was not run: ")):
        done = run(CLEW, "record", "-o", path, *command, preexec_fn=interrupted)
        ok(
            done.returncode == 1 and done.stderr.startswith("clew: " + word)
            and done.stderr.count("\n") == 1, f"an interrupt before it records: {word.strip(': ')}",
            (done.returncode, done.stderr))
    with open(old, encoding="ascii") as file:
        ok(file.read() == "as it was" and not os.path.exists(none) and not os.path.exists(mark),
           "an older file stays, and no new one comes")


def check_silent():
    done = subprocess.run(
        [CLEW, "record", "-o", scratch("silent.clew"), "-d", "1.2s"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
        check=False)
    ok(
        done.returncode == 0 and END.match(done.stdout) and "\033" not in done.stdout
        and "\r" not in done.stdout, "a pipe has only the end", done.stdout)


def main():
    check_interrupted()
    check_silent()
    if shutil.which("tmux"):
        check_machine()
        check_command()
    else:
        skip("what it says on a terminal", "there is no tmux here")
    finish()


main()
