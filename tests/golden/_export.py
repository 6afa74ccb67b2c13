# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Exports of captures with known answers, and what clew itself says of these."""
import collections
import functools
import json
import os
import re
import subprocess
import tempfile

import _capture
from _trace import CLEW, HERE, resolved

directory = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with


def place(name):
    return os.path.join(directory.name, name)


def clew(*arguments, **options):
    return subprocess.run([CLEW, *arguments],
                          stdin=subprocess.DEVNULL,
                          stderr=subprocess.PIPE,
                          timeout=120,
                          check=False,
                          **options)


def export(capture, to, *arguments):
    """The bytes of the file that is written."""
    path = place("export")
    done = clew("export", capture, "--to", to, "-o", path, *arguments)
    assert not done.returncode and not done.stderr, done
    with open(path, "rb") as file:
        return file.read()


@functools.lru_cache(None)
def ask(capture, command, *arguments):
    done = clew(command, capture, "--json", *arguments, stdout=subprocess.PIPE)
    return resolved(json.loads(done.stdout))


def object_of(answer):
    return answer["object"]["name"] if answer["object"] else None


def made(name):
    """The capture of a list of records."""
    if not os.path.exists(place(name)):
        _capture.make(name, place(name))
    return place(name)


def made_busy(steps):
    """
    The same capture of a server's request, but meanwhile "batch" gives up its CPU to "other" again
    and again: the request has two steps for each time, and three long ones.
    """
    path = place("busy-%d" % steps)
    if os.path.exists(path):
        return path
    with open(os.path.join(HERE, "peer.records"), encoding="utf-8") as file:
        lines = file.read().splitlines()
    task = "user task 999999950000 task=4 process=4 tid=400 pid=400 pid_namespace=4026531836 "
    lines.insert(lines.index(next(it for it in lines if "comm=\"batch\"" in it)),
                 task + 'comm="other" command="other"')
    sleep = "flags=sleep|wait|next_slept %s prev_state=1 call=35 wake_time=%d waker=%d " \
        "wake_context=context_task wake_call=202"
    busy, at = [], 1000000220000
    for step in range(steps):
        # batch sleeps until other wakes it, a bit longer each time.
        for one, two in ((3, 4), (4, 3)):
            at += 1000 + step
            busy.append("1 switch %d " % at + sleep % ("prev=%d next=%d" %
                                                       (one, two), at - 500, one))
    first = next(i for i, line in enumerate(lines) if line.startswith("1 switch 1000000150000"))
    lines[first] = "user state 1000000010000 flags=sleep|wait prev=4 next=4 prev_state=1 call=35"
    ahead = at + 1000000 - 1000003200000
    moved = []
    for line in lines:
        # What came 3 ms after the start comes after all of this.
        moved.append(re.sub(r"\b10000(03[2-9]|04)\d{5,6}\b",
                            lambda m: str(int(m[0]) + max(ahead, 0)), line))
    place_of = next(i for i, line in enumerate(moved) if line.startswith("0 switch 1000000200000"))
    moved[place_of + 1:place_of + 1] = busy
    subprocess.run([_capture.MAKE_CAPTURE, path],
                   input="\n".join(moved).encode(),
                   check=True,
                   timeout=60)
    return path


def altered(name, as_name, *replaced):
    """The same with other text in the list."""
    with open(os.path.join(HERE, name + ".records"), encoding="utf-8") as file:
        text = file.read()
    for old, new in replaced:
        assert old in text, old
        text = text.replace(old, new)
    subprocess.run([_capture.MAKE_CAPTURE, place(as_name)],
                   input=text.encode(),
                   check=True,
                   timeout=60)
    return place(as_name)


def made_sampled(count):
    """stacks.records with so many samples, two of three in the same code."""
    sample = "user sample 10000015%05d task=%d user=%d kernel=%d end=1\n"
    last = "user waited 1000001800000"
    samples = "".join(sample % (i, *((4, 101, 103) if i % 3 == 2 else (2, 101, 0)))
                      for i in range(count))
    return altered("stacks", f"sampled-{count}", (last, samples + last))


