#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
clew stitch and clew annotate on traces with known answers: what is written, the
clocks, names, captures, and what is refused. Prints TAP.
"""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import _capture  # noqa: E402  pylint: disable=wrong-import-position
from _trace import CLEW, TRACE1, Tap, ask, run  # noqa: E402  pylint: disable=wrong-import-position

tap = Tap()
directory = tempfile.TemporaryDirectory()


def put(name, text):
    path = os.path.join(directory.name, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def clew(arguments, trace=None):
    done = subprocess.run([CLEW] + arguments,
                          input=trace.encode() if trace else None,
                          stdin=None if trace else subprocess.DEVNULL,
                          capture_output=True,
                          timeout=60,
                          check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


CLIENT = put(
    "client", """
span client [0,100]
mark client send:1@10
mark client send:2@50
mark client recv:3@60
""")
SERVER = put(
    "server", """
unit us
span server [0,0.1]
mark server recv:1@0.005
mark server send:3@0.03
mark server recv:2@0.04
""")
MATCH = ["--match", "^send:(.*)$ => ^recv:(.*)$"]
BOTH = """span client [0,100]
span server [20,120]
dep send client@10 -> server@25 evidence=exact key=1
dep send client@50 -> server@60 evidence=exact key=2
dep send server@50 -> client@60 evidence=exact key=3
simplify
mark client send:1@10:1
mark client send:2@50:1
mark client recv:3@60:1
mark server recv:1@25:1
mark server send:3@50:1
mark server recv:2@60:1
"""


def clocks(arguments):
    """[(offset, source, error, least, most)] of each trace but the first, or what was said."""
    status, out, err = clew(["stitch"] + arguments + ["--json"])
    if status or err:
        return "exit status %d: %s" % (status, err)
    return [(t["offset"], t["source"], t["error"], t["least"], t["most"])
            for t in json.loads(out)["traces"][1:]]


def test_written():
    status, out, err = clew(["stitch", CLIENT, SERVER, "-o", "-"] + MATCH)
    tap.same("two traces, the marks of which tell of messages", (status, out), (0, BOTH))
    tap.report("what else is printed goes to standard error then",
               "" if "at most 10 ns off" in err else repr(err))
    output = os.path.join(directory.name, "both")
    status, out, err = clew(["stitch", CLIENT, SERVER, "-o", output] + MATCH)
    with open(output, encoding="utf-8") as file:
        tap.same("the same to a file", file.read(), BOTH)
    tap.same("and what is said of it", (status, out, err), (
        0, "trace 1  %s: its clock is that of all\n"
        "trace 2  %s: offset 20 ns (+20 ns), at most 10 ns off: dependencies both ways leave 10 .. 30; 2 in, 1 out\n"
        "       3 dependencies  match dependency(send) from marks(^send:(.*)$) to marks(^recv:(.*)$)\n"
        "2 spans, 8 elementary spans, 3 dependencies, 6 marks\n" % (CLIENT, SERVER), ""))
    tap.same("what is written is consistent", clew(["check", output])[0], 0)
    statements = put(
        "statements",
        "# of a file\nmatch dependency(send)\n  from marks(^send:(.*)$) to marks(^recv:(.*)$);\n")
    tap.same("statements from a file",
             clew(["stitch", CLIENT, SERVER, "-o", "-", "-f", statements])[1], BOTH)
    with open(CLIENT, encoding="utf-8") as file:
        tap.same("one of the traces from standard input",
                 clew(["stitch", "-", SERVER, "-o", "-"] + MATCH, file.read())[1], BOTH)
    tap.same("the type of matches",
             clew(["stitch", CLIENT, SERVER, "-o", "-", "--type", "rpc"] + MATCH)[1],
             BOTH.replace("dep send", "dep rpc"))


def test_clocks():
    there = ["-e", "add dependency(x) from position(client @ 50%) to position(server @ 10%);"]
    back = ["-e", "add dependency(x) from position(server @ 20%) to position(client @ 70%);"]
    tap.same("both ways", clocks([CLIENT, SERVER] + there + back), [(45, "between", 5, 40, 50)])
    tap.same("one way", clocks([CLIENT, SERVER] + there), [(40, "least", None, 40, None)])
    tap.same("the other way", clocks([CLIENT, SERVER] + back), [(50, "most", None, None, 50)])
    tap.same("nothing known", clocks([CLIENT, SERVER]), [(0, "assumed", None, None, None)])
    tap.same("given", clocks([CLIENT, SERVER, "--offset", "-1.5us"] + there),
             [(-1500, "given", None, None, None)])
    tap.same("given as a bare number, by number",
             clocks([CLIENT, SERVER, CLIENT, "--offset", "2=7", "--offset", "3=-8"]),
             [(7, "given", None, None, None), (-8, "given", None, None, None)])
    late = ["-e", "add dependency(x) from position(client @ 90%) to position(server @ 10%);"]
    tap.same("a contradiction", clocks([CLIENT, SERVER] + late + back),
             [(65, "conflict", 15, 80, 50)])
    for words, options in (("none leads back", there), ("none comes back", back),
                           ("as given; 1 in",
                            there + ["--offset", "1s"]), ("no dependency says anything", []),
                           ("contradict each other (at least 80, at most 50)",
                            late + back), ("2 effects are before the cause", late + back)):
        status, out, err = clew(["stitch", CLIENT, SERVER] + options)
        tap.report("text: " + words, "" if status == 0 and words in out and not err else repr(
            (status, out, err)))
    third = put("third", "span third [0,100]\n")
    chain = [
        "-e", "add dependency(x) from position(server @ 50%) to position(third @ 0%);", "-e",
        "add dependency(x) from position(third @ 10%) to position(server @ 80%);"
    ]
    tap.same("by way of another", clocks([CLIENT, SERVER, third] + there + back + chain),
             [(45, "between", 5, 40, 50), (105, "between", 15, 90, 120)])


def test_names():
    one = put("one", "hierarchy h\nspan x [0,10] in h:host\nspan own [0,10] in h:host2\n")
    two = put("two", "hierarchy h other\nspan x [0,10] in h:host other:o\n")

    def paths(when):
        output = os.path.join(directory.name, "named")
        clew(["stitch", one, two, "-o", output, "--prefix", when])
        dump = json.loads(clew(["dump", output, "--json"])[1])
        return [s["path"] for s in dump["spans"]], {
            h: {c["path"]: c["spans"]
                for c in categories}
            for h, categories in dump["categories"].items()
        }

    tap.same("a number where names meet", paths("conflict"), (["1:x", "own", "2:x"], {
        "h": {"1:host": ["1:x"], "host2": ["own"], "2:host": ["2:x"]}, "other": {"o": ["2:x"]}
    }))
    tap.same("everywhere", paths("always"), (["1:x", "1:own", "2:x"], {
        "h": {"1:host": ["1:x"], "1:host2": ["1:own"], "2:host": ["2:x"]}, "other":
        {"2:o": ["2:x"]}
    }))
    tap.same(
        "nowhere", paths("never"),
        (["x", "own", "x"], {"h": {"host": ["x", "x"], "host2": ["own"]}, "other": {"o": ["x"]}}))


def test_kept():
    text = """span a [0,100] shape=round
