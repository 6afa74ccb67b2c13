#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# alone: other tasks would have the few slots
"""
A task whose slot is taken has its state in task storage: with two slots for
all, workloads agree as they do with many.
"""
import os
import sys

from _live import wanted_runs

NAMES = [
    "convoy", "deadlock", "execthread", "fault", "mutex,normal", "mutex,pidns", "pipe,processes",
    "reuse", "signal", "tree", "vfork", "disk,read-ext4"
]

if __name__ == "__main__":
    workloads = os.path.join(os.path.dirname(os.path.abspath(__file__)), "workloads.py")
    os.execv(sys.executable, [
        sys.executable, workloads, "--few-task-slots", "--only", "+".join(NAMES), "--runs",
        str(wanted_runs(5))
    ])
