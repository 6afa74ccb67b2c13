# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
A trace in the Common Trace Format as babeltrace2 prints it, and what follows from its events alone:
who ran where, who woke whom, which calls were under way.
"""
import collections
import re
import shutil
import subprocess

from _capture import MAKE_CAPTURE  # noqa: F401  pylint: disable=unused-import
from _trace import CLEW  # noqa: F401  pylint: disable=unused-import

Event = collections.namedtuple("Event", "at cpu name fields")

LINE = re.compile(r"\[(\d+)\] .*?\b(\w+): \{ cpu_id = (\d+) \}, \{ ?(.*?) ?\}$")
FIELD = re.compile(r'(\w+) = ("(?:[^"\\]|\\.)*"|-?\d+)')
ESCAPE = re.compile(r"\\(x[0-9a-f]{2}|.)", re.DOTALL)
LETTERS = {"e": "\x1b", "n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
# Threads of CPUs of which records are missing have numbers above all others.
UNKNOWN = 1 << 22


def missing():
    return "" if shutil.which("babeltrace2") else "babeltrace2 is not installed"


def unescaped(text):

    def letter(found):
        code = found.group(1)
        return chr(int(code[1:], 16)) if len(code) == 3 else LETTERS.get(code, code)

    return ESCAPE.sub(letter, text)


def value(text):
    return unescaped(text[1:-1]) if text[0] == '"' else int(text)


class Ctf:

    def __init__(self, folder):
        done = subprocess.run(
            ["babeltrace2", "--no-delta", "--clock-cycles", "--color=never", folder],
            capture_output=True,
            timeout=300,
            check=False)
        self.status = done.returncode
        self.complaints = done.stderr.decode().splitlines()
        self.events = []
        for line in done.stdout.decode().splitlines():
            at, name, cpu, fields = LINE.match(line).groups()
            self.events.append(
                Event(int(at), int(cpu), name,
                      {key: value(text)
                       for key, text in FIELD.findall(fields)}))

    def of(self, *names):
        return [event for event in self.events if event.name in names]

    def runs(self, end):
        """(CPU, start, end, tid) of what switches say; `end` is that of the recording."""
        found, current = [], {}
        for event in self.of("sched_switch"):
            if event.cpu in current:
                start, tid = current[event.cpu]
                assert tid == event.fields["prev_tid"], (event, tid)
                found.append((event.cpu, start, event.at, tid))
            current[event.cpu] = event.at, event.fields["next_tid"]
        found += [(cpu, start, end, tid) for cpu, (start, tid) in current.items()]
        return [run for run in found if run[3] < UNKNOWN]

    def wakes(self):
        """(time, woken, waker, interrupt) as Trace Compass tells who woke; a waker of None is not
        known to it."""
        found, current, inside = [], {}, collections.defaultdict(list)
        for event in self.events:
            stack = inside[event.cpu]
            if event.name == "sched_switch":
                current[event.cpu] = event.fields["next_tid"]
            elif event.name in ("irq_handler_entry", "irq_softirq_entry",
                                "timer_hrtimer_expire_entry", "x86_irq_vectors_reschedule_entry"):
                stack.append(event)
            elif event.name in ("irq_handler_exit", "irq_softirq_exit", "timer_hrtimer_expire_exit",
                                "x86_irq_vectors_reschedule_exit"):
                entry = stack.pop()
                assert entry.name[:-len("entry")] == event.name[:-len("exit")], (entry, event)
            elif event.name == "sched_waking":
                found.append(
                    (event.at, event.fields["tid"], None if stack else current.get(event.cpu),
                     stack[-1] if stack else None))
        return found

    def calls(self):
        """(tid, name, begin, end) of system calls; those that did not end have None."""
        found, current, open_ = [], {}, {}
        for event in self.events:
            tid = current.get(event.cpu)
            if event.name == "sched_switch":
                current[event.cpu] = event.fields["next_tid"]
            elif event.name.startswith("syscall_entry_"):
                assert tid not in open_, (event, tid, open_[tid])
                open_[tid] = event.name[len("syscall_entry_"):], event.at
            elif event.name.startswith("syscall_exit_"):
                name, begin = open_.pop(tid)
                assert name == event.name[len("syscall_exit_"):], (event, tid, name)
                found.append((tid, name, begin, event.at))
        return found + [(tid, name, begin, None) for tid, (name, begin) in open_.items()]
