#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# alone: it compares times
"""
clew what-if --try: functions on the path of an operation, beside it, in a lock's section, in a pipeline
and in a branch are made to take longer, and the operation grows by as much as each of these has to.
The program computes the same. What may not be delayed is refused, and nothing is left after SIGKILL.
"""

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
    """The answer, and what the program printed; it is stopped as soon as there is an answer."""
    printed = scratch("printed")
    # Others are not to take its CPUs. A real-time policy would be left alone.
    command = ["nice", "-n", "-20", "sh", "-c", f"exec {DELAYS} {mode} {count} >{printed}"]
    process = subprocess.Popen([
        CLEW, "what-if", "--json", "--blocks",
        str(BLOCKS), "--delay", "300us,1ms", "--try",
        at(function), "--span",
        at(operation), "--", *command
    ],
                               stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE,
                               text=True)
    text = ""
    for line in process.stdout:
        text += line
        if '"busy":' in line and count == 10**9:
            # The answer is whole, and the program would go on.
            process.send_signal(signal.SIGINT)
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
    functions = ("on_path", "off_path", "path_operation", "branch_operation")
    for mode in ("path", "fan"):
        done = run(CLEW, "record", "-o", scratch(f"{mode}.clew"),
                   *[word for name in functions for word in ("-f", at(name))], "--", "nice", "-n",
                   "-20", DELAYS, mode, 60)
        ok(done.returncode == 0, f"{mode}: recorded", done.stderr)
    found = prediction(scratch("path.clew"), "on_path", "path_operation")
    ok(
        isinstance(found, float) and abs(found - 1) < 0.01 or found == 1,
        "a capture predicts 1 for a function on the path", found)
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
    for name, arguments in cases.items():
        done = run(CLEW, "what-if", *arguments)
        ok(
            done.returncode == 2 and done.stderr.count("\n") == 1 and done.stderr.count(": ") > 1
            and not done.stdout, f"refused in one line: {name}", done.stderr or done.stdout)


def loaded():
    """Whether one of the programs that delay is there. A list that was broken off, as another program
    went meanwhile, is asked for again."""
    return any(run("bpftool", "prog", "show", "name", "delay_call").stdout for _ in range(3))


def await_loaded(wanted):
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if loaded() == wanted:
            return True
        time.sleep(0.05)
    return False


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
    predicted()
    same_output()
    refused()
    killed()
    finish()


if __name__ == "__main__":
    main()
