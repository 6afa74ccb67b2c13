#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Traces of OpenTelemetry mean what `clew why` says: the critical path that backends compute of a
trace is the list of segments. Receivers that are slow, broken or strict get what the OTLP
specification says, and nothing else. Prints TAP.
"""
import collections
import ctypes.util
import glob
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import _otlp_decoder  # noqa: E402  pylint: disable=wrong-import-position
from _export import SHOWN, altered, ask, clew, export, hostile, made, made_busy, place  # noqa: E402  pylint: disable=wrong-import-position
from _otlp import Receiver, from_json, from_proto  # noqa: E402  pylint: disable=wrong-import-position
from _trace import CLEW, HERE, Tap  # noqa: E402  pylint: disable=wrong-import-position

tap = Tap()
ALL = ("--call", "*", "--slowest", "20")
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def critical_path(span, children, until):
    """
    As Jaeger computes it, the last part first: the child that ends last before a moment, and so on
    before its begin; what no child covers is the span's own.
    """
    path, at = [], until
    for child in sorted(children[span.id], key=lambda c: (c.end, c.start), reverse=True):
        if child.end > at or child.start == child.end:
            continue
        if child.end < at:
            path.append((span, child.end, at))
        path += critical_path(child, children, child.end)
        at = child.start
    if at > span.start:
        path.append((span, span.start, at))
    return path


def traces_of(spans):
    traces = collections.defaultdict(list)
    for span in spans:
        traces[span.trace].append(span)
    return traces


def problem_of(operation, spans):
    """Compares a trace with an operation of `clew why`."""
    known = {span.id: span for span in spans}
    roots = [span for span in spans if span.parent not in known]
    if len(roots) != 1 or len(known) != len(spans):
        return "%d roots, %d ids of %d spans" % (len(roots), len(known), len(spans))
    root = roots[0]
    if root.end - root.start != operation["total_ns"]:
        return "%d ns instead of %d" % (root.end - root.start, operation["total_ns"])
    ahead = root.start - operation["from"]
    children = collections.defaultdict(list)
    for span in spans:
        if (span.kind, span.status) != (1, 0) or span.resource["os.type"] != "linux":
            return "kind %r, status %r" % (span.kind, span.status)
        if span is not root:
            parent = known[span.parent]
            children[span.parent].append(span)
            if not parent.start <= span.start <= span.end <= parent.end:
                return "a span is not within its parent"
        for trace, cause, notes in span.links:
            if trace != span.trace or known[cause].parent != span.id:
                return "a link to something else than a child"
            told = known[cause].attributes
            if known[cause].end != span.end or any(
                    notes[key] != told[key] for key in ("clew.type", "clew.evidence")):
                return "a link to something that did not end it"
    told = [(s["start"], s["end"], s["kind"], s["tid"]) for s in operation["segments"] if s["ns"]]
    shown = [(start - ahead, end - ahead, span.attributes["clew.kind"],
              span.attributes["thread.id"])
             for span, start, end in reversed(critical_path(root, children, root.end))]
    return "" if shown == told else "path %r instead of %r" % (shown, told)


def test_otlp(name, capture):
    if clew("why", capture, "--call", "*", stdout=subprocess.DEVNULL).returncode:
        done = clew("export", capture, "--to", "otlp", "-o", place("none"), *ALL)
        tap.same("%s: no operation" % name, (done.returncode, os.path.exists(place("none"))),
                 (1, False))
        return
    data = export(capture, "otlp", *ALL)
    spans = from_json(data)
    told = ask(capture, "why", *ALL)["operations"]
    traces = traces_of(spans)
    tap.same("%s: a trace an operation" % name, len(traces), len(told))
    by_time = {}
    for trace in traces.values():
        by_time[min(s.attributes["clew.from"] for s in trace if "clew.from" in s.attributes),
                max(s.attributes["clew.to"] for s in trace if "clew.to" in s.attributes),
                trace[0].trace] = trace
    for number, operation in enumerate(told):
        fitting = [t for (start, end, _), t in by_time.items()
                   if (start, end) == (operation["from"], operation["to"])]
        problems = [problem_of(operation, trace) for trace in fitting]
        tap.report("%s: operation %d" % (name, number),
                   "" if "" in problems else (problems or ["there is none"])[0])
    tap.same("%s: protobuf" % name,
             from_proto(export(capture, "otlp", "--encoding", "protobuf", *ALL)), spans)
    tap.same("%s: the same ids again" % name, export(capture, "otlp", *ALL), data)
    tap.same("%s: one line" % name, data.count(b"\n"), 1)


def test_most():
    """A trace has at most so many spans: steps that are too short share them, and nothing is lost."""
    capture, choice = made_busy(3000), ("--pid", "200", "--call", "*", "--slowest", "1")
    operation = ask(capture, "why", *choice)["operations"][0]
    tap.same("the operation has many steps", len(operation["segments"]) > 9000, True)
    for most, arguments in ((2000, ()), (50, ("--max", "50"))):
        spans = from_json(export(capture, "otlp", *choice, *arguments))
        known, children = {span.id: span for span in spans}, collections.defaultdict(list)
        root = next(span for span in spans if span.parent not in known)
        outside = []
        for span in spans:
            if span is not root:
                children[span.parent].append(span)
                parent = known[span.parent]
                if not parent.start <= span.start <= span.end <= parent.end:
                    outside.append(span)
        shared = [span for span in spans if "clew.steps" in span.attributes]
        folded = sum(span.attributes["clew.steps"] for span in shared)
        path = critical_path(root, children, root.end)
        alone = [span for span, *_ in path if span not in shared]
        tap.same("at most %d spans" % most, most / 4 < len(spans) <= most, True)
        tap.same("%d: within their parents" % most, outside, [])
        tap.same("%d: all of the time" % most, sum(end - start for _, start, end in path),
                 operation["total_ns"])
        tap.same("%d: all of the steps" % most,
                 (folded + len(alone), root.attributes["clew.folded_steps"]),
                 (len(operation["segments"]), folded))
        tap.same("%d: a wait has what ended it" % most,
                 [span.name for span in spans if span.name == "socket" and not span.links], [])
        longest = max(operation["segments"], key=lambda s: s["ns"])["ns"]
        tap.same("%d: the longest step is alone" % most,
                 longest in [end - start for span, start, end in path if span in alone], True)
        sums = [re.findall(r"\((\d+) steps?\)", span.attributes["clew.text"]) for span in shared]
        tap.same("%d: its text has the sum of each cause" % most,
                 [sum(map(int, it)) for it in sums],
                 [span.attributes["clew.steps"] for span in shared])


def test_times(capture):
    """Times are those of the wall clock, by the readings of the capture."""
    span = from_json(export(capture, "otlp", *ALL))[0]
    with open(os.path.join(HERE, "locks.records"), encoding="utf-8") as file:
        clock = next(line.split() for line in file if line.startswith("clock "))
    tap.same("wall-clock time", span.start - span.attributes["clew.from"],
             int(clock[3]) - int(clock[1]))


def test_requests():
    """A request has the kind of its side, and both ends of its connection."""
    for comm, kind, name, count in (("client", 3, "request to 0.0.0.0:5000", 10),
                                    ("server", 2, "request at 0.0.0.0:5000", 10)):
        spans = from_json(export(made("usual"), "otlp", "--comm", comm))
        roots = [span for span in spans if "clew.from" in span.attributes]
        tap.same("requests of %s" % comm, [(span.kind, span.name) for span in roots],
                 [(kind, name)] * count)
        tap.same(
            "the connection of %s" % comm,
            [{key: value
              for key, value in span.attributes.items()
              if key.startswith(("server.", "client.", "network."))} for span in roots[:1]],
            [{"network.transport": "tcp", "network.type": "ipv4", "server.address": "0.0.0.0",
              "server.port": 5000, "client.address": "0.0.0.0", "client.port": 41000}])
        tap.same("only roots of %s are requests" % comm,
                 {span.kind for span in spans if span not in roots}, {1})
        tap.same("protobuf of %s" % comm,
                 from_proto(export(made("usual"), "otlp", "--comm", comm, "--encoding",
                                   "protobuf")), spans)


def test_also(capture):
    """A wait that several requests had to end for names the others."""
    several = [len(edge["from"]) - 1 for edge in ask(capture, "edges", "--idle")["edges"]
               if edge["type"] == "request" and len(edge["from"]) > 1]
    spans = from_json(export(capture, "otlp", "--call", "*", "--slowest", "1000"))
    also = {s.start: s.attributes["clew.also"] for s in spans if "clew.also" in s.attributes}
    tap.same("further requests", [text.count("; ") + 1 for text in also.values()], several)


def test_parent():
    """A trace is part of the application's own where a call has a traceparent."""
    words = 'words="app load kv/key=17 calls=kv "'
    for attribute, belongs in (("@traceparent=" + PARENT, True), ("traceparent=" + PARENT, True),
                               ("@traceparent=" + PARENT.upper(), False),
                               ("@traceparent=00-%s-b7ad6b7169203331-01" % ("0" * 32), False),
                               ("@traceparent=" + PARENT[:-3], False), ("@traceparent=", False)):
        capture = altered("calls", "parent", (words, words.replace("17 ", "17 %s " % attribute)))
        data = export(capture, "otlp", "--operation", "app.load", "--comm", "client", "--slowest",
                      "1")
        root = from_json(data)[0]
        tap.same("%s: in the application's trace" % attribute, (root.trace, root.parent),
                 (PARENT[3:35], PARENT[36:52]) if belongs else
                 (root.trace if root.trace != PARENT[3:35] else None, None))
    # A call in another process that is for it.
    capture = altered("calls", "parent",
                      (words, words.replace("17 ", "17 @traceparent=%s " % PARENT)))
    spans = from_json(export(capture, "otlp", "--operation", "kv.get", "--slowest", "5"))
    tap.same("the call that it is for", [s.parent for s in spans if s.trace == PARENT[3:35]][:1],
             [PARENT[36:52]])


