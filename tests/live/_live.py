# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the live tests share: where things are, how clew is run, and TAP.

A test says ok() or skip(); finish() prints the plan and ends with 1 if any failed.
CLEW_LIVE_RUNS says how many runs or seeds a test makes of what it otherwise makes several of.
What may be skipped is decided by `clew doctor` alone; CLEW_LIVE_DOCTOR names a file with
what it said, where it is slow.
"""

import atexit
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests"))
from resolved import resolved  # noqa: E402  pylint: disable=wrong-import-position

CLEW = os.environ.get("CLEW", os.path.join(ROOT, "clew"))
WORKLOADS = os.environ.get("CLEW_WORKLOADS", os.path.join(ROOT, "build", "workloads"))
GUEST = os.environ.get("CLEW_LIVE_GUEST") == "1"
PATIENCE = 600 if GUEST else 120
TRIES = 3  # in all; what passes only at a later one is flaky

_count = 0
_failed = 0


def note(text):
    for line in str(text).splitlines():
        print("# " + line, flush=True)


def wanted_runs(usual):
    """How many runs or seeds to make: CLEW_LIVE_RUNS, or as usual."""
    return int(os.environ.get("CLEW_LIVE_RUNS", usual))


def ok(good, name, why="", first="", unsettled=False):
    """
    One result; returns whether it passed. `first`: why it failed at an earlier try; `unsettled`: it
    passed three times in a row then.
    """
    global _count, _failed
    _count += 1
    reason = str(why if not good else first).replace("\n", " ").replace("#", "number ")
    if good:
        word = "UNSETTLED" if unsettled else "FLAKY"
        print(f"ok {_count} - {name}" + (f" # {word} {reason}" if reason else ""), flush=True)
    else:
        _failed += 1
        print(f"not ok {_count} - {name}" + (f": {reason}" if reason else ""), flush=True)
    return bool(good)


def skip(name, reason):
    global _count
    _count += 1
    print(f"ok {_count} - {name} # SKIP {reason}", flush=True)


def finish():
    print(f"1..{_count}", flush=True)
    sys.exit(1 if _failed else 0)


def skip_all(reason):
    skip(os.path.basename(sys.argv[0]), reason)
    finish()


def skip_unless_functions(*options):
    """
    Ends the test where the kernel has no probes in programs. Any other refusal, as by the
    verifier, is a failure.
    """
    done = run(CLEW, "record", "-o", scratch("probe.clew"), "-d", "100ms", *options, "-f",
               "libc.so.6:getpid")
    reasons = ("functions need Linux 6.6", "this kernel takes no probes in programs")
    if done.returncode == 3 and any(reason in done.stderr for reason in reasons):
        skip_all(done.stderr.strip())
    if not ok(done.returncode == 0, "functions can be recorded",
              f"status {done.returncode}: {done.stderr[-300:]}"):
        finish()


_scratch = None


def scratch(*names):
    """A path in a directory that goes when the test ends."""
    global _scratch
    if _scratch is None:
        _scratch = tempfile.mkdtemp(prefix="clew-live-")
        if os.environ.get("CLEW_KEEP") != "1":
            atexit.register(shutil.rmtree, _scratch, True)
        else:
            note("kept: " + _scratch)
    return os.path.join(_scratch, *names)


def run(*arguments, timeout=None, **options):
    """Runs a command to its end; returns the finished process with text output."""
    options.setdefault("stdout", subprocess.PIPE)
    options.setdefault("stderr", subprocess.PIPE)
    return subprocess.run([str(a) for a in arguments],
                          text=True,
                          errors="replace",
                          timeout=timeout or PATIENCE,
                          check=False,
                          **options)


def sleeps_of(tid):
    """How often a task has gone to sleep."""
    with open(f"/proc/{tid}/status", encoding="ascii", errors="replace") as file:
        return next(
            int(line.split()[1]) for line in file if line.startswith("voluntary_ctxt_switches"))


def clew(*arguments, **options):
    return run(CLEW, *arguments, **options)


# Options with which a list is whole, in order of time. Waits are without clew's own.
WHOLE = {
    "waits": ["--idle", "--sort", "start"], "edges": ["--idle", "--self", "--sort", "start"],
    "requests": ["--idle", "--self", "--sort", "start"], "io": ["--self"],
}


def answer(*arguments):
    """A clew command's JSON answer, without numbers of tables; lists are whole and in order of time."""
    done = clew(*arguments, *WHOLE.get(arguments[0], []), "--json")
    if done.returncode != 0:
        raise RuntimeError(
            f"clew {' '.join(map(str, arguments))}: status {done.returncode}: {done.stderr.strip()}"
        )
    return resolved(json.loads(done.stdout))


