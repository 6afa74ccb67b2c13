#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
clew select on traces in notation: spans, positions, hierarchies, and how it
shows what is wrong. Prints TAP.
"""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
CLEW = os.environ.get("CLEW", os.path.join(HERE, "..", "..", "clew"))

TRACES = {
    "trace1": """\
hierarchy structural causal
span s0.0.0 [0,100] in structural:p0/t0.0/r0.0.0 causal:p0/t0.0/r0.0.0
span s0.0.0/0 [10,90]
span s0.0.0/0/3 [40,70]
span s0.1.0 [30,70] in structural:p0/t0.1/r0.1.0 causal:p0/t0.0/t0.1/r0.1.0
span s1.0.0 [30,50] in structural:p1/t1.0/r1.0.0 causal:p0/p1/t1.0/r1.0.0
mark s0.0.0 start@0
mark s0.0.0 end@100
dep spawn s0.0.0/0@20 -> s0.1.0@30
dep spawn s0.0.0/0@30 -> s1.0.0@30
dep send s1.0.0@35 -> s0.1.0@40
dep signal s0.1.0@50 -> s0.0.0/0/3@(50~60)
simplify
""", "letters": """\
span a [0,100]
span a/b [10,40]
span a/b/c [20,30]
span a/c [50,90]
span a/c/d [60,80]
span a/c/d/e [65,75]
span f [0,50]
simplify
""", "names": """\
unit ms
span a [0,1]
span ab [0,1]
span b [1000.5,2000]
span at-foo [0,1]
span x\\ y [0,1]
span x\\ y/\\/ [0,0.5]
""", "bare": "",
}

# trace, pattern, options, the spans; each a path
SPANS = [
    ("letters", "**/c", [], ["a/c",
                             "a/b/c"]), ("letters", "a/c/**", [], ["a/c", "a/c/d", "a/c/d/e"]),
    ("letters", "a/*/*", [], ["a/b/c", "a/c/d"]), ("letters", "f, a/b, f", [], ["f", "a/b", "f"]),
    ("letters", "nothing", [], []),
    ("trace1", "** where total_duration >= duration(80ns)", [], ["s0.0.0", "s0.0.0/0"]),
    ("trace1",
     "** where total_duration < duration(40ns) and suspended_duration == duration(0) or total_duration == duration(0.1us)",
     [], ["s0.0.0", "s1.0.0"]), ("trace1", "s0.0.0/**/(0)", [], ["s0.0.0/0"]),
    ("trace1", "s0.0.0/** -> **", [], ["s0.1.0", "s1.0.0"]), ("trace1", "s0.0.0 => **", [], []),
    ("trace1", "p0/** > *", [], ["s0.0.0", "s0.1.0"]),
    ("trace1", "p0/** > *", ["--hierarchy", "causal"], ["s0.0.0", "s0.1.0", "s1.0.0"]),
    ("trace1", "**/t0.1/* > **", ["--hierarchy=structural"], ["s0.1.0"]), ("names", "a", [], ["a"]),
    ("names", "(a)", [], ["a", "ab", "at-foo"]), ("names", "(^b$)", [], ["b"]),
    ("names", "at-foo", [], ["at-foo"]), ("names", r"'x y'/\/", [], [r"x\ y/\/"]),
    ("names", "* where total_duration == duration(999.5ms)", [], ["b"]), ("bare", "**", [], []),
]

# trace, pattern, the positions: path, elementary span, moment
POSITIONS = [("letters", "a/b @100%", [("a/b", 1, 40)]),
             ("letters", "**/d @30%", [("a/c/d", 0, 63)]),
             ("letters", "**/d @70%", [("a/c/d", 1, 77)]),
             ("trace1", "s0.0.0 @50%", [("s0.0.0", 0, 10)]),
             ("trace1", "** @ (end)", [("s0.0.0", 1, 100)]),
             ("trace1", "**/(1) at 100% latest", [("s0.1.0", 2, 70)]),
             ("trace1", "** @ 0% earliest", [("s0.0.0", 0, 0)]), ("trace1", "s0.1.0 @ 200%", []),
             ("trace1", "s0.1.0 @ duration(45ns)", [("s0.1.0", 1, 45)]),
             ("trace1", "s0.1.0 @ duration(20ns)", []), ("trace1", "s0.0.0 @ duration(50ns)", []),
             ("names", "b @ duration(1.5s)", [("b", 0, 1500000000)]),
             ("names", "b @ 50%", [("b", 0, 1500250000)]), ]

# pattern, byte, words of the message
ERRORS = [("a/'b/c", 2, "quote"), ("a/(b/c", 4, "parenthesis"),
          ("a/b > c/d > **", 10, "cannot stand here"), ("a/b, c/d,", 9, "ends here"),
          ("a/b/", 4, "ends here"), ("a//b", 2, "a name"), ("", 0, "a name"),
          ("a @ -5%", 4, "before the span"),
          ("a where total_duration > duration(1)", 35, "no duration"),
          ("\u00e9\u00e9/(x[)", 8, "terminating"), ("a\n//b", 3, "a name"), ]

results = []


def run(arguments, **options):
    return subprocess.run([CLEW] + arguments,
                          capture_output=True,
                          timeout=60,
                          check=False,
                          **options)


def report(name, problem):
    results.append(not problem)
    name = name.replace("\n", "\\n")
    print(
        "%s %d - %s%s" %
        ("ok" if not problem else "not ok", len(results), name, ": " + problem if problem else ""),
        flush=True)


def select(path, pattern, options):
    done = run(["select", path, pattern, "--json"] + options)
    if done.returncode or done.stderr:
        return {}, "exit status %d: %r" % (done.returncode, done.stderr)
    return json.loads(done.stdout), ""


def test_spans(path):
    for trace, pattern, options, expected in SPANS:
        answer, problem = select(path(trace), pattern, options)
        if not problem and answer != {"format": 2, "spans": expected, "positions": []}:
            problem = repr(answer)
        report(" ".join([trace, pattern] + options), problem)


def test_positions(path):
    for trace, pattern, expected in POSITIONS:
        answer, problem = select(path(trace), pattern, [])
        spans = [
            span for i, (span, _, _) in enumerate(expected) if i == 0 or expected[i - 1][0] != span
        ]
        if not problem and answer != {
                "format": 2, "spans": spans, "positions": [{"span": span, "es": es, "at": at}
                                              for span, es, at in expected]
        }:
            problem = repr(answer)
        report("%s %s" % (trace, pattern), problem)


def test_errors(path):
    for pattern, byte, words in ERRORS:
        done = run(["select", path("letters"), pattern])
        lines = done.stderr.decode().split("\n")
        shown = pattern.replace("\n", "\\x0a")
        width = len(pattern.encode()[:byte].decode().replace("\n", "\\x0a"))
        problem = ""
        if done.returncode != 2 or done.stdout:
            problem = "exit status %d" % done.returncode
        elif len(lines) != 4 or not lines[0].startswith(
                "clew: pattern, at byte %d: " % byte) or words not in lines[0]:
            problem = "says %r" % lines
        elif lines[1:] != ["  " + shown, "  " + " " * width + "^", ""]:
            problem = "shows %r" % lines[1:]
        report("an error in %s" % (pattern or "nothing"), problem)


def fails(name, arguments, *words):
    done = run(arguments)
    err = done.stderr.decode()
    good = done.returncode == 2 and not done.stdout and err.startswith("clew: ") and err.count(
        "\n") == 1 and all(word in err for word in words)
    report(name, "" if good else "exit status %d: %r" % (done.returncode, err))


def test_arguments(path):
    fails("no pattern", ["select", path("letters")], "TRACE PATTERN")
    fails("two patterns", ["select", path("letters"), "a", "b"], "'b'")
    fails("no such hierarchy", ["select", path("trace1"), "a", "--hierarchy", "x"], "'x'",
          "structural, causal")
    fails("a hierarchy where there is none",
          ["select", path("letters"), "a", "--hierarchy", "x"], "no hierarchy")
    fails("categories where there are none", ["select", path("letters"), "a > b"], "no hierarchy")
    fails("no such file", ["select", path("letters") + "x", "a"], "no such file")
    with open(path("letters"), "rb") as file:
        done = run(["select", "-", "**/d"], stdin=file)
    report("standard input, for people",
           "" if done.stdout == b"a/c/d  [60,80]  20 ns\n\n1 of 7 spans\n" else repr(done))


def main():
    with tempfile.TemporaryDirectory() as directory:

        def path(trace):
            return os.path.join(directory, trace)

        for trace, text in TRACES.items():
            with open(path(trace), "w", encoding="utf-8") as file:
                file.write("# a trace\n" + text)
        test_spans(path)
        test_positions(path)
        test_errors(path)
        test_arguments(path)
    print("1..%d" % len(results))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
