#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Answers about a capture that is read in windows are those of the capture in one piece, byte for byte;
what is wrong with the arguments is said in the same words. Prints TAP.
"""
import concurrent.futures
import json
import os
import re
import resource
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from _capture import MAKE_CAPTURE  # noqa: E402  pylint: disable=wrong-import-position
from _export import clew, directory, made, place  # noqa: E402  pylint: disable=wrong-import-position
from _trace import CLEW, Tap  # noqa: E402  pylint: disable=wrong-import-position

NAMES = [
    "calls", "containers", "crowd", "devices", "discard", "disk", "doubt", "filelock", "life",
    "locks", "memory", "metadata", "mutex", "names", "own", "pages", "peer", "reused", "slices",
    "stacks", "swap", "timers", "work"
]
WINDOWS = {"--json": ["3", "25"], "--no-pager": ["7"]}  # by form: records of a window
if os.environ.get("CLEW_SANITIZED"):
    WINDOWS["--json"] = ["3"]  # a process takes ten times as long
KEYS = ["object", "kind", "task", "call", "holder"]
QUESTIONS = {
    "waits": [["--by", key] + more
              for key in KEYS
              for more in ([], ["--idle", "--self"])] +
             [["--min", "0"], ["--sort", "start", "--idle", "--self"], ["--kind", "futex,sleep,disk"]],
    "locks": [[], ["--self", "--top", "2"]],
    "blame": [[], ["--by", "function"], ["--all-running"]],
    "latency": [["--by", "kind"], ["--by", "call", "--idle", "--group", "thread"],
                ["--by", "device", "--group", "cgroup"], ["--by", "operation"],
                ["--by", "operation", "--group", "cgroup"], ["--by", "lock"],
                ["--by", "lock", "--group", "cgroup", "--self"]],
    "io": [[], ["--self", "--sort", "waited"], ["--by", "file", "--sort", "name"]],
    "path": [["--all", "**", "--operations"],
             ["--all", "**", "--operations", "--idle", "futex,fsync,socket,pipe,sleep,device"]],
    "report": [[]],
}
# Options that choose threads; the captures have some of these threads.
CHOICES = [["--comm", "*e*"], ["--comm", "nobody"], ["--tid", "100"], ["--tid", "77777"],
           ["--pid", "200"], ["--cgroup", "/*"], ["--cgroup", "/nowhere"],
           ["--container", "web"], ["--comm", "*", "--pid", "100"]]
CHOOSING = [["waits"], ["waits", "--by", "kind"], ["locks"], ["latency", "--by", "kind"],
            ["latency", "--by", "operation"], ["latency", "--by", "lock"], ["report"]]
BLAMED = [["--victims", "(e)"], ["--victims", "nobody"], ["--antagonists", "(e)"],
          ["--victims", "(e)", "--antagonists", "**"], ["--victims", "(e) where"],
          ["--victims", "** where suspended_duration > duration(1ms)"],
          ["--victims", "processes/* > *"], ["--victims", "* -> *"], ["--cgroup", "/*"],
          ["--cgroup", "/nowhere"], ["--container", "web"], ["--top", "3"]]
PATHS = [["--all", "(e)"], ["--all", "nobody"], ["--all", "** where suspended_duration > duration(1ms)"],
         ["--cgroup", "/*"], ["--cgroup", "/nowhere"], ["--all", "**", "--container", "web"],
         ["--all", "**", "--strategy", "predecessor"], ["--all", "**", "--strategy", "temporal_most_work"],
         ["--all", "**", "--all-origins", "--strategy", "least_work"]]
# Windows may say this of what they are too short for, or do not have.
READ_AGAIN = re.compile(rb"clew: operations that are longer than what a window knows[^\n]*\n")
ONE_PIECE = re.compile(rb"clew: [^\n]*: is read in one piece, as windows have no [^\n]*\n")
# Changes are tried on a capture in one piece.
HELPS = re.compile(rb'"would_help":\[.*?\],(?="ledger")|What would help\n.*?\n\n', re.S)
tap = Tap()
pool = concurrent.futures.ThreadPoolExecutor(os.cpu_count())  # an answer has one thread


def ask(capture, window, *arguments, raw=False):
    """
    (exit status, output, errors), in windows of so many records; None: in one piece. The errors
    are without what windows say of themselves, unless they are to be raw.
    """
    environment = {key: value for key, value in os.environ.items() if key != "CLEW_WINDOW_RECORDS"}
    if window:
        environment["CLEW_WINDOW_RECORDS"] = window
    done = clew(arguments[0], capture, *arguments[1:], stdout=subprocess.PIPE, env=environment)
    errors = done.stderr if raw else ONE_PIECE.sub(b"", READ_AGAIN.sub(b"", done.stderr))
    return done.returncode, HELPS.sub(b"", done.stdout), errors


def differences(name, form, *arguments):
    """How long the answer in one piece is, and the windows in which it is another."""
    whole = ask(made(name), None, *arguments, form)
    return len(whole[1]), [(name, window) for window in WINDOWS[form]
                           if ask(made(name), window, *arguments, form) != whole]


def compare(arguments, names=tuple(NAMES)):
    """Reports a question. Each capture is asked for JSON and for text."""
    for name in names:
        made(name)
    found = list(
        pool.map(lambda each: differences(*each, *arguments),
                 [(name, form) for name in names for form in WINDOWS]))
    different = [each for _, windows in found for each in windows]
    tap.report("%s in windows" % " ".join(arguments), str(different) if different else "")
    return sum(length for length, _ in found)


def check_one_piece():
    """An answer that windows do not have says in a line why, and no other one does."""
    for name, arguments in (("stacks", ["waits", "--stacks"]), ("disk", ["blame", "--by", "function"]),
                            ("disk", ["blame", "--all-running"]),
                            ("disk", ["blame", "--victims", "(e) where"]),
                            ("disk", ["path", "--all", "**", "--operations", "--json"]),
                            ("disk", ["path", "--all", "**"]),
                            ("disk", ["io", "--file", "/data/in"]),
                            ("frames", ["latency", "--by", "kind"]), ("calls", ["locks"]),
                            ("calls", ["report"]), ("disk", ["report", "--html", "-o", "-"])):
        said = [
            clew(arguments[0], made(name), *arguments[1:], stdout=subprocess.PIPE,
                 env=dict(os.environ, CLEW_WINDOW_RECORDS=window)).stderr
            for window in ("7", str(1 << 40))
        ]
        lines = [ONE_PIECE.findall(text) for text in said]
        tap.same("%s of %s is in one piece, and says so" % (" ".join(arguments), name),
                 [len(each) for each in lines], [1, 0])
    for arguments in (["waits"], ["blame"], ["path", "--all", "**", "--operations"], ["io"],
                      ["locks"], ["latency", "--by", "kind"], ["report"]):
        said = ask(made("disk"), "7", *arguments, raw=True)[2]
        tap.same("%s is in windows" % " ".join(arguments), ONE_PIECE.findall(said), [])


def check_processes():
    """Each window has a process: without any the answer fails, and in one piece it does not."""
    capture = made("disk")
    program = place("clew")
    shutil.copy(CLEW, program)
    for path, mode in ((directory.name, 0o755), (capture, 0o644), (program, 0o755)):
        os.chmod(path, mode)

    def run(**environment):
        return subprocess.run([program, "waits", "--by", "kind", capture],
                              capture_output=True,
                              check=False,
                              timeout=60,
                              env=dict(os.environ, **environment),
                              user="nobody",
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NPROC, (0, 0)))

    environment = {"CLEW_WINDOW_RECORDS": "5"}
    done = run(**environment)
    tap.same("windows have processes", (done.returncode, done.stdout), (3, b""))
    tap.same("their failure is said in a line", done.stderr.count(b"\n"), 1)
    tap.same("a short capture has none", run(CLEW_WINDOW_RECORDS="").returncode, 0)


START, ROUND, ROUNDS = 10**12, 50 * 10**6, 200


def made_served():
    """A thread that waits in epoll_wait for 40 of each 50 ms, for 10 s."""
    lines = [
        "meta kernel 6.12.0-test", "meta machine x86_64", "meta host testhost", "meta cpus 1",
        "meta start %d" % START, "meta end %d" % (START + ROUNDS * ROUND),
        "clock %d %d 1700000000000000000" % (START, START),
        "user task %d task=1 process=1 tid=100 pid=100 pid_namespace=4026531836 comm=\"serves\"" %
        (START - 50000), "user state %d flags=runnable prev=1 next=1" % (START + 1000),
        "0 switch %d prev=0 next=1" % (START + 2000)
    ]
    for begin in range(START + ROUND, START + ROUNDS * ROUND, ROUND):
        lines += [
            "0 switch %d flags=sleep|wait prev=1 next=0 prev_state=1 call=232 object_kind=8 "
            "descriptor=4 wait_flags=detail" % begin,
            "0 switch %d flags=next_slept prev=0 next=1 wake_time=%d wake_context=context_timer" %
            (begin + ROUND // 5 * 4, begin + ROUND // 5 * 4 - 10000)
        ]
    subprocess.run([MAKE_CAPTURE, place("served")], input="\n".join(lines).encode(), check=True,
                   timeout=60)
    return place("served")


def check_most_works():
    """
    Of more waits that separate operations than fit into memory the first ones are kept: operations
    are those that end 2.5 s before the first other one, and the answers say until when.
    """
    capture = made_served()
    for most in 20, 100, 150, 1000:
        environment = dict(os.environ, CLEW_WINDOW_RECORDS="50", CLEW_WINDOW_WORKS=str(most))
        until = START + (most + 1) * ROUND - 2500000000 if most < ROUNDS else None
        count = ROUNDS if until is None else max((until - START) // ROUND, 0)
        report = clew("report", capture, "--json", stdout=subprocess.PIPE, env=environment)
        report = json.loads(report.stdout)
        tap.same("report keeps %d waits" % most,
                 (report["operation_count"], report.get("operations_until")), (count, until))
        latency = clew("latency", capture, "--by", "operation", "--json", stdout=subprocess.PIPE,
                       env=environment)
        # The first and the last operation are not seen whole, and are in no distribution.
        tap.same("latency keeps %d waits" % most,
                 (sum(group["count"] for group in json.loads(latency.stdout)["groups"]),
                  b"until" in latency.stderr),
                 (max(count - (1 if until else 2), 0), until is not None))


def made_pair():
    """A client asks a server through a pipe each 50 ms, and is answered 40 ms later, for 10 s."""
    lines = ["meta kernel 6.12.0-test", "meta machine x86_64", "meta host testhost", "meta cpus 2",
             "meta start %d" % START, "meta end %d" % (START + ROUNDS * ROUND),
             "clock %d %d 1700000000000000000" % (START, START)]
    for task, name in (1, "serves"), (2, "asks"):
        lines += [
            "user task %d task=%d process=%d tid=%d pid=%d pid_namespace=4026531836 comm=\"%s\"" %
            (START - 50000, task, task, 100 + task, 100 + task, name),
            "user state %d flags=runnable prev=%d next=%d" % (START + 1000, task, task),
            "%d switch %d prev=0 next=%d" % (task - 1, START + 2000, task)
        ]

    def waits(task, other, begin, end):
        lines.extend([
            "%d switch %d flags=sleep|wait prev=%d next=0 prev_state=1 call=0 object_kind=pipe "
            "object=%d descriptor=4 wait_flags=detail" % (task - 1, begin, task, 7000 + task),
            "%d switch %d flags=next_slept prev=0 next=%d wake_time=%d waker=%d "
            "wake_context=context_task wake_object_kind=pipe wake_object=%d wake_call=1" %
            (task - 1, end + 20000, task, end, other, 7000 + task)
        ])

    answered = ROUND // 5 * 4
    for begin in range(START + ROUND, START + (ROUNDS - 1) * ROUND, ROUND):
        waits(1, 2, begin - ROUND // 10, begin)
        waits(2, 1, begin + ROUND // 50, begin + answered)
    subprocess.run([MAKE_CAPTURE, place("pair")], input="\n".join(lines).encode(), check=True,
                   timeout=60)
    return place("pair")


def check_pair():
    """Who asks and who answers is known in a window that begins between a question and its answer."""
    capture = made_pair()
    for arguments in ("report", "--json"), ("latency", "--by", "operation", "--json"):
        whole = ask(capture, None, *arguments)
        tap.same("%s: it is asked about" % arguments[0], (whole[0], len(whole[1]) > 200), (0, True))
        tap.same("%s: who asks is the same in windows" % arguments[0],
                 [window for window in ("31", "50", "77")
                  if ask(capture, window, *arguments) != whole], [])


def main():
    check_most_works()
    check_pair()
    told = sum(
        compare([command] + options) for command, all_options in QUESTIONS.items()
        for options in all_options)
    tap.report("the answers say something", "" if told > 100000 else "%d bytes" % told)
    for arguments in CHOOSING:
        for choice in CHOICES:
            compare(arguments + choice, ("containers", "peer", "disk", "names"))
    for choice in CHOICES:
        if choice[0] in ("--cgroup", "--container"):
            compare(["io"] + choice, ("containers", "disk", "pages"))
    for choice in BLAMED:
        compare(["blame"] + choice, ("containers", "disk", "locks", "mutex", "work"))
    for choice in PATHS:
        compare(["path", "--operations"] + choice, ("containers", "disk", "peer", "work", "calls"))
    for question in (["latency", "--by", "operation"], ["report"],
                     ["path", "--all", "**", "--operations"]):
        compare(question, ("usual",))
    check_one_piece()
    # A sanitizer needs a process of its own at the end.
    if not os.environ.get("CLEW_SANITIZED"):
        check_processes()
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
