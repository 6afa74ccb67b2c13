#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
clew pair on traces with known answers: what becomes of the events, what is
written, and what is refused. Prints TAP.
"""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import _capture  # noqa: E402  pylint: disable=wrong-import-position
from _trace import CLEW, Tap, ask, run  # noqa: E402  pylint: disable=wrong-import-position

tap = Tap()

TALK = """
span client [0,100]
span server [0,100]
mark client send:17@10
mark server recv:17@15
mark server send:18@70
mark client recv:18@75
mark client send:19@90
mark server started@0
"""
LOCK = """
span a [0,100]
span b [0,100]
mark a unlock\\ 0x10@10
mark b locked\\ 0x10@5
mark b locked\\ 0x10@20
mark a unlock\\ 0x10@30
mark b locked\\ 0x10@30
mark b locked\\ 0x10@50
mark a unlock\\ 0x10@60
"""
LOCK_OPTIONS = [
    "--type", "unlock", "--origins", "^unlock (0x\\w+)$", "--destinations", "^locked (0x\\w+)$"
]
BARRIER = """
span a [0,100]
span b [0,100]
mark a arrive:B@10
mark b arrive:B@20
mark a leave:B@30
mark b leave:B@30
mark a arrive:B@60
mark b arrive:B@50
mark a leave:B@70
mark b leave:B@80
"""
BARRIER_OPTIONS = [
    "--origins", "^arrive:(.*)", "--destinations", "^leave:(.*)", "--type", "barrier"
]
ITEMS = """
span maker [0,100]
span maker/make\\ 1 [10,20]
span maker/make\\ 2 [30,40]
span user [0,100]
span user/use\\ 2 [50,60]
span user/use\\ 1 [70,80]
"""
SEQUENCES = """
unit us
span a [0,1]
span b [0,1]
mark a send:l\\ 1@0.5
mark b recv:l\\ 2@0.5
mark a send:l\\ 3@0.5
mark b recv:l\\ 4@0.5
"""
BACKWARD = "span a [0,100]\nspan b [0,100]\nmark a send:x@50\nmark b recv:x@20\nmark b recv:x@60\n"


def dependencies(trace, options=()):
    """(the rows of the answer, the dependencies that were written but for calls and returns)."""
    with tempfile.TemporaryDirectory() as directory:
        output = os.path.join(directory, "out.ctrace")
        answer = ask(trace, ["pair", "-o", output] + list(options))
        if isinstance(answer, str):
            return answer, None
        with open(output, encoding="utf-8") as file:
            written = file.read()
    dump = ask(written, ["dump"])

    def ends(dependency, side, moment):
        spans = {span["path"]: span for span in dump["spans"]}
        return [(end["span"], spans[end["span"]]["elementary"][end["es"]][moment])
                for end in dependency[side]]

    made = [(d["type"], d["mode"], d["attributes"].get("key"), ends(d, "origins", "end"),
             ends(d, "destinations", "start")) for d in dump["dependencies"]
            if d["type"] not in ("call", "return")]
    return answer["types"], made


def row(kind, origins, destinations, created, paired, more=(0, 0, 0, 0)):
    keys = ("type", "origins", "destinations", "created", "paired", "unpaired_origins",
            "unpaired_destinations", "dropped", "backward")
    return dict(zip(keys, (kind, origins, destinations, created, paired) + more))


SENT = [("send", "single", "17", [("client", 10)], [("server", 15)]),
        ("send", "single", "18", [("server", 70)], [("client", 75)])]
# name, trace, options, rows, dependencies (None: not looked at)
CASES = [
    ("marks with a key", TALK, [], [row("send", 3, 2, 2, 2, (1, 0, 1, 0))], SENT),
    ("the other side is kept, too", TALK, ["--keep-without-destination", "--type",
                                           "rpc"], [row("rpc", 3, 2, 3, 2)],
     [("rpc", ) + d[1:] for d in SENT] + [("rpc", "single", "19", [("client", 90)], [])]),
    ("from one span only", TALK, ["--from", "client", "--to",
                                  "server"], [row("send", 2, 1, 1, 1, (1, 0, 1, 0))], SENT[:1]),
    ("to one span only", TALK, ["--to", "(^serv)"], [row("send", 3, 1, 1, 1,
                                                         (2, 0, 2, 0))], SENT[:1]),
    ("a key comes again", LOCK, LOCK_OPTIONS + ["--reuse"],
     [row("unlock", 3, 4, 2, 2,
          (1, 1, 2, 0))], [("unlock", "single", "0x10", [("a", 10)], [("b", 20)]),
                           ("unlock", "single", "0x10", [("a", 30)], [("b", 30), ("b", 50)])]),
    ("and all are kept", LOCK,
     LOCK_OPTIONS + ["--reuse", "--keep-without-origin", "--keep-without-destination"],
     [row("unlock", 3, 4, 4,
          2)], [("unlock", "single", "0x10", [], [("b", 5)]),
                ("unlock", "single", "0x10", [("a", 10)], [("b", 20)]),
                ("unlock", "single", "0x10", [("a", 30)], [("b", 30), ("b", 50)]),
                ("unlock", "single", "0x10", [("a", 60)], [])]),
    ("all of a key, of which any will do", LOCK, LOCK_OPTIONS + ["--mode", "or"],
     [row("unlock", 3, 4, 1, 1,
          (0, 0, 0, 1))], [("unlock", "or", "0x10", [("a", 10), ("a", 30),
                                                     ("a", 60)], [("b", 5), ("b", 20), ("b", 30),
                                                                  ("b", 50)])]),
    ("rounds of a barrier", BARRIER, BARRIER_OPTIONS + ["--mode", "and", "--reuse"],
     [row("barrier", 4, 4, 2, 2)], [("barrier", "and", "B", [("b", 20), ("a", 10)], [("a", 30),
                                                                                     ("b", 30)]),
                                    ("barrier", "and", "B", [("a", 60), ("b", 50)], [("a", 70),
                                                                                     ("b", 80)])]),
    ("names of spans", ITEMS, ["--spans", "--origins", "^make (.*)", "--destinations",
                               "^use (.*)"], [row("send", 2, 2, 2, 2)],
     [("send", "single", "1", [("maker/make\\ 1", 20)], [("user/use\\ 1", 70)]),
      ("send", "single", "2", [("maker/make\\ 2", 40)], [("user/use\\ 2", 50)])]),
    ("sequence numbers", SEQUENCES, [
        "--reuse", "--origins", "send:(l) (?<sequence>\\d+)", "--destinations",
        "recv:(?<key>l) (?P<sequence>\\d+)"
    ], [row("send", 2, 2, 2, 2)], [("send", "single", "l", [("a", 500)], [("b", 500)])] * 2),
    ("without them origins come first", SEQUENCES,
     ["--reuse", "--origins", "send:(l)", "--destinations",
      "recv:(l)"], [row("send", 2, 2, 1, 1,
                        (1, 0, 1, 0))], [("send", "single", "l", [("a", 500)], [("b", 500),
                                                                                ("b", 500)])]),
    ("types in labels", TALK, [
        "--origins", "^(?<type>send):(?<key>1[78])", "--destinations", "^(?<type>)recv:(?<key>.*)",
        "--type", "other"
    ], [row("send", 2, 0, 0, 0, (2, 0, 2, 0)),
        row("other", 0, 2, 0, 0, (0, 2, 2, 0))], []),
    ("against time", BACKWARD, [], [row("send", 1, 2, 1, 1, (0, 0, 0, 1))],
     [("send", "single", "x", [("a", 50)], [("b", 20), ("b", 60)])]),
]


def test_cases():
    for name, trace, options, rows, made in CASES:
        got_rows, got_made = dependencies(trace, options)
        tap.same(name, got_rows, rows)
        tap.same(name + ": what is written", got_made, made)


def test_rest_stays():
    status, written, err = run(TALK, ["pair", "-o", "-"])
    tap.report(
        "the trace on standard output, alone",
        "" if status == 0 and not err and written.startswith("span client [0,100]\n") else repr(
            (status, written, err)))
    before, after = ask(TALK, ["dump"]), ask(written, ["dump"])

    def marks(dump):
        return sorted((s["path"], m["label"], m["at"]) for s in dump["spans"]
                      for e in s["elementary"] for m in e["marks"])

    tap.same("no mark is lost", marks(after), marks(before))
    tap.same("spans stay", [(s["path"], s["start"], s["end"]) for s in after["spans"]],
             [(s["path"], s["start"], s["end"]) for s in before["spans"]])
    status, _, err = run(written, ["check"])
    tap.report("what comes out is consistent", "" if status == 0 else err)
    again, _ = dependencies(written, ["--type", "again", "--keep-without-destination"])
    tap.same("pairing what was paired", again, [row("again", 3, 2, 3, 2)])
    status, out, err = run(TALK, ["pair"])
    lines = out.splitlines()
    tap.report(
        "as text", "" if status == 0 and not err
        and lines[-1].split() == ["send", "3", "2", "2", "2", "1", "0", "1"] else repr(
            (status, out, err)))
    status, out, err = run(BACKWARD, ["pair"])
    tap.report(
        "against time, as text",
        "" if status == 0 and "1 destination is before the origin" in out else repr(
            (status, out, err)))


def test_into_itself():
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "t.ctrace")
        with open(path, "w", encoding="utf-8") as file:
            file.write(TALK)
        done = subprocess.run([CLEW, "pair", path, "-o", path],
                              capture_output=True,
                              text=True,
                              check=False,
                              timeout=60)
        with open(path, encoding="utf-8") as file:
            written = file.read()
        tap.report(
            "a file into itself", "" if done.returncode == 0
            and "dep send client@10 -> server@15 key=17" in written else repr((done, written)))
        done = subprocess.run([CLEW, "pair", path, "-o",
                               os.path.join(directory, "no", "where")],
                              capture_output=True,
                              text=True,
                              check=False,
                              timeout=60)
        tap.report("no place to write to",
                   "" if done.returncode == 3 and "no/where" in done.stderr else repr(done))


def test_capture():
    """
    CPUs have marks with the names of what runs on them: the turns of one thread
    after another.
    """
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "mutex.clew")
        _capture.make("mutex", path)
        options = [
            "--origins", "^(worker-101)$", "--destinations", "^(worker-101)$", "--type", "turn",
            "--reuse", "--from", "cpu0"
        ]
        done = subprocess.run([CLEW, "pair", path, "--json"] + options,
                              capture_output=True,
                              text=True,
                              check=False,
                              timeout=60)
        rows = json.loads(done.stdout)["types"] if done.returncode == 0 else repr(done)
        good = isinstance(rows, list) and len(
            rows) == 1 and rows[0]["type"] == "turn" and rows[0]["created"] == rows[0]["paired"] > 0
        tap.report("a capture", "" if good else repr(rows))
        done = subprocess.run([CLEW, "pair", path],
                              capture_output=True,
                              text=True,
                              check=False,
                              timeout=60)
        tap.report("a capture without such marks",
                   "" if done.returncode == 1 and "no label matches" in done.stderr else repr(done))


def test_errors():
    for name, trace, arguments, status, word in (
        ("nothing matches", TALK, ["--origins", "^x(.*)", "--destinations",
                                   "^y(.*)"], 1, "no label matches"),
        ("two origins", LOCK, LOCK_OPTIONS, 2,
         "key '0x10': it has several origins"), ("no group", TALK, ["--origins", "^send"], 2,
                                                 "--origins, at byte 5: no group holds the key"),
        ("no expression", TALK, ["--destinations", "(recv"], 2, "--destinations, at byte 5"),
        ("no sequence number", SEQUENCES,
         ["--origins", "send:(l) ?(?<sequence>.*)", "--destinations", "recv:(?<sequence>.)(.*)"], 2,
         "no number"), ("no such mode", TALK, ["--mode", "xor"], 2,
                        "'xor'"), ("no name of a type", TALK, ["--type", ""], 2,
                                   "--type"), ("no such span", TALK, ["--from", "nobody"], 2,
                                               "--from"), ("a moment in place of spans", TALK,
                                                           ["--to", "client @ 0%"], 2, "--to"),
        ("no pattern", TALK, ["--from", "a//b"], 2,
         "--from, at byte 2"), ("two things for standard output", TALK, ["--json", "-o", "-"], 2,
                                "--json"), ("no trace", "span\n", [], 2, "standard input:1:")):
        got, out, err = run(trace, ["pair"] + arguments)
        tap.report(
            "refused: " + name,
            "" if got == status and word in err and err.startswith("clew: ") and not out else repr(
                (got, out, err)))
    status, out, err = run(TALK,
                           ["pair", "--json", "--origins", "^x(.*)", "--destinations", "^y(.*)"])
    tap.same("nothing matches, in JSON", (status, json.loads(out)["types"]), (1, []))


for test in (test_cases, test_rest_stays, test_into_itself, test_capture, test_errors):
    test()
sys.exit(tap.end())
