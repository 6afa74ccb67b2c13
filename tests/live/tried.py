#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# alone: it compares times
"""
clew what-if --try: functions on the path of an operation, beside it, in a lock's section, in a pipeline
and in a branch are made to take longer, and the operation grows by as much as each of these has to;
so do a client's requests and announced calls. With half of its CPU time an operation takes twice as
long, and with a quota of a disk the program reads as much as that. The program computes the same. What
may not be delayed is refused, and nothing is left after SIGKILL, neither delays nor quotas.
"""

import glob
import json
import os
import signal
import subprocess
import sys
import time

from _live import CLEW, PATIENCE, ROOT, finish, note, ok, run, scratch, skip

DELAYS = os.path.join(ROOT, "build", "workloads", "delays")
BLOCKS = 12  # of half a second
FULL = 0.9  # of the CPUs' time: a delay takes its CPU from others then
APART = 0.15  # that a slope may be off beside its interval: wakeups cost more after a spin

# mode, function, operation, slope
CASES = [("path", "on_path", "path_operation", 1), ("fan", "on_path", "branch_operation", 1),
         ("fan", "off_path", "branch_operation", 0), ("pipe", "on_path", "pipe_operation", 1),
         # Two others are ahead of each.
         ("lock", "section", "lock_operation", 3)]


def at(function):
    return f"{DELAYS}:{function}"


def tried(mode, function, operation, count=10**9):
    return asked(["--delay", "300us,1ms", "--try",
                  at(function), "--span",
                  at(operation)], mode, count)


