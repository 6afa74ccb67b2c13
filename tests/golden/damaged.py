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
from concurrent import futures

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import _capture  # noqa: E402  pylint: disable=wrong-import-position

CLEW = os.environ.get("CLEW", os.path.join(HERE, "..", "..", "clew"))
LINE = re.compile(r"\Aclew: [^\n]+: [^\n]+\n\Z")
QUESTIONS = [["report"], ["info"], ["waits"], ["edges"], ["requests"], ["io"],
             ["why", "--slowest", "3"], ["blame"], ["slack"], ["check"]]
# The others have no more to do with the file than these.
FEW = (1, 2, 6, 7)
HEADER, SCHEMA = 48, 1
# What is about the file, or tells of damage to it.
# Its cost is not known then, which free_of_cost() looks at.
OF_THE_FILE = ("ledger", "complete", "damaged_chunks", "bytes", "file_bytes_per_switch", "cost")


def chunks_of(data):
    """Offset, size and kind of each chunk."""
    offset = 16
    while offset < len(data):
        size = HEADER + struct.unpack_from("<I", data, offset + 12)[0]
        yield offset, size, struct.unpack_from("<H", data, offset + 8)[0]
        offset += size


# The line before an answer, and before a refusal if the file could be read.
SAYS = re.compile(r"\Aclew: [^\n]+ is damaged: (?:(?:, )?(?:[0-9]+ parts? unreadable|"
                  r"[0-9]+ records? missing(?: at least)?|its end cut off))+: "
                  r"answers may lack them\n|"
                  r"\Aclew: [^\n]+ is cut off: answers may lack its end\n")


def ask(path, question):
    """Exit status, the answer or the line that says why there is none, and what else was said."""
    done = subprocess.run([CLEW, question[0], path, *question[1:], "--json"],
                          capture_output=True,
                          timeout=60,
                          check=False)
    said = done.stderr.decode(errors="replace")
    return done.returncode, json.loads(done.stdout) if done.returncode == 0 else said, said


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
    """True if it claims that a recording whose cost the file lacks cost nothing."""
    return tells(answer) and 0 in (answer["cost"]["user_ns"], answer["cost"]["bpf_ns"])


def silence_of(status, answer, said):
    """What is wrong with the line that comes before an answer."""
    if status:
        return ""
    damaged = tells(answer) or answer["ledger"]["missing"]
    if damaged and not SAYS.fullmatch(said):
        return "no word of damage before the answer, %r" % said
    return "" if damaged or not said else "it says %r" % said


def problem_of(status, answer, before):
    if status:
        refusal = SAYS.sub("", answer)
        return "" if status in (1, 2) and LINE.match(refusal) else "exit status %d, %r" % (status,
                                                                                           answer)
    if isinstance(answer.get("cost"), dict) and free_of_cost(answer):
        return "it claims a cost of 0"
    return "" if tells(answer) or without_truth(
        answer) == before else "another answer, and no word of damage"


def with_bit(data, at):
    return data[:at] + bytes([data[at] ^ 4]) + data[at + 1:]


