#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Nobody may read what is made of a capture who may not read the capture: the owner and the mode of
all that clew writes are those of its source, of several what their modes have in common. And a
capture is not written to where others have prepared a link or a file. Prints TAP.
"""
import contextlib
import os
import shutil
import stat
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import _capture  # noqa: E402  pylint: disable=wrong-import-position
import joined  # noqa: E402  pylint: disable=wrong-import-position
from _trace import CLEW, Tap  # noqa: E402  pylint: disable=wrong-import-position

tap = Tap()
ROOT = os.geteuid() == 0
OTHER = 65534 if ROOT else os.geteuid()
FORMATS = ["perfetto", "folded", "pprof", "chrome", "sqlite", "csv", "ctf", "html", "dot", "otlp",
           "proto"]
FOREIGN = """# tracer: nop
          worker-101     [000] d..2.  1000.000000: sched_switch: prev_comm=worker prev_pid=101 \
prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
          <idle>-0       [000] d..2.  1000.001000: sched_switch: prev_comm=swapper/0 prev_pid=0 \
prev_prio=120 prev_state=R ==> next_comm=worker next_pid=101 next_prio=120
"""


def run(*arguments, **options):
    return subprocess.run([CLEW, *arguments],
                          capture_output=True,
                          timeout=60,
                          check=False,
                          umask=0o022,
                          **options)


def access(path):
    """Owner, group and mode of a file, or of a folder and all that is in it."""
    paths = [path] + [
        os.path.join(folder, name) for folder, folders, files in os.walk(path)
        for name in folders + files
    ]
    found = set()
    for each in paths:
        there = os.lstat(each)
        mode = stat.S_IMODE(there.st_mode)
        if stat.S_ISDIR(there.st_mode):
            # x where r
            readable = mode & ~0o111
            mode = readable if mode & 0o111 == (readable & 0o444) >> 2 else mode
        found.add((there.st_uid, there.st_gid, oct(mode)))
    return found


def give(path, owner, mode):
    os.chown(path, owner, owner if ROOT else -1)
    os.chmod(path, mode)


def belongs(path):
    there = os.lstat(path)
    return (there.st_uid, there.st_gid, oct(stat.S_IMODE(there.st_mode)))


def capture(directory, name, mode, records="calls", owner=OTHER):
    path = os.path.join(directory, name)
    # A recording into another user's file is refused.
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    _capture.make(records, path)
    give(path, owner, mode)
    return path


def check_made(name, source, output, *arguments, **options):
    """What the command writes has the access of its source."""
    done = run(*arguments, **options)
    tap.same(name, (done.returncode, os.path.exists(output) and access(output)),
             (0, {belongs(source)}) if done.returncode == 0 else (0, done.stderr))


def test_one(directory):
    """Of one source, over whatever was there before."""
    for mode in (0o600, 0o640, 0o644):
        source = capture(directory, "%o.clew" % mode, mode)
        for kind in FORMATS if mode == 0o600 else ("csv", "html"):
            records = "functions" if kind == "proto" else "calls"
            of = capture(directory, "of-%s.clew" % records, mode, records)
            output = os.path.join(directory, "%o.%s" % (mode, kind))
            check_made("export --to %s of %o" % (kind, mode), of, output, "export", of, "--to",
                       kind, "-o", output)
        output = os.path.join(directory, "%o.ctrace" % mode)
        with open(output, "wb"):
            os.chmod(output, 0o666)
        check_made("convert of %o" % mode, source, output, "convert", source, "-o", output)
        page = os.path.join(directory, "%o.html" % mode)
        check_made("report --html of %o" % mode, source, page, "report", source, "--html", "-o", page)
        again = output + ".again"
        check_made("convert of notation of %o" % mode, output, again, "convert", output, "-o",
                   again)
        text = os.path.join(directory, "%o.txt" % mode)
        with open(text, "w", encoding="ascii") as out:
            out.write(FOREIGN)
        give(text, OTHER, mode)
        check_made("import of %o" % mode, text, text + ".clew", "import", text, "-o",
                   text + ".clew")
        with open(source, "rb") as file:
            check_made("convert of %o as standard input" % mode, source, again, "convert", "-",
                       "-o", again, stdin=file)
    split = os.path.join(directory, "split.folded")
    run("export", source, "--to", "folded", "--split", "1ms", "-o", split)
    parts = [name for name in os.listdir(directory) if name.startswith("split.")]
    tap.same("export --split", {frozenset(access(os.path.join(directory, each)))
                                for each in parts}, {frozenset({belongs(source)})})


def test_pipe(directory):
    """A pipe is its maker's alone."""
    source = capture(directory, "piped.clew", 0o644)
    output = os.path.join(directory, "piped.ctrace")
    with open(source, "rb") as file:
        done = run("convert", "-", "-o", output, input=file.read())
    tap.same("convert of a pipe", (done.returncode, access(output)),
             (0, {(os.geteuid(), os.getegid(), "0o600")}))


