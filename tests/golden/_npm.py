# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Packages of npm that tests read with: each is fetched once to build/, at one version whose sum is
known, and its scripts are not run.
"""
import os
import shutil
import subprocess
import tempfile

BUILD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "build")


def fetch(name, package, arguments, keep):
    """
    Runs npm in a new folder and has `keep(folder, its output, kept)` fill the folder `kept`, which
    becomes build/NAME. `keep` returns False if the sum is another one. Returns why there is no
    such folder, or ''.
    """
    if not shutil.which("node") or not shutil.which("npm"):
        return "node and npm are not installed"
    if os.path.isdir(os.path.join(BUILD, name)):
        return ""
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        try:
            done = subprocess.run(["npm", *arguments, "--silent"],
                                  cwd=folder,
                                  capture_output=True,
                                  text=True,
                                  timeout=90,
                                  check=False)
        except subprocess.TimeoutExpired:
            return "npm did not fetch %s in time" % package
        if done.returncode:
            return "npm has no %s here" % package
        kept = os.path.join(folder, "kept")
        os.mkdir(kept)
        if not keep(folder, done.stdout, kept):
            return "%s is not the one that is known" % package
        os.rename(kept, os.path.join(BUILD, name))
    return ""
