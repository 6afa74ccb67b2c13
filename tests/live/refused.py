#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A program that the kernel refuses costs its own feature and no more.

CLEW_TEST_REFUSE makes the kernel refuse the programs that it names as they are loaded,
CLEW_TEST_REFUSE_ATTACH as they are attached. Without them workloads of wakes, timers and packets
are recorded: what is then said of an edge or a wait is right, or it is unknown. record and the
capture say what is lost, and `clew doctor` says the same. Without what is essential nothing is
recorded, and the message names it.

Ten programs are refused, five at once: first five at load, then five at attach. Unless
CLEW_LIVE_RUNS is 1, and but for guests, each program of the table is refused at load by itself,
too.

Usage: refused.py [PROGRAM ..]
"""

import json
import os
import re
import subprocess
import sys

from _graph import SLACK, Capture, compare_edges, object_agrees, outside
from _place import Lacking, command as place_command
from _live import (CLEW, GUEST, PATIENCE, ROOT, answer, clew, finish, note, ok, run, scratch,
                   skip, wanted_runs)
from workloads import RECORD, command, load

MISSING_FIELDS = os.path.join(ROOT, "build", "missing_fields")
MUTEXES = os.path.join(ROOT, "tests", "live", "_mutexes.py")
TABLE = os.path.join(ROOT, "user", "record", "stream", "program_table.c")
CHOSEN = [
    "clew_sched_process_exec", "clew_irq_handler_exit", "clew_softirq_entry",
    "clew_hrtimer_expire_entry", "clew_workqueue_execute_start", "clew_block_rq_complete",
    "clew_netif_receive_skb", "clew_napi_poll", "clew_contention_begin", "clew_cache_drop"
]
ESSENTIAL = [
    "clew_sched_switch", "clew_sched_waking", "clew_task_newtask", "clew_sched_process_exit",
    "clew_iterate"
]
# Loaded only for these options, without which nothing is lost.
ASKED = {
    "clew_function": ["-f", "libc.so.6:getpid"], "clew_kernel_function": ["-k", "do_nanosleep"],
    "clew_verify_switch": ["--verify-counters"]
}
WORKLOADS = [
    "chain", "condition", "epoll", "execthread", "hops,threads", "ipc,queue", "mutex,normal",
    "pipe,threads", "signal", "socket,stream", "sleep", "timer,other", "timer,self", "timer,epoll",
    "net,tcp", "net,udp", "tree", "vfork"
]
# A real-time kernel has tasks sleep for spinlocks, inside any call.
REAL_TIME = "PREEMPT_RT" in os.uname().version
SAID = re.compile(r"^clew: recording: yes, without (.*)$", re.M)


def refuse(programs, attached=()):
    return dict(os.environ,
                CLEW_TEST_REFUSE=",".join(programs),
                CLEW_TEST_REFUSE_ATTACH=",".join(attached))


def table():
    """The programs of the table."""
    with open(TABLE, encoding="ascii") as file:
        text = file.read()
    return re.findall(r'^\tROW\("(\w+)"', text, re.M)


def record(path, environment):
    """Records the workloads side by side; returns the finished process."""
    directory = os.path.dirname(path)
    script = os.path.join(directory, "run.sh")
    lines = [command(name, 1, directory, PLACE) for name in WORKLOADS]
    with open(script, "w", encoding="ascii") as file:
        file.write("(" + "\n".join(lines[::2]) + ") &\n(" + "\n".join(lines[1::2]) + ") &\nwait\n")
    return clew(*RECORD,
                "-o",
                path,
                "--",
                "/bin/sh",
                script,
                timeout=PATIENCE * 5,
                env=environment)


class Place:
    """What the workloads ask for; these need nothing of it."""
    path = "/var/tmp"


PLACE = Place()


def false_wait(said, capture):
    """What is told of an expected wait and is neither right nor unknown."""
    inside = [
        w for w in capture.by_tid.get(said["tid"], ())
        if said["start_min"] - SLACK <= w["start"] <= said["start_max"] + SLACK
        and w["end"] is not None and said["end_min"] - SLACK <= w["end"] <= said["end_max"] + SLACK
        and not (REAL_TIME and w["kind"] == "lock" and "lock" not in said["kind"])
    ]
    if not inside:
        return ""
    wait = min(inside, key=lambda w: outside(said, w))
    name = f"wait of {said['tid']} {'|'.join(said['kind'])} at {wait['start']}"
    if wait["kind"] not in [*said["kind"], "unknown"]:
        return f"{name}: kind {wait['kind']} (call {wait['call']}, object {wait['object']})"
    by = wait["ended_by"]
    # Where the kernel hid the wake, the instance that was polled is all that is known.
    hidden = wait["blind"] or not by or by["context"] == "unknown"
    if (wait["object"] and not object_agrees(said["object"], wait["object"])
            and not (hidden and wait["object"]["kind"] == "epoll")):
        return (f"{name}: object {wait['object']}, not {said['object']}; ended by {by}, "
                f"blind {wait['blind']}")
    if not by or "ended_by" not in said:
        return ""
    if by.get("tid") not in (said["ended_by"], None):
        return f"{name}: ended by {by}, not {said['ended_by']}"
    if said["context"] and by["context"] not in [*said["context"], "unknown"]:
        return f"{name}: context {by['context']}, not {said['context']}"
    return ""


def falsehoods(directory, capture_path):
    """What the capture's answers say of the workloads that is false, and how many pairs are right."""
    waits = answer("waits", capture_path)["waits"]
    for wait in waits:
        # The function that the task sleeps in is no object of the workload's.
        if wait["kind"] == "unknown":
            wait["object"] = None
    capture = Capture(answer("edges", capture_path)["edges"], waits)
    wrong, right = [], 0
    for name in WORKLOADS:
        graph, problem = load(name, 1, directory)
        if graph is None:
            wrong.append(f"{name}: {problem}")
            continue
        score, problems = compare_edges(graph, capture)
        right += sum(score.right.values())
        problems = [p for p in problems
                    if ("is not in the graph" in p or ": context" in p or ": object" in p or
                        ": evidence" in p) and ": context unknown" not in p and
                    ": object None" not in p]
        problems += filter(None, (false_wait(said, capture) for said in graph["waits"]))
        wrong += [f"{name}: {problem}" for problem in problems]
    return wrong, right


