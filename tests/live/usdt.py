#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Probes that programs carry (`record --usdt PROVIDER:NAME`): each time that one is met is there with
the arguments that the program says it gave, wherever the compiler put them; their counters go up
while they are recorded and back afterwards; Python's own probes agree with what Python counts.
"""

import json
import os
import subprocess

from _live import CLEW, PATIENCE, WORKLOADS, answer, finish, ok, run, scratch, skip_unless_functions, spans_come_back, start_recording, stop_recording, wanted_runs

PYTHON = "/usr/bin/python3"
COLLECT = """
import gc, json
met = []
gc.callbacks.append(lambda phase, info: met.append((phase, info["generation"], info["collected"])))
for i in range(40):
    rings = [[] for _ in range(i)]
    for j in range(i):
        rings[j].append(rings[j])
    del rings
    gc.collect(i % 3)
gc.callbacks.clear()
gc.disable()
print(json.dumps(met))
"""


def truth(output):
    lines = [json.loads(line) for line in output.splitlines()]
    return [(line["name"], line["args"]) for line in lines if "name" in line], lines[-1]["counters"]


def record(capture, program, seed, *options):
    """What the program says, and what the capture has, when it is met from its start on."""
    recording = start_recording(capture, "--max-cost", "1000000", *options)
    done = run(program, str(seed), timeout=PATIENCE)
    status, said = stop_recording(recording)
    ok(status == 0 and done.returncode == 0, f"{os.path.basename(program)} is recorded",
       f"status {status}, {done.returncode}: {said.strip()[-300:]}")
    return truth(done.stdout)


def met(spans):
    return [(entry["name"], list(entry["args"].values())) for entry in spans["list"]
            if entry["closed"] == "point"]


def check_values(label, program, seed):
    capture = scratch("usdt.clew")
    options = [
        "--usdt", f"{program}:ours:*", "--usdt", f"{program}:ours:text(words:str, number)",
        "--usdt", f"{program}:ours:many(arg6, _, _, _, _, arg7)"
    ]
    expected, counters = record(capture, program, seed, *options)
    expected = [(name, args[6:] if name == "ours:many" else args) for name, args in expected]
    spans = answer("spans", capture, "--list")
    got = met(spans)
    wrong = [pair for pair in zip(got, expected) if pair[0] != pair[1]]
    ok(len(expected) == 1400 and len(got) == 1400 and not wrong,
       f"{label}: 1,400 times at 7 probes with their arguments",
       f"{len(got)} instead of {len(expected)}, {len(wrong)} differ: {wrong[:2]}")
    ok(counters == [1, 1, 1, 4, 1, 1, 1],
       f"{label}: each counter has one for each instruction of the probe", str(counters))
    nulls = sum(value is None for _, args in expected for value in args)
    unread = sum(row["unread"] for row in spans["by_name"])
    ok(unread == nulls and spans["summary"]["points"] == 1400 and not spans["summary"]["begun"],
       f"{label}: {nulls} texts that cannot be read are counted",
       f"{unread}, {spans['summary']}")
    return capture, expected


def check_all_values(program, seed):
    """Without a list of values the first six are kept."""
    capture = scratch("usdt-all.clew")
    expected, _ = record(capture, program, seed, "--usdt", f"{program}:ours:many")
    expected = [args[:6] for name, args in expected if name == "ours:many"]
    entries = answer("spans", capture, "--list")["list"]
    got = [list(entry["args"].values()) for entry in entries]
    ok(not entries and not expected or
       (list(entries[0]["args"]) == [f"arg{i}" for i in range(6)] and got == expected),
       "arguments that nobody named are recorded by their number", f"{got[:1]} {expected[:1]}")
    # The program meets only those whose counter is up.
    ok(len(expected) == 200, "a probe that nobody listens to is not met", str(len(expected)))


def check_anywhere(program, seed):
    """Without an object they are found in what runs, in one that starts later, and in a command."""
    capture = scratch("usdt-anywhere.clew")
    with subprocess.Popen([program, str(seed), "wait"], stdin=subprocess.PIPE,
                          stdout=subprocess.DEVNULL) as early:
        recording = start_recording(capture, "--usdt", "ours:te*(_, number)")
        later = run(program, str(seed + 1), timeout=PATIENCE)
        status, said = stop_recording(recording)
        early.stdin.close()
    count = sum(name == "ours:text" for name, _ in truth(later.stdout)[0])
    got = [args for _, args in met(answer("spans", capture, "--list"))]
    ok(status == 0 and count == 200 and got == [[seed + 1 + i] for i in range(200)],
       "a probe is found in the programs that run", f"{status}, {count}, {got[:3]}: {said[-200:]}")
    done = run(CLEW, "record", "-o", capture, "--usdt", "ours:nothing", "--", program, str(seed))
    ok(done.returncode == 0 and len(met(answer("spans", capture, "--list"))) == 200,
       "and in the program of a command", done.stderr[-300:])


def check_back_to_zero(program, seed):
    """A program that runs on is as before when the recording ends."""
    with subprocess.Popen([program, str(seed), "wait"],
                          stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE,
                          text=True) as running:
        done = run(CLEW, "record", "-o", scratch("usdt-zero.clew"), "-d", "1", "--usdt",
                   f"{running.pid}:ours:*")
        counters = truth(running.communicate(timeout=PATIENCE)[0])[1]
    ok(done.returncode == 0 and counters == [0] * 7, "counters are back at 0 afterwards",
       f"{counters}: {done.stderr[-200:]}")


def check_nested(program, seed):
    """A probe within a recorded function is in it, and neither disturbs the other."""
    capture = scratch("usdt-nested.clew")
    expected, _ = record(capture, program, seed, "--usdt", f"{program}:ours:*", "-f",
                         f"{program}:around(seed:u32)")
    spans = answer("spans", capture, "--list")
    calls = {entry["start"]: entry for entry in spans["list"] if entry["name"] == "around"}
    inside = [entry for entry in spans["list"] if entry["closed"] == "point"]
    ok(len(calls) == 200 and all(call["closed"] == "returned" for call in calls.values()),
       "a function around probes returns as often as it is called",
       str([call["closed"] for call in calls.values()][:5]))
    ok(
        len(inside) == len(expected) and
        all(entry["parent"] in calls and calls[entry["parent"]]["start"] <= entry["start"] <=
            calls[entry["parent"]]["end"] for entry in inside), "each probe is in its call",
        f"{len(inside)} of {len(expected)}")
    return capture


def check_back(capture):
    ok(spans_come_back(capture), "conversion and back keeps them")


def check_text(capture, expected):
    done = run(CLEW, "spans", capture, "--list")
    lines = [line for line in done.stdout.splitlines() if "ours:sizes(" in line]
    values = [", ".join(f"arg{i}={value}" for i, value in enumerate(args))
              for name, args in expected if name == "ours:sizes"]
    ok(
        len(lines) == len(values) == 200 and
        all(line.endswith(f"ours:sizes({words})") for line, words in zip(lines, values)),
        "the text has the same values", f"{lines[:1]} {values[:1]}")
    ok("7 probes of programs were met 1400 times" in done.stdout, "and says how often",
       done.stdout[-300:])


def check_python():
    script, capture = scratch("collect.py"), scratch("usdt-python.clew")
    with open(script, "w", encoding="utf-8") as file:
        file.write(COLLECT)
    recording = start_recording(capture, "--usdt", f"{os.path.realpath(PYTHON)}:python:gc__*",
                                "--comm", "python3")
    done = subprocess.Popen([PYTHON, "-S", "-E", script], stdout=subprocess.PIPE, text=True)
    output = done.communicate(timeout=PATIENCE)[0]
    status, said = stop_recording(recording)
    told = json.loads(output)
    starts = [("python:gc__start", generation) for phase, generation, _ in told
              if phase == "start"]
    ends = [("python:gc__done", collected) for phase, _, collected in told if phase == "stop"]
    got = [(entry["name"], entry["args"]["arg0"])
           for entry in answer("spans", capture, "--list", "--pid", str(done.pid))["list"]]
    # The interpreter collects before and after the script, too, and never within it by itself.
    both = [item for pair in zip(starts, ends) for item in pair]
    found = [i for i in range(len(got) - len(both) + 1) if got[i:i + len(both)] == both]
    ok(status == 0 and len(both) == 80 and len(found) == 1,
       "Python's collections are those that it counts itself",
       f"{status}, {len(got)}: {got[:6]}, {both[:6]} {said[-200:]}")


def check_refused(program):
    """Bad choices end with one line, status 2, and no file."""
    where = scratch("usdt-refused.clew")
    for text, words in (
        ("ours", "PROVIDER:NAME"), ("", "PROVIDER:NAME"), ("ours:", "PROVIDER:NAME"),
        (":text", "PROVIDER:NAME"), (f"{program}:text", "has no provider"),
        (f"{program}:ours:tent", "perhaps ours:text"),
        (f"{program}:nobody:*", "no such probe"), ("nobody:*", "no program that runs"),
        ("/bin/true:ours:text", "carries no probes"), ("/etc/passwd:ours:text",
                                                       "carries no probes"),
        ("/no/such/file:ours:text", "there is no such file"), ("/tmp:ours:text", "is a directory"),
        ("999999999:ours:text", "there is no process"),
        (f"{program}:ours:text(a, b, c)", "no such argument"),
        (f"{program}:ours:fraction(value)", "no such argument"),
        (f"{program}:ours:text(_, number:str)", "too short"),
        (f"{program}:ours:text(a:string)", "no type of a value"),
        (f"{program}:ours:text(a) -> int", "probes have none"),
    ):
        done = run(CLEW, "record", "-o", where, "-d", "10ms", "--usdt", text)
        lines = done.stderr.splitlines()
        ok(
            done.returncode == 2 and len(lines) == 1 and lines[0].startswith("clew: ") and
            words in done.stderr and not os.path.exists(where), f"'{text}' is refused: {words}",
            f"status {done.returncode}: {done.stderr[-300:]}")


def main():
    skip_unless_functions()
    program, plain = (os.path.join(WORKLOADS, f"usdt-{level}") for level in ("O2", "O0"))
    for seed in range(1, min(wanted_runs(3), 5) + 1):
        check_values("without optimization", plain, seed)
        capture, expected = check_values("optimized", program, seed)
    check_text(capture, expected)
    check_back(capture)
    check_all_values(program, 7)
    check_anywhere(program, 8)
    check_back_to_zero(program, 9)
    check_back(check_nested(program, 10))
    check_python()
    check_refused(program)
    finish()


main()
