#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
clew forest on traces with known answers: trees, cycles, rules, graphs, and what
is refused. Prints TAP.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import _capture  # noqa: E402  pylint: disable=wrong-import-position
from _trace import CLEW, TRACE1, Tap, ask, run  # noqa: E402  pylint: disable=wrong-import-position

tap = Tap()

SPAWNY = """
span A [0,100]
span A/D [10,90]
span A/D/H [20,80]
span B [0,100]
span B/C [10,90]
span D [10,90]
span E [20,80]
span F [20,80]
span F/G [30,70]
span I [30,70]
dep spawn A@10 -> B@10
dep spawn B@10 -> D@10
dep spawn B/C@20 -> E@20
dep spawn A/D@20 -> F@20
dep spawn A/D/H@30 -> I@30
simplify
"""
# c is started by a, then by b; x and y start each other, z itself; o has no origin, l is alone.
TANGLED = """
span a [0,100]
span b [0,100]
span c [50,100]
span d [80,90]
span x [0,100]
span y [0,100]
span z [0,100]
span o [0,10]
span l [0,10]
dep spawn a@50 -> c@50
dep spawn b@60 -> c@60
dep fork c@80 -> d@80
dep spawn x@10 -> y@10
dep spawn y@20 -> x@20
dep spawn z@20 -> z@30
dep spawn - -> o@0
dep send a@5 -> d@80
"""
SEVERAL = "span a [0,9]\nspan b [0,9]\nspan c [0,9]\ndep go a@1 -> c@1\ndep go b@2 -> c@2\n"
SECOND = "span a [0,9]\nspan c [0,9]\ndep send a@1 -> c@1\ndep spawn a@2 -> c@2\n"


def spawners(answer):
    if isinstance(answer, str):
        return answer
    return {
        root["span"]: root["spawner"]
        and (root["spawner"]["span"], root["spawner"]["type"], root["spawner"]["at"])
        for root in answer["roots"]
    }


def lists(answer):
    names = {root["id"]: root["span"] for root in answer["roots"]}
    return {row["span"]: [names[number] for number in row["spawned"]] for row in answer["spawners"]}


def picture(trace, options=()):
    """The drawn part of each line, and the last one."""
    status, out, err = run(trace, ["forest"] + list(options))
    if status or err:
        return repr((status, err))
    lines = out.splitlines()
    return [line[27:] for line in lines[1:-2]], lines[-1]


def test_trees():
    tap.same(
        "the shared trace", spawners(ask(TRACE1, ["forest"])),
        {"s0.0.0": None, "s0.1.0": ("s0.0.0/0", "spawn", 20), "s1.0.0": ("s0.0.0/0", "spawn", 30)})
    answer = ask(SPAWNY, ["forest", "--types", "spawn", "--first-only", "spawn"])
    tap.same(
        "many", spawners(answer), {
            "A": None, "B": ("A", "spawn", 10), "D": ("B", "spawn", 10), "E":
            ("B/C", "spawn", 20), "F": ("A/D", "spawn", 20), "I": ("A/D/H", "spawn", 30)
        })
    tap.same("many: the other way round", lists(answer),
             {"A": ["B"], "B": ["D"], "B/C": ["E"], "A/D": ["F"], "A/D/H": ["I"]})
    tap.same("many: types", answer["types"],
             [{"type": "spawn", "first_only": True, "several": False}])
    answer = ask(TANGLED, ["forest"])
    tap.same(
        "a tangle", spawners(answer), {
            "a": None, "b": None, "c": ("a", "spawn", 50), "d": ("c", "fork", 80), "x":
            ("y", "spawn", 20), "y": ("x", "spawn", 10), "z":
            ("z", "spawn", 20), "o": None, "l": None
        })
    tap.same("a tangle: the other way round", lists(answer),
             {"a": ["c"], "b": ["c"], "c": ["d"], "x": ["y"], "y": ["x"], "z": ["z"]})
    tap.same("other types",
             spawners(ask(TANGLED, ["forest", "--types", "fork"]))["d"], ("c", "fork", 80))


