# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Debian's prometheus and promtool, unpacked below build/ when a test first asks for them."""
import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(ROOT, "build", "prometheus")


def program(name):
    """(its path, None), or (None, why there is none)."""
    done = subprocess.run([os.path.join(ROOT, "tools", "prometheus"), FOLDER],
                          capture_output=True,
                          text=True,
                          check=False,
                          timeout=300)
    if done.returncode:
        said = (done.stderr or done.stdout).split("\n")[0]
        return None, f"Debian's package is not to be had: {said}"
    return os.path.join(FOLDER, name), None
