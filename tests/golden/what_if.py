#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
clew what-if on traces with known answers: the statements, what they do
together, errors at their bytes, sweeps. Prints TAP.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from _trace import SHORT, TRACE1, Tap, ask, run  # noqa: E402  pylint: disable=wrong-import-position

tap = Tap()

AS_RECORDED = {
    "A": "0-10 90-100", "B": "10-20 20-30 30-40 70-90", "C": "40-50 60-70", "D":
    "30-40 40-50 50-70", "E": "30-35 35-50"
}


def extents(answer):
    """{span: "0-10 90-100"}, the shared trace's spans by their letters."""
    if isinstance(answer, str):
        return answer
    return {
        SHORT.get(s["path"], s["path"]):
        " ".join("%d-%d" % (e["start"], e["end"]) for e in s["elementary"])
        for s in answer["spans"]
    }


def marks(answer):
    return {
        m["label"]: m["at"]
        for s in answer["spans"] for e in s["elementary"] for m in e["marks"]
    }


def what_if(trace, program, options=()):
    return ask(trace, ["what-if", program] + list(options))


# name, program, the spans that change, marks
ON_TRACE1 = [
    ("no program is no change", "", {}, None),
    ("comments are no program", " # a\n// b\n/* c; */ ", {}, None),
    ("no delays, and everything from the beginning on",
     "scale dependencies(all) from spans(**) to spans(**) by 0; start spans(**) as early as possible;",
     {
         "A": "0-10 80-90", "B": "10-20 20-30 30-40 60-80", "C": "40-50 50-60", "D":
         "20-30 35-45 45-65", "E": "30-35 35-50"
     }, {"start": 0, "end": 90}),
    ("a root span twice as fast", "scale spans(s0.1.0) by .5;", {
        "A": "0-10 85-95", "B": "10-20 20-30 30-40 65-85", "C": "40-50 55-65", "D":
        "30-35 40-45 45-55"
    }, {"start": 0, "end": 95}),
    ("longer by a duration", "change spans(s0.0.0) by duration(10ns);", {
        "A": "0-15 95-110", "B": "15-25 25-35 35-45 75-95", "C": "45-55 65-75", "D":
        "35-45 45-55 55-75", "E": "35-40 40-55"
    }, {"start": 0, "end": 110}),
    ("shorter by a duration", "change spans(s0.0.0) by duration(-6ns);", {
        "A": "0-7 87-94", "B": "7-17 17-27 27-37 67-87", "C": "37-47 57-67", "D":
        "27-37 37-47 47-67", "E": "27-32 32-47"
    }, {"start": 0, "end": 94}),
    ("twice as slow up to a limit", "scale spans(**) by 2;  cap spans(**) above duration(50ns);", {
        "A": "0-20 117-137", "B": "20-30 30-40 40-50 97-117", "C": "50-70 77-97", "D":
        "40-52 55-67 67-92", "E": "40-50 50-80"
    }, {"start": 0, "end": 137}),
    ("renamed", "rename spans(s0.1.0) to name(new \\) name);",
     {"D": None, "new\\ \\)\\ name": AS_RECORDED["D"]}, None),
]

TWO = "span a [0,100]\nspan b [100,200]\ndep send a@100 -> b@100\n"
LAUNCHERS = """
span a\\ launcher [0,50]
span b\\ launcher [0,100]
span cached [50,100]
span a [50,100]
span b [100,150]
dep spawn a\\ launcher@50 -> a@50
dep spawn b\\ launcher@100 -> b@100
dep send or {a@50, b@100} -> cached@50
"""
GATED = "span a [0,100]\nspan b [0,100]\nspan c [100,200]\ndep send a@100 -> c@100\ndep send b@100 -> c@100\n"
BLOCKAGE = """
span source [0,10]
span shrink [20,100]
span other [20,100]
dep send source@5 -> shrink@50
dep send source@5 -> shrink@(60~70)
dep send source@5 -> other@(40~60)
"""
SLEEPS = "span a [0,100]\nwait a 20..60 sleep\nsuspend a 70..80\nspan b [0,200]\ndep send a@100 -> b@(50~150)\nwait b 160..170 sleep\n"

