#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
A recorded program computes what it computes otherwise: programs that return twice, switch stacks,
jump, throw, ask where they return to, are cancelled, filtered or traced by others print the same and
end with the same status while all functions of the C library and their own are recorded. With all
runs also programs of other languages and large ones, whose packages `tools/deps --all` installs.

The C library of the small programs is a copy, so that no other process of the machine has its probes.
With all runs it is the system's.

What cannot be equal is left out: a breakpoint of a debugger on a probed instruction, the system
calls by which the kernel runs some probes (strace lists them), and times.
"""

import os
import shutil
import subprocess
import sys

import _harmless_large
from _live import PATIENCE, ROOT, finish, ok, run, scratch, skip_unless_functions, start_recording, stop_recording, wanted_runs

SOURCES = os.path.join(ROOT, "tests", "live", "harmless")
NOBODY = 65534
OPTIONS = ["--stacks", "--max-cost", "100000", "--max-functions", "60000"]
C_LIBRARY = "libc.so.6"


def compile_one(name, *options, source=None):
    """A program of tests/live/harmless."""
    path = scratch("harmless-" + name)
    source = os.path.join(SOURCES, source or name + ".c")
    compiler = "g++" if source.endswith(".cc") else "gcc"
    subprocess.run([compiler, "-O2", source, "-pthread", *options, "-o", path],
                   check=True,
                   timeout=PATIENCE)
    return path


def strace(program):
    """The program under strace, which says what it writes: (what it ran, what it said)."""
    said = scratch("strace.txt")
    done = run("strace", "-f", "-o", said, "-e", "trace=write,exit_group", "-e", "signal=none",
               program)
    with open(said, encoding="utf-8", errors="replace") as file:
        lines = [line.split(maxsplit=1)[-1] for line in file]
    # Without the calls by which the kernel runs some probes.
    lines = "".join(line for line in lines if not line.startswith("syscall_0x"))
    return done.returncode, done.stdout + lines, done.stderr


def copy_library():
    """A C library that only programs have that look for libraries beside it."""
    found = run("ldconfig", "-p", env={"PATH": "/usr/sbin:/sbin"}).stdout
    path = next(line.split()[-1] for line in found.splitlines()
                if line.split()[:1] == [C_LIBRARY] and "x86-64" in line)
    os.mkdir(scratch("lib"))
    return shutil.copy(path, scratch("lib"))


def plainly(*command, **options):
    done = run(*command, **options)
    return done.returncode, done.stdout, done.stderr


def small_programs():
    """[(name, how it is run, whose functions are recorded besides the C library's)]."""
    programs = []
    for name in ("twice", "contexts", "switch", "jumps", "cancel", "seccomp", "addresses"):
        path = compile_one(name, "-fno-omit-frame-pointer")
        programs.append((name, lambda path=path: plainly(path), path))
    path = compile_one("throw", source="throw.cc")
    programs.append(("throw", lambda path=path: plainly(path), path))
    static = compile_one("static", "-static", source="switch.c")
    programs.append(("static", lambda: plainly(static), static))
    setuid = compile_one("identity")
    os.chmod(os.path.dirname(setuid), 0o755)
    os.chmod(setuid, 0o4755)
    programs.append(("setuid", lambda: plainly(setuid, user=NOBODY, group=NOBODY), setuid))
    python = os.path.join(SOURCES, "program.py")
    programs.append(("python", lambda: plainly(sys.executable, "-I", "-S", python), None))
    traced = compile_one("under-strace", source="jumps.c")
    programs.append(("under strace", lambda: strace(traced), traced))
    return programs


def compare(programs, options=(C_LIBRARY + ":*", ), title=""):
    """Runs each program, records all of them while they run again, and compares."""
    truths = {name: how() for name, how, _ in programs}
    crashed = [name for name, truth in truths.items() if truth[0] < 0 or truth[0] >= 128]
    ok(not crashed, f"{title}each program ends in order by itself", str(crashed))
    chosen = [word for glob_ in options for word in ("-f", glob_)]
    for _, _, own in programs:
        if own:
            chosen += ["-f", own if ":" in own else own + ":*"]
    recording = start_recording(scratch("harmless.clew"), *OPTIONS, *chosen)
    found = {}
    try:
        if recording.poll() is None:
            found = {name: how() for name, how, _ in programs}
    finally:
        status, said = stop_recording(recording)
    ok(status == 0, f"{title}they are recorded", f"status {status}: {said.strip()[-500:]}")
    for name in truths:
        if name in found:
            ok(truths[name] == found[name], f"{title}{name}: prints and ends as it does otherwise",
               f"{found[name]} instead of {truths[name]}"[:600])
    os.unlink(scratch("harmless.clew"))


def main():
    skip_unless_functions()
    programs = small_programs()
    library = copy_library()
    os.environ["LD_LIBRARY_PATH"] = os.path.dirname(library)
    compare(programs, [library + ":*"])
    del os.environ["LD_LIBRARY_PATH"]
    if wanted_runs(2) > 1:
        compare(programs, title="with the system's library: ")
        _harmless_large.check(compare, plainly, SOURCES)
    finish()


if __name__ == "__main__":
    main()