def waits_told(capture):
    return collections.Counter(
        (wait["tid"], wait["start"], wait["end"], wait["kind"], object_of(wait), wait["call"])
        for wait in ask(capture, "waits", "--idle", "--self")["waits"])


def ready_told(capture):
    return collections.Counter((wait["tid"], wait["end"], wait["runqueue_ns"])
                               for wait in ask(capture, "waits", "--idle", "--self")["waits"]
                               if wait["runqueue_ns"])


def flows_told(capture):
    """Calls that programs announced have no flows."""
    return collections.Counter((origin["tid"], origin["at"], to["tid"], to["at"], edge["type"],
                                edge["evidence"], edge["context"], object_of(edge))
                               for edge in ask(capture, "edges", "--idle", "--self")["edges"]
                               if edge["type"] != "call" for origin in edge["from"]
                               for to in edge["to"] if origin["tid"] and to["tid"])


def requests_told(capture):
    return collections.Counter(
        (r["op"], r["queued"] or r["issued"], r["completed"], r["bytes"], r["reason"], "%s-%s" %
         (r["submitter"]["comm"], r["submitter"]["tid"]) if r["submitter"]["tid"] else None)
        for r in ask(capture, "requests", "--idle", "--self")["requests"]
        # A request with an end alone has no place in time.
        if r["queued"] or r["issued"])


def runs_told(capture):
    """(CPU, start, end, tid) of all times that the model of a capture has."""
    found = collections.Counter()
    for span in ask(capture, "dump")["spans"]:
        if "cpu" not in span["attributes"]:
            continue
        for part in span["elementary"]:
            for mark in part["marks"]:
                tid = int(mark["label"].rsplit("-", 1)[1].partition("#")[0])
                found[int(span["attributes"]["cpu"]), part["start"], part["end"], tid] += 1
    return found


def why_told(capture):
    return [[(s["start"], s["end"], s["kind"], s["via"]
              and s["via"]["type"], "%s-%s" % (s["comm"], s["tid"])) for s in operation["segments"]]
            for operation in ask(capture, "why", "--slowest", "10")["operations"]]


def difference(shown, told):
    """The first two of each that the other lacks; '' if they are equal."""
    if shown == told:
        return ""
    return "only shown: %s; only told: %s" % (list(
        (shown - told).items())[:2], list((told - shown).items())[:2])


def calls_told(name):
    """(tid, begin, end, name) of announced calls, by the list of records alone."""
    tids, found, begun = {}, collections.Counter(), {}
    for line in open(os.path.join(HERE, name + ".records"), encoding="utf-8"):
        words = dict(re.findall(r'(\w+)=("[^"]*"|\S+)', line))
        kind, at = (line.split() + ["", "", ""])[1:3]
        if kind == "task":
            tids[words["task"]] = int(words["tid"])
        elif kind == "announce" and words.get("event") == "1":
            task, begin, title = begun.pop((words["task"], words["token"]))
            found[tids[task], begin, int(at), title] += 1
        elif kind == "announce":
            title = ".".join(words["words"].strip('"').split()[:2])
            begun[words["task"], words["token"]] = (words["task"], int(at), title)
    for task, begin, title in begun.values():
        found[tids[task], begin, None, title] += 1
    return found


def functions_told(capture):
    """(tid, start, end, name) of activations of functions."""
    if clew("spans", capture, stdout=subprocess.DEVNULL).returncode:
        return collections.Counter()
    told = ask(capture, "spans", "--list")
    names = {f["name"]: f["demangled"] or f["name"] for f in told["by_name"]}
    return collections.Counter((frame["start_tid"], frame["start"], frame["end"],
                                names[frame["name"]]) for frame in told["list"])


# A name with all that is special anywhere, and a byte that is no UTF-8.
HOSTILE = "a\"b;'\\<&\n\xff\x01"
SHOWN = "a\"b;'\\<&\n\ufffd\x01"


def hostile():
    """A capture in which a thread and a file have such names."""
    name = "".join("\\x%02x" % ord(letter) for letter in HOSTILE)
    return altered("disk", "hostile", ('comm="db"', 'comm="%s"' % name),
                   ('"/data/in"', '"/%s"' % name))
