#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
What zsh offers behind words of a clew command, on a pseudo-terminal, where zsh is installed.
Prints TAP.
"""
import os
import pty
import re
import select
import shutil
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from _trace import HERE, Tap  # noqa: E402  pylint: disable=wrong-import-position

COMPLETIONS = os.path.realpath(os.path.join(HERE, "..", "..", "completions"))
SETUP = """PS1='READY> '
fpath=(%s $fpath)
unset zle_bracketed_paste
autoload -Uz compinit
compinit -u -D
"""
PATIENCE = 60  # seconds for a prompt
SILENCE = 3  # seconds after which nothing more comes


def read(descriptor, until, silence):
    """What comes until a text is in it, or nothing more comes for so long."""
    written = b""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and (not until or until not in written):
        if not select.select([descriptor], [], [], silence)[0]:
            break
        written += os.read(descriptor, 65536)
    return written


def offered(words):
    """
    (command line, words offered below it) after a tab. The line is what zsh made of it, if
    it could go on in one way only.
    """
    with tempfile.TemporaryDirectory() as directory:
        with open(os.path.join(directory, ".zshrc"), "w", encoding="utf-8") as setup:
            setup.write(SETUP % COMPLETIONS)
        with open(os.path.join(directory, "slow.clew"), "wb"):
            pass
        child, descriptor = pty.fork()
        if child == 0:
            os.chdir(directory)
            os.environ.update(TERM="dumb", HOME=directory, ZDOTDIR=directory)
            os.execvp("zsh", ["zsh", "-d", "-i"])
        read(descriptor, b"READY> ", PATIENCE)
        os.write(descriptor, words.encode() + b"\t")
        shown = read(descriptor, b"", SILENCE).decode(errors="replace")
        os.write(descriptor, b"\x03exit\n")
        os.close(descriptor)
        os.waitpid(child, 0)
    lines = re.sub(r"\x1b\[\?\d+[hl]|[\x07\r]", "", shown).split("\n")
    found = set()
    for line in lines[1:]:
        if not line.startswith("READY> "):
            found |= set(line.partition(" -- ")[0].split())
    return lines[0], found


def main():
    tap = Tap()
    if not shutil.which("zsh"):
        print("ok 1 - completion in zsh # SKIP zsh is not installed\n1..1")
        return 0
    tap.same("a command", offered("clew wh")[1], {"why", "what-if"})
    tap.same("an option", offered("clew why --slo")[0], "clew why --slowest=")
    tap.same(
        "options, with the short ones",
        offered("clew record --ou")[0] == "clew record --output="
        and "--comm" in offered("clew report --co")[1], True)
    tap.same("a value", offered("clew why --color=")[1], {"auto", "always", "never"})
    tap.same("a trace",
             offered("clew why --slowest 3 sl")[0].strip(), "clew why --slowest 3 slow.clew")
    tap.same("a command to be helped with", offered("clew help wa")[0].strip(), "clew help waits")
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