# name, trace, program, all spans
CASES = [
    ("half as long", TWO, "scale spans(a) by .5;", {"a": "0-50", "b": "50-150"}),
    ("comments everywhere", TWO, "# first\n scale /* in */ spans(a) // behind\n by .5 ; /* last */",
     {"a": "0-50", "b": "50-150"}),
    ("a delay twice as long", "span a [0,100]\nspan b [50,100]\ndep send a@50 -> b@60\n",
     "scale dependencies(send) from spans(a) to spans(b) by 2.0;",
     {"a": "0-50 50-100", "b": "50-60 70-110"}),
    ("a child in no time, and a delay that stays",
     "span QUS [0,100]\nspan FPPC [200,300]\nspan FPPC/TS [210,270]\ndep signal QUS@99 -> FPPC@280\ndep signal QUS@100 -> FPPC@200\nsimplify\n",
     "scale spans(FPPC/TS) by 0;",
     {"QUS": "0-99 99-100", "FPPC": "200-210 210-220 280-300", "FPPC/TS": "210-210"}),
    ("an added dependency",
     "span a [0,50]\nspan b [0,100]\nspan c [50,100]\ndep send a@20 -> b@30\ndep signal a@50 -> c@50\n",
     "add dependency(signal) from position(b @ 80%) to positions(c @ 0%);",
     {"a": "0-20 20-50", "b": "0-30 30-80 80-100", "c": "50-50 80-130"}),
    ("with a delay", "span a [0,50]\nspan b [0,100]\n",
     "add dependency(new) from position(a @ 0%) to positions(b @ 50%) after duration(70ns);",
     {"a": "0-0 0-50", "b": "0-50 70-120"}),
    ("from the beginning on", "span z [0,50]\nspan a [50,150]\nmark a m@100\n",
     "scale spans(a) by .5; start spans(a) as early as possible;", {"z": "0-50", "a": "0-50"}),
    ("a removed dependency", "span a [0,100]\nspan b [50,150]\ndep send a@50 -> b@50\n",
     "remove dependencies(send) from spans(a) to spans(b); start spans(b) as early as possible;",
     {"a": "0-100", "b": "0-100"}),
    ("one at a time", GATED, "apply concurrency(1) to spans(a,b);",
     {"a": "0-100", "b": "100-200", "c": "100-100 200-300"}),
    ("any of two", LAUNCHERS, "scale spans(a\\ launcher) by 2.0; scale spans(b\\ launcher) by .5;",
     {
         "a\\ launcher": "0-100", "b\\ launcher": "0-50", "a": "100-100 100-150", "b":
         "50-50 50-100", "cached": "50-100"
     }),
    ("scaled, changed and capped", "span grow [0,100]\nspan shrink [0,100]\n",
     "scale spans(grow) by 1.5; change spans(grow) by duration(100ns); cap spans(grow) above duration(200ns); scale spans(shrink) by .5; "
     "change spans(shrink) by duration(-50ns); cap spans(shrink) below duration(25ns);",
     {"grow": "0-200", "shrink": "0-25"}),
    ("delays that blocked nothing", BLOCKAGE,
     "scale spans(shrink,other) by .5; shrink nonblocking dependencies(all) to spans(shrink) after duration(2ns);",
     {"source": "0-5 5-5 5-5 5-10", "shrink": "20-35 35-40 70-85", "other": "20-30 60-80"}),
    ("a name is no expression", "span a [0,10]\nspan ab [0,10]\nspan b [0,10]\n",
     "scale spans(a) by .5;", {"a": "0-5", "ab": "0-10", "b": "0-10"}),
    ("an expression", "span a [0,10]\nspan ab [0,10]\nspan b [0,10]\n", "scale spans((^a)) by .5;",
     {"a": "0-5", "ab": "0-5", "b": "0-10"}),
    ("waits stay", SLEEPS, "scale spans(a) by .5;",
     {"a": "0-10 50-55 65-75", "b": "0-50 125-135 145-175"}),
    ("waits of a kind are scaled", SLEEPS, "scale waits(sleep) spans(a) by .25;",
     {"a": "0-20 30-40 50-70", "b": "0-50 120-130 140-170"}),
    ("waits are dropped", SLEEPS, "drop waits spans(**);", {"a": "0-50", "b": "0-50 100-140"}),
    ("untyped gaps are waits, too", "span a [0,30]\nsuspend a 10..20\n", "drop waits spans(a);",
     {"a": "0-20"}),
    ("exact parts", "span a [0,30]\nspan b [0,10]\n",
     "scale spans(a) by .7; scale spans(b) by 1e-1;", {"a": "0-21", "b": "0-1"}),
    ("a dependency against time is not followed",
     "span a [0,100]\nspan b [0,100]\ndep send a@50 -> b@20\n", "scale spans(a) by 2;",
     {"a": "0-100 100-200", "b": "0-20 20-100"}),
    ("a call that was not announced has its delay",
     "span a [0,100]\nspan b [0,100]\ndep call a@20 -> b@50\n", "scale spans(b) by .5;",
     {"a": "0-20 20-100", "b": "0-25 50-75"}),
    ("one that was announced, on which nothing waited, has none",
     "span a [0,100]\nspan b [0,100]\ndep call a@20 -> b@50 called=kv.get\n",
     "scale spans(b) by .5;", {"a": "0-20 20-100", "b": "0-25 25-50"}),
    ("before 0", "span a [-100,-50]\nspan b [-50,0]\ndep send a@-50 -> b@-50\n",
     "scale spans(a) by .5;", {"a": "-100--75", "b": "-75--25"}),
    ("slots go in order of time", "span a [10,40]\nspan b [0,30]\nspan c [5,35]\n",
     "apply concurrency(1) to spans(**);", {"a": "60-90", "b": "0-30", "c": "30-60"}),
    ("a slot is of a whole span",
     "span a [0,40]\nsuspend a 10..20\nspan b [5,15]\nsplit b 8\nspan c [5,9]\n",
     "apply concurrency(2) to spans(**);", {"a": "0-10 20-40", "b": "5-8 8-15", "c": "15-19"}),
]

