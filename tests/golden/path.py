#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
clew path: the strategies on traces with known paths, segments, further paths,
instances, errors. Prints TAP.
"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from _export import clew, made  # noqa: E402  pylint: disable=wrong-import-position
from _trace import TRACE1, Tap, ask, elements, run  # noqa: E402  pylint: disable=wrong-import-position

tap = Tap()
WHOLE = ["path", "--from", "s0.0.0 @ 0%", "--to", "s0.0.0 @ 100%"]
STRATEGIES = [
    "most_work", "temporal_most_work", "most_prox", "predecessor", "least_work", "least_prox",
    "causal"
]
CAUSAL = [name for name in STRATEGIES if name != "temporal_most_work"]

TRACE1_PATHS = {
    "causal": "A0 B0 B1 E0 D1 C1 B3 A1", "predecessor": "A0 A1", "most_prox":
    "A0 B0 D0 D1 C1 B3 A1", "least_prox": "A0 A1", "least_work": "A0 A1", "most_work":
    "A0 B0 B1 B2 C0 C1 B3 A1", "temporal_most_work": "A0 B0 B1 E0 E1 D2 B3 A1",
}
SEVERAL = """
span a [0,50]
span b [0,100]
span c [120,170]
dep send %s {a@50, b@100} -> c@120
dep spawn a@10 -> b@15
"""
A_FIRST, B_LAST = "a0 a1 c0", "a0 b1 c0"

WAITS = """
span a [0,100]
span b [0,60]
wait a 20..60 futex object="futex:0x10"
dep unlock b@50 -> a@60
wait a 70..75 sleep
suspend a 80..85
wait a 90..92 fault object="file:/x"
"""


def stretches(answer):
    return answer if isinstance(answer, str) else [(s["start"], s["end"], s["kind"], s["span"])
                                                   for s in answer["segments"]]


def test_trace1():
    for strategy in STRATEGIES:
        answer = ask(TRACE1, WHOLE + ["--strategy", strategy])
        tap.same("%s in the shared trace" % strategy, elements(answer), TRACE1_PATHS[strategy])
        at = 0
        for start, end, _, _ in stretches(answer):
            if start != at or end <= start:
                break
            at = end
        tap.same("%s: segments cover all of it" % strategy, at, 100)
    tap.same("most_work is the default", elements(ask(TRACE1, WHOLE)), TRACE1_PATHS["most_work"])
    answer = ask(TRACE1, WHOLE + ["--strategy", "most_prox"])
    tap.same("an edge's delay is run queue",
             stretches(answer)[2:5], [(20, 30, "runqueue", "s0.1.0"), (30, 40, "running", "s0.1.0"),
                                      (40, 50, "running", "s0.1.0")])
    tap.same(
        "what a path's first ES began before counts from there",
        stretches(
            ask(TRACE1, [
                "path", "--from", "s0.0.0/0 @ duration(15ns)", "--to", "s0.0.0/0 @ duration(25ns)"
            ])), [(15, 20, "running", "s0.0.0/0"), (20, 25, "running", "s0.0.0/0")])
    answer = ask(TRACE1, WHOLE + ["--strategy", "predecessor"])
    tap.same("a gap in which a child ran names it",
             [(s["kind"], s.get("child")) for s in answer["segments"]], [("running", None),
                                                                         ("other", "s0.0.0/0"),
                                                                         ("running", None)])
    answer = ask(TRACE1, [
        "path", "--from", "s0.1.0 @ duration(35ns)", "--to", "s1.0.0 @ duration(40ns)",
        "--strategy", "causal"
    ])
    tap.same("no path is exit status 1", answer[:14], "exit status 1:")


def test_ties():
    trace = "span a [0,100]\nspan a/b [50,50]\n"
    tap.same("of equals the successor comes first",
             elements(ask(trace, ["path", "--from", "a @ 0%", "--to", "a @ 100%"])), "a0 a1 a2")


def test_several_origins():
    ends = ["path", "--from", "a @ 0%", "--to", "c @ 100%"]
    for strategy in CAUSAL:
        least = strategy in ("least_work", "least_prox")
        for mode, options, expected in (("or", [], A_FIRST), ("or", ["--all-origins"],
                                                              A_FIRST if least else B_LAST),
                                        ("and", [], B_LAST), ("and", ["--all-origins"],
                                                              A_FIRST if least else B_LAST)):
            answer = ask(SEVERAL % mode, ends + ["--strategy", strategy] + options)
            tap.same("%s, %s%s" % (strategy, mode, ", all origins" if options else ""),
                     elements(answer), expected)


