#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
The page of `clew report --html` says what `clew report`, `waits` and `why` say: its data is
decoded without a browser. Prints TAP.
"""
import collections
import glob
import html
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from _export import SHOWN, altered, ask, clew, export, hostile, made, made_sampled, place  # noqa: E402  pylint: disable=wrong-import-position
from _page import Page  # noqa: E402  pylint: disable=wrong-import-position
from _trace import HERE, Tap  # noqa: E402  pylint: disable=wrong-import-position

tap = Tap()

DISK = {"read", "write", "fsync", "file", "io", "fault", "journal", "device", "queued"}
CLASS = {"running": 1, "runqueue": 2, "futex": 3, "lock": 3, "memory": 6, "unknown": 0}


def ok(good, name, why=""):
    tap.report(name, "" if good else why or "no")


def page_of(capture, *arguments):
    done = clew("report", capture, "--html", "-o", "-", *arguments, stdout=subprocess.PIPE)
    assert not done.returncode and not done.stderr, done
    return Page(done.stdout)


def units(page, at):
    """A moment as the page has it."""
    start, unit = page.meta["start"], page.meta["unit"]
    return start + (min(max(at, start), start + page.meta["length"]) - start) // unit * unit


def check_waits(page, capture):
    """Each wait of a thread with a lane is a span there, and each of the lane's spans is known."""
    wrong, seen = [], 0
    end = ask(capture, "info")["end"]
    busy = {(w["tid"], w["start"]) for w in ask(capture, "waits")["waits"]}
    for wait in ask(capture, "waits", "--idle", "--self")["waits"]:
        at = units(page, wait["start"]), units(page, wait["end"] or end)
        # A tid may have been that of several threads, some of which never ran and have no lane.
        spans = sum((lane for lane in page.lanes_of(wait["tid"]) if lane[0].start <= at[0]), [])
        if at[0] == at[1] or not spans:
            continue
        seen += 1
        found = [it for it in spans if (it.start, it.end) == at and it.text]
        classes = {it.kind for it in found if it.text.startswith(wait["kind"])}
        if not classes:
            wrong.append(f"{wait['tid']} at {at}: no span of {wait['kind']}")
        idle = (wait["tid"], wait["start"]) not in busy
        expected = 7 if idle and wait["kind"] in ("poll", "sleep", "idle") else None
        if not idle and (wait["kind"] in DISK or wait["kind"] == "lock"):
            expected = CLASS.get(wait["kind"], 4)
        if expected and expected not in classes:
            wrong.append(f"{wait['tid']} at {at}: class {classes}, not {expected}")
    return wrong, seen


def check_lanes(page):
    """Spans are in order; where a thread runs, a CPU has it."""
    wrong = []
    on_cpu = {}
    for lane, spans in zip(page.meta["lanes"], page.lanes):
        if any(a.end > b.start for a, b in zip(spans, spans[1:])):
            wrong.append(f"{lane['name']}: spans overlap")
        if lane["kind"] == "thread" and any(a.end != b.start for a, b in zip(spans, spans[1:])):
            wrong.append(f"{lane['name']}: its life has holes")
        if lane["kind"] == "cpu":
            for span in spans:
                on_cpu.setdefault(span.other, []).append((span.start, span.end))
    for number, (lane, spans) in enumerate(zip(page.meta["lanes"], page.lanes)):
        if lane["kind"] == "cpu":
            continue
        mine = sum(b - a for a, b in on_cpu.get(number + 1, []))
        ran = sum(it.end - it.start for it in spans if it.kind == 1)
        if mine != ran:
            wrong.append(f"{lane['name']}: ran {ran} ns, and was on CPUs {mine} ns")
    return wrong


def class_of(segment):
    if segment["kind"] in DISK:
        return 4
    return CLASS.get(segment["kind"])


