#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Calls of functions (`record -f`, `spans`): a program that counts for itself how each of its
functions is entered and left has the same counts, in C and C++, with and without optimization,
without symbols, and runs as it does untraced.
"""

import collections
import json
import os
import shutil
import subprocess

from _accuracy import measured
from _live import PATIENCE, ROOT, WORKLOADS, answer, finish, ok, run, scratch, skip, skip_unless_functions, start_recording, stop_recording, wanted_runs

SOURCE = os.path.join(ROOT, "tools", "workloads", "frames.c")
# yapf: disable
VARIANTS = (
    ("c++-O2", ["g++", "-x", "c++", "-O2", "-DTAIL"]),
    ("c++-O0", ["g++", "-x", "c++", "-O0"]),
    ("stripped", ["g++", "-x", "c++", "-O2", "-DTAIL", "-rdynamic", "-s"]),
    ("c-O3", ["gcc", "-O3", "-DTAIL"]),
    ("c-O0", ["gcc", "-O0"]),
    ("c++-O1", ["g++", "-x", "c++", "-O1"]),
    ("c++-O3", ["g++", "-x", "c++", "-O3", "-DTAIL"]),
    ("c++-lto", ["g++", "-x", "c++", "-O2", "-DTAIL", "-flto"]),
    ("clang", ["clang", "-O2", "-DTAIL"]),
)
# yapf: enable
QUICK = 3  # as many of them where not all is run
OPTIONS = ["--max-cost", "1000000"]  # of all recordings: none is dropped where probes are dear
# Where glibc's longjmp is not seen, what it leaves ends where a caller returns.
LONGJMP = "unwound" if os.uname().machine == "aarch64" else "longjmp"


def build(name, command):
    """The workload made so, None: this compiler is not here."""
    if not shutil.which(command[0]):
        return None
    program = scratch("frames-" + name)
    subprocess.run(command + [SOURCE, "-pthread", "-o", program], check=True, timeout=PATIENCE)
    return program


def record(capture, program, seed, *options):
    """What a run of the program that came after the start says; None: it was not recorded."""
    recording = start_recording(capture, "-f", program + ":g_*", *OPTIONS, *options)
    done = run(program, str(seed), timeout=PATIENCE)
    status, said = stop_recording(recording)
    if status:
        ok(False, f"{program} is recorded", f"status {status}: {said.strip()[-300:]}")
        return None
    return done


def read_truth(output):
    """What the program says of its functions, in clew's words."""
    truth = json.loads(output)
    for row in truth.values():
        row["closed"] = {LONGJMP if how == "longjmp" else how: count
                         for how, count in row["closed"].items()}
    return truth


def differences(truth, spans):
    """Where counts differ from those of the program."""
    found = {row["name"]: row for row in spans["by_name"]}
    return [
        f"{name}: {found[name]['closed'] if name in found else None} instead of "
        f"{truth.get(name, {}).get('closed')}" for name in sorted(set(truth) | set(found))
        if name not in found or name not in truth or found[name]["closed"] != truth[name]["closed"]
    ]


def take_accuracy(variant, truth, spans):
    """Each way in which calls of a function ended is compared; as many too many are wrong, too."""
    found = {row["name"]: row["closed"] for row in spans["by_name"]}
    wrong = sum(
        abs(row["closed"].get(how, 0) - found.get(name, {}).get(how, 0))
        for name, row in truth.items() for how in {*row["closed"], *found.get(name, {})})
    measured("functions calls", sum(sum(row["closed"].values()) for row in truth.values()), wrong,
             witness=f"the program's own counts, {variant}")


def check_spin(label, truth, spans):
    """Calls cannot be shorter than what they measured inside, nor longer than outside."""
    rows = [row for row in spans["by_name"] if row["name"] == "g_spin"]
    if rows and "g_spin" in truth:
        total = rows[0]["total"]["sum_ns"]
        ok(truth["g_spin"]["inner_ns"] <= total <= truth["g_spin"]["outer_ns"],
           f"{label}: calls take as long as the program measures", f"{total}: {truth['g_spin']}")


def check_run(label, program, seed):
    plain = run(program, str(seed), timeout=PATIENCE)
    capture = scratch("functions.clew")
    done = record(capture, program, seed)
    if done is None:
        return
    ok(done.returncode == plain.returncode, f"{label}: ends as untraced",
       f"status {done.returncode} instead of {plain.returncode}")
    if done.returncode:
        return
    truth, untraced = read_truth(done.stdout), read_truth(plain.stdout)
    ok({name: row["closed"]
        for name, row in truth.items()} == {name: row["closed"]
                                            for name, row in untraced.items()},
       f"{label}: does what it does untraced", f"{truth} instead of {untraced}")
    spans = answer("spans", capture)
    if spans["ledger"]["lost"]:
        skip(f"{label}: counts", f"{spans['ledger']['lost']} records were lost")
        return
    take_accuracy(label.partition(",")[0], truth, spans)
    wrong = differences(truth, spans)
    ok(not wrong, f"{label}: each count is the program's", "; ".join(wrong[:4]))
    begun = sum(row["count"] for row in truth.values())
    built = sum(row["closed"].get("returned", 0) + row["closed"].get("tail-call", 0)
                for row in truth.values())
    ok((spans["summary"]["begun"], spans["summary"]["built"]) == (begun, built),
       f"{label}: calls begun and built", f"{spans['summary']} instead of {begun}, {built}")
    check_spin(label, truth, spans)


