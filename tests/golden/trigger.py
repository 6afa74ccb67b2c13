#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`clew trigger test`: rules are met when trigger, usual and message.records say that they must be. Prints TAP."""
import json
import os
import subprocess
import sys
import tempfile

import _capture
from _trace import Tap

HERE = os.path.dirname(os.path.abspath(__file__))
CLEW = os.path.join(HERE, "..", "..", "clew")

BEGIN = {"trigger": 1000, "usual": 2000, "message": 2000}  # s

# A rule; for each time that it fires: when, of whom, from, to, and whether it goes on, in s; what it
# compared in all, where that is not the length; how many are suppressed.
CASES = [
    ("wait fsync > 20ms", [(12.53, "db", 12.5, 12.53, False), (13.53, "db", 13.5, 13.53, False),
                           (14.53, "db", 14.5, 14.53, False)], [], 1),
    ("wait fsync > 20ms limit 1", [(12.53, "db", 12.5, 12.53, False)], [], 3),
    # It is explained when it has ended if it ends within 2 s of being too long.
    ("wait fsync > 1s", [(28, "db", 25, 28, True)], [], 0),
    ("wait fsync > 2500ms", [(29, "db", 25, 29, False)], [], 0),
    ("call fsync > 1s", [(28, "db", 25, 28, True)], [], 0),
    ("wait fsync > 4s", [], [], 0),
    ("lock wait > 500ms", [(5.5, "web", 3, 5.5, True)], [], 0),
    ("lock wait > 28s", [], [], 0),
    ("lock wait > 500ms where comm db", [], [], 0),
    ("lock wait > 500ms where cgroup /web", [(5.5, "web", 3, 5.5, True)], [], 0),
    ("runqueue > 20ms", [(21.05, "db", 21, 21.05, False)], [], 0),
    ("announced sql.* > 100ms", [(2.4, "db", 2.1, 2.4, False), (22.1, "db", 20, 22.1, True)], [], 0),
    ("announced sql.query > 40ms", [(2.4, "db", 2.1, 2.4, False), (4.15, "db", 4.1, 4.15, False)],
     [], 0),
    ("announced sql > 1ms", [], [], 0),
    # client's operation goes on while it waits for srv. A wait for work of 2 s ends the operation.
    ("operation > 200ms", [(5.5, "srv", 5, 5.3, False), (15.6, "srv", 15.05, 15.52, False),
                           (15.7, "client", 15, 15.6, False)], [], 1),
    ("operation > 200ms where comm client", [(15.7, "client", 15, 15.6, False)], [], 0),
    ("operation > 1s", [(18.6, "srv", 15.6, 18.6, True)], [], 0),
    ("operation > 40ms where comm srv", [(5.5, "srv", 5, 5.3, False), (7.55, "srv", 5.5, 5.55, False),
                                         (15.6, "srv", 15.05, 15.52, False)], [], 1),
    ("p50(operation) > 250ms over 1s where comm srv", [(6, "srv", 5, 5.3, False),
                                                       (16, "srv", 15.05, 15.52, False)],
     [0.3, 0.47], 0),
    # The seconds that lie behind 1013 s have one of 30 ms; those behind 1015 s have three of five.
    ("p99(wait fsync) > 20ms over 5s", [(13, "db", 12.5, 12.53, False), (30, "db", 25, 29, False)],
     [0.03, 4], 0),
    ("p50(wait fsync) > 20ms over 5s", [(15, "db", 12.5, 12.53, False), (30, "db", 25, 29, False)],
     [0.03, 4], 0),
    ("p99(wait fsync) > 5s", [], [], 0),
    ("p50(announced sql.*) > 60ms over 2s", [(3, "db", 2.1, 2.4, False)], [0.1], 0),
    ("sum(fsync) > 2% of /db over 1s", [(13, "db", 12.5, 12.53, False), (26, "db", 25, 26, True)],
     [0.03, 1], 0),
    ("sum(fsync) > 2% of /web over 1s", [], [], 0),
    ("sum(lock) > 50% of /w*", [(9, "web", 3, 9, True)], [6], 0),
    ("sum(runqueue) > 4% of /db over 1s", [(22, "db", 21, 21.05, False)], [0.05], 0),
    ("request * > 20ms where comm web", [(8.3, "web", 8, 8.3, False),
                                         (24.02, "web", 22, 24.02, True)], [], 0),
    ("request write vda > 500ms", [(24.5, "web", 22, 24.5, True)], [], 0),
    ("request read vda > 20ms", [(9.05, "db", 9, 9.05, False)], [], 0),
    # A disk is meant by its name, by that of its mapping, and by its number, which is always known.
    # A write that is flushed ends twice and meets the rule once. A request that is issued late
    # meets it then.
    ("request vault > 20ms", [(10.03, "db", 10, 10.03, False), (21.5, "client", 18, 21.5, True),
                              (26.02, "db", 25, 26.02, False)], [], 0),
    ("request dm-0 > 100ms where cgroup /db", [(10.3, "db", 10, 10.3, False),
                                               (26.02, "db", 25, 26.02, False)], [], 0),
    ("request flush v?a > 20ms", [(11.03, "db", 11, 11.03, False),
                                  (11.031, "db", 11, 11.031, False)], [], 0),
    ("request discard 254:* > 50ms", [(12.1, "hog", 12, 12.1, False)], [], 0),
    ("request nvme* > 10ms", [(17.22, "web", 17.2, 17.22, False)], [], 0),
    ("request 259:0 > 10ms", [(16.22, "web", 16.2, 16.22, False),
                              (17.22, "web", 17.2, 17.22, False)], [], 0),
    ("request sda > 1ms", [], [], 0),
    ("p50(request vda) > 20ms over 1s", [(9, "web", 8, 8.3, False),
                                         (12, "db", 11, 11.031, False)], [0.3, 0.03], 0),
]
# The same of usual.records. A request is known to be over once its answer has paused for as long
# as the question took, or with the next wait at its connection; a server's one with its next wait
# for work. The client's work is its request, for the most part.
UNUSUAL = [
    ("operation > 10 x p50", [(11.161, "client", 11.1, 11.13, False),
                              (11.3, "server", 11.1, 11.13, False)], [0.00084, 0.00085], 0),
    ("operation > 36 x p50", [(11.161, "client", 11.1, 11.13, False)], [0.00084], 0),
    ("operation > 40 x p50", [], [], 0),
    ("operation > 1 x p50 where comm nobody", [], [], 0),
    ("operation > 10ms", [(11.161, "client", 11.1, 11.13, False),
                          (11.3, "server", 11.1, 11.13, False)], [], 0),
]
# message.records has requests that nobody waits for, and a pipeline, which has none. The next question
# shows that a request is over.
MESSAGES = [
    ("operation > 10ms", [(.032, "client", .002, .032, False), (.032, "server", .002, .032, False)],
     [], 0),
    ("operation > 30ms", [], [], 0),
]