# Two threads on one CPU, as it was: a sleeps, and the CPU takes a while to wake up.
CROWD = """
hierarchy processes cpus
span a [0,60] in processes:p
wait a 10..30 runqueue
wait a 40..50 sleep runqueue=5
span b [0,60] in processes:p
wait b 0..10 runqueue
wait b 30..60 sleep
span cpu0 [0,60] in cpus:machine
wait cpu0 40..50 idle
split cpu0 10 30
mark cpu0 a@0
mark cpu0 b@10:1
mark cpu0 a@30:1
mark cpu0 a@50
"""
CONVOY = """
span a [0,100]
span b [0,100]
wait b 10..60 futex object=futex:1 holder=a
dep unlock a@60 -> b@60
span c [0,100]
wait c 20..80 futex object=futex:1 holder="a 20 60 exact,b 60 80 exact"
dep unlock b@80 -> c@80
"""
# The same in two processes: by the memory that the futex is in it is one lock, or two.
ONE_MEMORY = CONVOY.replace("span b [0,100]", "span b [0,100] pid=8").replace(
    "span c [0,100]", "span c [0,100] pid=9").replace("futex:1", "futex:1 memory=7")
TWO_MEMORIES = ONE_MEMORY.replace("pid=9", "pid=8").replace("memory=7", "memory=6", 1)
DISK = """
hierarchy devices
span 8:0 [0,100] in devices:8:0
span 8:0/a [0,40] no-call
span 8:0/b [10,62] no-call
wait 8:0/b 10..42 queued
span 8:0/c [20,100] no-call
wait 8:0/c 20..62 queued
"""
RESOURCES = [("slices", "span a [0,100]\nspan b [0,100]\nspan c [30,40]\n",
              "set cpus to 1 slice duration(40ns);",
              {"a": "0-40 90-130 170-190", "b": "40-80 130-170 190-210", "c": "80-90"}),
             ("a CPU each", "span a [0,50]\nspan b [0,40]\nspan c [0,30]\n", "set cpus to 2;",
              {"a": "0-50", "b": "0-40", "c": "40-70"}),
             ("a CPU more", CROWD, "set cpus to 2;",
              {"a": "0-20 30-40", "b": "0-20 50-50", "cpu0": "0-10 10-30 30-40 50-60"}),
             ("as many CPUs as there were", CROWD, "simulate cpus;",
              {"a": "0-10 30-40 50-60", "b": "0-0 10-30 60-60", "cpu0": "0-10 10-30 30-40 50-60"}),
             ("CPUs for some", CROWD, "set cpus to 1 for spans(b);",
              {"a": "0-10 30-40 50-60", "b": "0-20 50-50", "cpu0": "0-10 10-30 30-40 50-60"}),
             ("a thread has a CPU for what it calls",
              "span a [0,50]\nspan a/f [10,40]\nspan b [0,20]\nsimplify\n", "set cpus to 1;",
              {"a": "0-10 40-50", "a/f": "10-40", "b": "50-70"}),
             ("locks as they were", CONVOY, "simulate locks;",
              {"a": "0-60 60-100", "b": "0-10 60-80 80-100", "c": "0-20 80-100"}),
             ("who comes first has it first", CONVOY, "scale spans(a) by 3; simulate locks;",
              {"a": "0-300", "b": "0-30 30-50", "c": "0-20 30-50"}),
             ("processes that share their memory have one lock", ONE_MEMORY,
              "scale spans(a) by 3; simulate locks;",
              {"a": "0-300", "b": "0-30 30-50", "c": "0-20 30-50"}),
             ("one address in two memories is two locks", TWO_MEMORIES,
              "scale spans(a) by 3; simulate locks;",
              {"a": "0-180 180-300", "b": "0-50", "c": "0-20 180-200"}),
             ("without it the one who had it lets go", CONVOY, "scale spans(a) by 3;",
              {"a": "0-180 180-300", "b": "0-10 180-200 200-220", "c": "0-20 200-220"}),
             ("a lock and a CPU", CONVOY, "set cpus to 1; simulate locks;",
              {"a": "0-100", "b": "100-150", "c": "150-190"}),
             ("devices as they were", DISK, "simulate devices;",
              {"8:0": "0-100", "8:0/a": "0-40", "8:0/b": "10-10 42-62", "8:0/c": "20-20 62-100"}),
             ("what is ahead at the device", DISK, "scale spans(8:0/a) by .5; simulate devices;",
              {"8:0": "0-100", "8:0/a": "0-20", "8:0/b": "10-10 22-42", "8:0/c": "20-20 42-80"}), ]