def test_hostile(capture):
    for encoding, read in (("json", from_json), ("protobuf", from_proto)):
        spans = read(export(capture, "otlp", "--encoding", encoding, "--call", "*", "--slowest",
                            "50"))
        tap.same("%s: hostile names" % encoding,
                 (SHOWN in {s.attributes["thread.name"] for s in spans},
                  any("/" + SHOWN in str(s.attributes.get("clew.what")) for s in spans)),
                 (True, True))


def send(capture, url, *arguments, **environment):
    return clew("export", capture, "--to", "otlp", "--endpoint", url, *ALL, *arguments,
                env=dict(os.environ, no_proxy="127.0.0.1", **environment))


TAKEN = (200, {}, b"")


def outcome(done):
    """The exit status, and whether there was one line."""
    return done.returncode, done.stderr.count(b"\n")


def test_endpoint(capture):
    spans = from_json(export(capture, "otlp", *ALL))
    with Receiver(TAKEN) as receiver:
        done = send(capture, receiver.url, OTEL_EXPORTER_OTLP_HEADERS="x-key=a%20b,other=2")
        _, path, headers, body = receiver.requests[0]
        tap.same("protobuf is sent",
                 (outcome(done), path, headers["Content-Type"], from_proto(body)),
                 ((0, 1), "/v1/traces", "application/x-protobuf", spans))
        tap.same("further headers", (headers["x-key"], headers["other"]), ("a b", "2"))
        done = send(capture, receiver.url + "/own/path", "--encoding", "json")
        _, path, headers, body = receiver.requests[1]
        tap.same("JSON is sent", (outcome(done), path, headers["Content-Type"], from_json(body)),
                 ((0, 1), "/own/path", "application/json", spans))
    for first in ((503, {}, b""), (502, {}, b""), (504, {}, b""), (429, {}, b""), (0, {}, b"")):
        with Receiver(first, TAKEN) as receiver:
            done = send(capture, receiver.url)
            tap.same("%d first: tried again" % first[0],
                     (outcome(done), [r[3] for r in receiver.requests][1:], len(receiver.requests)),
                     ((0, 1), [receiver.requests[0][3]], 2))
    with Receiver((429, {"Retry-After": "2"}, b""), TAKEN) as receiver:
        send(capture, receiver.url)
        pause = receiver.requests[1][0] - receiver.requests[0][0]
        tap.report("Retry-After", "" if 1.9 < pause < 4 else "a pause of %.1f s" % pause)
    with Receiver((503, {}, b"")) as receiver:
        done = send(capture, receiver.url, "--patience", "3s")
        pauses = [two[0] - one[0] for one, two in zip(receiver.requests, receiver.requests[1:])]
        growing = all(two > 1.1 * one for one, two in zip(pauses, pauses[1:]))
        tap.report("pauses grow", "" if growing and len(pauses) > 1 and sum(pauses) < 4 else
                   "pauses of %r" % pauses)
        tap.same("no more patience", (outcome(done), b"503" in done.stderr), ((3, 1), True))
    for status in (400, 401, 404, 413, 500, 301):
        with Receiver((status, {}, b"")) as receiver:
            done = send(capture, receiver.url)
            tap.same("%d: not tried again" % status,
                     (outcome(done), len(receiver.requests), str(status).encode() in done.stderr),
                     ((3, 1), 1, True))
    partial = json.dumps({"partialSuccess": {"rejectedSpans": "7", "errorMessage": "too old"}})
    for encoding, answer in (("json", partial.encode()),
                             ("protobuf", b"\x0a\x0b\x08\x07\x12\x07too old")):
        with Receiver((200, {}, answer)) as receiver:
            done = send(capture, receiver.url, "--encoding", encoding)
            tap.same("%s: some spans are refused" % encoding,
                     (outcome(done), len(receiver.requests), b"7 spans" in done.stderr,
                      b"too old" in done.stderr), ((3, 1), 1, True, True))
    with Receiver(TAKEN, (400, {}, b""), (200, {}, answer)) as receiver:
        for _ in range(3):
            done = send(capture, receiver.url.replace("//", "//user:secret@") + "/x?key=secret")
            tap.same("a password is sent and not shown",
                     (receiver.requests[-1][2]["Authorization"] is not None,
                      b"secret" in done.stderr, b"user" in done.stderr), (True, False, False))
    start = time.monotonic()
    done = send(capture, "http://127.0.0.1:9", "--patience", "1s")
    tap.same("nobody listens", (outcome(done), time.monotonic() - start < 5), ((3, 1), True))
    with Receiver((503, {}, b"")) as receiver:
        done = send(capture, receiver.url, "--patience", "0s")
        tap.same("no patience at all: it is tried once", (outcome(done), len(receiver.requests)),
                 ((3, 1), 1))


