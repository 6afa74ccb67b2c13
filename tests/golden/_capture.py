# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Makes captures from the lists of records tests/golden/*.records."""
import os
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
MAKE_CAPTURE = os.path.join(HERE, "..", "..", "build", "make_capture")


def make(name, path):
    with open(os.path.join(HERE, name + ".records"), "rb") as records:
        subprocess.run([MAKE_CAPTURE, path], stdin=records, check=True, timeout=60)
