#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
The form of JSON answers: each says its format first, what the tables of an answer have is there
once, and an answer grows with its segments alone. Prints TAP.
"""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from _export import altered, clew, made  # noqa: E402  pylint: disable=wrong-import-position
from _trace import CLEW, Tap  # noqa: E402  pylint: disable=wrong-import-position

FORMAT = b'{"format":2,'
# An answer of each command. NAME.clew is a capture that is made.
ANSWERS = [
    ["compare", "stacks.clew", "mutex.clew"],
    ["annotate", "stacks.clew", "mark incoming dependencies(all) of spans(**) as label(in-);"],
    ["blame", "stacks.clew"], ["check", "stacks.clew"], ["doctor"], ["dump", "stacks.clew"],
    ["edges", "stacks.clew"], ["edges", "stacks.clew", "--by", "kind"],
    ["forest", "stacks.clew", "--types", "unlock", "--several", "all"], ["functions", CLEW, "main"],
    ["info", "stacks.clew"], ["io", "stacks.clew"], ["latency", "stacks.clew"],
    ["locks", "stacks.clew"], ["pair", "stacks.clew"], ["path", "stacks.clew", "--all", "**"],
    ["report", "stacks.clew"], ["requests", "stacks.clew"], ["select", "stacks.clew", "**"],
    ["slack", "stacks.clew"], ["spans", "functions.clew"],
    ["spans", "calls.clew", "--key", "kv/key=17"], ["sql", "stacks.clew", "select * from tasks"],
    ["stitch", "stacks.clew", "mutex.clew"], ["trigger", "test", "stacks.clew", "wait futex > 1ms"],
    ["waits", "stacks.clew"], ["waits", "stacks.clew", "--stacks"],
    ["waits", "stacks.clew", "--by", "kind"], ["what-if", "stacks.clew", "--cpus", "2"],
    ["what-if", "stacks.clew", "--sweep", "scale spans(**) by 0..1", "--steps", "2"],
    ["why", "stacks.clew", "--slowest"], ["why", "stacks.clew", "--tid", "101"],
    ["why", "stacks.clew", "--call", "*"],
]
# They answer about what runs now, which tests/live has, or about a directory: golden/history.py.
LIVE = {"daemon", "history", "incidents", "top"}
TABLES = {"tasks", "objects", "stacks", "hops"}
MOST = 200  # bytes of a segment with its numbers
ROUNDS = (100, 300)
# Where the log writer sleeps while the worker waits for it.
FSYNC = re.compile(r"1 switch 1000000400000 .*\n1 switch 1000001400000 .*\n")
tap = Tap()


def said(*arguments):
    return clew(*arguments, stdout=subprocess.PIPE)


def commands():
    """Those with --json."""
    names = re.findall(r"(?m)^  ([a-z-]+) ", said("help").stdout.decode())
    return {name for name in names if b"--json" in said(name, "--help").stdout}


def begins_well(arguments):
    made_of = [made(word[:-5]) if word.endswith(".clew") else word for word in arguments]
    done = said(*made_of, "--json")
    if done.stdout.startswith(FORMAT) and json.loads(done.stdout)["format"] == 2:
        return ""
    return "%r %r" % (done.stdout[:60], done.stderr[-200:])


def naps(rounds):
    """The log writer's sleep for a file becomes so many short ones with nothing new in them."""
    lines, step = [], 1000000 // rounds
    for at in range(1000000400000, 1000001400000 - step, step):
        lines += [
            "1 switch %d flags=sleep|wait prev=4 next=0 prev_state=1 call=35" % at,
            "1 switch %d flags=next_slept prev=0 next=4 wake_time=%d waker=0 wake_context=context_irq"
            % (at + step // 2, at + step // 2 - 10)
        ]
    return "\n".join(lines) + "\n"


def why(rounds):
    name = "naps%d" % rounds
    with open(os.path.join(os.path.dirname(__file__), "stacks.records"), encoding="utf-8") as file:
        old = FSYNC.search(file.read()).group()
    written = said("why", altered("stacks", name, (old, naps(rounds))), "--tid", "101",
                   "--json").stdout
    return written, json.loads(written)


def numbers(value, keys):
    """All numbers of fields with these names."""
    if isinstance(value, list):
        return set().union(*(numbers(element, keys) for element in value))
    if not isinstance(value, dict):
        return set()
    found = set().union(*(numbers(field, keys) for field in value.values()))
    for key, field in value.items():
        if key in keys:
            found |= {
                each
                for each in (field if isinstance(field, list) else [field])
                if isinstance(each, int) and not isinstance(each, bool)
            }
    return found


def unused(answer, key, *names):
    """What a table has twice, or for nothing, or lacks."""
    table = answer[key]
    texts = [json.dumps(value) for value in table]
    twice = [text for text in texts if texts.count(text) > 1]
    # `by` of a program is a name, and `to` of a why a time.
    named = numbers([answer[table] for table in TABLES] + answer["segments"], names)
    return "" if not twice and named == set(range(
        len(table))) else "twice %s, named %s of %d" % (twice, sorted(named), len(table))


def main():
    tap.same("each command with --json has an answer here",
             sorted(commands() - LIVE - {arguments[0]
                                         for arguments in ANSWERS}), [])
    for arguments in ANSWERS:
        tap.report("the format of " + " ".join(map(os.path.basename, arguments)),
                   begins_well(arguments))

    (few_text, few), (many_text, many) = map(why, ROUNDS)
    more = len(many["segments"]) - len(few["segments"])
    tap.report("there are more segments", "" if more >= ROUNDS[1] - ROUNDS[0] else str(more))
    tap.same("which have no more in the tables", [len(many[key]) for key in TABLES],
             [len(few[key]) for key in TABLES])
    each = (len(many_text) - len(few_text)) / max(1, more)
    tap.report("and %d bytes each at most" % MOST, "" if each <= MOST else "%.1f" % each)
    for key, *names in (("tasks", "task", "by", "holder"), ("objects", "object", "below", "on"),
                        ("stacks", "stack", "waker_stack"), ("hops", "hops")):
        tap.report("%s are there once, and each is named" % key, unused(many, key, *names))
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