def test_waits():
    answer = ask(WAITS,
                 ["path", "--from", "a @ 0%", "--to", "a @ 100%", "--strategy", "predecessor"])
    tap.same("gaps by kind, and the run queue after what ended them",
             [(s[0], s[1], s[2]) for s in stretches(answer)],
             [(0, 20, "running"), (20, 50, "futex"), (50, 60, "runqueue"), (60, 70, "running"),
              (70, 75, "sleep"), (75, 80, "running"), (80, 85, "unknown"), (85, 90, "running"),
              (90, 92, "fault"), (92, 100, "running")])
    tap.same("an object stays with its wait", [s["object"] for s in answer["segments"]][:3],
             [None, "futex:0x10", None])
    tap.same("totals by kind", [(row["kind"], row["ns"]) for row in answer["totals"]["kinds"]],
             [("running", 48), ("futex", 30), ("runqueue", 10), ("sleep", 5), ("unknown", 5),
              ("fault", 2)])
    tap.same("totals by object, of which a fault has none",
             [(row["object"], row["kind"], row["ns"]) for row in answer["totals"]["objects"]],
             [("futex:0x10", "futex", 30)])
    trace = "span a [0,100]\nspan b [20,90]\nwait b 30..35 sleep\ndep send a@25 -> b@50\n"
    answer = ask(trace, ["path", "--from", "a @ 0%", "--to", "b @ 100%"])
    tap.same("what the receiver did before it took the message",
             [(s["start"], s["end"], s["kind"], s["on_path"]) for s in answer["segments"]],
             [(0, 25, "running", True), (25, 30, "running", False), (30, 35, "sleep", False),
              (35, 50, "running", False), (50, 90, "running", True)])
    trace = """
hierarchy devices
category devices 8:0
span a [0,100]
span disk [0,100] in devices:8:0
span disk/r [20,80] no-call
wait a 20..90 read
wait disk/r 20..50 queued
dep request a@20 -> disk/r@20
dep request disk/r@80 -> a@90
"""
    tap.same(
        "through a request",
        [s[:3] for s in stretches(ask(trace, ["path", "--from", "a @ 0%", "--to", "a @ 100%"]))],
        [(0, 20, "running"), (20, 50, "queued"), (50, 80, "device"), (80, 90, "runqueue"),
         (90, 100, "running")])
    answer = ask(trace.replace("no-call", "no-call op=write object=file:/x"),
                 ["path", "--from", "a @ 0%", "--to", "a @ 100%"])
    tap.same("a request counts by what it does",
             [(row["name"], row["ns"]) for row in answer["totals"]["functions"]], [("write", 60)])
    tap.same("and by its file",
             [(row["object"], row["kind"], row["ns"]) for row in answer["totals"]["objects"]],
             [("file:/x", "device", 30), ("file:/x", "queued", 30)])


def test_same_operations():
    """They are those that other answers have: here a client rests in between."""
    chosen = json.loads(
        clew("path", made("usual"), "--all", "(^client)", "--operations", "--json",
             stdout=subprocess.PIPE).stdout)["instances"]
    table = json.loads(
        clew("sql", made("usual"), "--json", "SELECT start, end FROM operations "
             "WHERE comm = 'client' AND kind = 'work' ORDER BY start",
             stdout=subprocess.PIPE).stdout)
    tap.same("a client's operations are those of SQL, but for the run queue before each",
             [row["end"] for row in chosen], [row["end"] for row in table["rows"]])
    tap.same("there are many", len(chosen), 60)


# The second wait for data is one: it goes on in the same call.
OPERATIONS = """
span a [0,200]
wait a 10..20 poll call=epoll_wait runqueue=3
wait a 30..40 fsync object="file:/x" call=fdatasync
wait a 50..60 socket call=sendto
wait a 70..80 socket call=recvfrom
wait a 85..90 socket call=recvfrom call_id=same
wait a 95..120 pipe call=read
wait a 130..131 sleep
"""