def test_pictures():
    tap.same("a picture", picture(SPAWNY), ([
        "A", "├─ B  spawn", "│  ├─ /C", "│  │  └─ E  spawn", "│  └─ D  spawn", "└─ /D", "   ├─ /H",
        "   │  └─ I  spawn", "   └─ F  spawn"
    ], "6 root spans: 5 started by others, in 1 tree; 0 alone"))
    tap.same("a tangle", picture(TANGLED), ([
        "a", "└─ c  spawn", "   └─ d  fork", "b", "└─ c  (shown above)", "x  (by what it started)",
        "└─ y  spawn", "   └─ x  spawn  (shown above)", "z  (by what it started)",
        "└─ z  spawn  (shown above)"
    ], "9 root spans: 5 started by others, in 2 trees; 2 alone; 2 cycles"))
    tap.same("all of it", picture(TANGLED, ["--all"])[0][-2:], ["o", "l"])
    status, out, _ = run(SPAWNY, ["forest"])
    tap.same("when and how long", (status, out.splitlines()[:3]), (0, [
        "         start     length", "      0.000 us     100 ns  A",
        "      0.000 us     100 ns  ├─ B  spawn"
    ]))
    deep = "span s0 [0,1000]\n" + "".join("span s%d [%d,1000]\ndep spawn s%d@%d -> s%d@%d\n" %
                                          (i, i, i - 1, i, i, i) for i in range(1, 300))
    lines = picture(deep)[0]
    tap.same("very deep", (len(lines), lines[10], lines[299].strip().endswith("└─ s299  spawn"),
                           len(lines[299]) < 200), (300, "   " * 9 + "└─ s10  spawn", True, True))


def test_rules():
    for name, trace, options, status, words in (("a second spawner", SEVERAL, ["--types", "go"], 1,
                                                 "'c' is started once more, by 'b' at 2"),
                                                ("not the first", SECOND, ["--first-only", "spawn"],
                                                 1, "'c': dependency 2 (spawn) is not the first"),
                                                ("of any type", SECOND, ["--first-only", "all"], 1,
                                                 "not the first"), ("nothing is started", SEVERAL,
                                                                    [], 1, "--types"),
                                                ("no such type", SEVERAL, ["--types", "go,spawn"],
                                                 2, "'spawn': it has call, return, go"),
                                                ("an empty type", SEVERAL, ["--types", "go,"], 2,
                                                 "''"), ("a rule about another type", SECOND,
                                                         ["--several",
                                                          "send"], 2, "'send' starts nothing"),
                                                ("two forms", SECOND, ["--json", "--dot"], 2,
                                                 "--dot"), ("no trace", "span\n", [], 2,
                                                            "standard input:1:")):
        got, out, err = run(trace, ["forest"] + options)
        tap.report(
            "refused: " + name,
            "" if got == status and words in err and err.startswith("clew: ") and not out else repr(
                (got, out, err)))
    for options in (["--several", "go"], ["--several", "all"]):
        tap.same("the first counts: " + " ".join(options),
                 spawners(ask(SEVERAL, ["forest", "--types", "go"] + options))["c"], ("a", "go", 1))
    status, out, err = run(SEVERAL, ["forest", "--json"])
    tap.same("nothing is started, in JSON",
             (status, spawners(json.loads(out)), err.startswith("clew: ")),
             (1, {"a": None, "b": None, "c": None}, True))


def test_dot():
    status, out, err = run(TANGLED.replace("span l ", 'span l"\\\\ '), ["forest", "--dot"])
    edges = sorted(line.strip() for line in out.splitlines() if "->" in line)
    tap.same(
        "a graph", (status, err, edges),
        (0, "",
         sorted([
             'n0 -> n2 [label="spawn"];', "n1 -> n2 [style=dashed];", 'n2 -> n3 [label="fork"];',
             'n4 -> n5 [label="spawn"];', 'n5 -> n4 [label="spawn"];', 'n6 -> n6 [label="spawn"];'
         ])))
    status, out, _ = run(SPAWNY, ["forest", "--dot"])
    tap.report("children in a graph", "" if 'n0 -> n7 [label="spawn\\nby D"];' in out else out)
    if shutil.which("dot"):
        done = subprocess.run(["dot", "-Tcanon"],
                              input=out,
                              capture_output=True,
                              text=True,
                              check=False,
                              timeout=60)
        tap.report("dot takes it", "" if done.returncode == 0 and not done.stderr else repr(done))


def test_capture():
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "life.clew")
        _capture.make("life", path)
        done = subprocess.run([CLEW, "forest", path, "--json"],
                              capture_output=True,
                              text=True,
                              check=False,
                              timeout=60)
        answer = spawners(json.loads(done.stdout)) if done.returncode == 0 else {}
        tap.report(
            "a capture", "" if any(spawner and spawner[1] == "fork"
                                   for spawner in answer.values()) else repr(done))


for test in (test_trees, test_pictures, test_rules, test_dot, test_capture):
    test()
sys.exit(tap.end())
