# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Exports of captures with known answers, and what clew itself says of these."""
import functools
import json
import os
import subprocess
import tempfile

import _capture
from _trace import CLEW, HERE

directory = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with


def place(name):
    return os.path.join(directory.name, name)


def clew(*arguments, **options):
    return subprocess.run([CLEW, *arguments],
                          stdin=subprocess.DEVNULL,
                          stderr=subprocess.PIPE,
                          timeout=120,
                          check=False,
                          **options)


def export(capture, to, *arguments):
    """The bytes of the file that is written."""
    path = place("export")
    done = clew("export", capture, "--to", to, "-o", path, *arguments)
    assert not done.returncode and not done.stderr, done
    with open(path, "rb") as file:
        return file.read()


@functools.lru_cache(None)
def ask(capture, command, *arguments):
    return json.loads(clew(command, capture, "--json", *arguments, stdout=subprocess.PIPE).stdout)


def object_of(answer):
    return answer["object"]["name"] if answer["object"] else None


def made(name):
    """The capture of a list of records."""
    if not os.path.exists(place(name)):
        _capture.make(name, place(name))
    return place(name)


def altered(name, as_name, *replaced):
    """The same with other text in the list."""
    with open(os.path.join(HERE, name + ".records"), encoding="utf-8") as file:
        text = file.read()
    for old, new in replaced:
        assert old in text, old
        text = text.replace(old, new)
    subprocess.run([_capture.MAKE_CAPTURE, place(as_name)],
                   input=text.encode(),
                   check=True,
                   timeout=60)
    return place(as_name)


# A name with all that is special anywhere, and a byte that is no UTF-8.
HOSTILE = "a\"b;'\\<&\n\xff\x01"
SHOWN = "a\"b;'\\<&\n\ufffd\x01"


def hostile():
    """A capture in which a thread and a file have such names."""
    name = "".join("\\x%02x" % ord(letter) for letter in HOSTILE)
    return altered("disk", "hostile", ('comm="db"', 'comm="%s"' % name),
                   ('"/data/in"', '"/%s"' % name))