def seconds(time, name):
    return round(time / 1e9 - BEGIN[name], 3)


def fired_of(name, path, rule):
    """What fires, the values, how many are suppressed, and the exit status."""
    done = subprocess.run([CLEW, "trigger", "test", path, rule, "--json"],
                          capture_output=True,
                          text=True,
                          check=False,
                          timeout=60)
    if done.returncode > 1:
        return done.stderr
    answer = json.loads(done.stdout)
    fired = [(seconds(each["at"], name), each["comm"], seconds(each["start"], name),
              seconds(each["end"], name), each["open"]) for each in answer["fired"]]
    values = [each["value"] / 1e9 for each in answer["fired"] if each["value"]]
    return fired, values, answer["suppressed"], done.returncode


def is_close(got, expected):
    """Percentiles are too large by less than one part in 1,000, medians of a class in 100."""
    return len(got) == len(expected) and all(-1e-9 <= a - b <= b / 100 + 0.001 * (b > 0.001)
                                             for a, b in zip(got, expected))


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        for name, cases in (("trigger", CASES), ("usual", UNUSUAL), ("message", MESSAGES)):
            path = os.path.join(folder, name + ".clew")
            _capture.make(name, path)
            for rule, fired, values, suppressed in cases:
                got = fired_of(name, path, rule)
                expected = (fired, suppressed, 0 if fired else 1)
                good = isinstance(got, tuple) and (got[0], got[2], got[3]) == expected and is_close(
                    got[1], values)
                tap.same(rule, "" if good else got, "" if good else (expected, values))
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
