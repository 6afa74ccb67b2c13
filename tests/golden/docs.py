#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Each command has a page with the options and the examples that --help has, which clew
takes; the completions have them, too; what is attached to in the kernel is in
docs/events.md. Prints TAP.
"""
import glob
import os
import re
import shlex
import subprocess
import sys
import tempfile

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


def examples(command):
    """The commands among the examples that --help has."""
    return re.findall(r"^  (clew .*)$",
                      said(command, "--help").partition("\nExamples:\n")[2], re.MULTILINE)


def unusable(command):
    """
    What is wrong with an example, asked where its files are not: another error than
    that, or none.
    """
    words = shlex.split(command.partition("|")[0])
    if words[1] in ("record", "doctor", "functions", "top", "fetch") or {"--", "--live"} & set(words):
        return ""
    if words[1] == "daemon" and "status" not in words or words[1:] == ["incidents"]:
        return ""
    with tempfile.TemporaryDirectory() as directory:
        done = subprocess.run([os.path.abspath(CLEW), *words[1:]],
                              cwd=directory,
                              env=dict(os.environ, CLEW_RUN_DIRECTORY=directory),
                              capture_output=True,
                              text=True,
                              timeout=60,
                              check=False)
    missing = re.search("no such file|no daemon (runs|keeps)|there is no incident", done.stderr.lower())
    return "" if missing else done.stderr or "no error"


def worked():
    """(file, command) of each clew that docs/worked/ tells to run."""
    for path in sorted(glob.glob(os.path.join(ROOT, "docs", "worked", "*.md"))):
        for block in re.findall(r"^```sh\n(.*?)^```", text_of(path), re.MULTILINE | re.DOTALL):
            for command in re.findall(r"^clew .*$", block, re.MULTILINE):
                yield os.path.basename(path), command


def untold(command):
    """Options of a command that its --help lacks; what it records may have others."""
    words = shlex.split(command)
    own = words[1:words.index("--")] if "--" in words else words[1:]
    return {word.partition("=")[0] for word in own if word.startswith("-")} - helped(words[1])[0]


def completions_differ():
    """Files of completions/ that tools/completions would write otherwise."""
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run([os.path.join(ROOT, "tools", "completions"), directory],
                       check=True,
                       timeout=120)
        return [
            name for name in os.listdir(directory)
            if text_of(os.path.join(directory, name)) != text_of(
                os.path.join(ROOT, "completions", name))
        ]


def completed(*words):
    """What bash offers behind these words."""
    script = """. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _clew; echo "${COMPREPLY[@]}" """
    return subprocess.run(
        ["bash", "-c", script, "bash",
         os.path.join(ROOT, "completions", "clew.bash"), *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False).stdout.split()


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
    shown = examples(name)
    tap.same("%s: two to four examples" % name, 2 <= len(shown) <= 4, True)
    tap.same("%s: examples that clew does not take" % name,
             [(example, unusable(example)) for example in shown if unusable(example)], [])
    told_here = [
        line[len(".Dl "):].replace("\\e", "\\") for line in page if line.startswith(".Dl ")
    ]
    tap.same("%s: examples that the page lacks" % name,
             [example for example in shown if example not in told_here], [])
common = re.findall(r"^  (--[\w-]+)", said("help").partition("\nOptions:\n")[2], re.MULTILINE)
tap.same(
    "clew(1): options of every command",
    sorted(
        set(common) - {"--help", "--version"} -
        flags(text_of(os.path.join(MAN, "clew.1")).splitlines())), [])
for file, command in worked():
    tap.same("%s: %s" % (file, command), (untold(command), unusable(command)), (set(), ""))
tap.same(
    "worked examples that README.md links to",
    sorted(re.findall(r"\(docs/worked/([\w-]+\.md)\)", text_of(os.path.join(ROOT, "README.md")))),
    sorted({file
            for file, _ in worked()}))
tap.same("completions that `tools/completions` would write otherwise", completions_differ(), [])
tap.same("completion of a command", completed("clew", "wh"), ["why", "what-if"])
tap.same("completion of an option", completed("clew", "why", "--slo"), ["--slowest"])
tap.same("completion of a kind of waits", completed("clew", "waits", "--kind", "futex,fs"),
         ["futex,fsync"])
tap.same("completion of --by", completed("clew", "io", "--by", "d"), ["disk"])
tap.same("completion of a format", completed("clew", "export", "--to", "p"),
         ["perfetto", "pprof", "proto"])
tap.same("completion of --color", completed("clew", "why", "--color", "=", "a"), ["auto", "always"])
tap.same("completion of a number", completed("clew", "why", "--tid", ""), [])
sys.exit(tap.end())