def heed_interrupts():
    """Tests that run in the background ignore SIGINT, and what they start would as well."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_interrupted(capture):
    """It does not wait for a receiver that has no answer."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = "http://127.0.0.1:%d" % server.getsockname()[1]
        with subprocess.Popen([CLEW, "export", capture, "--to", "otlp", "--endpoint", url, *ALL],
                              stdin=subprocess.DEVNULL,
                              stderr=subprocess.PIPE,
                              preexec_fn=heed_interrupts) as sender:
            with server.accept()[0] as connection:
                connection.recv(1)
                sender.send_signal(signal.SIGINT)
                _, said = sender.communicate(timeout=30)
        tap.same("interrupted", (sender.returncode, said), (-signal.SIGINT, b""))


def test_decoder(name, capture):
    """OpenTelemetry's own decoder finds in protocol buffers what is in JSON."""
    with open(place("x.binpb"), "wb") as file:
        file.write(export(capture, "otlp", "--encoding", "protobuf", *ALL))
    read = _otlp_decoder.decode(place("x.binpb"))
    tap.report("%s: OpenTelemetry reads it" % name, read if read.startswith("!") else "")
    if not read.startswith("!"):
        tap.same("%s: what OpenTelemetry reads" % name, from_json(read),
                 from_json(export(capture, "otlp", *ALL)))