PARTED = "span a [0,100]\nspan b [0,100]\ndep send a@20 -> b@20\n"
# trace, program, where it is wrong (None: nowhere in the text), a word of what is said
ERRORS = [
    (TRACE1, "scale spans(a//b) by .5;", 14, ""),
    (TRACE1, "add dependency(send) from position(a @ 30%) to positions(b);", 56, "moment"),
    (TRACE1, "remove spans(a);", 7, "dependencies"),
    (TRACE1, "apply concurrency(1.5) to spans(**);", 17, "number"),
    (TRACE1, "scale spans(a, b) by ONE THOUSAND;", 21, "number"),
    (TRACE1, "SCALE SPANS(a) BO 3.5;", 15, "by"),
    (TRACE1, "remove dependencies(foo) from spans(any) to spans(any);", 20, "type"),
    (TRACE1, "REMOVE Dependencies(send,foo) FROM spans(any) TO spans(any);", 25, "type"),
    (TRACE1, "scale spans(a) by .5", 20, "semicolon"),
    (TRACE1, "scale spans(a) by NaN;", 18, "number"),
    (TRACE1, "scale spans(a) by inf;", 18, "number"),
    (TRACE1, "scale spans(a) by 1e300;", 18, "large"),
    (TRACE1, "scale spans(a by .5;", 11, "never closed"),
    (TRACE1, "scale spans(a) by 0..1;", 18, "number"),
    (TRACE1, "cap spans(a) above duration(-5ns);", 28, "less"),
    (TRACE1, "cap spans(a) above duration(5);", None, "duration"),
    (TRACE1, "cap spans(a) at duration(5ns);", 13, "above"),
    (TRACE1, "scale spans(a @ 5%) by 2;", 11, "moment"),
    (TRACE1, "speed up spans(a);", 0, "statement"),
    (TRACE1, "apply concurrency(0) to spans(**);", 17, "number"),
    (TRACE1, "drop waits(nap) spans(**);", 11, "kind"),
    (TRACE1, "/* scale spans(a) by 2;", 0, "comment"),
    (TRACE1, "set cpus to 0;", 12, "number of CPUs"),
    (TRACE1, "set cpus to many;", 12, "number of CPUs"),
    (TRACE1, "set cpus to 4294967295;", 12, "number of CPUs"),
    (TRACE1, "set cores to 2;", 4, "cpus"),
    (TRACE1, "set cpus to 2 slice duration(0ns);", 19, "slice"),
    (TRACE1, "set cpus to 2 for spans(a @ 5%);", 23, "moment"),
    (TRACE1, "set cpus to 2; set cpus to 3;", 15, "'set cpus to 2'"),
    (TRACE1, "simulate;", 8, "resource"), (TRACE1, "simulate locks, disks;", 16, "resource"),
    (TRACE1, "simulate locks devices;", 15, "semicolon"), (TRACE1, "simulate cpus;", 0, "no CPUs"),
    (TRACE1, "scale spans(s0.0.0) by 2; scale spans(**) by 3;", 26, "scale spans(s0.0.0) by 2"),
    (TRACE1, "cap spans(**) above duration(5ns); cap spans(**) below duration(6ns);", 35,
     "cap spans(**) above"),
    (TRACE1, "start spans(**) as early as possible; start spans(s0.1.0) as early as possible;", 38,
     "contradicts"),
    (TRACE1,
     "scale dependencies(send) from spans(**) to spans(**) by 2; scale dependencies(all) from spans(**) to spans(**) by 3;",
     59, "contradicts"),
    ("span a [0,50]\nspan b [50,100]\n",
     "add dependency(call) from position(c @ 100%) to positions(b @ 0%);", 35, "no such moment"),
    ("span a [0,50]\nspan b [50,100]\n",
     "add dependency(call) from position(a @ 100%) to positions(d @ 0%);", 58, "no such moment"),
    ("span a [0,50]\nspan b [50,100]\n",
     "add dependency(call) from position(** @ 100%) to positions(a @ 0%);", 35, "several"),
    (PARTED, "add dependency(signal) from position(b @ 30%) to positions(a @ 10%);", None,
     "themselves"),
    ("span a [0,100]\nspan b [50,150]\ndep send a@50 -> b@50\ndep send b@60 -> a@(60~70)\n",
     "apply concurrency(1) to spans(**);", None, "forever"),
    ("span a [0,9000000000000000000]\n", "scale spans(a) by 10;", None, "longer"),
]