def check_loss(program):
    """Over a loss nothing is guessed."""
    capture = scratch("functions-lost.clew")
    done = record(capture, program, 7, "--ring-size", "64K", "--pause-drain", "5s")
    if done is None:
        return
    truth, spans = read_truth(done.stdout), answer("spans", capture)
    ok(spans["ledger"]["lost"] > 0, "records are lost that have no room", str(spans["ledger"]))
    ok(spans["ledger"]["balanced"], "the ledger balances over that", str(spans["ledger"]))
    wrong = [
        f"{row['name']}: {row['closed']}" for row in spans["by_name"]
        if set(row["closed"]) - set(truth[row["name"]]["closed"]) - {"lost"}
    ]
    ok(not wrong, "calls over a loss are lost and nothing else", "; ".join(wrong[:4]))


GROWING = """
package main

import "fmt"

//go:noinline
func deep(n int) int {
	var room [64]int
	for i := range room {
		room[i] = n + i
	}
	if n == 0 {
		return room[3]
	}
	return deep(n-1) + room[n%64]
}

func main() {
	for i := 0; i < 40; i++ {
		done := make(chan int)
		go func() { done <- deep(50) }()
		<-done
	}
	fmt.Println(40 * 51)
}
"""


def check_go():
    """A call whose stack grows at its begin is one call."""
    if not shutil.which("go"):
        skip("calls of Go", "go is not installed")
        return
    source, program, capture = (scratch(it) for it in ("growing.go", "growing", "growing.clew"))
    with open(source, "w", encoding="ascii") as file:
        file.write(GROWING)
    subprocess.run(["go", "build", "-o", program, source], check=True, timeout=PATIENCE, env=dict(
        os.environ, HOME=scratch(), GO111MODULE="off", GOFLAGS=""))
    recording = start_recording(capture, "-f", program + ":main.deep", *OPTIONS)
    done = run(program)
    status, said = stop_recording(recording)
    if not ok(status == 0, "functions of Go are recorded", said[-300:]):
        return
    begun = answer("spans", capture)["summary"]["entries_only"]
    measured("functions calls", int(done.stdout), abs(begun - int(done.stdout)),
             witness="the program's own counts, Go")
    ok(begun == int(done.stdout), "Go: each call counts once", f"{begun}, not {done.stdout.strip()}")


def check_process():
    """Functions of a process's library are recorded in that process alone."""
    script = "import time\nprint('here', flush=True)\nwhile True: time.sleep(0.01)"
    processes = [
        subprocess.Popen(["python3", "-c", script], stdout=subprocess.PIPE) for _ in range(2)
    ]
    for process in processes:
        process.stdout.readline()  # it has the library
    capture = scratch("functions-pid.clew")
    recording = start_recording(capture, "-f", f"{processes[0].pid}:clock_nanosleep", "-d", "1s",
                                *OPTIONS)
    _, said = recording.communicate(timeout=PATIENCE)
    for process in processes:
        process.kill()
        process.communicate()
    if not ok(recording.returncode == 0, "functions of a process are recorded", said[-300:]):
        return
    spans = answer("spans", capture, "--list")
    pids = {entry["pid"] for entry in spans["list"]}
    ok(pids == {processes[0].pid}, "functions of a process are recorded in it alone",
       f"{pids} instead of {processes[0].pid}")


def check_vfork():
    """A child on its parent's stack has calls of its own, and leaves its parent's as they are."""
    program, capture = os.path.join(WORKLOADS, "vforks"), scratch("vfork.clew")
    done = record(capture, program, 1)
    if not done:
        return
    ok(done.returncode == 0, "vfork: the program runs as it does untraced", done)
    calls = answer("spans", capture, "--list")["list"]
    parent = next((call["pid"] for call in calls if call["name"] == "g_spawn"), None)
    counts = collections.Counter(
        (call["name"], "parent" if call["pid"] == parent else "child", call["closed"])
        for call in calls)
    expected = {
        ("g_spawn", "parent", "returned"): 20, ("g_leaf", "parent", "returned"): 20,
        ("g_leaf", "child", "returned"): 20, ("g_child", "child", "exec"): 10,
        ("g_child", "child", "exit"): 10
    }
    ok(counts == expected, "vfork: the calls of the parent and of its children", counts)
    above = {(call["start_tid"], call["start"]): call["name"] for call in calls}
    under = collections.Counter((call["name"], above.get((call["start_tid"], call["parent"])))
                                for call in calls)
    ok(
        under == {
            ("g_spawn", None): 20, ("g_leaf", "g_spawn"): 20, ("g_leaf", "g_child"): 20,
            ("g_child", None): 20
        }, "vfork: what each was called in", under)


def main():
    skip_unless_functions()
    runs, own = wanted_runs(20), os.path.join(WORKLOADS, "frames")
    programs = [("c-O2", own)]
    for name, command in VARIANTS if runs > 1 else VARIANTS[:QUICK]:
        program = build(name, command)
        if program:
            programs.append((name, program))
        else:
            skip(name, f"no {command[0]}")
    for name, program in programs:
        for seed in range(1, runs + 1):
            check_run(f"{name}, seed {seed}", program, seed)
    check_loss(own)
    check_process()
    check_vfork()
    check_go()
    finish()


if __name__ == "__main__":
    main()