def start_doctor(environment):
    """Loading takes a CPU for seconds: the recording of the same may use the other one."""
    return subprocess.Popen([CLEW, "doctor", "--json"],
                            env=environment,
                            stdout=subprocess.PIPE,
                            text=True)


def end_doctor(process):
    """What doctor says that a recording is without."""
    said = json.loads(process.communicate(timeout=PATIENCE * 5)[0])
    return next(f.get("without", "") for f in said["features"] if f["name"] == "recording")


def names(program, said):
    """True if the words say that the kernel refuses the program."""
    return re.search(rf"\b{program}: (unknown opcode|it cannot be attached)", said)


def try_essential(program, how, environment):
    path = scratch("essential.clew")
    done = clew("record", "-o", path, "--", "true", env=environment)
    ok(done.returncode == 3 and "refuses what is needed for" in done.stderr and
       names(program, done.stderr) and not os.path.exists(path),
       f"{program}: nothing is recorded without it{how}, and it is named",
       f"status {done.returncode}: {done.stderr}")


def try_asked(program, options):
    path = scratch("asked.clew")
    done = clew("record", "-o", path, *options, "--", "true", env=refuse([program]))
    if done.returncode == 3 and "takes no probes" in done.stderr:
        skip(f"{program}: {options[0]} says that it is refused", done.stderr.strip())
        return
    ok(done.returncode == 3 and names(program, done.stderr),
       f"{program}: {options[0]} says that it is refused",
       f"status {done.returncode}: {done.stderr}")


def try_programs(programs, attached=()):
    """Refuses these at once, the second ones at attach; returns what record says that is lost."""
    named = [*programs, *attached]
    title = ", ".join(named)
    directory = scratch("-".join(named)[:100])
    os.mkdir(directory)
    path = os.path.join(directory, "trace.clew")
    done = record(path, refuse(programs, attached))
    if done.returncode:
        ok(False, f"{title}: the rest is recorded", f"status {done.returncode}: {done.stderr}")
        return ""
    said = SAID.search(done.stderr)
    said = said.group(1) if said else ""
    # A program may be of no use here, or for another kernel.
    for program in named if len(named) > 1 else []:
        ok(names(program, said), f"{program}: record names it beside what is lost", done.stderr)
    wrong, right = falsehoods(directory, path)
    for line in wrong[:8]:
        note(f"{title}: {line}")
    ok(not wrong, f"{title}: what is said without it is right, {right} pairs", wrong[:1])
    without = "; ".join(f"{w['feature']}: {w['reason']}" for w in answer("info", path)["without"])
    ok(without == said, f"{title}: the capture says what record said", f"{without}, not {said}")
    return said


