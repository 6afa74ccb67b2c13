# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
What a test found out about how often clew is right, for `make accuracy`: a JSON line each, added to
the file that CLEW_ACCURACY names. Without it nothing is written.

A line has `subject` ("wait futex", "dependency unlock": tools/accuracy lists them), `unit` of its
numbers, `kernel`, `checked`, `wrong`, `unknown` (of those checked, clew itself said that it does
not know), and `witness`: what clew was compared with.
"""

import json
import os


def measured(subject, checked, wrong, unknown=0, *, witness, unit="", kernel=None, **more):
    """Adds one line; nothing that was not checked."""
    path = os.environ.get("CLEW_ACCURACY")
    if not path or not checked:
        return
    line = {
        "subject": subject, "unit": unit, "kernel": kernel or os.uname().release, "checked": checked,
        "wrong": wrong, "unknown": unknown, "witness": witness, **more
    }
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