def test_several(directory):
    """What the modes have in common."""
    ring = os.path.join(directory, "ring")
    os.mkdir(ring)
    for number, mode in ((1, 0o640), (2, 0o604)):
        joined.write(ring, number)
        give(os.path.join(ring, "%08d-20260101T000000Z.clew" % number), OTHER, mode)
    output = os.path.join(directory, "of-two.clew")
    done = run("join", ring, "-o", output)
    group = OTHER if ROOT else os.getegid()
    tap.same("join of 0640 and 0604", (done.returncode, access(output)),
             (0, {(OTHER, group, "0o600")}))
    if not ROOT:
        tap.skip("join of two owners' segments", "needs root")
        return
    give(os.path.join(ring, "00000002-20260101T000000Z.clew"), OTHER, 0o664)
    tap.same("over what was made of the same", run("join", ring, "-o", output).returncode, 0)
    give(os.path.join(ring, "00000001-20260101T000000Z.clew"), 0, 0o660)
    output = os.path.join(directory, "of-two-owners.clew")
    done = run("join", ring, "-o", output)
    tap.same("join of two owners' segments: no group gets what the other had",
             (done.returncode, access(output)), (0, {(0, 0, "0o600")}))


def prepare(shared, victim):
    """What somebody else may have put into a folder in which everybody may write."""
    os.symlink(victim, os.path.join(shared, "link"))
    os.symlink(os.path.join(os.path.dirname(victim), "absent"), os.path.join(shared, "dangling"))
    os.symlink(os.path.dirname(victim), os.path.join(shared, "folder"))
    os.link(victim, os.path.join(shared, "second"))
    for name, owner, mode in (("open", os.geteuid(), 0o666), ("other", OTHER, 0o600)):
        path = os.path.join(shared, name)
        with open(path, "wb"):
            give(path, owner, mode)


def test_prepared(directory):
    """`clew join` checks the name as `clew record` does, and needs no privilege."""
    shared, victim = os.path.join(directory, "shared"), os.path.join(directory, "victim")
    ring = os.path.join(directory, "ring")
    os.mkdir(shared)
    os.chmod(shared, 0o1777)
    with open(victim, "wb") as file:
        file.write(b"precious")
    prepare(shared, victim)
    refused = {
        "link": "a link to it",
        "dangling": "a link to it",
        "folder/victim": "a link to it",
        "folder/new": "a link to it",
        "second": "a link to it",
        "open": "everybody may write",
    }
    if ROOT:
        refused["other"] = "belongs to another user"
    for name, why in refused.items():
        done = run("join", ring, "-o", os.path.join(shared, name))
        said = done.stderr.decode()
        tap.same("-o %s is refused" % name, (done.returncode, why in said, said.count("\n")),
                 (2, True, 1))
    with open(victim, "rb") as file:
        tap.same("nothing was written", file.read(), b"precious")
    tap.same("nothing was made", os.path.exists(os.path.join(directory, "absent")) or
             os.path.exists(os.path.join(directory, "new")), False)
    own = os.path.join(directory, "own")
    os.symlink(victim, own)
    for name in (own, os.path.join(shared, "new"), victim):
        tap.same("-o %s is taken" % os.path.basename(name), run("join", ring, "-o", name).returncode,
                 0)


def main():
    # Others cannot write here, whatever TMPDIR is.
    directory = tempfile.mkdtemp()
    try:
        test_one(directory)
        test_pipe(directory)
        test_several(directory)
        test_prepared(directory)
    finally:
        shutil.rmtree(directory)
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
