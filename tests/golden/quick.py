#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Captures of quick chunks: to the independent reader, and to clew, they are what the same captures
of columns are. `clew info` says how many records are in quick chunks. Prints TAP.
"""
import glob
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import _capture  # noqa: E402  pylint: disable=wrong-import-position
from _trace import CLEW, Tap  # noqa: E402  pylint: disable=wrong-import-position

HERE = os.path.dirname(os.path.abspath(__file__))
READER = os.path.join(HERE, "..", "capture_reader.py")
tap = Tap()


def make(path, name, *options):
    with open(name, encoding="utf-8") as records:
        subprocess.run([_capture.MAKE_CAPTURE, path, *options],
                       stdin=records,
                       check=True,
                       timeout=60)


def output(*command):
    return subprocess.run(command, capture_output=True, check=True, timeout=120).stdout


def info(path):
    return json.loads(output(CLEW, "info", "--json", path))


def read(path):
    """The records, and what the file says beside them."""
    return output("/usr/bin/python3", READER, path)


def main():
    with tempfile.TemporaryDirectory() as folder:
        columns, quick = os.path.join(folder, "columns"), os.path.join(folder, "quick")
        # One of them has no records.
        names = sorted(set(glob.glob(os.path.join(HERE, "*.records"))) -
                       {os.path.join(HERE, "empty.records")})
        differ, raw = [], 0
        for name in names:
            make(columns, name)
            make(quick, name, "--quick")
            one, other = info(columns), info(quick)
            raw += other["raw_records"]
            alike = read(columns) == read(quick)
            alike &= one["raw_records"] == 0 and one["events"] == other["events"]
            alike &= other["raw_records"] == sum(other["events"].values())
            alike &= output(CLEW, "waits", "--json", columns) == output(
                CLEW, "waits", "--json", quick)
            if not alike:
                differ.append(os.path.basename(name))
        tap.same("quick chunks have what columns have, in %d captures" % len(names), differ, [])
        tap.report("there were records", "" if raw > 500 else "%d" % raw)
    return tap.end()


sys.exit(main())
