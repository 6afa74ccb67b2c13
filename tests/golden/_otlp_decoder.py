# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
OpenTelemetry's own decoder of OTLP for node (Apache-2.0), which is fetched once to build/.
"""
import json
import os
import shutil
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
KEPT = os.path.join(HERE, "..", "..", "build", "otlp-decoder")
PACKAGE = "@opentelemetry/otlp-transformer"
VERSION = "0.57.2"  # later ones have no decoder
INTEGRITY = ("sha512-48IIRj49gbQVK52jYsw70+Jv+JbahT8BqT2Th7C4H7RCM9d0gZ5sgNPoMpWldmfjvIsSgiGJtjfk9"
             "MeZvjhoig==")


def fetch():
    """Puts the decoder into build/; returns why it cannot, or ''."""
    if not shutil.which("node") or not shutil.which("npm"):
        return "node and npm are not installed"
    if os.path.isdir(KEPT):
        return ""
    with tempfile.TemporaryDirectory(dir=os.path.dirname(KEPT)) as directory:
        try:
            done = subprocess.run([
                "npm", "install", "--silent", "--ignore-scripts", "--no-audit", "--no-fund",
                "--prefix", directory,
                "%s@%s" % (PACKAGE, VERSION)
            ],
                                  capture_output=True,
                                  timeout=90,
                                  check=False)
        except subprocess.TimeoutExpired:
            return "npm did not fetch %s in time" % PACKAGE
        lock = os.path.join(directory, "package-lock.json")
        if done.returncode or not os.path.exists(lock):
            return "npm has no %s here" % PACKAGE
        with open(lock, encoding="utf-8") as file:
            if json.load(file)["packages"]["node_modules/" + PACKAGE]["integrity"] != INTEGRITY:
                return "%s is not the one that is known" % PACKAGE
        kept = os.path.join(directory, "kept")
        os.mkdir(kept)
        # node looks for the others in a folder of this name.
        os.rename(os.path.join(directory, "node_modules"), os.path.join(kept, "node_modules"))
        os.rename(kept, KEPT)
    return ""


def decode(path):
    """The request of a file in OTLP's JSON; a string that begins with '!' says what went wrong."""
    done = subprocess.run(["node", os.path.join(HERE, "otlp_decoder.cjs"),
                           os.path.join(KEPT, "node_modules"), path],
                          capture_output=True,
                          text=True,
                          timeout=60,
                          check=False)
    return done.stdout if not done.returncode else "!" + done.stderr
