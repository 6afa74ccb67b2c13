#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""clew slack and clew blame on traces with known answers, and their errors. Prints TAP."""
import collections
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from _trace import SHORT, TRACE1, Tap, ask, run  # noqa: E402  pylint: disable=wrong-import-position

tap = Tap()

# es_time ef ls lf slack drag
TRACE1_SLACK = {
    "A0": [0, 10, 10, 20, 10, 10], "A1": [80, 90, 90, 100, 10, 10], "B0": [10, 20, 20, 30, 10, 10],
    "B1": [20, 30, 30, 40, 10, 10], "B2": [30, 40, 40, 50, 10, 10], "B3": [60, 80, 70, 90, 10, 10],
    "C0": [40, 50, 50, 60, 10, 10], "C1": [50, 60, 60, 70, 10, 10], "D0": [20, 30, 40, 50, 20, 10],
    "D1": [35, 45, 50, 60, 15, 10], "D2": [45, 65, 80, 100, 35,
                                           10], "E0": [30, 35, 45, 50, 15,
                                                       5], "E1": [35, 50, 85, 100, 50, 10],
}

ROUND_ROBIN = """
span a1 [0,25]
span b1 [25,50]
span a2 [50,75]
span b2 [75,100]
dep send a1@25 -> a2@50
dep send b1@50 -> b2@75
"""
WAITING = """
span a [0,100]
span b [0,75]
span c [50,75]
dep send b@50 -> a@(25~75)
"""
TURNS = """
span a [0,100]
span b [0,100]
suspend a 0..20
suspend a 40..60
suspend a 80..100
suspend b 20..40
suspend b 60..80
"""
# a waits for a lock that b held, then c; meanwhile d only runs.
LOCKS = """
span a [0,100]
span b [0,100]
span c [0,100]
span d [0,100]
wait a 10..60 futex object="futex:0x10" holder="b 5 30 exact,c 30 60 observed barged"
wait b 40..50 lock holder=d
wait c 80..90 futex
dep unlock d@85 -> c@90
"""

LIMITS = """
span a [0,100]
span b [0,100]
wait a 10..60 throttle object="cgroup:/x"
wait a 70..75 memory object="cgroup:/y"
wait b 10..20 throttle object="device:8:0"
wait b 30..40 memory
"""


def rows(answer):
    if isinstance(answer, str):
        return answer
    return {
        "%s%d" % (SHORT[e["span"]], e["es"]):
        [e[key] for key in ("es_time", "ef", "ls", "lf", "slack", "drag")]
        for e in answer["elements"]
    }


def pairs(answer, resource=False):
    if isinstance(answer, str):
        return answer
    return sorted((p["victim"], p["antagonist"], p["ns"]) + ((p["resource"], ) if resource else ())
                  for p in answer["pairs"])


def sums(answer):
    return collections.Counter({(p["victim"], p["antagonist"], p["kind"], p["resource"], p["evidence"]):
                                p["ns"]
                                for p in answer["pairs"]})


def test_slack():
    tap.same("slack of all of the shared trace", rows(ask(TRACE1, ["slack"])), TRACE1_SLACK)
    answer = rows(ask(TRACE1, ["slack", "--from", "s0.0.0 @ 0%", "--to", "s0.0.0 @ 100%"]))
    tap.same("between two positions only what is on a path", sorted(answer),
             sorted(name for name in TRACE1_SLACK if name not in ("D2", "E1")))
    answer = rows(ask(TRACE1, ["slack", "--from", "s1.0.0 @ 0%", "--to", "s0.0.0/0/3 @ 100%"]))
    tap.same("and its times are those of that part", answer, {
        "E0": [30, 35, 45, 50, 15, 5], "D1": [35, 45, 50, 60, 15, 10], "C1":
        [45, 55, 60, 70, 15, 10]
    })
    trace = "span a [0,40]\nspan b [0,60]\nspan c [60,100]\ndep join %s {a@40, b@60} -> c@60\n"
    for mode, slack in (("and", 20), ("or", 60)):
        answer = ask((trace % mode).replace("c@60", "c@60"), ["slack"])
        tap.same("an origin that did not trigger, %s" % mode,
                 [(e["span"], e["slack"]) for e in answer["elements"]],
                 [("a", 20), ("b", 0), ("c", 0)] if mode == "and" else [("a", slack - 40),
                                                                        ("b", 40), ("c", 20)])
    status, out, err = run(TRACE1, ["slack"])
    tap.report("text", "" if status == 0 and not err and "13 elements" in out else repr(out))


