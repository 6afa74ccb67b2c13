#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Arguments and results of functions (`record -f 'FILE:f(path:str) -> int'`): each call has the values
that the program says it gave and got, however the function is compiled and its return is seen, and
what cannot be read is null and counted, or refused with a word.
"""

import collections
import json
import os
import signal
import subprocess
import time

from _live import CLEW, PATIENCE, ROOT, answer, finish, ok, run, scratch, skip_unless_functions, spans_come_back, start_recording, stop_recording, wanted_runs

SOURCE = os.path.join(ROOT, "tools", "workloads", "arguments.c")
GIVEN = ("a_text(path:str, count:int, level:u8) -> int", "a_named(number:i64, where:ptr) -> str",
         "a_half(divisor:short)", "a_large(count:int) -> long",
         "a_seven(a:long, b:u32, c:char, _, e:u16) -> long",
         "a_late(count:int, first:str, second:str) -> long", "a_never(path:str, count:int) -> int")
KNOWN = ("a_text(...)", "a_named(number, where) -> auto", "a_half(...)", "a_large(count) -> auto",
         "a_seven(a, b, c, e) -> auto", "a_late(count, first, second) -> auto", "a_never(...)")
# Where a structure ends is not known without optimization, nor what is behind it.
KNOWN_PLAIN = tuple(text for text in KNOWN if not text.startswith("a_large"))
CUT = 127  # bytes of a text that are kept


def build(name, *options):
    program = scratch("arguments-" + name)
    subprocess.run(["gcc", *options, SOURCE, "-o", program], check=True, timeout=PATIENCE)
    return program


def cut(text):
    return text.encode()[:CUT].decode() if isinstance(text, str) else text


def truth(output, again=True):
    """`again`: texts that come into memory before the return are read there."""
    calls = [json.loads(line) for line in output.splitlines()]
    for call in calls:
        late = call.pop("late", [])
        call["args"] = {
            key: None if key in late and not again else cut(value)
            for key, value in call["args"].items()
        }
    return calls


def record(capture, program, seed, functions, *options):
    chosen = [word for text in functions for word in ("-f", f"{program}:{text}")]
    recording = start_recording(capture, "--max-cost", "1000000", *chosen, *options)
    done = run(program, str(seed), timeout=PATIENCE)
    status, said = stop_recording(recording)
    ok(status == 0 and done.returncode == 0, f"{os.path.basename(program)} is recorded",
       f"status {status}, {done.returncode}: {said.strip()[-300:]}")
    return truth(done.stdout, "exits" not in options) if status == 0 else None


def check_calls(label, capture, expected):
    spans = answer("spans", capture, "--list")
    got = [{key: entry[key] for key in ("name", "args", "ret")} for entry in spans["list"]]
    wrong = [(a, b) for a, b in zip(got, expected) if a != b]
    ok(
        len(got) == len(expected) and not wrong,
        f"{label}: the values of {len(expected)} calls are the program's",
        f"{len(got)} instead of {len(expected)} calls, {len(wrong)} differ: {wrong[:1]}")
    unread = {row["name"]: row["unread"] for row in spans["by_name"]}
    nulls = {name: 0 for name in unread}
    for call in expected:
        nulls[call["name"]] += sum(value is None for value in call["args"].values())
        nulls[call["name"]] += call["name"] == "a_named" and call["ret"] is None
    ok(unread == nulls, f"{label}: what could not be read is counted", f"{unread}: {nulls}")


def check_back(capture):
    """The values are in a converted trace, too."""
    ok(spans_come_back(capture), "conversion and back keeps the values")


def check_why(capture, expected):
    """The slowest calls are shown with their values."""
    why = answer("why", capture, "--span", "a_text", "--slowest", "3")
    shown = [(one["instance"]["args"], one["instance"]["ret"]) for one in why["operations"]]
    calls = [(call["args"], call["ret"]) for call in expected if call["name"] == "a_text"]
    ok(
        len(shown) == 3 and all(one in calls for one in shown),
        "why shows the values of the slowest calls",
        str(shown)[:300])
    # Its lines are broken after 80 columns.
    text = " ".join(
        run(CLEW, "why", capture, "--span", "a_seven", "--slowest", "1").stdout.split())
    ok(any(f"a_seven(a={call['args']['a']}, " in text for call in expected if "a" in call["args"]),
       "also in its text", text[:300])


def argument_of(call, name):
    """As a property of a group; None: the function has none of that name."""
    if name not in call["args"]:
        return None
    value = call["args"][name]
    return "?" if value is None else str(value)


def counts_of(told, name):
    """How many calls there were, by function and argument."""
    return {(group["path"][-1], group["properties"].get(name)): group["count"]
            for group in told["groups"] if group["count"]}


def check_groups(capture, expected):
    """`clew latency` tells calls apart by an argument, a number or a text."""
    for name in ("count", "path"):
        calls = collections.Counter((call["name"], argument_of(call, name)) for call in expected)
        told = answer("latency", capture, "--group", f"arg:{name}")
        counts = counts_of(told, name)
        ok(told["group"] == f"arg:{name}" and counts == calls,
           f"calls are counted by the values of '{name}'",
           f"{sorted(map(str, counts.items()))[:4]}: {sorted(map(str, calls.items()))[:4]}")
    for words, said in ((("--group", "arg:nobody"), "no such argument"),
                        (("--group", "arg:count", "--by", "kind"), "only calls")):
        done = run(CLEW, "latency", capture, *words)
        ok(done.returncode == 2 and done.stderr.count("\n") == 1 and said in done.stderr,
           f"{' '.join(words)} is refused: {said}", done.stderr[-300:])


def check_live_groups(program):
    chosen = [word for text in GIVEN for word in ("-f", f"{program}:{text}")]
    lines = scratch("live.jsonl")
    with open(lines, "w", encoding="utf-8") as file:
        live = subprocess.Popen(
            [CLEW, "latency", "--live", "--json", "--group", "arg:count", *chosen],
            stdout=file,
            stderr=subprocess.PIPE,
            text=True)
    until = time.monotonic() + PATIENCE
    while not os.path.getsize(lines) and time.monotonic() < until and live.poll() is None:
        time.sleep(.1)
    done = run(program, "1", timeout=PATIENCE)
    time.sleep(1)
    live.send_signal(signal.SIGINT)
    said = live.communicate(timeout=PATIENCE)[1]
    with open(lines, encoding="utf-8") as file:
        told = json.loads(file.read().splitlines()[-1])
    calls = collections.Counter(
        (call["name"], argument_of(call, "count")) for call in truth(done.stdout))
    ok(live.returncode == 0 and (told["missed"] or counts_of(told, "count") == calls),
       "the same while it is recorded",
       f"{said[-200:]} {sorted(map(str, counts_of(told, 'count').items()))[:4]}")


def check_refused(program, plain):
    for file, text, words in ((program, "a_half(value)",
                               "floating point"), (program, "a_large(large)",
                                                   "a structure by value"), (program, "a_seven(g)",
                                                                             "it is on the stack"),
                              (program, "a_text(pat)", "no argument of that name"),
                              (program, "a_text(path:string)",
                               "no type of a value is called 'string'"),
                              (program, "a_text(path*) -> int", "neither NAME nor NAME:TYPE"),
                              (program, "a_half(...) -> auto",
                               "floating point"), (program, "(a:int)", "names no functions"),
                              (program, "a_seven(a:int, b:int, c:int, d:int, e:int, f:int, g:int)",
                               "at most 6"), (plain, "a_text(path)",
                                              "there is no debugging information"),
                              (plain, "a_text() -> auto", "there is no debugging information"),
                              ):
        done = run(CLEW, "record", "-o", scratch("refused.clew"), "-d", "10ms", "-f",
                   f"{file}:{text}")
        lines = done.stderr.splitlines()
        ok(done.returncode == 2 and len(lines) == 1 and words in done.stderr,
           f"'{text}' is refused: {words}", f"status {done.returncode}: {done.stderr[-300:]}")


def main():
    skip_unless_functions()
    known, plain = build("O2", "-O2", "-g"), build("plain", "-O2")
    runs = (("given", plain, GIVEN, ()), ("by exits", plain, GIVEN, ("--returns", "exits")),
            ("by trampoline", plain, GIVEN, ("--returns", "trampoline")),
            ("without optimization", build("O0", "-O0", "-g"), KNOWN_PLAIN,
             ()), ("debugging information", known, KNOWN, ()))
    capture = scratch("arguments.clew")
    for seed in range(1, min(wanted_runs(5), 5) + 1):
        for label, program, functions, options in runs:
            expected = record(capture, program, seed, functions, *options)
            names = {text.partition("(")[0] for text in functions}
            if expected:
                expected = [call for call in expected if call["name"] in names]
                check_calls(label, capture, expected)
    check_back(capture)
    check_why(capture, expected)
    check_groups(capture, expected)
    check_live_groups(plain)
    check_refused(known, plain)
    finish()


main()
