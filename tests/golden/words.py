#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Words that say what a capture shows and no more: of waits that a signal interrupted, of sockets
without a number, of numbers that mean two threads. Prints TAP.
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from _export import altered, ask, clew, made  # noqa: E402  pylint: disable=wrong-import-position
from _trace import Tap  # noqa: E402  pylint: disable=wrong-import-position

tap = Tap()
POOL = ("--tid", "61")
WAKE = "wake_time=1000003400000 waker=1 wake_context=context_task "


def told(command, capture, *arguments):
    done = clew(command, capture, *arguments, stdout=subprocess.PIPE)
    assert not done.returncode, done
    return " ".join(done.stdout.decode().split()), done.stderr.decode()


def test_signal():
    """A wait for an answer was not for the signal that interrupted it."""
    capture = altered("peer", "interrupted",
                      (WAKE + "wake_call=44", WAKE + "wake_flags=signal wake_call=62"))
    text, _ = told("why", capture, "--tid", "200", "--all")
    tap.same("a signal interrupted the wait for an answer",
             ("waited for server-100, whose signal interrupted it (" in text, "to send a signal"
              in text), (True, False))


def test_socket():
    """A socket that no process has opened yet has no number, and none is made up."""
    capture = altered("peer", "unopened", ("object=5001", "object=0"))
    text, _ = told("waits", capture, "--idle", "--tid", "200")
    tap.same("a socket without a number", (", socket;" in text, ":[0]" in text), (True, False))
    sockets = [
        wait["object"] for wait in ask(capture, "waits", "--idle", "--tid", "200")["waits"]
        if wait["object"] and wait["object"]["kind"] == "socket"
    ]
    tap.same("the same in JSON", [(it["name"], it["ino"]) for it in sockets],
             [("socket", None)] * len(sockets))


def test_inner():
    """The number of a thread outside may be that of another one in its container."""
    _, note = told("waits", made("containers"), "--tid", "9")
    tap.same("--tid of two threads", (note.count("\n"), "for init of" in note, "--tid 601" in note),
             (1, True, True))
    _, note = told("waits", made("containers"), "--tid", "601")
    tap.same("--tid of one", note, "")


def test_source():
    """Who waits for a compiler waits for what that compiles."""
    for command, shown in (("cc1 -quiet -I lib src/slow.c -dumpbase slow.c -O2 -o /tmp/x.s",
                            " to end (slow.c)"),
                           ("gcc -c a.c -include first.h -o b.c", " to end (a.c)"),
                           ("rustc --edition 2021 ./late.rs", " to end (late.rs)"),
                           ("cc -o x.c main.o lib.o", " to end"), ("tar x", " to end")):
        capture = altered("life", "compiler", ('command="/bin/odd \\x22name\\x22"',
                                               'command="%s"' % command))
        text, _ = told("why", capture, *POOL)
        tap.same(command, (shown + " " in text, ("(" in shown) == (" to end (" in text)),
                 (True, True))


test_source()
test_signal()
test_socket()
test_inner()
sys.exit(tap.end())