def test_all_running():
    for name, trace, expected in (("round robin", ROUND_ROBIN, [
        ("a2", "b1", 25), ("b1", "a1", 25), ("b2", "a2", 25)
    ]), ("a wait counts from when its dependency came", WAITING, [("a", "b", 25), ("a", "c", 25),
                                                                  ("c", "a", 25), ("c", "b", 50)]),
                                  ("two in turns", TURNS, [("a", "b", 60), ("b", "a", 40)])):
        tap.same(name, pairs(ask(trace, ["blame", "--all-running"])), expected)
    tap.same(
        "chosen victims and antagonists",
        pairs(ask(WAITING, ["blame", "--all-running", "--victims", "c", "--antagonists", "b"])),
        [("c", "b", 50)])
    machine = """
hierarchy processes cpus devices
span a [0,100] in processes:p
span b [0,100] in processes:p
span cpu0 [0,100] in cpus:machine
span d [0,100] in devices:disks
suspend a 0..20
suspend b 20..100
"""
    tap.same("CPUs and devices are not blamed", pairs(ask(machine, ["blame", "--all-running"])),
             [("a", "b", 20), ("b", "a", 80)])
    tap.same("unless they are chosen",
             pairs(ask(machine, ["blame", "--all-running", "--antagonists", "cpu0"])),
             [("a", "cpu0", 20), ("b", "cpu0", 80)])
    backwards = "span a [0,50]\nspan b [20,60]\ndep send a@50 -> b@30\n"
    tap.same("an edge against time resolves nothing",
             pairs(ask(backwards, ["blame", "--all-running"])), [("b", "a", 20)])


def test_candidates():
    waits = """
span a [0,100]
span b [0,100]
span c [0,100]
wait a 10..20 futex object="futex:0x10" holder="b 5 15 candidate,b 15 20 exact"
wait a 30..50 futex object="futex:0x10" holder="b 30 40 observed,c 40 50 candidate"
wait a 60..70 futex object="futex:0x20"
wait a 80..90 futex object="futex:0x10" holder="c 80 90 candidate"
dep unlock c@70 -> a@70 evidence=candidate
"""
    answer = ask(waits, ["blame"])
    expected = [("b", 15, "futex:0x10", "observed"), ("b", 5, "futex:0x10", "candidate"),
                ("c", 20, "futex:0x10", "candidate"), ("c", 10, "futex:0x20", "candidate")]
    tap.same(
        "what is only a candidate's is apart, with the weakest evidence of each",
        sorted((p["antagonist"], -p["ns"], p["resource"], p["evidence"]) for p in answer["pairs"]),
        sorted((who, -ns, what, evidence) for who, ns, what, evidence in expected))
    tap.same("and by name", [(n["antagonist"], n["ns"], n["evidence"]) for n in answer["names"]],
             [("c", 30, "candidate"), ("b", 15, "observed"), ("b", 5, "candidate")])
    _, out, _ = run(waits, ["blame"])
    tap.report(
        "in text, too",
        "" if all(line in out for line in ("20 ns  a perhaps by c, futex", "15 ns  a by b, futex",
                                           "5 ns  a perhaps by b, futex")) else repr(out))


