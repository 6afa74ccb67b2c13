#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
The headline of `clew report` about programs each of which waits for 2.99 of 4 ms for one class of
time: every class can be the headline, with what was waited for. Prints TAP.
"""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import _capture  # noqa: E402  pylint: disable=wrong-import-position

CLEW = os.path.abspath(os.environ.get("CLEW", os.path.join(HERE, "..", "..", "clew")))

# The name of the program, its largest class of time, and the headline behind the program's name.
SENTENCES = {
    "run": ("run", "was computing for 100 % of that (3.99 ms)."),
    "ready": ("ready", "was ready to run but had no CPU for 75 % of that (3.00 ms)."),
    "quota": ("quota", "was held back by a CPU quota for 75 % of that (2.99 ms), most of it for "
              "cgroup /batch."),
    "lock": ("lock", "waited for locks for 75 % of that (2.99 ms), most of it for mutex "
             "0xffff888800001000 (write)."),
    "disk": ("disk", "waited for files and disks for 75 % of that (2.99 ms), most of it for inode "
             "1234 on 8:1 (fsync)."),
    "net": ("net", "waited at sockets for 75 % of that (2.99 ms), most of it for socket:[5000] "
            "(sendto)."),
    "mem": ("mem", "waited for memory for 75 % of that (2.99 ms), most of it for memory reclaim "
            "(mmap)."),
    "pipe": ("pipe", "waited for pipes and terminals for 75 % of that (2.99 ms), most of it for "
             "tty 136:0 (write)."),
    "thread": ("thread", "waited for other threads, at locks or conditions for 75 % of that "
               "(2.99 ms), most of it for futex 0x7f0000001000, until run-101 woke it."),
    "proc": ("proc", "waited for children or other processes for 75 % of that (2.99 ms), most of "
             "it for a child of a process group (wait4)."),
    "timer": ("timer", "slept by its own choice for 75 % of that (2.99 ms), most of it in "
              "clock_nanosleep."),
    "other": ("other", "waited for something else for 75 % of that (2.99 ms), most of it for "
              "synchronize_rcu (close)."),
    # A wait for an io_uring is for what completed.
    "ringnet": ("net", "waited at sockets for 75 % of that (2.99 ms), most of it for io_uring "
                "(io_uring_enter), until run-101 answered."),
    "ringtimer": ("timer", "slept by its own choice for 75 % of that (2.99 ms), most of it in "
                  "io_uring_enter."),
    "ringdisk": ("disk", "waited for files and disks for 75 % of that (2.99 ms), most of it for "
                 "io_uring (io_uring_enter)."),
    "ringpipe": ("pipe", "waited for pipes and terminals for 75 % of that (2.99 ms), most of it "
                 "for pipe:[77] (io_uring_enter), until run-101 went on."),
    "hidden": ("other", "did what the recording does not show for 85 % of that (3.39 ms)."),
}
DEADLOCK = ("Deadlock since +0.500 ms: deada-118 waits for futex 0x7f0000002000 that deadb-119 "
            "of deada has, deadb-119 of deada for futex 0x7f0000002040 that deada-118 has.")


def ask(capture, *words):
    done = subprocess.run([CLEW, *words, capture, "--json"], capture_output=True, text=True,
                          check=True)
    return json.loads(done.stdout)


class Results:
    count = failed = 0

    def add(self, good, name, said=""):
        self.count += 1
        self.failed += not good
        print(f"{'' if good else 'not '}ok {self.count} - {name}" + ("" if good else f": {said}"))


def check(results, capture, name, spent, sentence):
    said = ask(capture, "report", "--comm", name)
    results.add(said["headline"] == f"The work of {name} took 4.00 ms: it {sentence}",
                f"{name}: its class of time is the headline", said["headline"])
    most = max(said["programs"], key=lambda program: program["name"] == name)["spent_ns"]
    results.add(max(most, key=most.get) == spent, f"{name}: most of its time is {spent}", most)


def check_helps(results, capture):
    """What is said to help is a program that what-if takes, and that applies to something."""
    texts, wrong = set(), []
    for name in SENTENCES:
        for said in ask(capture, "report", "--comm", name)["would_help"]:
            texts.add(said["text"])
            done = subprocess.run([CLEW, "what-if", capture, said["program"], "--json"],
                                  capture_output=True, text=True, check=False)
            if done.returncode or not all(statement["times"]
                                          for statement in json.loads(done.stdout)["statements"]):
                wrong.append((said["program"], done.stderr))
    results.add(not wrong, "what would help are programs for what-if", wrong)
    for words in ("no CPU quota for quota", "the sleeps of timer half as long",
                  "the computing of run half as long"):
        results.add(words in texts, f"{words}: this would help", texts)


def check_quota(results, capture):
    """What a quota takes has a part of its own in splits."""
    groups = ask(capture, "latency", "--by", "kind")["groups"]
    split = next(group["split"] for group in groups if group["path"] == ["throttle"])
    results.add(split["quota"] == 2990000, "the split of a throttled time is its quota", split)


def main():
    results = Results()
    with tempfile.TemporaryDirectory() as directory:
        capture = os.path.join(directory, "headline.clew")
        _capture.make("headline", capture)
        for name, (spent, sentence) in SENTENCES.items():
            check(results, capture, name, spent, sentence)
        check_quota(results, capture)
        check_helps(results, capture)
        for words in (["--comm", "dead*"], []):
            said = ask(capture, "report", *words)["headline"]
            results.add(said == DEADLOCK, f"{' '.join(words)} a deadlock is the headline", said)
    print(f"1..{results.count}")
    sys.exit(results.failed > 0)


if __name__ == "__main__":
    main()