def check_why(page, capture):
    """The operations have the segments that why has, to the ns."""
    wrong = []
    told = ask(capture, "why", "--slowest", "10")["operations"]
    if not told:
        return wrong, 0
    if len(told) != len(page.meta["operations"]):
        wrong.append(f"{len(page.meta['operations'])} operations, not {len(told)}")
    for mine, theirs in zip(page.meta["operations"], told):
        start = page.meta["start"]
        if (mine["from"] + start, mine["to"] + start) != (theirs["from"], theirs["to"]):
            wrong.append(f"from {mine['from'] + start}, not {theirs['from']}")
        segments = [(s[0] + start, s[0] + s[1] + start) for s in mine["segments"]]
        if segments != [(s["start"], s["end"]) for s in theirs["segments"]]:
            wrong.append(f"segments {segments}")
        for segment, other in zip(mine["segments"], theirs["segments"]):
            if class_of(other) is not None and segment[2] != class_of(other):
                wrong.append(f"{other['kind']} has class {segment[2]}")
            lane = page.meta["lanes"][segment[3] - 1] if segment[3] else None
            if other["tid"] and (not lane or lane.get("tid") != other["tid"]):
                wrong.append(f"{other['kind']} of {other['tid']} is on lane {lane}")
        if sum(s[1] for s in mine["segments"]) != mine["to"] - mine["from"]:
            wrong.append("segments do not add up")
    return wrong, sum(len(it["segments"]) for it in told)


def check_document(page):
    """One well-formed document that asks for nothing from outside."""
    parser = page.parser
    wrong = list(parser.wrong) + [f"<{it[0]}> is open" for it in parser.open]
    text = page.data.decode()
    if "Content-Security-Policy" not in text or "default-src 'none'" not in text:
        wrong.append("no policy forbids the network")
    wrong += [
        f"{tag} {name}={value}" for tag, name, value in parser.attributes
        if name in ("src", "href", "action", "data") and not (value or "").startswith("#")
    ]
    wrong += re.findall(r"https?://[^\s\"']*|\burl\([^)]*\)|@import", text)
    return wrong


def headline_of(capture):
    """Of the whole machine, as the page is, also where a command was recorded."""
    paragraphs = clew("report", capture, stdout=subprocess.PIPE).stdout.decode().split("\n\n")
    beside = [p for p in paragraphs if p.startswith("The machine meanwhile: ")]
    text = beside[0].partition(": ")[2] if beside else paragraphs[1]
    return " ".join(text.split())


def test_capture(name, capture):
    page = page_of(capture)
    ok(not check_document(page), f"{name}: a whole document without a way out",
           str(check_document(page)[:3]))
    ok(
        " ".join(page.parser.found["h1"][0].split()) == headline_of(capture),
        f"{name}: the headline is that of the report", page.parser.found["h1"][0])
    wrong = check_lanes(page)
    ok(not wrong, f"{name}: lanes are in order, and threads ran where CPUs say so",
           str(wrong[:3]))
    wrong, seen = check_waits(page, capture)
    ok(not wrong, f"{name}: {seen} waits are spans", str(wrong[:3]))
    wrong, seen = check_why(page, capture)
    ok(not wrong, f"{name}: {seen} segments are those of why", str(wrong[:3]))
    return seen


def test_hostile():
    capture = hostile()
    page = page_of(capture)
    names = [lane["process"] for lane in page.meta["lanes"] if lane.get("process")]
    ok(SHOWN in names, "a hostile name is whole in the data", str(names))
    ok(not check_document(page), "a hostile name breaks nothing", str(check_document(page)[:3]))
    script = altered("disk", "script", ('comm="db"', 'comm="</script><b>"'),
                     ('"/data/in"', '"/<img src=x onerror=alert(1)>"'))
    page = page_of(script)
    ok(not check_document(page), "markup in names stays text", str(check_document(page)[:3]))
    ok("</script><b>" in page.parser.found["h1"][0] or any(
        "</script><b>" in text for text in page.parser.found["td"]), "markup in names is shown")
    ok(not any(tag in ("b", "img") and name == "onerror"
                   for tag, name, _ in page.parser.attributes), "no name becomes an element")


def test_files(capture):
    default = os.path.splitext(capture)[0] + ".html"
    done = clew("report", capture, "--html", stdout=subprocess.PIPE)
    ok(done.returncode == 0 and os.path.exists(default) and default in done.stdout.decode(),
           "without -o the page lies beside the capture", repr(done))
    with open(default, "rb") as file:
        data = file.read()
    again = clew("report", capture, "--html", "-o", "-", stdout=subprocess.PIPE).stdout
    ok(data == again, "two pages of a capture are the same bytes")
    for arguments, status, words in ((["--json"], 2, "choose one"), (["-o", "/no/such/page"], 3,
                                                                     "/no/such/page"),
                                     (["-o", capture], 2, "the capture itself")):
        done = clew("report", capture, "--html", *arguments, stdout=subprocess.PIPE)
        error = done.stderr.decode()
        ok(done.returncode == status and words in error and error.count("\n") == 1,
               f"report --html {' '.join(arguments[:1])} fails with one line", repr(done))
    with open("/dev/full", "wb") as full:
        done = clew("report", capture, "--html", "-o", "-", stdout=full)
    ok(done.returncode == 3 and done.stderr.count(b"\n") == 1, "a full disk is one line",
           repr(done))
    done = clew("report", capture, "--slowest", "3", stdout=subprocess.PIPE)
    ok(done.returncode == 2 and b"--html" in done.stderr, "--slowest needs --html", repr(done))