def test_resources():
    answer = ask(LOCKS, ["blame"])
    tap.same(
        "a lock's holders in turn, and nobody else", pairs(answer, True),
        sorted([("a", "b", 20, "futex:0x10"), ("a", "c", 30, "futex:0x10"), ("b", "d", 10, "lock"),
                ("c", "d", 5, "futex"), ("c", "a", 5, "cpu"), ("c", "b", 5, "cpu"),
                ("c", "d", 5, "cpu")]))
    tap.same("the longest first", answer["pairs"][0]["antagonist"], "c")
    spins = 'span a [0,100] spins="10 20 4096 1 b,30 45 4096 1 -,50 53 8192 1 c"\nspan b [0,100]\nspan c [0,100]\n'
    tap.same("who spins for a lock waits for its holder, where that is known",
             pairs(ask(spins, ["blame"]), True), [("a", "b", 10, "lock"), ("a", "c", 3, "lock")])
    own = 'span a [0,100]\nspan b [0,100] task_flags=4\nwait a 10..60 futex holder=b\nwait b 70..90 futex holder=a\n'
    tap.same("clew's own threads are no victims, but antagonists", pairs(ask(own, ["blame"])),
             [("a", "b", 50)])
    tap.same("unless they are chosen", pairs(ask(own, ["blame", "--victims", "b"])),
             [("b", "a", 20)])
    tap.same("a span that nobody made ready is no victim", pairs(ask(TURNS, ["blame"])), [])
    requests = """
hierarchy processes devices
category processes p
category devices 8:0
span a [0,100] in processes:p
span b [0,100] in processes:p
span c [0,100] in processes:p
span disk [0,100] in devices:8:0
span disk/r1 [10,40] no-call
span disk/r2 [15,50] no-call
span disk/r3 [45,60] no-call
wait a 20..50 read
dep request b@10 -> disk/r1@10
dep request a@15 -> disk/r2@15
dep request c@45 -> disk/r3@45
dep request disk/r2@50 -> a@50
"""
    answer = ask(requests, ["blame", "--victims", "a"])
    tap.same("a device's requests ahead, not those behind", pairs(answer, True),
             [("a", "b", 20, "disk")])
    several = requests.replace(
        "span disk/r2 [15,50] no-call",
        "span disk/r2 [15,50] no-call\nspan disk/r4 [12,35] no-call\nspan disk/r5 [13,48] no-call"
    ) + """
dep request b@12 -> disk/r4@12
dep request c@13 -> disk/r5@13
"""
    tap.same("several requests ahead of one submitter count once, until the last is over",
             pairs(ask(several, ["blame", "--victims", "a"]), True), [("a", "b", 20, "disk"),
                                                                      ("a", "c", 28, "disk")])
    layers = """
hierarchy processes devices
category processes p
category devices 8:0
category devices 7:0
span a [0,100] in processes:p
span b [0,100] in processes:p
span c [0,100] in processes:p
span worker [0,100] in processes:p
span loop [0,100] in devices:7:0
span disk [0,100] in devices:8:0
span disk/other [5,45] no-call
span loop/first [10,40] no-call below=2
span disk/first [12,38] no-call
span loop/mine [15,60] no-call below=4
span disk/mine [20,58] no-call
wait a 20..60 read
dep request b@10 -> loop/first@10
dep request worker@12 -> disk/first@12
dep request c@5 -> disk/other@5
dep request a@15 -> loop/mine@15
dep request worker@20 -> disk/mine@20
dep request loop/mine@60 -> a@60
"""
    tap.same("a device below: who asked above is charged, once, and who asked it alone",
             pairs(ask(layers, ["blame", "--victims", "a"]), True), [("a", "b", 20, "loop"),
                                                                     ("a", "c", 25, "disk")])
    late = requests.replace("wait a 20..50", "wait a 20..60").replace("-> a@50", "-> a@60")
    tap.same("what runs on a device has no CPU",
             pairs(ask(late, ["blame", "--victims", "a", "--antagonists", "**/(r)"])), [])
    # On CPU 0 v is woken at 30 and preempted at 60; x runs on the other CPU all the time.
    cpus = """
hierarchy processes cpus
category processes p
category cpus 0
category cpus 1
span v [0,100] in processes:p
span w [0,100] in processes:p
span x [0,100] in processes:p
span cpu0 [0,100] in cpus:0
span cpu1 [0,100] in cpus:1
wait v 10..40 sleep runqueue=10
wait v 60..80 runqueue
wait w 40..60 runqueue
split cpu0 10
split cpu0 40
split cpu0 60
split cpu0 80
mark cpu0 v@0
mark cpu0 w@10
mark cpu0 v@40
mark cpu0 w@60
mark cpu0 v@80
mark cpu1 x@0
"""
    tap.same("a CPU's turns, and nobody on another CPU", pairs(ask(cpus, ["blame"]), True),
             [("v", "w", 30, "cpu0"), ("w", "v", 20, "cpu0")])
    # v was woken at 65 for what q waits for, and w kept it from its CPU until 80.
    coming = cpus + """span q [0,100] in processes:p
wait q 10..90 futex object="futex:0x10" holder="x 10 65 exact,v 65 80 observed coming,v 80 90 exact"
"""
    tap.same("nobody has a lock for which somebody is coming",
             pairs(ask(coming, ["blame", "--victims", "q"]), True), [("q", "v", 10, "futex:0x10"),
                                                                     ("q", "w", 15, "cpu0"),
                                                                     ("q", "x", 55, "futex:0x10")])


