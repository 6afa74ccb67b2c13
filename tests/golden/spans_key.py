#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
`clew spans --key` finds the announced calls that have a key, by the file of keys beside the
capture. The truth is the list of calls that the capture is made of. Prints TAP.

With a number as argument it makes that many calls and only measures.
"""
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import _capture  # noqa: E402  pylint: disable=wrong-import-position
from _trace import CLEW, Tap  # noqa: E402  pylint: disable=wrong-import-position

tap = Tap()
directory = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with
CAPTURE = os.path.join(directory.name, "calls.clew")
INDEX = CAPTURE + ".idx"
START = 10**12
THREADS = 20
STEP = 1000  # ns from one call to the next
ORDERS = 4  # calls of one order


class Call:
    """Call `number`: every third one lies in the one before; each order has some of them."""

    def __init__(self, number):
        self.number = number
        self.thread = number // 3 % THREADS + 1
        self.begin = START + 100000 + number * STEP
        self.nested = number % 3 == 1
        self.end = self.begin + (STEP // 4 if self.nested else STEP + STEP // 2)
        self.name = ("shop", "order") if number % 3 == 0 else ("db", "put")
        self.order = number // ORDERS
        self.words = [("shop/order", "o%d" % self.order), ("%s/shard" % self.name[0],
                                                           "%d" % (number % 7))]
        self.attributes = [("id", "x%x" % number)] if number % 3 == 2 else []

    def lines(self):
        words = " ".join([*self.name, *("%s=%s" % word for word in self.words),
                          *("@%s=%s" % word for word in self.attributes)])
        token = "task=%d token=%d" % (self.thread, self.number + 1)
        yield self.begin, '0 announce %d %s words="%s "\n' % (self.begin, token, words)
        yield self.end, '0 announce %d %s event=1 words=""\n' % (self.end, token)

    def shown(self):
        return {
            "name": ".".join(self.name),
            "pid": 100,
            "tid": 100 + self.thread,
            "comm": "worker%d" % self.thread,
            "start": self.begin,
            "end": self.end
        }

    def has(self, key):
        kind, _, value = key.rpartition("=")
        return any(
            value == v and (not kind or kind in (t, t.rpartition("/")[2]))
            for t, v in self.words) or any(
                value == v and kind in ("", t, "@" + t) for t, v in self.attributes)


def write(count, path, lost=0):
    end = START + 200000 + (count + 3) * STEP
    with subprocess.Popen([_capture.MAKE_CAPTURE, path], stdin=subprocess.PIPE, text=True) as maker:
        out = maker.stdin
        out.write("meta kernel 6.1.0-test\nmeta cpus 1\nmeta start %d\nmeta end %d\n"
                  "clock %d %d 1700000000000000000\n" % (START, end, START, START))
        for thread in range(1, THREADS + 1):
            out.write("user task %d task=%d process=1 tid=%d pid=100 comm=\"worker%d\"\n" %
                      (START - 50000, thread, 100 + thread, thread))
        waiting = []
        for number in range(count):
            call = Call(number)
            # A call ends before the one after the next begins.
            due = sorted(line for line in waiting if line[0] <= call.begin)
            waiting = [line for line in waiting if line[0] > call.begin] + list(call.lines())
            out.writelines(line for _, line in due)
            first = min(waiting)
            if first[0] == call.begin:
                out.write(first[1])
                waiting.remove(first)
        out.writelines(line for _, line in sorted(waiting))
        if lost:
            out.write("0 gap %d from=%d count=%d\n" % (end - 10, end - 20, lost))
        out.close()
        assert maker.wait() == 0


def ask(*arguments, capture=CAPTURE, **options):
    """(exit status, answer, what was said)"""
    done = subprocess.run([CLEW, "spans", capture, *arguments],
                          capture_output=True,
                          timeout=600,
                          check=False,
                          **options)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def found(*arguments, **options):
    status, out, err = ask("--json", *arguments, **options)
    assert not status and not err, err
    return json.loads(out)


def places(answer):
    return [{key: call[key] for key in ("name", "pid", "tid", "comm", "start", "end")}
            for call in answer["calls"]]


def truth(calls, *conditions):
    return [call.shown() for call in calls if all(holds(call) for holds in conditions)]


def test_found(calls):
    for key in ("o17", "order=o17", "shop/order=o17", "id=x5", "@id=x5", "x5", "db/shard=3",
                "shard=3", "3"):
        tap.same("--key %s" % key, places(found("--key", key)),
                 truth(calls, lambda call, key=key: call.has(key)))
    for key in ("hop/order=o17", "rder=o17", "id=o17", "o17 ", "=", "o", "order=", "@order=o17"):
        status, out, err = ask("--key", key)
        tap.same("--key '%s': there is none" % key, (status, out, err.count("\n")), (1, "", 1))


def test_choice(calls):
    def has(call):
        return call.has("shard=3")

    tap.same("--tid", places(found("--key", "shard=3", "--tid", "104")),
             truth(calls, has, lambda c: c.thread == 4))
    tap.same("--comm", places(found("--key", "shard=3", "--comm", "worker1?")),
             truth(calls, has, lambda c: 10 <= c.thread < 20))
    tap.same("--name", places(found("--key", "shard=3", "--name", "sh*.order")),
             truth(calls, has, lambda c: c.name[0] == "shop"))
    tap.same(
        "--from and --to",
        places(found("--key", "shard=3", "--from", "1ms", "--to", str(START + 2000000))),
        truth(calls, has, lambda c: c.end >= START + 1000000 and c.begin <= START + 2000000))


def test_fields(calls):
    call = found("--key", "x5")["calls"][0]
    tap.same("descriptors", [(w["type"], w["value"]) for w in call["descriptors"]],
             calls[5].words)
    tap.same("attributes", [(w["type"], w["value"]) for w in call["attributes"]],
             calls[5].attributes)
    tap.same("token", call["token"], 6)
    told = found("--key", "shop/order=o3")["calls"]
    tap.same("the calls that they lie in",
             [call["parent"] and call["parent"]["start"] for call in told],
             [calls[c.number - 1].begin if c.nested else None for c in calls if c.order == 3])


def test_callers():
    """By clew edges: between tasks, for which calls a call may be."""
    capture = os.path.join(directory.name, "callers.clew")
    _capture.make("calls", capture)
    edges = subprocess.run([CLEW, "edges", capture, "--json", "--idle"],
                           capture_output=True,
                           check=True,
                           timeout=60)
    told = [(edge["call"]["begin"], edge["evidence"], edge["bridged"],
             [(f["tid"], f["at"]) for f in edge["from"]])
            for edge in json.loads(edges.stdout)["edges"] if edge["type"] == "call"]
    shown = [(call["start"], call["evidence"], call["bridged"],
              [(c["tid"], c["start"]) for c in call["callers"]])
             for call in found("--key", "orders", capture=capture)["calls"]]
    tap.same("callers", shown, told)
    tap.same("callers in text",
             [line.partition(", ")[2]
              for line in ask("--key", "orders", capture=capture)[1].splitlines()[:3]], [
                  "for app.load of client-10 (exact)", "for one of 2 calls",
                  "for app.scan of client-10 (observed)"
              ])


def test_text(calls):
    status, out, _ = ask("--key", "x5")
    tap.same("text", (status, "worker2-102  db.put shop/order=o1 db/shard=5 @id=x5" in out,
                      out.splitlines()[-1]), (0, True, "1 call has x5"))
    del calls


def test_file(calls):
    """It is used while it fits, and made anew when it does not."""
    expected = truth(calls, lambda call: call.has("o17"))
    made = os.stat(INDEX)
    found("--key", "o17")
    tap.same("the file stays", os.stat(INDEX).st_mtime_ns, made.st_mtime_ns)
    tap.same("nothing else is left", sorted(os.listdir(directory.name)),
             ["calls.clew", "calls.clew.idx"])
    os.chmod(CAPTURE, 0o640)
    with open(INDEX, "rb") as file:
        data = file.read()
    for name, alter in (("half", data[len(data) // 2:]), ("of another version", data[:-16] +
                                                         b"\xff" * 8 + data[-8:])):
        with open(INDEX, "wb") as file:
            file.write(alter)
        tap.same("a file that is %s" % name, places(found("--key", "o17")), expected)
        with open(INDEX, "rb") as file:
            tap.same("it is made anew", len(file.read()), len(data))
    with open(INDEX, "wb") as file:
        file.write(b"mine")
    tap.same("a file of somebody's own", places(found("--key", "o17")), expected)
    with open(INDEX, "rb") as file:
        tap.same("it stays", file.read(), b"mine")
    os.unlink(INDEX)
    tap.same("without a file", places(found("--key", "o17")), expected)
    tap.same("who may read the capture", oct(os.stat(INDEX).st_mode & 0o777), oct(0o640))
    os.utime(CAPTURE, ns=(1, 10**18))
    before = os.stat(INDEX).st_ino
    tap.same("another time of the capture", (places(found("--key", "o17")), os.stat(INDEX).st_ino
                                             != before), (expected, True))
    with open(CAPTURE, "rb") as file:
        tap.same("standard input", places(found("--key", "o17", capture="-", stdin=file)),
                 expected)


def test_damage():
    """Whatever the bytes are, clew ends with an answer or a line."""
    with open(INDEX, "rb") as file:
        data = file.read()
    chance, wrong = random.Random(1), []
    for turn in range(60):
        bad = bytearray(data)
        # The tail has the stamp, which is left as it is.
        for _ in range(chance.choice((1, 20, 400))):
            at = chance.randrange(len(bad) - 160 if turn % 2 else len(bad))
            bad[at] = chance.choice((0, 255, chance.randrange(256)))
        with open(INDEX, "wb") as file:
            file.write(bad)
        status, _, err = ask("--json", "--key", chance.choice(("o17", "shard=3", "x5")))
        if status not in (0, 1) or err.count("\n") > 1:
            wrong.append((turn, status, err[:80]))
    tap.same("a damaged file", wrong, [])
    os.unlink(INDEX)


def test_notation(calls):
    other = os.path.join(directory.name, "calls.ctrace")
    subprocess.run([CLEW, "convert", CAPTURE, "-o", other], check=True, timeout=60)
    tap.same("a trace in notation", places(found("--key", "o17", capture=other)),
             truth(calls, lambda call: call.has("o17")))
    tap.same("nothing is kept beside it", os.path.exists(other + ".idx"), False)


def test_other_captures():
    lossy = os.path.join(directory.name, "lossy.clew")
    write(30, lossy, lost=7)
    tap.same("losses", found("--key", "o1", capture=lossy)["ledger"]["lost"], 7)
    tap.same("losses in text", "7 records" in ask("--key", "o1", capture=lossy)[1], True)
    silent = os.path.join(directory.name, "silent.clew")
    write(0, silent)
    status, out, err = ask("--key", "o1", capture=silent)
    tap.same("nobody announced anything", (status, out, err.count("\n")), (1, "", 1))


def measure(count):
    begun = time.monotonic()
    write(count, CAPTURE)
    print("%d calls: capture %.1f MB, made in %.0f s" %
          (count, os.stat(CAPTURE).st_size / 1e6, time.monotonic() - begun), flush=True)
    begun = time.monotonic()
    found("--key", "o17")
    print("first question %.1f s and at most %.0f MB of memory, file %.1f MB" %
          (time.monotonic() - begun, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e3,
           os.stat(INDEX).st_size / 1e6),
          flush=True)
    chance, times, starts, wrong = random.Random(2), [], [], 0
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    for _ in range(100):
        order = chance.randrange(count // ORDERS)
        begun = time.monotonic()
        answer = found("--key", "o%d" % order)
        times.append(1000 * (time.monotonic() - begun))
        wrong += places(answer) != [
            Call(n).shown() for n in range(order * ORDERS, (order + 1) * ORDERS)
        ]
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    for _ in range(100):
        begun = time.monotonic()
        ask("--help")
        starts.append(1000 * (time.monotonic() - begun))
    print("100 questions: median %.1f ms, longest %.1f ms, %.1f ms of CPU each; %d wrong" %
          (statistics.median(times), max(times), 10 *
           (now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime), wrong))
    print("of that the start of the program, by --help: median %.1f ms" % statistics.median(starts))
    return 1 if wrong else 0


def main():
    if len(sys.argv) > 1:
        return measure(int(sys.argv[1]))
    calls = [Call(number) for number in range(6000)]
    write(len(calls), CAPTURE)
    test_found(calls)
    test_choice(calls)
    test_fields(calls)
    test_text(calls)
    test_file(calls)
    test_damage()
    test_notation(calls)
    test_callers()
    test_other_captures()
    return tap.end()


sys.exit(main())