def frames_of(page):
    """Of each flame graph: its frames as (depth, left, width, words)."""
    graphs = re.findall(r'<div class="flame".*?</div>', page.data.decode(), re.S)
    frame = re.compile(r'<i class="[^"]*" style="left:([\d.]+)%;width:([\d.]+)%;top:(\d+)px" '
                       r'title="([^"]*)">')
    return [[(int(top) // 17, float(left), float(width), html.unescape(title))
             for left, width, top, title in frame.findall(graph)] for graph in graphs]


def folded_of(capture, stacks):
    """The widths of frames, in percent, by their depth and name, as folded stacks have them."""
    sums, whole = collections.Counter(), 0
    for line in export(capture, "folded", "--stacks", stacks).decode().splitlines():
        frames, _, value = line.rpartition(" ")
        whole += int(value)
        for depth, name in enumerate(frames.split(";")):
            sums[depth, name] += int(value)
    return {(depth, re.sub(r"(.*)_\[k\]$", r"\1 (kernel)", name)): 100 * value / whole
            for (depth, name), value in sums.items()}


def test_flames():
    few, enough = page_of(made_sampled(199)), page_of(made_sampled(200))
    ok(not frames_of(few) and len(frames_of(enough)) == 2, "200 samples make flame graphs",
       f"{len(frames_of(few))}, {len(frames_of(enough))}")
    for graph, stacks in zip(frames_of(enough), ("off-cpu", "on-cpu")):
        shown = collections.Counter()
        for depth, _, width, title in graph:
            shown[depth, title.rpartition(":")[0]] += width
        told = folded_of(made_sampled(200), stacks)
        wrong = [(key, shown[key], told.get(key)) for key in set(shown) | set(told)
                 if abs(shown[key] - told.get(key, -1)) > 0.01]
        ok(shown and not wrong, f"the {stacks} graph has the folded stacks", str(wrong[:3]))
        inside = [it for it in graph if it[0] and not any(
            above[0] == it[0] - 1 and above[1] <= it[1] + 0.01 and
            it[1] + it[2] <= above[1] + above[2] + 0.01 for above in graph)]
        ok(not inside, f"each frame of the {stacks} graph lies below one", str(inside[:3]))
    said = [it for it in enough.parser.found["h2"] if it.startswith("Where server ")]
    ok(said == ["Where server waited: 2.19 ms in all threads", "Where server ran: 200 samples"],
       "headings have the sums", str(said))


def test_order(capture):
    text = page_of(capture).data.decode()
    places = [text.find(it) for it in ("<h1>", 'id="timeline"', 'id="slowest"', 'id="why"',
                                       'class="cards"', 'id="spans"', "<footer>")]
    ok(-1 not in places and places == sorted(places),
       "headline, timeline, operations and why come before the cards", str(places))


def test_window(capture):
    info = ask(capture, "info")
    middle = (info["start"] + info["end"]) // 2
    page = page_of(capture, "--from", str(middle))
    ends = [(spans[0].start, spans[-1].end) for spans in page.lanes if spans]
    ok(ends and all(middle <= start and end <= info["end"] for start, end in ends),
           "--from cuts the timeline", str(ends))
    path = place("exported.html")
    done = clew("export", capture, "--to", "html", "-o", path, stdout=subprocess.PIPE)
    with open(path, "rb") as file:
        same = file.read() == clew("report", capture, "--html", "-o", "-",
                                   stdout=subprocess.PIPE).stdout
    ok(same and not done.returncode, "clew export --to html writes the same page", repr(done))
    few = page_of(capture, "--slowest", "1")
    ok(len(few.meta["operations"]) <= 1, "--slowest limits what is explained")


if __name__ == "__main__":
    segments = 0
    for path in sorted(glob.glob(os.path.join(HERE, "*.records"))):
        title = os.path.basename(path)[:-len(".records")]
        if title == "empty":
            continue
        segments += test_capture(title, made(title))
    ok(segments > 20, f"{segments} segments were compared in all")
    test_order(made("disk"))
    test_flames()
    test_hostile()
    test_files(made("disk"))
    test_window(made("disk"))
    sys.exit(tap.end())
