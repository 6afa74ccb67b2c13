# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
OpenTelemetry's own decoder of OTLP for node (Apache-2.0), which is fetched once to build/.
"""
import json
import os
import subprocess

import _npm

HERE = os.path.dirname(os.path.abspath(__file__))
KEPT = os.path.join(_npm.BUILD, "otlp-decoder")
PACKAGE = "@opentelemetry/otlp-transformer"
VERSION = "0.57.2"  # later ones have no decoder
INTEGRITY = ("sha512-48IIRj49gbQVK52jYsw70+Jv+JbahT8BqT2Th7C4H7RCM9d0gZ5sgNPoMpWldmfjvIsSgiGJtjfk9"
             "MeZvjhoig==")


def keep(folder, _, kept):
    with open(os.path.join(folder, "package-lock.json"), encoding="utf-8") as file:
        if json.load(file)["packages"]["node_modules/" + PACKAGE]["integrity"] != INTEGRITY:
            return False
    # node looks for the others in a folder of this name.
    os.rename(os.path.join(folder, "node_modules"), os.path.join(kept, "node_modules"))
    return True


def fetch():
    """Puts the decoder into build/; returns why it cannot, or ''."""
    return _npm.fetch("otlp-decoder", PACKAGE, [
        "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", ".",
        "%s@%s" % (PACKAGE, VERSION)
    ], keep)


def decode(path):
    """The request of a file in OTLP's JSON; a string that begins with '!' says what went wrong."""
    done = subprocess.run(["node", os.path.join(HERE, "otlp_decoder.cjs"),
                           os.path.join(KEPT, "node_modules"), path],
                          capture_output=True,
                          text=True,
                          timeout=60,
                          check=False)
    return done.stdout if not done.returncode else "!" + done.stderr
