# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Which live programs run beside another one, and which have the machine alone.

A live program runs beside another one, unless a comment above its opening text says why not, as
"# alone: it compares times". It then runs while no other test does.
"""
import os
import re
import sys

LANES = 2  # so many run at once
TOP = 10  # lines in which the comment stands
ALONE = re.compile(r"# alone:\s*(.*)$")


def reason(path):
    """Why a program has the machine alone; None: it runs beside others; "": nothing is said."""
    with open(path, encoding="utf-8", errors="replace") as file:
        for _, line in zip(range(TOP), file):
            match = ALONE.match(line)
            if match:
                return match.group(1).strip()
    return None


def _path(program):
    """The script of (label, command, ..), which may have an interpreter and arguments."""
    command = program[1]
    return command[command[0] == sys.executable]


def is_alone(program):
    return reason(_path(program)) is not None


def ordered(programs):
    """
    The longest first, as far as their texts say: a long one that begins last would run while the
    other lane is empty. It is the same order in each run.
    """
    return sorted(programs, key=lambda program: -os.path.getsize(_path(program)))