def test_interval():
    """Of a wait, only what lies between --from and --to counts."""
    between = lambda trace, begin, end: ask(  # noqa: E731
        trace, ["blame", "--from", str(begin), "--to", str(end)])
    tap.same("locks between two moments", pairs(between(LOCKS, 20, 40)), [("a", "b", 10),
                                                                          ("a", "c", 10)])
    tap.same("a moment with nothing", pairs(between(LOCKS, 61, 79)), [])
    tap.same("turns between two moments",
             pairs(ask(TURNS, ["blame", "--from", "30", "--to", "70", "--all-running"])),
             [("a", "b", 20), ("b", "a", 20)])
    for name, trace in (("locks", LOCKS), ("turns", TURNS), ("limits", LIMITS),
                        ("waiting", WAITING), ("in turn", ROUND_ROBIN)):
        for more in ([], ["--all-running"]):
            whole = sums(ask(trace, ["blame", *more]))
            parts = [
                sums(ask(trace, ["blame", *more, "--from", begin, "--to", end]))
                for begin, end in (("0", "37"), ("37", "73"), ("73", "100"))
            ]
            tap.same(" ".join(["the parts of", name, *more, "are the whole"]),
                     sum(parts, collections.Counter()), whole)
    for name, words, told in (("an interval that ends first", ["--from", "40", "--to", "20"],
                               "--from is not before --to"),
                              ("a moment outside", ["--from", "400"], "--from: '400' is outside"),
                              ("no moment", ["--to", "then"], "--to: 'then' is no moment")):
        status, out, err = run(LOCKS, ["blame", *words])
        tap.report(name, "" if status == 2 and told in err and err.count("\n") == 1 and not out else
                   repr((status, out, err)))


def test_names():
    """
    Nine workers that wait in turn for each other, for what a writer has, and
    one whose name has no number.
    """
    spans = ["span w-%d [0,100]" % (10 + i)
             for i in range(9)] + ["span w- [0,100]", "span writer [0,100]"]
    waits = [
        'wait w-%d %d..%d futex object="futex:0x10" holder="writer %d %d exact"' %
        (10 + i, i, i + 8, i, i + 8) for i in range(9)
    ]
    waits += [
        'wait w-10 20..30 lock holder=w-11', 'wait w-12 20..30 lock holder=w-13',
        'wait w-14 20..30 lock holder="w-"'
    ]
    trace = "\n".join(spans + waits) + "\n"
    names = [
        tuple(e[key] for key in ("victim", "antagonist", "ns", "kind", "victims", "antagonists"))
        for e in ask(trace, ["blame"])["names"] if e["kind"] != "cpu"
    ]
    tap.same("spans that differ in the number at their names' end are put together", names,
             [("w-*", "writer", 72, "futex", 9, 1), ("w-*", "w-*", 20, "lock", 2, 2),
              ("w-14", "w-", 10, "lock", 1, 1)])
    waiting = ["blame", "--victims", "(^w-\\\\d)", "--antagonists", "(^w)"]
    status, out, err = run(trace, waiting + ["--top", "2"])
    lines = out.splitlines()
    tap.report(
        "where few pairs are shown, text begins with that", "" if status == 0 and not err
        and lines[0] == "By name:" and any("72 ns  w-* (9 spans) by writer, futex" in line
                                           for line in lines) and "The longest:" in lines else repr(
                                               (out, err)))
    status, out, err = run(trace, waiting + ["--top", "1000"])
    tap.report("where all are, it does not",
               "" if status == 0 and not err and "By name:" not in out else repr((out, err)))


