#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Traces in notation through the program: construction by its rules, errors with
line and column, round trips. Prints TAP.
"""
import json
import os
import re
import resource
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
CLEW = os.environ.get("CLEW", os.path.join(HERE, "..", "..", "clew"))
TRACE1 = os.path.join(HERE, "trace1.ctrace")
results = []


def report(name, problem):
    results.append(not problem)
    print(
        "%s %d - %s%s" %
        ("ok" if not problem else "not ok", len(results), name, ": " + problem if problem else ""),
        flush=True)


def run(arguments, text=None):
    data = text.encode() if isinstance(text, str) else text
    options = {"input": data} if data is not None else {"stdin": subprocess.DEVNULL}
    return subprocess.run([CLEW] + arguments,
                          capture_output=True,
                          timeout=60,
                          check=False,
                          **options)


def dump(text):
    done = run(["dump", "--json", "-"], text)
    if done.returncode:
        raise AssertionError("exit status %d: %s" % (done.returncode, done.stderr.decode().strip()))
    return json.loads(done.stdout)


def show(answer, path, own=False):
    """
    The ESs of a span in the compact form: [0,10]>send | <ret[90,100]{mark@5};
    own: types as they are, else dependency numbers.
    """
    spans = [span for span in answer["spans"] if span["path"] == path]
    if len(spans) != 1:
        return "%d spans %s" % (len(spans), path)
    parts = []
    for es in spans[0]["elementary"]:
        text = ""
        if es["wait"]:
            text += "(%s)" % es["wait"]["kind"]
        if es["in"]:
            text += "<%s" % (es["in"]["type"] if own else es["in"]["dep"])
        text += "[%d,%d]" % (es["start"], es["end"])
        if es["out"]:
            text += ">%s" % (es["out"]["type"] if own else es["out"]["dep"])
        if es["marks"]:
            text += "{%s}" % " ".join("%s@%d" % (mark["label"], mark["at"]) for mark in es["marks"])
        parts.append(text)
    return " ".join(parts)


def gives(name, text, own=False, **spans):
    """The trace has these ESs, and has them again after being converted."""
    try:
        answer = dump(text)
        problem = ""
        for path, wanted in spans.items():
            path = path.replace("__", "/")
            got = show(answer, path, own)
            if got != wanted:
                problem += "%s is %s instead of %s; " % (path, got, wanted)
        problem = problem or round_trip(text)
    except AssertionError as error:
        problem = str(error)
    report(name, problem)


def round_trip(text):
    """What is wrong with converting a trace and reading it again; '' if nothing."""
    written = run(["convert", "-"], text)
    if written.returncode or written.stderr:
        return "convert: %s" % written.stderr.decode().strip()
    again = run(["convert", "-"], written.stdout)
    if again.stdout != written.stdout:
        return "converted twice it is another: %r, then %r" % (
            written.stdout.decode(), again.stdout.decode() or again.stderr.decode())
    if dump(text) != dump(written.stdout):
        return "converted it is another trace: %r" % written.stdout.decode()
    return ""


def fails(name, text, line, column, words):
    """
    The one line of an error at that place, exit status 2, nothing on standard
    output: whatever command reads it.
    """
    problem = ""
    for command in ("dump", "convert", "check"):
        done = run([command, "-"], text)
        err = done.stderr.decode(errors="replace")
        match = re.match(r"\Aclew: standard input:(\d+):(\d+): [^\n]+\n\Z", err)
        if done.returncode != 2 or done.stdout or not match:
            problem = "%s: exit status %d, %r" % (command, done.returncode, err)
        elif (int(match[1]), int(match[2])) != (line, column):
            problem = "%s: at %s:%s: %r" % (command, match[1], match[2], err)
        elif words not in err:
            problem = "%s: does not say %r: %r" % (command, words, err)
    report("error: " + name, problem)


def lines(*parts):
    return "\n".join(parts) + "\n"


A = "span a [0,100]"


def test_construction():
    """The rules, in the order of operations. Dependencies without a peer are numbered from 1."""

    def ends(*parts):
        return lines(
            A, *[
                "dep d %s -> -" % part[1:] if part[0] == "O" else "dep d - -> " +
                part[1:] if part[0] == "I" else part for part in parts
            ])

    gives("C1: destinations, one with a wait",
          ends("Ia@10", "Ia@(40~60)", "Oa@80"),
          a="[0,10] <1[10,40] <2[60,80]>3 [80,100]")
    gives("C2: incoming before outgoing",
          ends("Oa@30", "Ia@30", "Ia@50", "Oa@50"),
          a="[0,30] <2[30,30]>1 [30,50]>4 <3[50,100]")
    gives("C3: several at one instant",
          ends("Oa@30", "Oa@30", "Oa@30", "Ia@60", "Ia@60", "Ia@60"),
          a="[0,30]>1 [30,30]>2 [30,30]>3 [30,60] <6[60,60] <5[60,60] <4[60,100]")
    gives("C4: destinations after origins at one instant",
          ends("Oa@30", "Oa@30", "Oa@30", "Ia@30", "Ia@30", "Ia@30"),
          a="[0,30] <6[30,30] <5[30,30] <4[30,30]>1 [30,30]>2 [30,30]>3 [30,100]")
    gives("C5: after a gap a later destination sits later",
          ends("suspend a 20..40", "Ia@40", "Ia@40"),
          a="[0,20] <1[40,40] <2[40,100]")
    gives("C6: placed early and late",
          lines(A, "dep d a@30 -> -", "dep d a@30 -> - early", "dep d - -> a@30 late",
                "dep d - -> a@60", "dep d - -> a@60 late"),
          a="[0,30]>2 [30,30]>1 [30,30] <3[30,60] <4[60,60] <5[60,100]")
    gives("C7: a suspend", lines(A, "suspend a 20..80"), a="[0,20] [80,100]")
    fails("C8: a suspend across a destination",
          ends("Ia@50") + "suspend a 20..80\n", 3, 9, "boundary")
    fails("C8: a suspend across an origin", ends("Oa@50") + "suspend a 20..80\n", 3, 9, "boundary")
    gives("C9: across it on purpose",
          ends("Ia@50", "suspend a 20..80 split-ends"),
          a="[0,20] [50,50] <1[50,50] [80,100]")
    gives("C10: an endpoint in a gap",
          lines(A, "suspend a 20..80", "dep d a@50 -> - split-gap"),
          a="[0,20] [50,50]>1 [80,100]")
    fails("C10: an endpoint in a gap, not on purpose",
          lines(A, "suspend a 20..80", "dep d a@50 -> -"), 3, 7, "suspended")
    gives("C11: a suspend over suspends",
          lines(A, "suspend a 80..90", "suspend a 60..70", "suspend a 40..50",
                "suspend a 35..100 split-ends"),
          a="[0,35] [40,40] [50,50] [60,60] [70,70] [80,80] [90,90] [100,100]")
    gives("C12: a suspend without length is nothing", lines(A, "suspend a 50..50"), a="[0,100]")
    gives("C13: suspends that abut",
          lines(A, "suspend a 20..40", "suspend a 40..60"),
          a="[0,20] [40,40] [60,100]")
    abutting = ["suspend a %d..%d" % (at, at + 20) for at in range(0, 100, 20)]
    gives("C14: suspends all over",
          lines(A, *abutting),
          a="[0,0] [20,20] [40,40] [60,60] [80,80] [100,100]")
    gives("C14: simplified", lines(A, *abutting, "simplify"), a="[0,0] [100,100]")
    gives("C15: split at marks",
          lines(A, "mark a x@40", "mark a y@50", "suspend a 30..70 split-marks"),
          a="[0,30] [40,40]{x@40} [50,50]{y@50} [70,100]")
    fails("C15: a mark in a suspend", lines(A, "mark a x@40", "suspend a 30..70"), 3, 9, "mark")
    marks = [
        "mark a %s@%d" % pair for pair in (("a", 0), ("b", 10), ("c", 20), ("d", 30), ("e", 70),
                                           ("f", 80), ("g", 90), ("h", 100))
    ]
    wanted = "[0,30]{a@0 b@10 c@20 d@30} [70,100]{e@70 f@80 g@90 h@100}"
    gives("C16: marks, then a suspend", lines(A, *marks, "suspend a 30..70"), a=wanted)
    gives("C16: a suspend, then marks", lines(A, "suspend a 30..70", *marks), a=wanted)
    gives("marks of one moment: newest first",
          lines(A, "mark a x@5", "mark a y@5"),
          a="[0,100]{y@5 x@5}")
    gives("a mark at a boundary is the earlier one's",
          lines(A, "dep d a@50 -> -", "mark a x@50"),
          a="[0,50]>1{x@50} [50,100]")
    gives("a mark in a gap",
          lines(A, "suspend a 20..80", "mark a x@50 split-gap"),
          a="[0,20] [50,50]{x@50} [80,100]")


def test_children():
    gives("a child calls and returns",
          lines(A, "span a/b [10,90]"),
          own=True,
          a="[0,10]>call [10,10] <return[90,100]",
          a__b="<call[10,90]>return")
    gives("a child, simplified",
          lines(A, "span a/b [10,90]", "simplify"),
          own=True,
          a="[0,10]>call <return[90,100]",
          a__b="<call[10,90]>return")
    gives("P10: a child without length",
          lines(A, "span a/b [50,50]"),
          own=True,
          a="[0,50]>call [50,50] <return[50,100]",
          a__b="<call[50,50]>return")
    gives("a child as long as its parent",
          lines(A, "span a/b [0,100]", "simplify"),
          own=True,
          a="[0,0]>call <return[100,100]")
    gives("children that follow each other",
          lines(A, "span a/b [10,40]", "span a/c [40,90]", "simplify"),
          own=True,
          a="[0,10]>call <return[40,40]>call <return[90,100]")
    gives("a child alone", lines(A, "span a/b [10,90] no-call"), a="[0,100]", a__b="[10,90]")
    answer = dump(
        lines("span a [0,100]", "span a/b [10,20]", "dep send a@50 -> -", "span a/c [60,70]"))
    numbers = [(dep["dep"], dep["type"]) for dep in answer["dependencies"]]
    report(
        "dependencies are numbered in order, calls and returns included",
        "" if numbers == [(1, "call"), (2, "return"), (3, "send"), (4, "call"),
                          (5, "return")] else str(numbers))
    fails("a child that begins where its parent is suspended",
          lines(A, "suspend a 20..40", "span a/b [30,35]"), 3, 6, "suspended")
    fails("a child that outlives its parent", lines(A, "span a/b [30,135]"), 2, 6, "beyond")


def test_trace1():
    with open(TRACE1, encoding="utf-8") as file:
        text = file.read()
    wanted = {
        "s0.0.0": "[0,10]>call{start@0} <return[90,100]{end@100}", "s0.0.0/0":
        "<call[10,20]>spawn [20,30]>spawn [30,40]>call <return[70,90]>return", "s0.0.0/0/3":
        "<call[40,50] <signal[60,70]>return", "s0.1.0": "<spawn[30,40] <send[40,50]>signal [50,70]",
        "s1.0.0": "<spawn[30,35]>send [35,50]",
    }
    answer = dump(text)
    for path, line in wanted.items():
        got = show(answer, path, True)
        report("Trace1: " + path, "" if got == line else got)
    report("Trace1: round trip", round_trip(text))
    places = {
        name: {item["path"]: item["spans"]
               for item in items}
        for name, items in answer["categories"].items()
    }
    good = (list(places) == ["structural", "causal"]
            and places["structural"]["p0/t0.0/r0.0.0"] == ["s0.0.0"]
            and places["structural"]["p0"] == []
            and places["causal"]["p0/t0.0/t0.1/r0.1.0"] == ["s0.1.0"]
            and places["causal"]["p0/p1/t1.0/r1.0.0"] == ["s1.0.0"])
    report("Trace1: categories", "" if good else str(places))
    signal = answer["dependencies"][7]
    good = (signal["dep"], signal["type"], signal["mode"], signal["origins"],
            signal["destinations"]) == (8, "signal", "single",
                                        [{"span": "s0.1.0", "es": 1, "trigger":
                                          True}], [{"span": "s0.0.0/0/3", "es": 1}])
    report("Trace1: a dependency in JSON", "" if good else str(signal))
    done = run(["check", "--json", TRACE1])
    report(
        "Trace1: is consistent",
        "" if done.returncode == 0 and json.loads(done.stdout)["problems"] == [] else repr(done))
    done = run(["dump", TRACE1])
    report(
        "Trace1: as text",
        "" if done.returncode == 0 and b"[60,70]  <- 8 signal  -> 4 return" in done.stdout
        and b"50..60 suspended" in done.stdout else repr(done.stdout))
    done = run(["check", TRACE1])
    report("Trace1: checked in words",
           "" if done.returncode == 0 and done.stdout.startswith(b"No problem") else repr(done))


def test_dependencies():
    three = lines("span a [0,50]", "span b [0,100]", "span c [120,170]")

    def origins(answer):
        return [(origin["span"], origin["es"], origin["trigger"])
                for origin in answer["dependencies"][0]["origins"]]

    for mode, order, wanted in (("and", "a@50, b@100", [
        ("b", 0, True), ("a", 0, False)
    ]), ("and", "b@100, a@50", [("b", 0, True), ("a", 0, False)]), ("or", "a@50, b@100", [
        ("a", 0, True), ("b", 0, False)
    ]), ("or", "b@100, a@50", [("a", 0, True),
                               ("b", 0, False)]), ("and", "a@50, b@50", [("a", 0, True),
                                                                         ("b", 0, False)]),
                                ):
        text = three + "dep send %s {%s} -> c@120\n" % (mode, order)
        answer = dump(text)
        got = origins(answer)
        good = got == wanted and answer["dependencies"][0]["mode"] == mode
        report("%s {%s}: who triggers" % (mode, order), str(got) if not good else round_trip(text))
    text = three + "dep send a@50 -> {b@60, c@130}\n"
    got = dump(text)["dependencies"][0]["destinations"]
    report(
        "several destinations",
        str(got) if got != [{"span": "b", "es": 1}, {"span": "c", "es": 1}] else round_trip(text))
    text = three + "dep rpc a@50 -> -\ndep rpc - -> b@50\ndep rpc - -> -\n"
    got = [(len(dep["origins"]), len(dep["destinations"])) for dep in dump(text)["dependencies"]]
    report("incomplete on purpose",
           str(got) if got != [(1, 0), (0, 1), (0, 0)] else round_trip(text))
    gives("blanks where there may be some",
          "  span\ta  [ 0 , 100 ]\r\ndep d {a@10}->{ a@20 ,a@( 30 ~ 40 ) }# end\n",
          a="[0,10]>1 [10,20] <1[20,30] <1[40,100]")
    gives("no line feed at the end", "span a [0,100]", a="[0,100]")
    gives("a place for one endpoint alone",
          lines(A, "dep d a@50 -> -", "dep e a@50:early -> a@50:late"),
          a="[0,50]>2 [50,50]>1 [50,50] <2[50,100]")
    gives("exactly: splits and numbers",
          lines(A, "split a 50 50", "dep d a@50:1 -> a@50:2", "mark a x@50:2"),
          a="[0,50] [50,50]>1 <1[50,100]{x@50}")
    gives("negative times, and edges back in time",
          lines("span a [-50,50]", "dep d a@20 -> a@-20"),
          a="[-50,-20] <1[-20,20]>1 [20,50]")


def test_waits():
    text = lines("span a-7 [0,100]", 'wait a-7 20..60 fsync object="file:/var/lib/x" holder=b-9',
                 "wait a-7 70..80 futex")
    elementary = dump(text)["spans"][0]["elementary"]
    got = [es["wait"] for es in elementary]
    report(
        "typed waits keep their attributes",
        str(got) if got !=
        [None, {"kind": "fsync", "object": "file:/var/lib/x", "holder": "b-9"}, {"kind": "futex"}]
        else round_trip(text))
    kinds = (
        "futex lock read write fsync file io fault journal throttle memory pipe socket eventfd ipc tty poll sleep signal stopped child vfork io_uring "
        "work rcu idle other unknown").split()
    problem = ""
    for kind in kinds:
        got = dump(lines(A, "wait a 20..60 " + kind))["spans"][0]["elementary"][1]["wait"]
        if got != {"kind": kind}:
            problem += "%s is %s; " % (kind, got)
    report("all kinds of waits", problem)
    text = lines(
        A + ' task="x y" n=1 empty=""',
        'dep request a@50 -> a@60 evidence=exact device=259:0 sector=2048 note="tab\\tquote\\"line\\nhash#back\\\\"'
    )
    answer = dump(text)
    good = (answer["spans"][0]["attributes"] == {"task": "x y", "n": "1", "empty": ""}
            and answer["dependencies"][0]["attributes"] == {
                "evidence": "exact", "device": "259:0", "sector": "2048", "note":
                'tab\tquote"line\nhash#back\\'
            })
    report("attributes of spans and dependencies",
           "" if good and not round_trip(text) else str(answer))


def test_names():
    text = "span a\\ b\\/c\\@\\{\\}\\,\\(\\)\\[\\]\\#\\\\d=e:f [0,10]\nspan \\a\\\nb [0,10]\n"
    answer = dump(text)
    got = [span["path"] for span in answer["spans"]]
    report(
        "any character, with a backslash",
        str(got)
        if got != ["a\\ b\\/c\\@\\{\\}\\,\\(\\)\\[\\]\\#\\\\d=e:f", "a\\\nb"] else round_trip(text))
    text = lines("hierarchy a:b c=d", "span x [0,10] in a\\:b:p/q=1 c\\=d:r:s k\\:1=v\\:w",
                 "span y [0,10] in c\\=d:r:s", "category a:b p/z")
    answer = dump(text)
    good = {
        name: {item["path"]: item["spans"]
               for item in items}
        for name, items in answer["categories"].items()
    } == {"a:b": {"p": [], "p/q=1": ["x"], "p/z": []}, "c=d": {"r:s": ["x", "y"]}
          } and answer["spans"][0]["attributes"] == {"k:1": "v:w"}
    report("names with colons and equals signs",
           "" if good and not round_trip(text) else str(answer))
    text = lines(A, A, "span a/f [10,20]", "span a/f [30,40]", "suspend a 50..60",
                 "suspend a[2] 70..80", "suspend a/f[2] 33..35", "dep d a[2]@20 -> a/f[2]@31")
    answer = dump(text)
    got = [[(es["start"], es["end"]) for es in span["elementary"]] for span in answer["spans"]]
    wanted = [[(0, 10), (10, 10), (20, 30), (30, 30), (40, 50), (60, 100)],
              [(0, 20), (20, 70), (80, 100)], [(10, 20)], [(30, 31), (31, 33), (35, 40)]]
    report("a name that several spans have", str(got) if got != wanted else round_trip(text))
    fails("which of several is meant is said", lines(A, A, "suspend a 10..20", "suspend a 15..25"),
          4, 9, "2 spans have that name")


def test_units():
    for unit, scale in (("ns", 1), ("us", 1000), ("ms", 10**6), ("s", 10**9)):
        text = "unit %s\nspan a [-1.5,2.25]\nsuspend a 0.5..1\n" % unit
        got = [(es["start"], es["end"]) for es in dump(text)["spans"][0]["elementary"]]
        wanted = [(int(-1.5 * scale), int(0.5 * scale)), (1 * scale, int(2.25 * scale))]
        report("unit " + unit, str(got) if got != wanted else round_trip(text))
    got = run(["convert", "-"],
              "unit ms\nspan a [0.000001,9223372036854.775807]\n").stdout.decode().splitlines()[1]
    report("decimals are kept", "" if got == "span a [0.000001,9223372036854.775807]" else got)
    fails("a number too large", "unit s\nspan a [0,9223372037]\n", 2, 11, "too large")
    fails("digits too many", "span a [0,99999999999999999999]\n", 1, 11, "too large")


def test_errors():
    fails("no such line", "# x\n\nspam a [0,1]\n", 3, 1, "no line begins so")
    fails("a span without a name", "span [0,1]\n", 1, 6, "name")
    fails("a span without an interval", "span a\n", 1, 7, "'['")
    fails("an interval backwards", "span a [5,1]\n", 1, 6, "ends before it begins")
    fails("an unclosed interval", "span a [5,10\n", 1, 13, "']'")
    fails("no number", "span a [x,10]\n", 1, 9, "number")
    fails("a parent that is not there", A + "\nspan b/c [1,2]\n", 2, 6, "no root span 'b'")
    fails("a child that is not there", A + "\nsuspend a/c 1..2\n", 2, 11, "no span 'c'")
    fails("a span that is not there", A + "\ndep d a@5 -> b@6\n", 2, 14, "no root span 'b'")
    fails("an endpoint outside", A + "\ndep d a@5 -> a@101\n", 2, 14, "outside")
    fails("no arrow", A + "\ndep d a@5\n", 2, 10, "->")
    fails("no type", A + "\ndep\n", 2, 4, "type")
    fails("several origins without a mode", A + "\ndep d {a@5, a@6} -> a@7\n", 2, 7, "and")
    fails("a brace left open", A + "\ndep d and {a@5, a@6 -> a@7\n", 2, 21, "'}'")
    fails("a wait of an origin", A + "\ndep d a@(5~6) -> a@7\n", 2, 9, "origin")
    fails("early and late", A + "\ndep d a@5 -> a@7 early late\n", 2, 7, "early")
    fails("an unknown word", A + "\ndep d a@5 -> a@7 soon\n", 2, 18, "'soon'")
    fails("an unknown place", A + "\ndep d a@5:soon -> a@7\n", 2, 11, "early")
    fails("an unknown kind of wait", A + "\nwait a 1..2 nap\n", 2, 13, "'nap'")
    fails("what is no wait", A + "\nwait a 1..2 running\n", 2, 13, "'running'")
    fails("a wait without a kind", A + "\nwait a 1..2\n", 2, 12, "kind")
    fails("a suspend with attributes", A + "\nsuspend a 1..2 k=v\n", 2, 16, "'k'")
    fails("a suspend beyond its span", A + "\nsuspend a 50..150\n", 2, 9, "beyond")
    fails("a suspend backwards", A + "\nsuspend a 50..20\n", 2, 11, "ends before")
    fails("an attribute twice", A + " k=v k=w\n", 1, 20, "already")
    fails("an attribute without a value", A + " k=\n", 1, 18, "value")
    fails("a quote left open", A + ' k="v\n', 1, 18, "quote")
    fails("a hierarchy twice", "hierarchy h h\n", 1, 13, "already")
    fails("a hierarchy not declared", "span a [0,1] in h:p\n", 1, 17, "no hierarchy 'h'")
    fails("a category without a hierarchy", "hierarchy h\nspan a [0,1] in p\n", 2, 17,
          "HIERARCHY:PATH")
    fails("two categories in one hierarchy", "hierarchy h\nspan a [0,1] in h:p h:q\n", 2, 21,
          "already")
    fails("a child in a category", "hierarchy h\n" + A + "\nspan a/b [0,1] in h:p\n", 3, 16,
          "root span")
    fails("an empty name in a path", A + "\nspan a//b [0,1]\n", 2, 8, "name")
    fails("an unescaped character", "span a(b) [0,1]\n", 1, 7, "'['")
    fails("a backslash at the end", "span a\\", 1, 7, "backslash")
    fails("an unknown unit", "unit min\n", 1, 6, "no such unit")
    fails("words behind simplify", A + "\nsimplify now\n", 2, 10, "'now'")
    fails("a mark without a moment", A + "\nmark a x\n", 2, 9, "'@'")
    fails("a mark in a gap", A + "\nsuspend a 20..80\nmark a x@50\n", 3, 6, "suspended")
    fails("columns are bytes", "span é [0,1] x\n", 1, 15, "'x'")
    fails("a line after one that is continued", "span a\\\nb [0,1]\nspam\n", 3, 1, "no line")


def test_check():
    for name, text, status, kinds in (("(i) consistent",
                                       lines(A, "span a/b [30,70]", "span c [40,70]",
                                             "dep d a/b@35 -> c@40", "dep d c@70 -> a/b@70"), 0,
                                       []), ("(ii) an origin only", lines(A, "dep d a@50 -> -"), 1,
                                             ["no-destination"]), ("a destination only",
                                                                   lines(A, "dep d - -> a@50"), 1,
                                                                   ["no-origin"]),
                                      ("(iii) back in time",
                                       lines(A, "span b [0,100]",
                                             "dep d a@70 -> b@30"), 1, ["negative-edge"]),
                                      ("(iv) a cycle at one moment",
                                       lines("span a [0,0]", "span b [0,0]", "split a 0",
                                             "split b 0", "dep d b@0:1 -> a@0:1",
                                             "dep d a@0:1 -> b@0:0"), 1,
                                       ["cycle"]), ("an ES and its own successor",
                                                    lines(A, "dep d a@20 -> a@20"), 0,
                                                    []), ("to a later one of its own span",
                                                          lines(A, "dep d a@20 -> a@50"), 0, []),
                                      ):
        done = run(["check", "--json", "-"], text)
        problems = json.loads(done.stdout)["problems"]
        good = done.returncode == status and [
            problem["kind"] for problem in problems
        ] == kinds and all(problem["severity"] == "error" and problem["message"]
                           and "span" in problem and "es" in problem for problem in problems)
        report("check: " + name,
               "" if good and not round_trip(text) else "%d %s" % (done.returncode, problems))
        words = run(["check", "-"], text)
        report(
            "check in words: " + name, "" if words.returncode == status and
            (not kinds or ("error: " + kinds[0]).encode() in words.stdout) else repr(words))


def test_files():
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "t.clew")
        with open(TRACE1, "rb") as file:
            text = file.read()
        with open(path, "wb") as file:
            file.write(text)
        wanted = run(["dump", "--json", TRACE1]).stdout
        report("a trace is told by its content, not its name",
               "" if run(["dump", "--json", path]).stdout == wanted else "another answer")
        done = run(["convert", path, "-o", path])
        report(
            "a file is converted into itself", "" if done.returncode == 0 and not done.stdout
            and run(["dump", "--json", path]).stdout == wanted
            and os.listdir(directory) == ["t.clew"] else repr(done))
        done = run(["convert", path, "-o", os.path.join(directory, "no", "x")])
        report("no place to write",
               "" if done.returncode == 3 and done.stderr.startswith(b"clew: ") else repr(done))
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))  # noqa: E731
        limited = os.path.join(directory, "limited")
        done = subprocess.run([CLEW, "convert", path, "-o", limited],
                              capture_output=True,
                              timeout=60,
                              check=False,
                              preexec_fn=limit)
        said = done.returncode == 3 and done.stderr.startswith(
            ("clew: %s: File too large" % limited).encode())
        report(
            "files may not become that large",
            "" if said and os.listdir(directory) == ["t.clew"] else repr(
                (done, os.listdir(directory))))
        done = run(["convert", path, "-o", "/dev/full"])
        report("no room to write",
               "" if done.returncode == 3 and b"/dev/full" in done.stderr else repr(done))
        done = run(
            ["convert",
             os.path.join(directory, "missing"), "-o",
             os.path.join(directory, "y")])
        report("nothing is written of what cannot be read",
               "" if done.returncode == 2 and os.listdir(directory) == ["t.clew"] else repr(done))
        # Longer than what is read at once, with lines across the pieces.
        many = lines(
            "span s [0,100000000]", *[
                "dep kind\\ %d s@%d -> s@%d note=%s" % (at % 7, at, at + 1, "x" * (at % 49 + 1))
                for at in range(3, 60000, 3)
            ])
        answer = dump(many)
        report(
            "a long trace", "" if len(answer["dependencies"]) == 19999
            and len(answer["spans"][0]["elementary"]) == 39999 else str(len(
                answer["dependencies"])))
        fails("far down in a long trace", many + "spam\n", 20001, 1, "no line")
        report("comments and empty lines alone are an empty trace",
               "" if dump("# nothing\n\n")["spans"] == [] else "not empty")
        done = run(["dump", "-"], b"span a [0,1]\0\n")
        report("bytes that are no text",
               "" if done.returncode == 2 and b"neither" in done.stderr else repr(done))
        same = [run(["convert", "-"], many).stdout for _ in range(2)]
        report("the same input gives the same bytes",
               "" if same[0] == same[1] and same[0] else "differs")


def test_documents():
    for name, begin, end in (("notation.md", "```\n", "```"),
                             ("man/clew-convert.1", ".Bd -literal -offset indent\n", ".Ed")):
        with open(os.path.join(HERE, "..", "..", "docs", name), encoding="utf-8") as file:
            text = file.read().split(begin)[1].split(end)[0]
        done = run(["check", "-"], text)
        report("the example of docs/%s" % name,
               done.stderr.decode() + done.stdout.decode() if done.returncode else round_trip(text))


def main():
    test_construction()
    test_children()
    test_trace1()
    test_dependencies()
    test_waits()
    test_names()
    test_units()
    test_errors()
    test_check()
    test_files()
    test_documents()
    print("1..%d" % len(results))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