def damaged_chunk(data, what, at, size):
    """The file with one of its chunks damaged or missing."""
    if what == "all of it":
        return data[:at] + data[at + size:]
    return with_bit(data,
                    at + (20 if what == "a bit of its header" else HEADER + (size - HEADER) // 2))


def one_schema(data, kept):
    """The file with its header and every schema but one damaged."""
    for number, at in enumerate(at for at, _, kind in chunks_of(data) if kind == SCHEMA):
        if number != kept:
            data = with_bit(data, at + HEADER)
    return with_bit(data, 0)


def schema_end(data):
    """Where the first schema ends."""
    return next(offset + size for offset, size, kind in chunks_of(data) if kind == SCHEMA)


# Damage to the beginning of a file, which leaves a whole schema each time.
HEADLESS = (("a bit of its header", lambda data: with_bit(data, 0)), ("its header",
                                                                      lambda data: data[16:]),
            ("all before the end of its first schema",
             lambda data: bytes(schema_end(data)) + data[schema_end(data):]),
            ("its header and all schemas but the first", lambda data: one_schema(data, 0)),
            ("its header and the first schema", lambda data: one_schema(data, 1)))


class Asker:
    """Asks many questions at once: a process for each, which mostly starts and ends."""

    def __init__(self, directory, pool):
        self.directory, self.pool, self.count = directory, pool, 0

    def file(self, data):
        self.count += 1
        path = os.path.join(self.directory, "%d.clew" % self.count)
        with open(path, "wb") as file:
            file.write(data)
        return path

    def answers(self, data, numbers=range(len(QUESTIONS))):
        """Numbers of questions, and the answers about a file, not yet computed."""
        path = self.file(data)
        return [(number, self.pool.submit(ask, path, QUESTIONS[number])) for number in numbers]


def problems_of_chunks(asker, data, before, what):
    """What is wrong with answers about files of which each chunk in turn is damaged."""
    problems, answered = [], 0
    numbers = range(len(QUESTIONS)) if what == "a bit of its contents" else FEW
    asked = [(at, kind, asker.answers(damaged_chunk(data, what, at, size), numbers))
             for at, size, kind in chunks_of(data)]
    for at, kind, answers in asked:
        for number, future in answers:
            status, now, said = future.result()
            answered += status == 0
            problem = problem_of(status, now, before[number]) or silence_of(status, now, said)
            if kind == SCHEMA and status == 2:
                problem = "refused for one of its schemas: %s" % now
            if problem:
                problems.append("chunk at %d, %s: %s" % (at, QUESTIONS[number][0], problem))
    return problems if answered else problems + ["all was refused"]


def problems_of_beginning(asker, data, before, moved):
    """A file whose beginning is damaged is a capture still, and says that it is damaged. One whose
    chunks `moved` has lost its index, and so may lack its end.
    """
    problems = []
    for number, future in asker.answers(data):
        status, now, said = future.result()
        problem = "exit status %d, %s" % (status, said) if status else silence_of(status, now, said)
        if not problem and (not tells(now) or without_truth(now) != before[number] and not moved):
            problem = "another answer, or no word of damage"
        if problem:
            problems.append("%s: %s" % (QUESTIONS[number][0], problem))
    return problems


def problems_of_words(asker, data):
    """In words, the line about damage comes first, and nothing says that nothing was lost."""
    problems = []
    path = asker.file(data[:-1])
    trace = os.path.join(asker.directory, "derived.ctrace")
    subprocess.run([CLEW, "convert", path, "-o", trace],
                   capture_output=True,
                   timeout=60,
                   check=True)
    for name, question in [(path, question) for question in QUESTIONS] + [(trace, ["blame"]),
                                                                          (trace, ["info"]),
                                                                          (trace, ["waits"])]:
        done = subprocess.run([CLEW, question[0], name, *question[1:]],
                              stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT,
                              timeout=60,
                              check=False)
        words = done.stdout.decode(errors="replace")
        if not SAYS.match(words):
            problems.append("%s: %r" % (question[0], words[:200]))
        elif "thing was lost" in words or re.search("nothing lost(?! (while|until))", words):
            problems.append("%s says that nothing was lost" % question[0])
    return problems


def main():
    number, failed = 0, 0

    def tell(name, problems):
        nonlocal number, failed
        number += 1
        failed += bool(problems)
        print("%s %d - %s%s" % ("not ok" if problems else "ok", number, name,
                                ": " + problems[0].replace("\n", " | ") if problems else ""),
              flush=True)

    with tempfile.TemporaryDirectory() as directory, futures.ThreadPoolExecutor(
            2 * (os.cpu_count() or 1)) as pool:
        asker = Asker(directory, pool)
        whole = os.path.join(directory, "whole.clew")
        for name in ("mutex", "pages", "names"):
            _capture.make(name, whole)
            with open(whole, "rb") as file:
                data = file.read()
            before = [without_truth(future.result()[1]) for _, future in asker.answers(data)]
            for what in ("a bit of its header", "a bit of its contents", "all of it"):
                tell("%s, of each chunk in turn %s" % (name, what),
                     problems_of_chunks(asker, data, before, what))
        for what, cut in HEADLESS:
            tell("a file without %s opens, by a whole schema" % what,
                 problems_of_beginning(asker, cut(data), before,
                                       len(cut(data)) < len(data)))
        tell("words about a file without its last byte begin with that",
             problems_of_words(asker, data))
    print("1..%d" % number)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