def test_trace1():
    for name, program, changed, expected_marks in ON_TRACE1:
        answer = what_if(TRACE1, program)
        expected = {key: value for key, value in dict(AS_RECORDED, **changed).items() if value}
        tap.same(name, extents(answer), expected)
        if expected_marks:
            tap.same(name + ": marks", marks(answer), expected_marks)
    answer, dumped = what_if(TRACE1, ""), ask(TRACE1, ["dump"])
    tap.same("an empty program is the identity", {key: answer[key] for key in dumped}, dumped)
    tap.same("before and after",
             [what_if(TRACE1, "scale spans(s0.1.0) by .5;")[key] for key in ("before", "after")],
             [{"start": 0, "end": 100}, {"start": 0, "end": 95}])


def test_cases():
    for name, trace, program, expected in CASES:
        tap.same(name, extents(what_if(trace, program)), expected)
    tap.same("a mark stays at its part", marks(what_if(CASES[6][1], CASES[6][2])), {"m": 25})
    answer = what_if(LAUNCHERS,
                     "scale spans(a\\ launcher) by 2.0; scale spans(b\\ launcher) by .5;")
    tap.same("the earliest one triggers now",
             [(o["span"], o["trigger"]) for o in answer["dependencies"][2]["origins"]],
             [("b", True), ("a", False)])
    answer = what_if(CASES[5][1], CASES[5][2])
    tap.same("a new type", [(d["type"], d["origins"][0]["es"], d["destinations"][0]["es"])
                            for d in answer["dependencies"]], [("new", 0, 1)])
    answer = what_if(GATED, "remove dependencies(all) from spans(a) to spans(c);")
    tap.same("the others keep their ends", [(d["origins"][0]["span"], d["destinations"][0]["span"])
                                            for d in answer["dependencies"]], [("b", "c")])
    answer = what_if(SLEEPS, "scale spans(a) by .5;")
    tap.same("waits keep their kinds",
             [e["wait"] and e["wait"]["kind"] for s in answer["spans"] for e in s["elementary"]],
             [None, "sleep", None, None, None, "sleep"])
    answer = what_if(TRACE1, "rename categories(p0/t0.0) to name(x/y);")
    tap.same("a category renamed",
             sorted(c["path"] for c in answer["categories"]["structural"])[:2], ["p0", "p0/t0.1"])
    tap.same(
        "what is in it stays",
        [c["spans"] for c in answer["categories"]["structural"] if c["path"] == "p0/x\\/y/r0.0.0"],
        [["s0.0.0"]])