def test_pools():
    """Threads of one process that differ in the number of their name are one row."""
    names = [(f"worker-{i}", 100, 110 + i) for i in range(1, 5)] + [("worker-9", 200, 210),
                                                                    ("python3", 300, 300),
                                                                    ("python3", 300, 301),
                                                                    ("cc1", 400, 400),
                                                                    ("cc2", 401, 401)]
    trace = "".join(f"span {comm}-{tid} [0,1000] pid={pid} tid={tid}\n" for comm, pid, tid in names)
    labels = [f"{comm}-{tid}" for comm, _, tid in names]
    # Each waits 10 ns for the one before.
    trace += "".join(f"wait {label} {i * 20}..{i * 20 + 10} lock holder={labels[i - 1]}\n"
                     for i, label in enumerate(labels) if i)
    rows_of = [(e["victim"], e["antagonist"], e["ns"], e["victims"], e["antagonists"])
               for e in ask(trace, ["blame"])["names"] if e["kind"] == "lock"]
    tap.same(
        "threads of a pool", sorted(rows_of),
        sorted([("worker-N", "worker-N", 30, 3, 3), ("worker-9-210", "worker-4-114", 10, 1, 1),
                ("python3-300", "worker-9-210", 10, 1, 1), ("python3-301", "python3-300", 10, 1, 1),
                ("cc1-400", "python3-301", 10, 1, 1), ("cc2-401", "cc1-400", 10, 1, 1)]))
    text = run(trace, ["blame"])[1]
    line = "worker-N (3 threads) by worker-N (3 threads), lock"
    tap.report("a pool is one row of the text", "" if text.count(line) == 1 else repr(text))


def test_limits():
    trace = LIMITS
    told = [(p["victim"], p["antagonist"], p["ns"], p["resource"], p["kind"])
            for p in ask(trace, ["blame"])["pairs"]]
    tap.same("a limit of a group is blamed itself", told, [("a", None, 50, "cgroup:/x", "throttle"),
                                                           ("a", None, 5, "cgroup:/y", "memory")])
    tap.same("unless spans are to be blamed",
             ask(trace, ["blame", "--antagonists", "b"])["pairs"], [])
    text = run(trace, ["blame"])[1]
    tap.report("a limit in text",
               "" if "a by its limit, throttle cgroup:/x\n" in text else repr(text))


def test_errors():
    for name, arguments, status, words in (("one end of slack alone", [
            "slack", "--from", "s0.0.0 @ 0%"
    ], 2, "--to"), ("slack where no path is", [
            "slack", "--from", "s0.0.0 @ 100%", "--to", "s0.0.0 @ 0%"
    ], 1, "no path"), ("victims that are none", ["blame", "--victims", "x"], 2,
                       "--victims"), ("antagonists that are a position",
                                      ["blame", "--victims", "s0.0.0", "--antagonists",
                                       "all @ 0%"], 2, "--antagonists")):
        got, out, err = run(TRACE1, arguments)
        tap.report(
            name,
            "" if got == status and words in err and err.startswith("clew: ") and not out else repr(
                (got, out, err)))


for test in (test_slack, test_all_running, test_resources, test_candidates, test_names, test_pools, test_limits,
             test_interval, test_errors):
    test()
sys.exit(tap.end())