def spans_come_back(capture):
    """True if the spans of a capture are the same after it was converted to notation and back."""
    notation, back = scratch("spans.ctrace"), scratch("spans-back.clew")
    spans = answer("spans", capture, "--list")["list"]
    return clew("convert", capture, "-o", notation).returncode == 0 and clew(
        "convert", notation, "-o", back).returncode == 0 and answer("spans", back,
                                                                    "--list")["list"] == spans


def record_workload(path, name, *arguments, options=()):
    """Records a workload. Returns the graph that it printed, or None, and why."""
    done = clew("record", "-o", path, *options, "--", os.path.join(WORKLOADS, name), *arguments)
    if done.returncode != 0:
        return None, f"status {done.returncode}: {done.stderr.strip()[-300:]}"
    try:
        return json.loads(done.stdout), ""
    except ValueError as error:
        return None, f"no graph: {error}"


_features = None


def feature(name):
    """
    Whether `clew doctor` says that the feature of this name is available, and
    its reason if not.
    """
    global _features
    if _features is None:
        said = os.environ.get("CLEW_LIVE_DOCTOR")
        if said:
            with open(said, encoding="utf-8") as file:
                told = json.load(file)
        else:
            told = answer("doctor")
        _features = {f["name"]: f for f in told["features"]}
    found = _features.get(name)
    return (True, "") if found is None or found["available"] else (False, found["reason"])


def require_stacks():
    """Skips all of the test where user stacks cannot be taken."""
    if os.geteuid() != 0:
        skip_all("it needs root")
    available, reason = feature("stacks of waits")
    if not available:
        skip_all(reason)


@contextlib.contextmanager
def ready_socket():
    """
    A socket on which a recorder says that it records, and what its environment
    needs for that.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready:
        ready.bind("")
        yield ready, {"NOTIFY_SOCKET": "@" + ready.getsockname()[1:].decode()}


def start_asking(*arguments, command=(CLEW,), **options):
    """
    Starts a clew command that records; returns the process once it records, or has ended. `command`:
    what runs clew.
    """
    options.setdefault("stderr", subprocess.PIPE)
    with ready_socket() as (ready, environment):
        ready.settimeout(0.1)
        options["env"] = dict(options.get("env") or os.environ, **environment)
        process = subprocess.Popen([*command, *map(str, arguments)],
                                   text=True,
                                   errors="replace",
                                   **options)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and process.poll() is None:
            try:
                ready.recv(64)
                break
            except TimeoutError:
                pass
    return process


def start_recording(path, *arguments, **options):
    """Starts `clew record` and returns the process once it records, or has ended."""
    return start_asking("record", "-o", path, *arguments, **options)


def stop_recording(process, number=2):
    """Stops a recording as Ctrl-C does; returns its status and what it said."""
    if process.poll() is None:
        process.send_signal(number)
    _, said = process.communicate(timeout=PATIENCE)
    return process.returncode, said or ""


def _held_by(pid):
    """BPF programs and maps that a process holds, a program by its own or a link's descriptor."""
    found = set()
    try:
        for number in os.listdir(f"/proc/{pid}/fd"):
            if not os.readlink(f"/proc/{pid}/fd/{number}").startswith("anon_inode:bpf"):
                continue
            with open(f"/proc/{pid}/fdinfo/{number}", encoding="ascii") as info:
                found.update((line.split("_", 1)[0], int(line.split()[1])) for line in info
                             if line.startswith(("prog_id:", "map_id:")))
    except OSError:
        pass
    return found


def attached():
    """
    BPF programs and maps of clew in the kernel that belong to no living process. A link keeps its
    program.
    """
    path = shutil.which("bpftool", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if not path:
        return []
    ours = []
    for what in ("prog", "map"):
        listed = json.loads(run(path, what, "show", "-j").stdout or "[]")
        ours += [
            dict(each, what=what) for each in listed
            if isinstance(each, dict) and each.get("name", "").startswith("clew_")
        ]
    if not ours:
        return []
    held = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        held |= _held_by(pid)
    return [each for each in ours if (each["what"], each["id"]) not in held]


def await_detached():
    """
    What of clew is in the kernel now and stays there; what comes meanwhile is
    another recording's.
    """
    deadline = time.monotonic() + 30
    left = attached()
    while left and time.monotonic() < deadline:
        time.sleep(0.1)
        there = {(each["what"], each["id"]) for each in attached()}
        left = [each for each in left if (each["what"], each["id"]) in there]
    return left


def nothing_left(name):
    left = await_detached()
    ok(not left, f"{name}: nothing stays attached", [each.get("name") for each in left])