def try_missing():
    """As if the kernel did not have a field: what needs it is left out, and the rest is loaded."""
    types, traces = scratch("less.btf"), scratch("traces")
    os.mkdir(traces)
    subprocess.run([MISSING_FIELDS, "-o", types, "/sys/kernel/btf/vmlinux", "timer_list.function"],
                   check=True)
    environment = dict(os.environ, CLEW_TEST_BTF=types)
    doctor = end_doctor(start_doctor(environment))
    done = run("strace",
               "-ff",
               "-e",
               "trace=bpf",
               "-o",
               os.path.join(traces, "of"),
               CLEW,
               "record",
               "-o",
               scratch("less.clew"),
               "--",
               "true",
               timeout=PATIENCE * 5,
               env=environment)
    said = SAID.search(done.stderr)
    said = said.group(1) if said else ""
    ok(said == doctor == "timers: timer_list.function is not where clew looks",
       "a missing field costs its feature and no other, and doctor says the same",
       f"{said}, {doctor}, {done.stderr}")
    loads = []
    for name in os.listdir(traces):
        with open(os.path.join(traces, name), encoding="utf-8", errors="replace") as file:
            loads += [line for line in file if 'prog_name="clew_' in line]
    refused = [line for line in loads if " = -1 " in line]
    ok(loads and not refused, "it is found before the load: the kernel refuses none of its programs",
       refused[:1])


def small_journal():
    """The folder of a mounted ext4 with the smallest journal, or why there is none."""
    image, folder = scratch("small.image"), scratch("small")
    os.mkdir(folder)
    with open(image, "wb") as file:
        file.truncate(64 << 20)
    try:
        place_command("mkfs.ext4", "-q", "-b", "1024", "-J", "size=1", image)
        place_command("mount", "-o", "loop", image, folder)
    except Lacking as lacking:
        return None, str(lacking)
    return folder, ""


def try_mutexes():
    """
    Without the programs at locks. A kernel before 6.17 does not say that a task is queued for a
    mutex; what does is hidden in others.
    """
    title = "clew_contention_begin: a sleep for a mutex"
    folder, reason = small_journal()
    if not folder:
        skip(title, reason)
        return
    types, path = scratch("unblocked.btf"), scratch("mutexes.clew")
    environment = refuse(["clew_contention_begin"])
    if not GUEST:
        done = run(MISSING_FIELDS, "-o", types, "/sys/kernel/btf/vmlinux",
                   "task_struct.blocked_on")
        if not done.returncode:
            environment["CLEW_TEST_BTF"] = types
    done = clew(*RECORD, "-o", path, "--", sys.executable, MUTEXES, folder,
                timeout=PATIENCE * 5, env=environment)
    place_command("umount", folder)
    truth = json.loads(done.stdout)
    waits = answer("waits", path)["waits"]
    # Once it has the mutex it waits for a line.
    second = [w for w in waits if w["tid"] == truth["second"] and w["call"] == "read"][:1]
    ok(second and second[0]["kind"] == "unknown" and not second[0]["object"],
       f"{title} that is interruptible is unknown", second)
    # A create also waits for blocks that another process has locked. That a task sleeps for a
    # spinlock its state alone says.
    by_others = [
        w["kind"] for w in waits
        if w["tid"] in truth["processes"] and w["call"] in ("unlink", "write") and w["ended_by"] and
        w["ended_by"].get("tid") in truth["processes"] and w["ended_by"]["context"] == "task" and
        not (REAL_TIME and w["kind"] == "lock" and not w["object"])
    ]
    ok(
        len(by_others) > 20 and set(by_others) == {"unknown"},
        f"{title} that counts as I/O is unknown",
        [(kind, by_others.count(kind)) for kind in set(by_others)])


def main():
    programs = sys.argv[1:]
    if not programs:
        try_programs(CHOSEN[::2])
        process = start_doctor(refuse([], CHOSEN[1::2]))
        words = try_programs([], CHOSEN[1::2])
        said = end_doctor(process)
        ok(said == words, "doctor says what record says", f"{said}, not {words}")
        try_essential(ESSENTIAL[0], "", refuse(ESSENTIAL[:1]))
        try_mutexes()
        if not GUEST:
            try_missing()
        if wanted_runs(20) > 1 and not GUEST:
            try_essential(ESSENTIAL[1], " attached", refuse([], ESSENTIAL[1:2]))
            programs = table()
    for program in programs:
        if program in ESSENTIAL:
            try_essential(program, "", refuse([program]))
        elif program in ASKED:
            try_asked(program, ASKED[program])
        else:
            try_programs([program])
    finish()


if __name__ == "__main__":
    main()