def test_resources():
    for name, trace, program, expected in RESOURCES:
        tap.same(name, extents(what_if(trace, program)), expected)
    answer = what_if(RESOURCES[0][1], RESOURCES[0][2])
    tap.same("who waits for a CPU is in the run queue",
             [e["wait"] and e["wait"]["kind"] for e in answer["spans"][0]["elementary"]],
             [None, "runqueue", "runqueue"])
    answer = what_if(CROWD, "set cpus to 1;")
    tap.same("how much of a wait is run queue",
             [e["wait"] for e in answer["spans"][0]["elementary"]],
             [None, {"kind": "runqueue"}, {"kind": "sleep", "runqueue": "5"}])
    answer = what_if(CONVOY, "scale spans(a) by .5; simulate locks;")
    tap.same("who had the lock", [e["wait"] for e in answer["spans"][2]["elementary"]], [
        None, {"kind": "futex", "object": "futex:1", "holder": "a 20 30 observed,b 30 50 observed"}
    ])
    tap.same("and who gave it", [(d["origins"][0]["span"], d["destinations"][0]["span"])
                                 for d in answer["dependencies"]], [("a", "b"), ("b", "c")])
    answer = what_if(CONVOY, "scale spans(a) by 3; simulate locks;")
    tap.same("another one gives it",
             [(d["type"], d["origins"][0]["span"], d["destinations"][0]["span"])
              for d in answer["dependencies"]], [("unlock", "b", "c")])
    tap.same("how many were in queues", [answer[key] for key in ("cpus", "lock_waits", "requests")],
             [None, 2, 0])
    answer = what_if(DISK, "simulate devices; set cpus to 3;")
    tap.same("what statements apply to", [s["times"] for s in answer["statements"]], [3, 0])
    tap.same("how many requests", [answer[key] for key in ("cpus", "lock_waits", "requests")],
             [3, 0, 3])
    for options, program in ((["--cpus", "2"], "set cpus to 2;"), (["--resources",
                                                                    "cpus"], "simulate cpus;"),
                             (["--resources=locks,cpus"], "simulate locks, cpus;")):
        tap.same("as an option: " + program, extents(ask(CROWD, ["what-if"] + options)),
                 extents(what_if(CROWD, program)))
    status, out, err = run(CROWD, ["what-if", "--cpus", "2"])
    tap.report(
        "the answer says so",
        "" if status == 0 and not err and "2 CPUs, any for any thread" in out else repr(
            (status, out, err)))
    for options, word in ((["--cpus", "0"], "--cpus"), (["--cpus",
                                                         "x"], "--cpus"), (["--resources",
                                                                            "disks"], "'disks'"),
                          (["--resources", "locks,"], "''"), (["--resources",
                                                               "locks,locks"], "twice"),
                          (["--cpus", "2", "set cpus to 3;"],
                           "contradicts"), (["--cpus", "2", "scale spans(a) by .5"], "semicolon")):
        status, out, err = run(CROWD, ["what-if"] + options)
        tap.report(
            "refused: " + " ".join(options),
            "" if status == 2 and not out and word in err and err.startswith("clew: ") else repr(
                (status, out, err)))
    status, out, err = run(CONVOY, ["what-if", "--resources", "cpus"])
    tap.report("refused: no CPUs to count",
               "" if status == 2 and not out and "how many" in err else repr((status, out, err)))
    answer = ask(
        CONVOY,
        ["what-if", "--sweep", "scale spans(a) by 0.5..1.5", "--steps=2", "--resources", "locks"])
    tap.same("a sweep with queues",
             [s["ns"] for s in answer["sweep"]] if isinstance(answer, dict) else answer,
             [70, 100, 165])