def test_operations():
    answer = ask(OPERATIONS, ["path", "--all", "a", "--operations"])
    tap.same("operations lie between idle waits",
             [(row["span"], row["start"], row["end"], row["work"]) for row in answer["instances"]],
             [("a", 17, 70, 30), ("a", 90, 95, 5)])
    tap.same("each has a path", answer["without_path"], 0)
    answer = ask(OPERATIONS,
                 ["path", "--all", "a", "--operations", "--strategy", "temporal_most_work"])
    tap.same("those without a path are counted",
             (len(answer["instances"]), answer["without_path"], answer["total_ns"]), (1, 1, 53))
    answer = ask(OPERATIONS, ["path", "--all", "a", "--operations"])
    tap.same("they begin in the run queue",
             stretches(answer)[:2], [(17, 20, "runqueue", "a"), (20, 30, "running", "a")])
    tap.same("their time is all there",
             {row["kind"]: row["ns"]
              for row in answer["totals"]["kinds"]},
             {"running": 35, "fsync": 10, "socket": 10, "runqueue": 3})
    answer = ask(OPERATIONS.replace("131 sleep", "131 sleep rest=yes"),
                 ["path", "--all", "a", "--operations"])
    tap.same("and between rests",
             [(row["start"], row["end"]) for row in answer["instances"]], [(17, 70), (90, 95),
                                                                           (120, 130)])
    answer = ask(OPERATIONS, ["path", "--all", "a", "--operations", "--idle", "fsync,socket"])
    tap.same("between idle waits of other kinds",
             [(row["start"], row["end"]) for row in answer["instances"]], [(40, 50), (60, 70)])
    status, out, err = run(OPERATIONS, ["path", "--all", "a", "--operations"])
    tap.report(
        "text of operations",
        "" if status == 0 and not err and "over 2 operations: 58 ns in all" in out else repr(
            (out, err)))
    for name, arguments, status, words in (("no operation is exit status 1", [
            "--all", "a", "--operations", "--idle", "fsync"
    ], 1, "--idle"), ("operations of nothing",
                      ["--operations", "--from", "a @ 0%", "--to", "a @ 100%"], 2,
                      "--all"), ("idle waits without operations", ["--all", "a", "--idle",
                                                                   "poll"], 2, "--operations"),
                                           ("idle waits of no kind",
                                            ["--all", "a", "--operations", "--idle",
                                             "naps"], 2, "naps")):
        got, out, err = run(OPERATIONS, ["path"] + arguments)
        tap.report(
            name,
            "" if got == status and words in err and err.startswith("clew: ") and not out else repr(
                (got, out, err)))


def test_called():
    """What was announced of a call has no backslashes, and all of its length."""
    long = "v" * 700
    trace = (
        'span a [0,100]\nspan b [0,100]\n'
        'dep call a@20 -> b@50 evidence=exact called="kv.get\\\\,it" caller="app.load\\\\ all" descriptors="kv/key=a\\\\,b kv/text=a\\\\ =%s kv/none="\n'
        % long)
    arguments = ["path", "--from", "a @ 0%", "--to", "b @ 100%", "--strategy", "causal"]
    answer = ask(trace, arguments)
    vias = answer if isinstance(answer,
                                str) else [e["via"] for e in answer["elements"] if "via" in e]
    tap.same("what was announced of a call", vias, [{
        "dep": 1, "type": "call", "evidence": "exact", "bridged": False, "called": "kv.get,it",
        "caller": "app.load all", "descriptors":
        {"kv/key": "a,b", "kv/text": "a =" + long, "kv/none": ""}
    }])
    status, out, err = run(trace, arguments)
    words = ", call kv.get,it for app.load all (exact)  [kv/key=a,b kv/text=a =%s kv/none=]\n" % long
    # Lines are folded where they would be longer than 80 columns.
    told = "".join(words.split()) in "".join(out.split())
    tap.report("and as text", "" if status == 0 and not err and told else repr(
        (status, out, err)))


