#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Captures with a chunk that is damaged or missing: an answer is unchanged, tells
of the damage, or is refused with one line. Prints TAP.
"""
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import _capture  # noqa: E402  pylint: disable=wrong-import-position

CLEW = os.environ.get("CLEW", os.path.join(HERE, "..", "..", "clew"))
LINE = re.compile(r"\Aclew: [^\n]+: [^\n]+\n\Z")
QUESTIONS = [["report"], ["info"], ["waits"], ["edges"], ["requests"], ["io"], ["why", "--slowest", "3"],
             ["blame"], ["slack"], ["check"]]
HEADER, SCHEMA = 48, 1
# What is about the file, or tells of damage to it.
OF_THE_FILE = ("ledger", "complete", "damaged_chunks", "bytes", "file_bytes_per_switch")


def chunks_of(data):
    """Offset, size and kind of each chunk."""
    offset = 16
    while offset < len(data):
        size = HEADER + struct.unpack_from("<I", data, offset + 12)[0]
        yield offset, size, struct.unpack_from("<H", data, offset + 8)[0]
        offset += size


def ask(path, question):
    """Exit status, and the answer or the line that says why there is none."""
    done = subprocess.run([CLEW, question[0], path, *question[1:], "--json"],
                          capture_output=True,
                          timeout=60,
                          check=False)
    return done.returncode, json.loads(done.stdout) if done.returncode == 0 else done.stderr.decode(
        errors="replace")


def without_truth(answer):
    if isinstance(answer, dict):
        return {
            key: without_truth(value)
            for key, value in answer.items() if key not in OF_THE_FILE
        }
    return [without_truth(value) for value in answer] if isinstance(answer, list) else answer


def tells(answer):
    ledger = answer["ledger"]
    if "by" in ledger:  # clew info
        return not answer["complete"] or answer["damaged_chunks"] > 0
    return not ledger["complete"] or ledger.get("damaged_chunks", 0) > 0


def free_of_cost(answer):
    """True if it claims that a recording that was cut off cost nothing."""
    return not answer.get("complete", answer["ledger"].get("complete")) and 0 in (
        answer["cost"]["user_ns"], answer["cost"]["bpf_ns"])


def problem_of(status, answer, before):
    if status:
        return "" if status in (1, 2) and LINE.match(answer) else "exit status %d, %r" % (status,
                                                                                          answer)
    if isinstance(answer.get("cost"), dict) and free_of_cost(answer):
        return "it claims a cost of 0"
    return "" if tells(answer) or without_truth(
        answer) == before else "another answer, and no word of damage"


def main():
    number, failed = 0, 0
    with tempfile.TemporaryDirectory() as directory:
        whole, damaged = os.path.join(directory,
                                      "whole.clew"), os.path.join(directory, "damaged.clew")
        for name in ("mutex", "pages", "names"):
            _capture.make(name, whole)
            with open(whole, "rb") as file:
                data = file.read()
            before = [without_truth(ask(whole, question)[1]) for question in QUESTIONS]
            for what in ("a bit of its header", "a bit of its contents", "all of it"):
                problems, answered = [], 0
                for at, size, kind in chunks_of(data):
                    bit = at + 20 if what == "a bit of its header" else at + HEADER + (size -
                                                                                       HEADER) // 2
                    with open(damaged, "wb") as file:
                        file.write(data[:at] +
                                   data[at + size:] if what == "all of it" else data[:bit] +
                                   bytes([data[bit] ^ 4]) + data[bit + 1:])
                    for question, answer in zip(QUESTIONS, before):
                        status, now = ask(damaged, question)
                        answered += status == 0
                        problem = problem_of(status, now, answer)
                        if kind == SCHEMA and status == 2:
                            problem = "refused for one of its schemas: %s" % now
                        if problem:
                            problems.append("chunk at %d, %s: %s" % (at, question[0], problem))
                if not answered:
                    problems.append("all was refused")
                number += 1
                failed += bool(problems)
                print("%s %d - %s, of each chunk in turn %s%s" %
                      ("not ok" if problems else "ok", number, name, what,
                       ": " + problems[0] if problems else ""),
                      flush=True)
    print("1..%d" % number)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
