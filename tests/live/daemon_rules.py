#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Rules of `clew daemon` fire for waits whose length the waiter's own clock says, and the explanation
that lies on disk names the holder. They are met live as in the file, at the same times.
"""

import json
import os
import shutil
import signal
import sys
import time

from _daemon import INCIDENTS, RUN, WAITERS, Daemon, asked, await_incidents, configure, hold, incidents, segments, status, told_of
from _live import PATIENCE, ROOT, clew, feature, finish, note, ok, run, scratch, skip

def check_fired(seconds, known):
    """A lock that is held so long fires the rule; `known`: incidents that there are."""
    held = hold(seconds)
    fired = await_incidents(known + 1)
    late = time.monotonic_ns() - held.after
    name = f"a wait of {seconds} s"
    if not ok(len(fired) == known + 1, name + " fires", fired):
        return
    files = told_of(fired[-1])
    modes = {oct(os.stat(f"{INCIDENTS}/{fired[-1]}/{each}").st_mode & 0o777)
             for each in (*os.listdir(f"{INCIDENTS}/{fired[-1]}"), ".")}
    ok(modes == {"0o600", "0o700"}, name + ": nobody else may read it", modes)
    trigger = json.loads(files["trigger.json"])
    note("the explanation lies on disk %.2f s after the end" % (late / 1e9))
    ok(
        trigger["tid"] == held.waiter and trigger["name"] == "held"
        and held.before <= trigger["start"] <= held.asleep
        and held.let_go <= trigger["end"] <= held.after
        and trigger["ns"] == trigger["end"] - trigger["start"],
        name + " has the length that its clock says", (trigger, held))
    ok(f"-{held.holder}, holding" in " ".join(files["why.txt"].split()),
       name + ": the explanation names the holder", files["why.txt"])
    why = json.loads(files["why.json"])
    ok(why["tid"] == held.waiter and why["total_ns"] == trigger["ns"], name + ": also for programs", why)
    ok(late < 5_000_000_000, name + ": it is there soon", late)
    capture = f"{INCIDENTS}/{fired[-1]}/capture.clew"
    again = clew("trigger", "test", capture, trigger["rule"], "--json")
    same = [each["tid"] for each in json.loads(again.stdout)["fired"]]
    ok(held.waiter in same, name + ": clew trigger test finds it in the capture", again.stdout)


def parent_of(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return int(file.read().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def opens_files(pid):
    """Whether it is a process that opens others' files for the daemon."""
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        return b"__opener" in file.read()


def test_triggers():
    rule = f"lock wait > 150ms where comm {WAITERS}"
    configure("rotate 700ms", "keep 20s", f"trigger held: {rule}")
    daemon = Daemon()
    time.sleep(0.5)
    hold(0.02)
    check_fired(0.3, 0)
    maker, = [int(pid) for pid in os.listdir("/proc")
              if pid.isdigit() and parent_of(pid) == daemon.process.pid and not opens_files(pid)]
    held = [os.readlink(f"/proc/{maker}/fd/{fd}") for fd in os.listdir(f"/proc/{maker}/fd")
            if int(fd) > 2]
    ok(len(held) == 1 and held[0].startswith("socket:"),
       "the process that makes incidents has the daemon's question alone open", held)
    # Over several segments.
    check_fired(1.6, 1)
    for _ in range(3):
        hold(0.2)
    await_incidents(3)
    time.sleep(1.5)
    told = status()["triggers"]
    ok(
        len(incidents()) == 3 and told
        == [{"name": "held", "rule": rule, "fired": 3, "suppressed": 2, "made": 3, "failed": 0}],
        "it fires three times in three minutes, and counts the rest", (incidents(), told))
    listed = json.loads(asked("incidents", "--json").stdout)["incidents"]
    ok([each["id"] for each in listed] == incidents()
       and all(" took " in each["headline"] for each in listed), "clew incidents lists them",
       listed)
    one = asked("incidents", "2")
    ok("Where the time went" in one.stdout and incidents()[1] in one.stdout,
       "and prints the explanation of one", one.stdout + one.stderr)
    check_quota(daemon)
    code, error = daemon.stop()
    ok(code == 0, "it stops", error)


def check_quota(daemon):
    """Another rule, as the first has fired often enough, and room for two."""
    configure("rotate 700ms", "keep 20s", "quota-count 2",
              f"trigger slow-call: call flock > 150ms where comm {WAITERS}")
    daemon.tell(signal.SIGHUP)
    daemon.hears("READY=1")
    hold(0.2)
    deadline = time.monotonic() + 20
    # They go one after the other.
    while time.monotonic() < deadline:
        left = incidents()
        unfinished = [name for name in os.listdir(INCIDENTS) if "." in name]
        if len(left) == 2 and left[-1].endswith("-slow-call-0004") and not unfinished:
            break
        time.sleep(0.05)
    ok(
        len(left) == 2 and left[-1].endswith("-slow-call-0004"),
        "the oldest go when the quota is full", left)
    ok(not unfinished, "nothing unfinished is left", unfinished)


