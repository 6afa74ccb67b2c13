#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
`clew join` of segments: what is missing is said, and what is not known is not stated. A segment
without its end is what a killed recorder or a full disk leaves. Prints TAP.
"""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import _capture  # noqa: E402  pylint: disable=wrong-import-position
from _trace import CLEW, Tap  # noqa: E402  pylint: disable=wrong-import-position

tap = Tap()
START = 10**12
LONG = 1000000  # ns of a segment
SEGMENT = """meta kernel 6.1.0-test
meta cpus 2
meta recording 11111111-2222-3333-4444-555555555555
meta segment {number}
meta start {start}
{end}clock {start} {start} 1700000000000000000
user task {start} task=1 process=1 tid=101 pid=101 comm="worker"
user task {start} task=2 process=2 tid=102 pid=102 comm="other"
0 switch {first} flags=sleep|wait prev=1 next=2 prev_state=1 call=35
1 switch {first} flags=next_slept prev=0 next=1 wake_time={start}
0 switch {second} flags=next_slept prev=2 next=1 wake_time={first}
"""
# Without these lines it is a recording that ended before it wrote a ledger.
LEDGER = """ledger 0 switch 2 0 2 2 2 0 0
ledger 1 switch 1 0 1 1 1 0 0
ledger 65535 task 1 0 1 1 1 0 0
cost 5000000 1000000 1
"""


def write(folder, number, cut=False, ledger=True):
    start = START + number * LONG
    text = SEGMENT.format(number=number,
                          start=start,
                          end="" if cut else "meta end %d\n" % (start + LONG),
                          first=start + 1000,
                          second=start + 2000)
    path = os.path.join(folder, "%08d-20260101T000000Z.clew" % number)
    subprocess.run([_capture.MAKE_CAPTURE, path],
                   input=text + (LEDGER if ledger else ""),
                   text=True,
                   check=True,
                   timeout=60)
    if cut:
        with open(path, "rb+") as file:
            file.truncate(os.path.getsize(path) - 1)


def clew(*arguments):
    done = subprocess.run([CLEW, *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done
    return done.stdout, done.stderr


def same_everywhere(name, path, lost, complete):
    """The same ledger in every answer, of the capture and of the notation made from it."""
    trace = path + ".ctrace"
    clew("convert", path, "-o", trace)
    found = []
    for question in (["waits", path], ["blame", trace], ["spans", path, "--key", "x=1"]):
        done = subprocess.run([CLEW, *question, "--json"], capture_output=True, timeout=60)
        if done.stdout:
            ledger = json.loads(done.stdout)["ledger"]
            found.append((ledger["lost"], ledger["complete"]))
    tap.same("%s: the same in other answers" % name, set(found), {(lost, complete)})


def check(name, segments, lost, complete, cost, says):
    """`segments`: arguments of write(). `says`: what the words of `info` have to have."""
    with tempfile.TemporaryDirectory() as folder:
        for segment in segments:
            write(folder, **segment)
        path = os.path.join(folder, "joined")
        clew("join", folder, "-o", path)
        answer = json.loads(clew("info", path, "--json")[0])
        tap.same("%s: lost, complete, cost" % name,
                 (answer["ledger"]["lost"], answer["complete"], answer["cost"]["user_ns"]),
                 (lost, complete, cost))
        tap.same("%s: no gap has lost records" % name,
                 [gap["lost"] for gap in answer["ledger"]["gaps"] if gap["lost"]], [])
        tap.same("%s: what is missing is not known" % name,
                 bool(answer["ledger"]["gaps"]) and
                 {gap["missing"] for gap in answer["ledger"]["gaps"]} == {None},
                 len(segments) < 3 or any(each.get("cut") for each in segments))
        words = "".join(clew("info", path)).replace("\n", " ")
        tap.same("%s: words" % name, [text for text in says if text not in words], [])
        tap.report("%s: words state nothing false" % name,
                   words if "rings were full" in words or "18446744" in words else "")
        line = clew("waits", path)[0].replace("\n", " ")
        tap.report("%s: nor do those of an answer" % name,
                   line if "nothing lost," in line + "," and
                   (not complete or len(segments) < 3) else "")
        same_everywhere(name, path, lost, complete)


def main():
    whole = [{"number": number} for number in (1, 2, 3)]
    check("whole", whole, 0, True, 15000000, ["complete   yes", "Nothing was lost"])
    check("killed", whole[:2] + [{"number": 3, "cut": True}], 0, False, 15000000,
          ["complete   no", "cut off, what came then is missing", "own cost: at least 15.0 ms"])
    check("killed before its first ledger",
          whole[:2] + [{"number": 3, "cut": True, "ledger": False}], None, False, None,
          ["complete   no", "Losses are not known", "own cost: not known, the recording was cut off"])
    check("killed between two segments",
          [whole[0], {"number": 2, "cut": True}, {"number": 3, "cut": True, "ledger": False}], None,
          False, None, ["complete   no", "Losses are not known"])
    check("one is missing", [whole[0], whole[2]], 0, True, 10000000,
          ["complete   yes", ": what came then is missing from the file"])
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