def test_arguments(capture):
    for arguments, words in ((("--endpoint", "ftp://x"), b"ftp://x"),
                             (("--endpoint", "http://"), b"names no machine"),
                             (("--endpoint", "http://127.0.0.1:9", "-o", "x"), b"-o"),
                             (("--encoding", "xml"), b"xml"),
                             (("--patience", "3s"), b"--endpoint")):
        done = clew("export", capture, "--to", "otlp", *ALL, *arguments)
        tap.same(" ".join(arguments), (outcome(done), words in done.stderr), ((2, 1), True))
    for url in ("http://u:secret@127.0.0.1:9", "http://u:sec/secret@127.0.0.1:9/v1/traces",
                "ftp://u:secret@x", "u:secret@x:4318", "http://u:secret@", "http://:sec@secret@h:9",
                "http://127.0.0.1:9/v1/traces?secret"):
        done = clew("export", capture, "--to", "otlp", *ALL, "--patience", "0s", "--endpoint", url)
        tap.same("%s: what may be a secret is not shown, and nothing else than a line is" % url,
                 (done.returncode in (2, 3), b"secret" in done.stderr, b"\x1b" in done.stderr,
                  done.stderr.count(b"\n")), (True, False, False, 1))
    done = clew("export", capture, "--to", "chrome", "--encoding", "json")
    tap.same("--encoding of another format", outcome(done), (2, 1))
    tap.same("by the file's name", from_proto(export_as(capture, "x.binpb")),
             from_json(export_as(capture, "x.json")))


def export_as(capture, name):
    clew("export", capture, "--to", "otlp", "-o", place(name), *ALL)
    with open(place(name), "rb") as file:
        return file.read()


for records in sorted(glob.glob(os.path.join(HERE, "*.records"))):
    title = os.path.basename(records)[:-len(".records")]
    if title not in ("empty", "own"):
        test_otlp(title, made(title))
tap.same("some waits have a link to what ended them",
         any(span.links for span in from_json(export(made("work"), "otlp", *ALL))), True)
test_most()
test_times(made("locks"))
test_also(made("devices"))
test_requests()
test_parent()
test_hostile(hostile())
if ctypes.util.find_library("curl"):
    test_endpoint(made("work"))
    test_interrupted(made("work"))
else:
    tap.skip("sending", "libcurl4 is not installed")
test_arguments(made("work"))
missing = _otlp_decoder.fetch()
for title, source in (("work", made("work")), ("life", made("life")), ("hostile", hostile())):
    if missing:
        tap.skip("%s: OpenTelemetry reads it" % title, missing)
    else:
        test_decoder(title, source)
sys.exit(tap.end())
