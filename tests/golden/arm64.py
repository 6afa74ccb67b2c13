#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
clew is built for arm64, by Debian's compiler and the packages of that machine, without a warning.
Nothing of it runs: tests/vm/run does that. So it is not optimised, which takes half the time, but for
the files of that machine alone: the usual build has the compiler look closely at all others. It has a
folder of its own, as packages are made of the optimised one. Prints TAP.
"""
import os
import subprocess

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
NAME = "the program is built for arm64"
BUILD = os.path.join("build", "unoptimised")
# gcc that does not optimise takes texts to be longer than they can be.
FLAGS = "-O0 -Wno-format-truncation"


def say(line):
    print(line + "\n1..1")


root = subprocess.run([os.path.join(ROOT, "tests", "vm", "sysroot.py")],
                      capture_output=True,
                      text=True,
                      check=False)
if root.returncode == 3:
    say("ok 1 - %s # SKIP %s" % (NAME, root.stdout.strip()))
else:
    made = subprocess.run(
        ["make", "-s", "-C", ROOT, "-j%d" % os.cpu_count(), "B=" + BUILD, "CFLAGS=" + FLAGS,
         "arm64-program"],
        capture_output=True,
        text=True,
        # The settings of a make that runs this are not for this one.
        env={name: value
             for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS")},
        check=False)
    said = made.stderr.strip().splitlines()
    machine = subprocess.run(
        ["readelf", "-h", os.path.join(ROOT, BUILD, "arm64", "clew")],
        capture_output=True,
        text=True,
        check=False).stdout
    if made.returncode or said or "AArch64" not in machine:
        say("not ok 1 - %s: %s" % (NAME, said[0] if said else "status %d" % made.returncode))
    else:
        say("ok 1 - " + NAME)