def test_errors():
    for trace, program, offset, word in ERRORS:
        status, out, err = run(trace, ["what-if", program])
        lines = err.splitlines()
        problem = ""
        if status != 2 or out:
            problem = "exit status %d, output %r" % (status, out)
        elif not lines or not lines[0].startswith("clew: ") or word not in err:
            problem = "it says %r" % err
        elif offset is not None and ("at byte %d:" % offset not in lines[0] or lines[-1] != " " *
                                     (2 + offset) + "^"):
            problem = "it says %r, not at %d" % (err, offset)
        tap.report("refused: " + program, problem)


def test_valid():
    for program in ("scale spans(foo) by .5; scale spans(bar) by .8;",
                    "apply concurrency(10) to spans(**/(foo_[0-9]+));",
                    "scale dependencies(all) from spans(**) to spans(**/(foo.**)/**) by 0.0;",
                    "scale spans(a) by -2;", "scale spans(a) by 1.5e0 ;"):
        tap.same("accepted: " + program, extents(what_if(TRACE1, program)), AS_RECORDED)


def test_text():
    status, out, err = run(TRACE1, ["what-if", "scale spans(s0.1.0) by .5;"])
    tap.report(
        "before and after as text", "" if status == 0 and not err and "95 ns" in out
        and "95.0 %" in out and "1 times" in out else repr((status, out, err)))
    answer = ask(TRACE1, ["what-if", "--sweep", "scale spans(s0.1.0) by 0..1", "--steps", "4"])
    tap.same("a sweep", [(s["factor"], s["ns"])
                         for s in answer["sweep"]] if isinstance(answer, dict) else answer,
             [(0, 90), (.25, 92), (.5, 95), (.75, 97), (1, 100)])
    answer = ask(TRACE1, [
        "what-if", "scale spans(s0.0.0) by 0;", "--sweep", "scale spans(s0.1.0) by 0..1",
        "--steps=1"
    ])
    tap.same("a sweep of a program",
             [s["ns"] for s in answer["sweep"]] if isinstance(answer, dict) else answer, [70, 80])
    status, out, err = run(TRACE1, ["what-if", "--sweep", "scale spans(s0.1.0) by 0..1"])
    tap.report(
        "a sweep as text", "" if status == 0 and not err
        and len([line for line in out.splitlines() if "#" in line]) == 11 else repr(
            (status, out, err)))
    for arguments, word in ((["--sweep", "scale spans(a) by 1"], "range"), ([], "program"),
                            (["--sweep", "scale spans(a by 0..1"],
                             "--sweep, at byte 11"), (["", "--steps", "3"], "--steps"),
                            (["", "--sweep", "scale spans(**) by 0..1", "--steps",
                              "0"], "--steps")):
        status, out, err = run(TRACE1, ["what-if"] + arguments)
        tap.report("refused: %s" % " ".join(arguments),
                   "" if status == 2 and not out and word in err else repr((status, out, err)))


for test in (test_trace1, test_cases, test_resources, test_errors, test_valid, test_text):
    test()
sys.exit(tap.end())