def asked(arguments, mode, count=10**9, file=""):
    """The answer, and what the program printed; it is stopped as soon as there is an answer."""
    printed = scratch("printed")
    # Others are not to take its CPUs. A real-time policy would be left alone.
    command = ["nice", "-n", "-20", "sh", "-c", f"exec {DELAYS} {mode} {count} {file} >{printed}"]
    process = subprocess.Popen(
        [CLEW, "what-if", "--json", "--blocks",
         str(BLOCKS), *arguments, "--", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True)
    text = ""
    for line in process.stdout:
        text += line
        if '"busy":' in line and count == 10**9:
            # The answer is whole, and the program would go on.
            process.send_signal(signal.SIGTERM)
    error = process.stderr.read()
    process.wait(timeout=PATIENCE)
    with open(printed, encoding="ascii") as file:
        return (json.loads(text) if text else error), file.read()


def slopes():
    for mode, function, operation, expected in CASES:
        name = f"{function} of {operation}: an operation grows by {expected} times the delay"
        answer, _ = tried(mode, function, operation)
        if not isinstance(answer, dict) or not answer["slope"]:
            ok(False, name, answer)
            continue
        slope = answer["slope"]
        note(f"{function} of {operation}: {slope['value']:.2f}, {slope['low']:.2f} to "
             f"{slope['high']:.2f}, CPUs busy {answer['busy']:.2f}")
        added = {arm["delay_ns"]: arm for arm in answer["delays"]}
        ok(
            all(0.999 * arm["delayed"] * delay <= arm["added_ns"]
                for delay, arm in added.items()) and not added[0]["delayed"] and len(added) == 3,
            f"{function} of {operation}: each call is delayed by as much as was said",
            answer["delays"])
        if answer["busy"] > FULL:
            skip(name, "the CPUs are busy with others")
            continue
        ok(slope["low"] - APART <= expected <= slope["high"] + APART, name, answer)


def classes():
    """Requests of a client, which a recording times, and calls that the server announces: each takes
    as much longer as the server's function, and the capture of both predicts that."""
    capture = scratch("serve.clew")
    done = run(CLEW, "record", "-o", capture, "-f", at("on_path"), "--", "nice", "-n", "-20",
               DELAYS, "serve", 100)
    ok(done.returncode == 0, "requests: recorded", done.stderr)
    for option, name, shown in (("--class", "requests of asking", "requests of asking to"),
                                ("--operation", "store.get", "store.get")):
        title = f"{option}: an operation grows by 1 times the delay"
        answer, _ = asked(["--delay", "300us,1ms", "--try",
                           at("on_path"), option, name, capture], "serve")
        if not isinstance(answer, dict) or not answer["slope"]:
            ok(False, title, answer)
            continue
        slope, found = answer["slope"], answer[option[2:]]
        note(f"{option}: {slope['value']:.2f}, {slope['low']:.2f} to {slope['high']:.2f}, "
             f"CPUs busy {answer['busy']:.2f}")
        ok(found.startswith(shown) and answer["span"] is None, f"{option}: they are named", answer)
        ok(abs(answer["prediction"] - 1) < 0.02, f"{option}: the capture predicts 1", answer)
        if answer["busy"] > FULL:
            skip(title, "the CPUs are busy with others")
        else:
            ok(slope["low"] - APART <= 1 <= slope["high"] + APART, title, answer)


def quotas():
    answer, _ = asked(["--quota", "cpu=50%", "--span", at("burn_operation")], "burn")
    if not isinstance(answer, dict) and "control group" in answer:
        skip("half the CPU: an operation takes twice as long", answer.strip())
        return
    good = isinstance(answer, dict) and answer["ratio"]
    quota = answer["quota"] if good else {}
    ok(good and answer["verdict"] == "measured" and not answer["slope"],
       "a quota of CPU is measured", answer)
    ok(good and quota["used_with"] < 1.2 * quota["per_second"] < quota["used_without"],
       "half the CPU: it gets no more", quota)
    # Others may have the CPU at times, also at that niceness.
    ok(
        good
        and abs(answer["ratio"]["value"] * quota["used_with"] / quota["used_without"] - 1) < 0.1,
        "half the CPU: an operation takes as much longer as there is less", answer)
    place = scratch("read")
    with open(place, "wb") as file:
        file.write(os.urandom(1 << 20))
        os.fsync(file.fileno())
    answer, _ = asked(["--quota", "disk=4M", "--span", at("read_operation")], "read", file=place)
    good = isinstance(answer, dict) and answer["ratio"]
    if not good and "read nothing from a disk" in str(answer):
        skip("a quota of a disk: it reads as much as that", "the folder is on no disk that counts")
        return
    # An operation reads 256 KiB.
    took = next((arm["mean_ns"] for arm in answer["delays"] if arm["delay_ns"]), 0) if good else 0
    ok(good and abs(took - 62.5e6) < 8e6, "a quota of a disk: it reads as much as that", answer)


def left_groups():
    return glob.glob("/sys/fs/cgroup/**/clew-try-*", recursive=True)


def killed_with_quota():
    target = subprocess.Popen([DELAYS, "burn", str(10**9)], stdout=subprocess.DEVNULL)
    with open(f"/proc/{target.pid}/cgroup", encoding="ascii") as file:
        home = file.read()
    process = subprocess.Popen([
        CLEW, "what-if", "--quota", "cpu=0.2", "--span",
        at("burn_operation"), "-p",
        str(target.pid)
    ],
                               stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE,
                               text=True)
    try:
        if not await_true(left_groups) and process.poll() is not None:
            skip("nothing is left of a quota after SIGKILL", process.stderr.read())
            return
        process.kill()
        process.wait()
        gone = await_true(lambda: not left_groups())
        with open(f"/proc/{target.pid}/cgroup", encoding="ascii") as file:
            ok(gone and file.read() == home and target.poll() is None,
               "nothing is left of a quota after SIGKILL, and the program is where it was")
    finally:
        target.kill()
        target.wait()


def same_output():
    alone = run(DELAYS, "fan", 300).stdout
    answer, printed = tried("fan", "on_path", "branch_operation", 300)
    ok(printed == alone != "", "the program prints the same", (printed, alone))
    ok(
        isinstance(answer, dict) and answer["calls"] >= 1 and answer["verdict"] == "unknown",
        "a command that ends soon has an answer that says so", answer)


def prediction(capture, function, operation):
    done = run(CLEW, "what-if", "--json", "--try", at(function), "--span", at(operation), capture,
               "--", "sh", "-c", f"{DELAYS} path 1 >{scratch('printed')}")
    return json.loads(done.stdout)["prediction"] if done.stdout else done.stderr


def predicted():
    """What a capture of both functions predicts stands beside the slope."""
    functions = ("on_path", "off_path", "section", "path_operation", "branch_operation",
                 "pipe_operation", "lock_operation")
    for mode in ("path", "fan", "pipe", "lock"):
        done = run(CLEW, "record", "-o", scratch(f"{mode}.clew"),
                   *[word for name in functions for word in ("-f", at(name))], "--", "nice", "-n",
                   "-20", DELAYS, mode, 60)
        ok(done.returncode == 0, f"{mode}: recorded", done.stderr)
    found = prediction(scratch("path.clew"), "on_path", "path_operation")
    ok(
        isinstance(found, float) and abs(found - 1) < 0.01 or found == 1,
        "a capture predicts 1 for a function on the path", found)
    found = prediction(scratch("pipe.clew"), "on_path", "pipe_operation")
    ok(isinstance(found, (int, float)) and abs(found - 1) < 0.05, "1 for one in a pipeline", found)
    found = prediction(scratch("lock.clew"), "section", "lock_operation")
    # The first and the last operations have fewer ahead of them.
    ok(
        isinstance(found, (int, float)) and 2.7 < found < 3.1,
        "as many for a lock's section as wait for it", found)
    on, off = (prediction(scratch("fan.clew"), name, "branch_operation")
               for name in ("on_path", "off_path"))
    # Each operation waits for the one branch or for the other one, as the CPUs have it.
    ok(
        isinstance(on, (int, float)) and isinstance(off, (int, float)) and on > off
        and abs(on + off - 1) < 0.15, "and of two branches that both wait for: 1 together",
        (on, off))
    done = run(CLEW, "what-if", "--try", at("section"), "--span", at("lock_operation"),
               scratch("path.clew"), "--", "true")
    ok(done.returncode == 2 and "record with -f" in done.stderr and done.stderr.count("\n") == 1,
       "a capture without the functions is status 2 and one line", done.stderr)


def refused():
    span = ["--span", at("path_operation")]
    cases = {
        "libc": ["--try", "libc.so.6:read", *span, "-p",
                 os.getpid()], "no operation": ["--try", at("on_path"), "-p",
                                                os.getpid()], "nobody is chosen":
        ["--try", at("on_path"), *span
         ], "a long delay": ["--try",
                             at("on_path"), *span, "--delay", "3ms", "-p",
                             os.getpid()], "no duration":
        ["--try", at("on_path"), *span, "--delay", "x", "-p",
         os.getpid()], "no such function": ["--try",
                                            at("nobody"), *span, "-p",
                                            os.getpid()], "no such file":
        ["--try", "/nobody:f", *span, "-p",
         os.getpid()], "no function": ["--try", "on_path", *span, "-p",
                                       os.getpid()], "several functions":
        ["--try", at("*_operation"), *span, "-p",
         os.getpid()], "the operation itself":
        ["--try", at("path_operation"), *span, "-p",
         os.getpid()], "no process": ["--try", at("on_path"), *span, "-p", 4194304], "few blocks":
        ["--try", at("on_path"), *span, "--blocks", 3, "-p",
         os.getpid()], "a trace": ["--try", at("on_path"), *span, "x.clew"],
        "a process and a command": ["--try",
                                    at("on_path"), *span, "-p",
                                    os.getpid(), "--",
                                    "true"], "no --try": [*span, "-p", os.getpid()],
    }
    quota = ["--quota", "cpu=50%"]
    cases |= {
        "several operations":
        ["--try", at("on_path"), *span, "--class", "works", "-p",
         os.getpid()], "a short block":
        ["--try", at("on_path"), *span, "--block", "10ms", "-p",
         os.getpid()], "a quota of nothing": ["--quota", "cpu=0", *span, "-p",
                                              os.getpid()], "a quota of what is none":
        ["--quota", "memory=5M", *span, "-p",
         os.getpid()], "a quota of too little": ["--quota", "disk=1k", *span, "-p",
                                                 os.getpid()],
        "a quota of no unit": ["--quota", "cpu=5x", *span, "-p",
                               os.getpid()], "a quota without a program": [*quota, *span],
        "a quota of all": [*quota, *span, "--yes-slow-it-down"], "a quota without an operation":
        [*quota, "-p",
         os.getpid()], "a quota and a delay": [*quota, *span, "--delay", "1ms", "-p",
                                               os.getpid()], "a quota and a capture":
        [*quota, *span, "-p", os.getpid(),
         "x.clew"], "a quota of no process": [*quota, *span, "-p", 4194304],
    }
    for name, arguments in cases.items():
        done = run(CLEW, "what-if", *arguments)
        ok(
            done.returncode == 2 and done.stderr.count("\n") == 1 and done.stderr.count(": ") > 1
            and not done.stdout, f"refused in one line: {name}", done.stderr or done.stdout)


def loaded():
    """Whether one of the programs that delay is there. A list that was broken off, as another program
    went meanwhile, is asked for again."""
    return any(run("bpftool", "prog", "show", "name", "delay_call").stdout for _ in range(3))


def await_true(condition):
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return False


def await_loaded(wanted):
    return await_true(lambda: loaded() == wanted)


def killed():
    target = subprocess.Popen([DELAYS, "path", str(10**9)], stdout=subprocess.DEVNULL)
    process = subprocess.Popen([
        CLEW, "what-if", "--try",
        at("on_path"), "--span",
        at("path_operation"), "--delay", "2ms", "-p",
        str(target.pid)
    ],
                               stdout=subprocess.DEVNULL)
    try:
        ok(await_loaded(True), "a process that runs is delayed")
        process.kill()
        process.wait()
        ok(await_loaded(False) and target.poll() is None, "nothing is left after SIGKILL")
    finally:
        target.kill()
        target.wait()


def main():
    if not os.path.exists(DELAYS):
        sys.exit("build/workloads/delays is missing: make workloads")
    slopes()
    classes()
    quotas()
    predicted()
    same_output()
    refused()
    killed()
    killed_with_quota()
    finish()


if __name__ == "__main__":
    main()