def test_top():
    answer = ask(TRACE1, WHOLE + ["--top", "20"])
    works = [path["work"] for path in answer["paths"]]
    tap.same("all paths, the most work first", works, sorted(works, reverse=True))
    tap.same("there are five", len(works), 5)
    tap.same("none twice", len({elements(path) for path in answer["paths"]}), len(works))
    tap.same("the first is the path", elements(answer["paths"][0]), elements(answer))
    answer = ask(TRACE1, WHOLE + ["--top", "3", "--strategy", "causal"])
    tap.same("causal goes on where it would have turned next",
             [elements(path) for path in answer["paths"]],
             ["A0 B0 B1 E0 D1 C1 B3 A1", "A0 B0 D0 D1 C1 B3 A1", "A0 B0 B1 B2 C0 C1 B3 A1"])


def test_marks():
    trace = TRACE1 + "mark s1.0.0 sent@33\nmark s0.1.0 got@45\nmark s0.1.0 done@70\n"
    for strategy, expected in (("causal", [("s0.0.0", "start", 0), ("s1.0.0", "sent", 33),
                                           ("s0.1.0", "got", 45), ("s0.0.0", "end", 100)]),
                               ("predecessor", [("s0.0.0", "start", 0), ("s0.0.0", "end", 100)])):
        answer = ask(trace, WHOLE + ["--strategy", strategy, "--marks", "."])
        tap.same("marks on the way, %s" % strategy,
                 [(m["span"], m["label"], m["at"]) for m in answer["marks"]], expected)
    answer = ask(trace, WHOLE + ["--strategy", "causal", "--marks", "^s(ent|ay)"])
    tap.same("marks that match", [m["label"] for m in answer["marks"]], ["sent"])
    status, out, err = run(trace, WHOLE + ["--strategy", "causal", "--marks", "s"])
    tap.report("marks in text",
               "" if status == 0 and not err and "sent in s1.0.0" in out else repr(out))
    status, out, err = run(trace, WHOLE + ["--marks", "("])
    tap.report(
        "an expression that is none",
        "" if status == 2 and err.startswith("clew: --marks, at byte") and not out else repr(err))


def test_all():
    answer = ask(TRACE1, ["path", "--all", "**", "--strategy", "predecessor"])
    tap.same("every instance has its path",
             [(row["span"], row["start"], row["end"]) for row in answer["instances"]],
             [("s0.0.0", 0, 100), ("s0.0.0/0", 10, 90), ("s0.0.0/0/3", 40, 70), ("s0.1.0", 30, 70),
              ("s1.0.0", 30, 50)])
    tap.same("their time is all there", sum(row["ns"] for row in answer["totals"]["kinds"]),
             100 + 80 + 30 + 40 + 20)
    tap.same("segments are theirs, one instance after the other",
             sum(s["ns"] for s in answer["segments"]), answer["total_ns"])


def test_errors():
    for name, arguments, status, words in (("an unknown strategy", WHOLE + ["--strategy", "best"],
                                            2, "most_work"), ("an end that is missing",
                                                              ["path", "--from",
                                                               "s0.0.0 @ 0%"], 2, "--to"),
                                           ("ends and instances", WHOLE + ["--all", "**"], 2,
                                            "--all"), ("a position that is nowhere", [
                                                "path", "--from", "x @ 0%", "--to", "s0.0.0 @ 0%"
                                            ], 2, "x @ 0%"),
                                           ("a position that is many",
                                            ["path", "--from", "all @ 0%", "--to",
                                             "s0.0.0 @ 0%"], 2, "5 positions"),
                                           ("instances of nothing", ["path", "--all", "x"], 2,
                                            "x"), ("an end before the start", [
                                                "path", "--from", "s0.0.0 @ 100%", "--to",
                                                "s0.0.0 @ 0%"
                                            ], 1, "no path")):
        got, out, err = run(TRACE1, arguments)
        tap.report(
            name,
            "" if got == status and words in err and err.startswith("clew: ") and not out else repr(
                (got, out, err)))


def test_text():
    status, out, err = run(TRACE1, WHOLE)
    tap.report(
        "text says the work and where the time went",
        "" if status == 0 and not err and "90 ns of work" in out and "90.0 %  running" in out
        and "after signal" in out else repr(out))
    status, out, err = run(TRACE1, ["path", "--all", "**"])
    tap.report("text of instances",
               "" if status == 0 and not err and "over 5 instances" in out else repr(out))


for test in (test_trace1, test_ties, test_several_origins, test_waits, test_operations,
             test_same_operations, test_called, test_top, test_marks, test_all, test_errors,
             test_text):
    test()
sys.exit(tap.end())
