#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Answers on a terminal: lines that fit it, colours, the pager. Drives a
pseudo-terminal. Prints TAP.
"""
import os
import re
import subprocess
import sys
import tempfile
import unicodedata

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import _capture  # noqa: E402  pylint: disable=wrong-import-position
from _trace import CLEW, Tap  # noqa: E402  pylint: disable=wrong-import-position

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import terminal  # noqa: E402  pylint: disable=wrong-import-position

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
# Shows that it ran, and all that it was given.
PAGER = "echo PAGED; cat"


def on_terminal(arguments, width=80, height=24, **environment):
    """What clew writes to a terminal of that size, and its exit status."""
    inherited = {
        key: value
        for key, value in os.environ.items()
        if key not in ("NO_COLOR", "PAGER", "CLEW_PAGER", "LESS")
    }
    return terminal.on_terminal([CLEW, *arguments], width, height, {
        **inherited, "TERM": "xterm",
        **environment
    })


def elsewhere(arguments, **environment):
    return subprocess.run([CLEW, *arguments],
                          capture_output=True,
                          text=True,
                          timeout=60,
                          env={**os.environ, **environment},
                          check=False).stdout


def columns(line):
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in ESCAPE.sub("", line))


def too_wide(text, width):
    return [line for line in text.split("\n") if columns(line) > width]


def joined(text):
    """Without colours and without where lines were broken."""
    return re.sub(r"\s+", "", ESCAPE.sub("", text))


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        for name in ("mutex", "calls", "devices", "crowd", "pages", "disk", "life", "locks"):
            _capture.make(name, name + ".clew")
        commands = [["why", "calls.clew", "--tid", "10"],
                    ["why", "calls.clew", "--tid", "10", "--all"],
                    ["waits", "mutex.clew", "--idle"], ["edges", "calls.clew"],
                    ["requests", "devices.clew"], ["io", "pages.clew"], ["info", "life.clew"],
                    ["blame", "disk.clew"], ["slack", "disk.clew"], ["report", "mutex.clew"],
                    ["path", "calls.clew", "--from", "client-10 @ 0%", "--to", "client-10 @ 100%"],
                    ["help", "record"], ["help"]]
        for arguments in commands:
            label = " ".join(arguments)
            for width in (80, 50, 132):
                text, _ = on_terminal(arguments, width, CLEW_PAGER="")
                tap.same("%s: lines wider than %d columns" % (label, width),
                         too_wide(text, width)[:2], [])
                if arguments[0] in ("waits", "edges", "requests", "io", "info", "blame", "slack"):
                    tap.same("%s: the same words at %d columns" % (label, width), joined(text),
                             joined(elsewhere(arguments)))
        why = ["why", "mutex.clew", "--tid", "101"]
        text, status = on_terminal(why)
        tap.same("why fits on a screen", text.count("\n") < 24, True)
        tap.same("exit status on a terminal", status, 0)
        tap.same("colours on a terminal", bool(ESCAPE.search(text)), True)
        tap.same("none with NO_COLOR", ESCAPE.search(on_terminal(why, NO_COLOR="1")[0]), None)
        tap.same("an empty NO_COLOR is none", bool(ESCAPE.search(on_terminal(why, NO_COLOR="")[0])),
                 True)
        tap.same("none on a dumb terminal", ESCAPE.search(on_terminal(why, TERM="dumb")[0]), None)
        tap.same("none with --color=never", ESCAPE.search(on_terminal([*why, "--color=never"])[0]),
                 None)
        tap.same("none in a pipe", ESCAPE.search(elsewhere(why)), None)
        tap.same("some in a pipe with --color=always",
                 ESCAPE.sub("", elsewhere([*why, "--color=always"])), elsewhere(why))
        tap.same("they are there", bool(ESCAPE.search(elsewhere([*why, "--color=always"]))), True)
        tap.same("none in JSON", ESCAPE.search(elsewhere([*why, "--color=always", "--json"])), None)
        tap.same("JSON is one line on a terminal, too",
                 on_terminal([*why, "--json"])[0], elsewhere([*why, "--json"]))
        for other in (["report", "mutex.clew"], ["blame", "disk.clew"], ["edges", "mutex.clew"],
                      ["waits", "mutex.clew"], commands[-3]):
            label = other[0]
            text, _ = on_terminal([*other, "--no-pager"])
            tap.same("%s: colours on a terminal" % label, bool(ESCAPE.search(text)), True)
            tap.same("%s: its words are those in a pipe" % label, joined(text),
                     joined(elsewhere(other)))
            tap.same("%s: no colours with NO_COLOR" % label,
                     ESCAPE.search(on_terminal([*other, "--no-pager"], NO_COLOR="1")[0]), None)
            tap.same("%s: none in a pipe" % label, ESCAPE.search(elsewhere(other)), None)
        for other in (["info", "life.clew"], ["blame", "locks.clew"], ["io", "pages.clew"],
                      ["report", "mutex.clew"], commands[-3]):
            tap.same("%s in a pipe: lines wider than 80 columns" % other[0],
                     too_wide(elsewhere(other), 80)[:2], [])
        tap.same("another word for --color", on_terminal([*why, "--color=blue"])[1], 2)

        steps = [*why, "--steps"]
        paged = lambda *arguments, **more: on_terminal(  # noqa: E731
            *arguments, **more)[0].startswith("PAGED\n")
        tap.same("a pager for a long answer", paged(steps, CLEW_PAGER=PAGER), True)
        tap.same("it gets all of it",
                 on_terminal(steps, CLEW_PAGER=PAGER)[0][len("PAGED\n"):],
                 on_terminal(steps, CLEW_PAGER="")[0])
        tap.same("none for a short one", paged(why, CLEW_PAGER=PAGER), False)
        tap.same("none on a high terminal", paged(steps, height=90, CLEW_PAGER=PAGER), False)
        tap.same("none with --no-pager", paged([*steps, "--no-pager"], CLEW_PAGER=PAGER), False)
        tap.same("PAGER, too", paged(steps, PAGER=PAGER), True)
        tap.same("CLEW_PAGER before PAGER", paged(steps, PAGER=PAGER, CLEW_PAGER="cat"), False)
        tap.same("a pager that is left early",
                 on_terminal([*why, "--all"], CLEW_PAGER="true")[1], 0)
        text, status = on_terminal(["why", "mutex.clew", "--tid", "9"], CLEW_PAGER=PAGER)
        tap.same("an error is a line, without pager",
                 (status, text.count("\n") <= 2, "PAGED" in text), (2, True, False))
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
