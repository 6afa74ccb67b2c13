#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
What docs/clew.proto describes means what clew says of the same capture. protoc reads the file by
that description. Prints TAP.
"""
import collections
import glob
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import _capture  # noqa: E402  pylint: disable=wrong-import-position
from _export import (ask, clew, difference, export, functions_told, made, place)  # noqa: E402  pylint: disable=wrong-import-position
from _trace import HERE, Tap  # noqa: E402  pylint: disable=wrong-import-position

tap = Tap()
DOCS = os.path.join(HERE, "..", "..", "docs")


# ---- protoc ----


def decode(data):
    done = subprocess.run(
        ["protoc", "--decode=clew.Trace", "-I" + DOCS, "-I/usr/include", "clew.proto"],
        input=data,
        capture_output=True,
        timeout=60,
        check=False)
    assert not done.returncode and not done.stderr, done.stderr[:300]
    return done.stdout.decode()


def unquoted(text):
    """A string as protoc writes it."""
    raw = re.sub(rb"\\([0-7]{3}|.)",
                 lambda m: bytes([int(m[1], 8)])
                 if len(m[1]) == 3 else {b"n": b"\n", b"t": b"\t", b"r": b"\r"}.get(m[1], m[1]),
                 text[1:-1].encode())
    return raw


class Message(collections.defaultdict):
    """The fields of a message, each a list."""

    def __init__(self):
        super().__init__(list)

    def one(self, name, default=None):
        assert len(self.get(name, ())) <= 1, name
        return self[name][0] if name in self else default

    def text(self, name):
        return self.one(name, b"").decode()


def parse(text):
    stack = [Message()]
    for line in text.splitlines():
        name, _, value = line.strip().partition(" ")
        if name == "}":
            stack.pop()
        elif value == "{":
            stack.append(Message())
            stack[-2][name].append(stack[-1])
        else:
            name = name.rstrip(":")
            stack[-1][name].append(
                unquoted(value) if value[0] == '"' else int(value) if re.
                fullmatch(r"-?\d+", value) else value)
    assert len(stack) == 1
    return stack[0]


class Shown:
    """A file that was read as a stream: whatever an event refers to was there before."""

    def __init__(self, data):
        self.threads, self.functions, self.calls, self.returns = {}, {}, {}, {}
        self.order, self.losses, self.problem = [], [], ""
        packets = parse(decode(data))["packet"]
        assert "capture" in packets[0], "the capture comes first"
        self.wall = packets[0].one("capture").one("wall_minus_monotonic_ns", 0)
        for packet in packets:
            (kind, (message, )), = packet.items()
            if kind in ("thread", "function"):
                known = self.threads if kind == "thread" else self.functions
                assert message.one("id") not in known, "described twice"
                known[message.one("id")] = message
            elif kind == "loss":
                self.losses.append(message)
            elif kind != "capture":
                self.take_event(kind, message)

    def take_event(self, kind, message):
        at = self.at(message)
        if self.order and at < self.order[-1]:
            self.problem = self.problem or "%s at %d after %d" % (kind, at, self.order[-1])
        self.order.append(at)
        if kind == "function_return":
            call = message.one("call")
            assert call in self.calls and call not in self.returns, "an end without a begin"
            if any(c.one("parent") == call and n not in self.returns and not late(c)
                   for n, c in self.calls.items()):
                self.problem = self.problem or "call %d ends before one in it" % call
            self.returns[call] = message
            return
        assert message.one("thread") in self.threads, "no such thread"
        assert message.one("function") in self.functions, "no such function"
        assert message.one("id") not in self.calls, "it begins twice"
        parent = message.one("parent")
        if parent and (parent not in self.calls or parent in self.returns):
            self.problem = self.problem or "call %d begins outside of %d" % (message.one("id"),
                                                                             parent)
        self.calls[message.one("id")] = message

    def at(self, message, name="time"):
        """ns of the monotonic clock."""
        time = message.one(name)
        return time.one("seconds", 0) * 10**9 + time.one("nanos", 0) - self.wall

    def tid(self, message):
        return self.threads[message.one("thread")].one("tid")

    def function(self, call):
        return self.functions[call.one("function")]

    def of(self, kind):
        return [(call, self.returns.get(number)) for number, call in self.calls.items()
                if self.function(call).one("kind") == kind]


def late(call):
    """True if a call may end after the one that it lies in."""
    return call.one("correlation", Message()).one("asynchronous")


# ---- functions, by clew spans ----


def value_shown(value):
    if value is None:
        return None
    if "address" in value:
        return "0x%x" % value.one("address")
    if "text" in value:
        return value.text("text")
    return value.one("number", value.one("unsigned_number"))


def frames_shown(shown):
    found = collections.Counter()
    for call, end in shown.of("TRACED"):
        parent = call.one("parent")
        more = end or Message()
        found[(shown.function(call).text("name"), shown.tid(call), shown.at(call),
               shown.at(end) if end else None, shown.tid(end) if end else None,
               end.one("end").lower().replace("_", "-") if end else "open",
               shown.at(shown.calls[parent]) if parent else None,
               tuple((v.text("name"), value_shown(v)) for v in call["argument"]),
               value_shown(more.one("result")), call.one("inherited") == "true",
               more.one("inferred") == "true", more.one("inclusive") == "true",
               more.one("self_ns", 0), more.one("probe_ns", 0))] += 1
    return found


def frames_told(capture):
    if not functions_told(capture):
        return collections.Counter()
    found = collections.Counter()
    for f in ask(capture, "spans", "--list")["list"]:
        is_over = f["end"] is not None
        found[(f["name"], f["start_tid"], f["start"], f["end"], f["end_tid"] if is_over else None,
               f["closed"], f["parent"], tuple(f["args"].items()), f["ret"], f["inherited"],
               f["inferred"], f["inclusive"], f["self_ns"] if is_over else 0,
               f["probe_ns"] if is_over else 0)] += 1
    return found


# ---- announced calls, by clew dump and clew edges ----


def descriptors(listed):
    return tuple((d.text("type"), d.text("value")) for d in listed)


def calls_shown(shown):
    found = collections.Counter()
    for call, end in shown.of("ANNOUNCED"):
        joined = call.one("correlation")
        function = shown.function(call)
        assert function.text("name") == function.text("interface") + "." + function.text(
            "operation")
        found[(shown.tid(call), shown.at(call), shown.at(end) if end else None,
               joined.one("token", 0), function.text("name"), descriptors(joined["key"]),
               descriptors(joined["attribute"]), joined.text("calls"),
               joined.one("asynchronous") == "true")] += 1
    return found


def calls_dumped(capture):
    """Announced calls by the announcements in the dump, each joined to its end by the token."""
    rows = []
    for span in ask(capture, "dump")["spans"]:
        for row in re.split(r"(?<!\\),", span["attributes"].get("announced", "")):
            words = row.split(" ")
            if row:
                rows.append((*map(int, words[:4]), int(span["attributes"]["tid"]),
                             span["attributes"]["pid"], [w[1:] for w in words[4:]]))
    found, begun = collections.Counter(), {}
    for _, at, token, ends, tid, pid, words in sorted(rows):
        if ends:
            found[begun.pop((pid, token)) + (at, )] += 1
            continue
        key = tuple(
            (t if "/" in t else "%s/%s" % (words[0], t), v)
            for t, _, v in (w.partition("=") for w in words[2:]
                            if "=" in w and w[0] != "@" and not w.startswith("calls=")))
        attributes = tuple(tuple(w[1:].split("=", 1)) for w in words[2:] if w[0] == "@")
        calls = "".join(w[6:] for w in words if w.startswith("calls="))
        begun[pid, token] = (tid, at, token, ".".join(words[:2]), key, attributes, calls, "async"
                        in words)
    for call in begun.values():
        found[call + (None, )] += 1
    return collections.Counter({(*c[:2], c[8], *c[2:8]): number for c, number in found.items()})


def relations_shown(shown):
    """What calls are for beside the one that they lie in."""
    found = collections.Counter()
    for call, _ in shown.of("ANNOUNCED"):
        joined = call.one("correlation")
        if "caller" in joined:
            callers = [shown.calls[number] for number in joined["caller"]]
            found[(shown.tid(call), shown.at(call), shown.function(call).text("name"),
                   tuple(sorted((shown.tid(c), shown.at(c)) for c in callers)),
                   joined.one("evidence").lower(), joined.one("bridged") == "true")] += 1
    return found


def relations_told(capture):
    found = collections.Counter()
    for edge in ask(capture, "edges", "--idle", "--self")["edges"]:
        call, caller, lower = edge.get("call"), edge["from"][0], edge["to"][0]
        # A call and the one that it lies in meet at the begin of the former.
        if edge["type"] == "call" and (caller["tid"], caller["at"]) != (lower["tid"], lower["at"]):
            found[(lower["tid"], call["begin"], "%s.%s" %
                   (call["interface"], call["operation"]),
                   tuple(sorted((f["tid"], f["at"]) for f in edge["from"])), edge["evidence"],
                   edge["bridged"])] += 1
    return found


# ---- tests ----


def test_capture(name, capture):
    data = export(capture, "proto")
    shown = Shown(data)
    tap.report("%s: functions" % name, difference(frames_shown(shown), frames_told(capture)))
    tap.report("%s: announced calls" % name, difference(calls_shown(shown), calls_dumped(capture)))
    tap.report("%s: what calls are for" % name,
               difference(relations_shown(shown), relations_told(capture)))
    tap.report("%s: order of events" % name, shown.problem)
    return shown


HEAD = """meta kernel 6.1.0-test
meta host h
meta cpus 1
meta start 1000000000000
meta end 1000001000000
clock 1000000000000 1500000000000 1700000000999999999
user task 999999950000 task=1 process=1 tid=10 pid=10 comm="one" command="one"
user task 999999950000 task=2 process=1 tid=11 pid=10 comm="two" command="one"
user state 1000000010000 flags=runnable prev=1 next=1
user state 1000000010000 flags=runnable prev=2 next=2
"""


def written(name, lines):
    subprocess.run([_capture.MAKE_CAPTURE, place(name)],
                   input=(HEAD + lines).encode(),
                   check=True,
                   timeout=60)
    return place(name)


# Calls of no length at the end of the one that they lie in, one that goes on beyond it, one that
# another thread ends, one without a token's end, and two of one token.
NESTED = """0 announce 1000000100000 task=1 token=1 words="a x key=1 "
0 announce 1000000110000 task=1 token=2 words="b y key=1 @id=7 async "
0 announce 1000000200000 task=1 token=3 words="b z a/key=1 @traceparent=00-1-2-01 "
0 announce 1000000200000 task=1 token=4 words="c w "
0 announce 1000000200000 task=1 token=4 event=1 words=""
0 announce 1000000200000 task=1 token=3 event=1 words=""
0 announce 1000000200000 task=2 token=5 words="a x "
0 announce 1000000200000 task=1 token=1 event=1 words=""
0 announce 1000000300000 task=2 token=2 event=1 words=""
0 announce 1000000300000 task=1 token=1 words="a x key=\\xff\\x01\\xc3\\xa9 "
0 announce 1000000400000 task=1 token=1 event=1 words=""
"""


def test_nested():
    shown = test_capture("nested", written("nested", NESTED))
    calls = {
        (shown.function(c).text("name"), shown.at(c) - 10**12): c
        for c, _ in shown.of("ANNOUNCED")
    }
    first = calls["a.x", 100000].one("id")
    tap.same("nested: the calls that calls lie in",
             [(name, at, call.one("parent")) for (name, at), call in sorted(calls.items())
              if "parent" in call], [("b.y", 110000, first), ("b.z", 200000, first),
                                     ("c.w", 200000, calls["b.z", 200000].one("id"))])
    tap.same("nested: a second that turns", shown.at(calls["a.x", 100000]), 1000000100000)


def test_hostile():
    shown = Shown(export(place("nested"), "proto"))
    tap.same("a value that is no UTF-8", {
        d.text("value")
        for c, _ in shown.of("ANNOUNCED") for d in c.one("correlation")["key"]
    }, {"1", "\ufffd\x01\u00e9"})


def test_choice():
    capture = made("calls")
    whole, part = Shown(export(capture, "proto")), Shown(export(capture, "proto", "--tid", "20"))
    tap.same("--tid: calls", {n
                              for n, c in whole.calls.items() if whole.tid(c) == 20},
             set(part.calls))
    chosen = Shown(export(capture, "proto", "--from", "1000001000000", "--to", "1000001550000"))
    tap.same(
        "--from and --to: calls, with the same ids", set(chosen.calls), {
            n
            for n, c in whole.calls.items()
            if whole.at(c) <= 1000001550000 and whole.at(whole.returns[n]) >= 1000001000000
        })


def test_loss():
    shown = Shown(
        export(
            written("lossy", NESTED + "0 gap 1000000500000 from=1000000450000 count=7\n"),
            "proto"))
    tap.same("losses", [(loss.one("cpu", 0), shown.at(loss, "from"), shown.at(
        loss, "to"), loss.one("records", 0)) for loss in shown.losses],
             [(0, 1000000450000, 1000000500000, 7)])


def test_nothing():
    done = clew("export", made("locks"), "--to", "proto", "-o", place("nothing"))
    tap.same("a capture without calls",
             (done.returncode, done.stderr.count(b"\n"), os.path.exists(place("nothing"))),
             (1, 1, False))


for records in sorted(glob.glob(os.path.join(HERE, "*.records"))):
    with open(records, encoding="utf-8") as listed:
        if re.search(r"^\S+ (announce|function) ", listed.read(), re.MULTILINE):
            title = os.path.basename(records)[:-len(".records")]
            test_capture(title, made(title))
test_nested()
test_hostile()
test_choice()
test_loss()
test_nothing()
sys.exit(tap.end())