wait a 20..40 futex holder=a
suspend a 50..60
mark a here@70
dep rpc a@80 -> - call=9 from_side=yes
"""
    other = "span b [0,100]\nspan b/c [10,30]\ndep rpc - -> b@50 call=9 to_side=yes evidence=exact\n"
    status, out, _ = clew([
        "stitch",
        put("kept1", text),
        put("kept2", other), "-o", "-", "--offset", "1000", "-e",
        "join dependencies(all) by key(call);"
    ])
    tap.same("waits, marks, attributes, halves", (status, out), (0, """\
span a [0,100] shape=round
wait a 20..40 futex holder=a
suspend a 50..60
span b [1000,1100]
dep rpc a@80 -> b@1050 call=9 from_side=yes to_side=yes evidence=exact
span b/c [1010,1030]
simplify
mark a here@70
"""))


def test_captures():
    mutex = os.path.join(directory.name, "mutex.clew")
    _capture.make("mutex", mutex)
    both = os.path.join(directory.name, "twice")
    status, out, err = clew(["stitch", mutex, mutex, "--offset", "5ms", "-o", both])
    tap.report("a capture and itself, 5 ms later", "" if status == 0 and out and not err else repr(
        (status, out, err)))

    def waits(path, prefix, later):
        rows = [
            w for w in json.loads(clew(["waits", path, "--idle", "--sort", "start", "--json"])[1])
            ["waits"] if not w["open"] and w["comm"].startswith(prefix)
        ]
        return [(w["tid"], w["start"] - later, w["end"] - later, w["kind"], w["runqueue_ns"], [
            (h["tid"], h["from"] - later, h["to"] - later) for h in w["holders"]
        ], (w["ended_by"]["tid"], w["ended_by"]["at"] - later)) for w in rows]

    alone = waits(mutex, "", 0)
    tap.report("there are waits to compare", "" if len(alone) == 3 else repr(alone))
    tap.same("the first one's waits", waits(both, "1:", 0), alone)
    tap.same("the second one's", waits(both, "2:", 5000000), alone)

    def path(trace, name, prefix):
        answer = json.loads(
            clew(["path", trace, "--from", name + "@0%", "--to", name + "@100%", "--json"])[1])
        return [(s["end"] - s["start"], s["kind"], s["span"].replace(prefix, ""))
                for s in answer["segments"]]

    tap.same("the second one's critical path", path(both, "2:worker-101", "2:"),
             path(mutex, "worker-101", "2:"))

    def blame(trace, prefix):
        pairs = json.loads(clew(["blame", trace, "--json"])[1])["pairs"]
        return sorted(
            (p["victim"].replace(prefix, ""), p["antagonist"].replace(prefix, ""), p["ns"])
            for p in pairs if p["victim"].startswith(prefix))

    tap.same("whom the first one's threads waited for", blame(both, "1:"), blame(mutex, ""))
    tap.same("and the second one's", blame(both, "2:"), blame(mutex, ""))


def test_refused():
    for name, arguments, words in (("one trace", [CLIENT], "too few"), ("no such file", [
            CLIENT, "/nowhere/x"
    ], "/nowhere/x"), ("standard input twice", ["-", "-"],
                       "standard input"), ("a trace that is none", [
                           CLIENT, put("bad", "nonsense\n")
                       ], "bad:1:1"), ("an unknown statement", [
                           CLIENT, SERVER, "-e", "stitch all;"
                       ], "byte 0"), ("a position that is nowhere", [
                           CLIENT, SERVER, "-e",
                           "add dependency(x) from position(nobody @ 0%) to position(server @ 0%);"
                       ], "byte 32"), ("an error behind another option",
                                       [CLIENT, SERVER, "-e", "# nothing", "-e",
                                        "add x;"], "--edges, at byte 4"), ("an error in a file", [
                                            CLIENT, SERVER, "-f",
                                            put("wrong", "\n\nadd x;\n")
                                        ], "at byte 6"), ("no such file of statements",
                                                          [CLIENT, SERVER, "-f",
                                                           "/nowhere/x"], "/nowhere/x"),
                                   ("a directory of statements",
                                    [CLIENT, SERVER, "-f", directory.name], directory.name),
                                   ("a match of nothing", [CLIENT, SERVER, "--match",
                                                           "a => "], "lacks"),
                                   ("an expression that is none", [CLIENT, SERVER, "--match", "[a"],
                                    "--match, at byte"), ("an offset that is none",
                                                          [CLIENT, SERVER, "--offset",
                                                           "soon"], "soon"),
                                   ("an offset of the first", [CLIENT, SERVER, "--offset", "1=3"],
                                    "1=3"), ("an offset of a trace that is not there",
                                             [CLIENT, SERVER, "--offset", "3=3"], "trace 3"),
                                   ("an offset beyond all times",
                                    [CLIENT, SERVER, "--offset", "9223372036854775800"],
                                    "--offset"), ("an unknown prefix",
                                                  [CLIENT, SERVER, "--prefix", "often"], "often"),
                                   ("an unknown hierarchy", [CLIENT, SERVER, "--hierarchy", "none"],
                                    "none"), ("both answers to standard output",
                                              [CLIENT, SERVER, "--json", "-o", "-"], "--json"),
                                   ):
        status, out, err = clew(["stitch"] + arguments)
        tap.report(
            "stitch: " + name,
            "" if status == 2 and not out and words in err and err.startswith("clew: ") else repr(
                (status, out, err)))
    status, out, err = clew(["stitch", CLIENT, SERVER, "-o", "/nowhere/x"])
    tap.report("stitch: no place to write to", "" if status == 3 and "/nowhere/x" in err else repr(
        (status, err)))
    for name, arguments, words in (("no rule", [], "no rule"), ("an unknown word", [
            "mark all;"
    ], "byte 5"), ("an unknown type", ["mark incoming dependencies(foo) of spans(**) as label(x);"],
                   "byte 27"), ("a pattern that is none",
                                ["mark incoming dependencies(all) of spans(a//b) as label(x);"
                                 ], "byte 43"), ("an unknown hierarchy", [
                                     "mark incoming dependencies(all) of spans(**) as label(x);",
                                     "--hierarchy", "none"
                                 ], "none"), ("both answers to standard output", [
                                     "mark incoming dependencies(all) of spans(**) as label(x);",
                                     "--json", "-o", "-"
                                 ], "--json"),
                                   ):
        status, out, err = run(TRACE1, ["annotate"] + arguments)
        tap.report(
            "annotate: " + name,
            "" if status == 2 and not out and words in err and err.startswith("clew: ") else repr(
                (status, out, err)))


def test_annotate():
    rules = "mark outgoing dependencies(spawn) of spans(**) as label(go);"
    status, out, err = run(TRACE1, [
        "annotate", rules, "-r", "mark incoming dependencies(all) of spans(s0.1.0) as label(in-);",
        "-o", "-"
    ])
    marks = [line for line in out.splitlines() if line.startswith("mark ")]
    tap.same("marks of two rules", (status, marks, err),
             (0, [
                 "mark s0.0.0 start@0", "mark s0.0.0 end@100", "mark s0.0.0/0 go0@20",
                 "mark s0.0.0/0 go1@30", "mark s0.1.0 in-0@30", "mark s0.1.0 in-1@40",
             ], "       2 marks  mark incoming dependencies(all) of spans(s0.1.0) as label(in-)\n"
              "       2 marks  mark outgoing dependencies(spawn) of spans(**) as label(go)\n"))
    tap.same("they are positions then",
             ask(out, ["select", "s0.1.0 @ (^in-1$)"])["positions"],
             [{"span": "s0.1.0", "es": 0, "at": 40}])
    tap.same("as JSON", ask(TRACE1, ["annotate", rules]),
             {"format": 2, "rules": [{"text": rules[:-1], "marks": 2}]})
    tap.same(
        "in a category",
        ask(TRACE1, [
            "annotate",
            "mark incoming dependencies(send,signal) of spans(p0/t0.1/** > **) as label(x);"
        ])["rules"][0]["marks"], 1)
    tap.same("rules from a file",
             clew(["annotate", "-", "-f", put("rules", rules), "-o", "-"], TRACE1)[1].count(" go"),
             2)


if __name__ == "__main__":
    test_written()
    test_clocks()
    test_names()
    test_kept()
    test_captures()
    test_annotate()
    test_refused()
    directory.cleanup()
    sys.exit(tap.end())
