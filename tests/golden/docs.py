#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Each command has a page with the options that --help has; what is attached to in
the kernel is in docs/events.md. Prints TAP.
"""
import glob
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from _trace import CLEW, HERE, Tap  # noqa: E402  pylint: disable=wrong-import-position

ROOT = os.path.join(HERE, "..", "..")
MAN = os.path.join(ROOT, "docs", "man")
# It is told in clew(1).
WITHOUT_PAGE = {"help"}


def said(*arguments):
    return subprocess.run([CLEW, *arguments],
                          capture_output=True,
                          text=True,
                          timeout=60,
                          check=True).stdout


def helped(command):
    """Options that --help lists, and those of them that are for tests."""
    lines = re.findall(r"^  (?:(-\w), )?(--[\w-]+)(.*)$", said(command, "--help"), re.MULTILINE)
    options = {option
               for short, long, _ in lines
               for option in (short, long) if option} - {"-h", "--help"}
    return options, {long
                     for _, long, text in lines
                     if "for tests:" in text}, {long: short or long
                                                for short, long, _ in lines}


def flags(lines):
    """Options in lines of mdoc: behind Fl, also after a comma."""
    return {
        "-" + flag
        for line in lines
        for flag in re.findall(r"\bFl ((?!- )-?[\w-]+)", re.sub(r" , (?=-\w)", " Fl ", line))
    }


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def attached():
    """Tracepoints that a program is for."""
    return {
        name
        for path in glob.glob(os.path.join(ROOT, "bpf", "*.[ch]"))
        for name in re.findall(r'^SEC\("\??tp_btf/(\w+)"\)', text_of(path), re.MULTILINE)
    }


def told():
    """Words in backticks; `a_begin/end` are two."""
    words = set()
    for word in re.findall(r"`([\w/]+)`", text_of(os.path.join(ROOT, "docs", "events.md"))):
        first, *more = word.split("/")
        words |= {first, *(first.rpartition("_")[0] + "_" + last for last in more)}
    return words


tap = Tap()
tap.same("tracepoints that docs/events.md lacks", sorted(attached() - told()), [])
commands = re.findall(r"^  ([a-z-]+) ",
                      said("help").partition("Commands:")[2].partition("Options:")[0], re.MULTILINE)
pages = {name[len("clew-"):-len(".1")] for name in os.listdir(MAN) if name.startswith("clew-")}
tap.same("a page for each command", sorted(pages), sorted(set(commands) - WITHOUT_PAGE))
for name in sorted(pages):
    page = text_of(os.path.join(MAN, "clew-%s.1" % name)).splitlines()
    options, for_tests, written = helped(name)
    tap.same("%s: the page's options" % name,
             sorted(flags(line for line in page if line.startswith(".It Fl "))), sorted(options))
    begin, end = page.index(".Sh SYNOPSIS"), page.index(".Sh DESCRIPTION")
    tap.same("%s: the synopsis' options" % name, sorted(flags(page[begin:end])),
             sorted(written[long] for long in written if long in options - for_tests))
sys.exit(tap.end())
