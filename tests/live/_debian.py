# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Packages of another release of Debian, unpacked in a directory. Their programs are run by the loader
that is among them, without a change of the root.
"""

import glob
import os
import re
import subprocess
import tempfile

PLACE = os.path.join(tempfile.gettempdir(), "clew-debian")


def _source(release):
    """The machine's own source of Debian, for another release; None: it has none of that form."""
    for path in glob.glob("/etc/apt/sources.list.d/*.sources") + ["/etc/apt/sources.list"]:
        if not os.path.exists(path):
            continue
        with open(path, encoding="utf-8") as file:
            text = file.read()
        host = re.search(r"(https?://[^ \n]+/debian/?)\s", text)
        if host:
            return f"deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] {host[1]} " \
                   f"{release} main\n"
    return None


def unpacked(release, *packages):
    """The directory in which the packages are; None: they are not to be had."""
    place = os.path.join(PLACE, release)
    done = os.path.join(place, "done")
    if os.path.exists(done):
        return os.path.join(place, "root")
    source = _source(release)
    if not source:
        return None
    for name in ("lists/partial", "cache/archives/partial", "debs", "root"):
        os.makedirs(os.path.join(place, name), exist_ok=True)
    with open(os.path.join(place, "sources.list"), "w", encoding="utf-8") as file:
        file.write(source)
    options = ["-o", f"Dir::Etc::sourcelist={place}/sources.list", "-o", "Dir::Etc::sourceparts=-",
               "-o", f"Dir::State::lists={place}/lists", "-o", f"Dir::Cache={place}/cache"]
    for command in (["update", "-qq"], ["download", "-qq", *packages]):
        if subprocess.run(["apt-get", *options, *command], cwd=os.path.join(place, "debs"),
                          capture_output=True, check=False).returncode:
            return None
    for package in glob.glob(os.path.join(place, "debs", "*.deb")):
        subprocess.run(["dpkg", "-x", package, os.path.join(place, "root")], check=True)
    with open(done, "w", encoding="utf-8"):
        pass
    return os.path.join(place, "root")
