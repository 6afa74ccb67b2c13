#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Names of 64 kB in each format that `clew export` writes: its reader still reads it. Prints TAP.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import _ctf  # noqa: E402  pylint: disable=wrong-import-position
from _export import clew, export, made, place  # noqa: E402  pylint: disable=wrong-import-position
from _otlp import from_json, from_proto  # noqa: E402  pylint: disable=wrong-import-position
from _perfetto import Perfetto, fields  # noqa: E402  pylint: disable=wrong-import-position
from _trace import Tap  # noqa: E402  pylint: disable=wrong-import-position

tap = Tap()
LONG = "/" + "long;name " * 6500


def long_trace(name):
    """The trace of a list of records in notation, with a command line and a path that are long."""
    clew("convert", made(name), "-o", place("long.ctrace"))
    with open(place("long.ctrace"), "rb") as file:
        text = file.read()
    quoted = LONG.encode().replace(b" ", b"\\ ")
    text = text.replace(b"/data/dump", quoted)
    text, count = re.subn(rb'command="[^"]*"', b'command="' + LONG.encode() + b'"', text)
    assert count or quoted in text, "nothing is long"
    with open(place("long.ctrace"), "wb") as file:
        file.write(text)
    return place("long.ctrace")


def reads(name, form, read):
    problem = ""
    try:
        read()
    except (AssertionError, ValueError, KeyError, IndexError, zlib.error) as error:
        problem = "%s: %s" % (type(error).__name__, str(error)[:200])
    tap.report("%s: %s with long names" % (name, form), problem)


def graphviz(data):
    done = subprocess.run(["dot", "-Tsvg"],
                          input=data,
                          capture_output=True,
                          timeout=60,
                          check=False)
    assert not done.returncode, done.stderr[:200]


def protoc(data):
    done = subprocess.run(["protoc", "--decode_raw"],
                          input=data,
                          capture_output=True,
                          timeout=60,
                          check=False)
    assert not done.returncode and LONG.encode() in done.stdout, done.stderr[:200]


def ctf(trace):
    done = clew("export", trace, "--to", "ctf", "-o", place("long.%s" % title))
    assert not done.returncode and not done.stderr, done
    shown = _ctf.Ctf(place("long.%s" % title))
    assert not shown.status and shown.events, shown.complaints


for title in ("disk", "calls"):
    trace = long_trace(title)
    operations = ("--call", "*", "--slowest", "20")
    reads(title, "perfetto", lambda: Perfetto(export(trace, "perfetto")))
    reads(title, "chrome", lambda: json.loads(export(trace, "chrome")))
    if _ctf.missing():
        tap.skip("%s: ctf with long names" % title, _ctf.missing())
    else:
        reads(title, "ctf", lambda: ctf(trace))
    reads(title, "folded",
          lambda: [int(line.rpartition(b" ")[2]) for line in export(trace, "folded").splitlines()])
    reads(title, "pprof", lambda: fields(zlib.decompress(export(trace, "pprof"), 31)))
    reads(title, "otlp", lambda: from_json(export(trace, "otlp", *operations)))
    reads(title, "otlp in protobuf",
          lambda: from_proto(export(trace, "otlp", "--encoding", "protobuf", *operations)))
    if title == "calls":
        reads(title, "proto", lambda: protoc(export(trace, "proto")))
    if shutil.which("dot"):
        reads(title, "dot", lambda: graphviz(export(trace, "dot", *operations)))
    else:
        tap.skip("%s: dot with long names" % title, "graphviz is not installed")
sys.exit(tap.end())