# By name; the second one is also met while the wait goes on.
RULES = {
    "ended": f"call flock > 150ms where comm {WAITERS}", "goes-on":
    f"lock wait > 300ms where comm {WAITERS}", "many":
    f"p90(call flock) > 100ms over 3s where comm {WAITERS}", "much": "sum(file) > 5% of * over 2s",
    "disk": "request write * > 1us where comm asker", "disks":
    "p50(request *) > 1us over 2s where comm asker",
}
SAME = ("tid", "kind", "start", "end", "open", "at", "value", "request")


def ask_disk():
    """Writes a file and has it on disk; returns the times around that, and the disk's number."""
    file, program = scratch("asked"), scratch("asker")
    shutil.copy(shutil.which("dd"), program)
    before = time.monotonic_ns()
    run(program, "if=/dev/zero", f"of={file}", "bs=1M", "count=4", "conv=fsync")
    device = os.stat(file).st_dev
    return (before, time.monotonic_ns()), f"{os.major(device)}:{os.minor(device)}"


def check_slow_requests(live, between, number):
    """What fired for requests is asker's, and the explanation begins with the request."""
    if number.startswith("0:"):
        skip("a request fires its rule", "the test's files are on no disk")
        return
    fired = [each for each in live if each["name"] == "disk"]
    ok(
        fired and all(each["comm"] == "asker" and each["kind"] == "request"
                      and between[0] < each["start"] < each["end"] <= between[1]
                      and each["request"]["op"] == "write" and each["request"]["bytes"] > 0
                      for each in fired), "a request fires its rule, for the thread that asked",
        (fired, between))
    for each in fired[:1]:
        asked_of, told = each["request"], told_of(each["id"])["why.txt"]
        begin = f"write of {asked_of['bytes']} bytes at sector {asked_of['sector']} of "
        # A line is broken after 80 columns.
        head = " ".join(told.partition("\n\n")[0].split()) + " "
        ok(
            head.startswith(begin) and f", for asker-{each['tid']} " in head
            and "Where the time went" in told, "its explanation begins with the request", told)
        listed = clew("incidents", "--directory", INCIDENTS, "--json")
        heads = {one["id"]: one["headline"] for one in json.loads(listed.stdout)["incidents"]}
        ok(heads[each["id"]].startswith(begin), "which is its headline", heads)


def test_rules():
    """The same rules are met at the same times by the daemon and in what it has recorded."""
    shutil.rmtree(INCIDENTS, ignore_errors=True)
    shutil.rmtree(f"{RUN}/ring", ignore_errors=True)
    configure("rotate 2s", "keep 60s", *(f"trigger {name}: {rule}" for name, rule in RULES.items()))
    daemon = Daemon()
    hold(0.2)
    hold(0.05)
    asked_for, number = ask_disk()
    held = hold(3)
    time.sleep(3)
    told = status()["triggers"]
    # They are made at nice 19, one at a time.
    await_incidents(sum(each["fired"] for each in told), 90)
    daemon.stop()
    live = [json.loads(told_of(name)["trigger.json"]) for name in incidents()]
    early = [each for each in live if each["name"] == "goes-on" and each["tid"] == held.waiter]
    ok(
        len(early) == 1 and early[0]["open"] and held.before <= early[0]["start"] <= held.asleep
        and early[0]["at"] == early[0]["start"] + 2_300_000_000 < held.let_go,
        "a wait that goes on meets its rule once, before its end", (early, held, live))
    check_slow_requests(live, asked_for, number)
    whole = scratch("whole.clew")
    joined = clew("join", *segments(), "-o", whole)
    for name, rule in RULES.items():
        found = json.loads(clew("trigger", "test", whole, rule, "--json").stdout or "{}")
        expected = [[each[key] for key in SAME] for each in live if each["name"] == name]
        got = [[each[key] for key in SAME] for each in found.get("fired", [])]
        ok((expected or "request" in rule and number.startswith("0:"))
           and sorted(got, key=str) == sorted(expected, key=str),
           f"{rule}: the same live and from the file", (got, expected, joined.stderr))


def count_served(messages):
    """How many operations of a server are too long by a rule that all are too long by."""
    folder = scratch(f"messages-{messages}")
    os.mkdir(folder)
    configure("rotate 2s", "keep 60s", f"messages {messages}",
              "trigger served: operation > 1us where comm reqserver",
              f"trigger held: lock wait > 150ms where comm {WAITERS}")
    daemon, known = Daemon(), len(incidents())
    run(sys.executable, os.path.join(ROOT, "tests", "live", "requests.py"), "--program", "loop", folder)
    # The wait comes after all requests, and is judged after them.
    hold(0.2)
    await_incidents(known + 1)
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        told = {each["name"]: each["fired"] + each["suppressed"] for each in status()["triggers"]}
        if told["held"]:
            break
        time.sleep(0.05)
    daemon.stop()
    count = sum(len(json.load(open(os.path.join(folder, name), encoding="ascii")))
                for name in os.listdir(folder) if name.startswith("server-"))
    return told["served"], count


def test_messages():
    """A server that is never idle is asked a thousand things: only its messages show each."""
    available, reason = feature("messages")
    if not available:
        skip("messages: each request is judged", reason)
        return
    (hidden, asked), (shown, count) = count_served("no"), count_served("yes")
    ok(count <= shown <= count + count // 50, "messages yes: each request is judged", (shown, count))
    ok(hidden < asked // 2, "messages no: only those that a thread slept for", (hidden, asked))


test_triggers()
test_rules()
test_messages()
finish()
