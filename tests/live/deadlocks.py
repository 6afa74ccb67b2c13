#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Programs that hang: a parent that joins a child whose feeder thread fills a pipe that the parent
does not read, two mutexes in both orders, a mutex and a pipe, a parent and a child that wait for
each other at a socket, and one that polls a pipe while the other one waits at a socket. Beside them
programs that only look like that: one of two waits has a timeout, a thread that sleeps may wake the
other one, nobody can tell who wakes threads that wait for each other's words, and a parent that
also polls a socket that listens. `waits`, `why`, `locks` and
`why --now` say each deadlock in one sentence, and no other. They do so as well if the programs are
killed while the recording goes on, and if Ctrl-C ends both a command and its recording. Prints TAP.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time

from _live import CLEW, PATIENCE, answer, clew, finish, ok, run, scratch, start_recording, stop_recording

QUEUE = """
import multiprocessing, os
def child(queue):
    open("/proc/self/comm", "w").write("mpworker")
    queue.put(b"x" * 300000)
multiprocessing.set_start_method("fork")
open("/proc/self/comm", "w").write("mpparent")
queue = multiprocessing.Queue()
process = multiprocessing.Process(target=child, args=(queue,))
process.start()
process.join()
"""
PEERS = """
import os, select, socket, struct, sys
variant = sys.argv[1]
mine, its = socket.socketpair()
reading, writing = os.pipe()
child = os.fork()
open("/proc/self/comm", "w").write(variant)
(its if child else mine).close()
if not child:
    os.close(reading)
    its.recv(1)
    sys.exit()
os.close(writing)
waited = select.poll()
if variant == "polled":
    waited.register(reading)
if variant == "listening":
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("")
    listener.listen()
    waited.register(listener)
    waited.register(mine, select.POLLIN)
if variant == "receiving":
    mine.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("qq", 1000, 0))
if variant in ("polled", "listening"):
    waited.poll()
mine.recv(1)
"""
THREADS = r"""
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t met;
static sem_t never[2];
static int ends[2];
static const char *variant;

static void *right(void *unused)
{
	char bytes[4096];

	if (!strcmp(variant, "words")) {
		sem_wait(&never[1]);
	} else if (!strcmp(variant, "pipe")) {
		pthread_barrier_wait(&met);
		pthread_mutex_lock(&first);
		read(ends[0], bytes, sizeof(bytes));
	} else {
		pthread_mutex_lock(&second);
		pthread_barrier_wait(&met);
		if (!strcmp(variant, "nap"))
			for (;;)
				usleep(10000);
		pthread_mutex_lock(&first);
	}
	return unused;
}

int main(int argc, char **argv)
{
	struct timespec late;
	char bytes[4096] = "";
	pthread_t thread;

	variant = argv[argc - 1];
	prctl(PR_SET_NAME, variant);
	pipe(ends);
	pthread_barrier_init(&met, NULL, 2);
	pthread_mutex_lock(&first);
	pthread_create(&thread, NULL, right, NULL);
	if (!strcmp(variant, "words"))
		sem_wait(&never[0]);
	pthread_barrier_wait(&met);
	clock_gettime(CLOCK_REALTIME, &late);
	late.tv_sec += 1000;
	if (!strcmp(variant, "pipe"))
		for (;;)
			write(ends[1], bytes, sizeof(bytes));
	if (!strcmp(variant, "timed"))
		pthread_mutex_timedlock(&second, &late);
	else
		pthread_mutex_lock(&second);
}
"""
# Which threads are in a deadlock, and what each step is for.
DEADLOCKS = {
    ("mpparent", "mpworker", "mpworker"): ["child", "thread", "reader"],
    ("orders", "orders"): ["holder", "holder"],
    ("pipe", "pipe"): ["reader", "holder"],
    ("sockets", "sockets"): ["peer", "peer"],
    ("polled", "polled"): ["peer", "peer"],
}
VARIANTS = ("orders", "pipe", "timed", "nap", "words")
PAIRS = ("sockets", "polled", "listening", "receiving")
# Two passes of the recorder see a hang of so many seconds also where the machine is busy.
HANG = 10


def threads_of(pid):
    return [int(name) for name in os.listdir(f"/proc/{pid}/task")]


def hangs(pid, count):
    """Whether a process has so many threads, all of which sleep in a call that does not end."""
    try:
        calls = [
            open(f"/proc/{pid}/task/{tid}/syscall", encoding="ascii").read().split()[0]
            for tid in threads_of(pid)
        ]
    except OSError:
        return False
    return len(calls) == count and all(call in ("202", "61", "1", "230", "35", "45", "7") for call in calls)


def children_of(pid):
    return [int(word) for word in run("pgrep", "-P", pid).stdout.split()]


def start():
    """The programs, once all of them hang."""
    source, program = scratch("hang.c"), scratch("hang")
    with open(source, "w", encoding="utf-8") as file:
        file.write(THREADS)
    done = run("gcc", "-w", "-pthread", "-o", program, source)
    if done.returncode:
        raise RuntimeError(done.stderr)
    processes = {name: subprocess.Popen([program, name]) for name in VARIANTS}
    processes.update(
        {name: subprocess.Popen([sys.executable, "-c", PEERS, name])
         for name in PAIRS})
    processes["queue"] = subprocess.Popen([sys.executable, "-c", QUEUE])
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        children = {name: children_of(processes[name].pid) for name in ("queue", *PAIRS)}
        if all(hangs(processes[name].pid, 2) for name in VARIANTS) and all(
                hangs(processes[name].pid, 1) for name in PAIRS) and all(
                    below and hangs(below[0], 2 if name == "queue" else 1)
                    for name, below in children.items()):
            return processes
        time.sleep(0.01)
    raise RuntimeError("the programs do not hang")


def stop(processes):
    for process in processes.values():
        for child in children_of(process.pid):
            os.kill(child, 9)
        process.kill()
        process.wait()


def of_ours(deadlocks):
    """Those of our programs: {names of the circle: what each step is for}."""
    found = {}
    for deadlock in deadlocks:
        steps = deadlock["steps"]
        names = tuple(step["process"] for step in steps)
        if set(names) & {"mpparent", "mpworker", *VARIANTS, *PAIRS}:
            found[names] = [step["next"] for step in steps]
    return found


def rotated(steps):
    """The same circles, each from its step that comes first in the alphabet."""
    result = set()
    for names, roles in steps.items():
        pairs = list(zip(names, roles))
        result.add(min(tuple(pairs[i:] + pairs[:i]) for i in range(len(pairs))))
    return result


def check(processes, capture):
    expected = rotated(DEADLOCKS)
    for command in (["waits", capture], ["locks", capture]):
        said = answer(*command)["deadlocks"]
        ok(rotated(of_ours(said)) == expected, f"{command[0]}: each deadlock, and no other", said)
    for name, inside in (("queue", True), ("orders", True), ("pipe", True), ("timed", False),
                         ("nap", False), ("words", False), ("sockets", True), ("polled", True),
                         ("listening", False), ("receiving", False)):
        pid = str(processes[name].pid)
        said = answer("why", capture, "--tid", pid)
        told = [segment["deadlock"]["text"] for segment in said["segments"] if "deadlock" in segment]
        ok(bool(told) == inside, f"why: {name} is {'' if inside else 'not '}in a deadlock", told)
        ok(not inside or said["segments"][-1].get("cycle"), "and the chain leads back", said)
    said = answer("why", "--pid", str(processes["queue"].pid), "--now")
    ok(list(of_ours(said["deadlocks"]).values()) == [["child", "thread", "reader"]],
       "why --now: the deadlock", said["deadlocks"])
    said = answer("why", "--pid", str(processes["timed"].pid), "--now")
    ok(not said["deadlocks"] and not any(thread["deadlock"] for thread in said["threads"]),
       "why --now: none where one wait has a timeout", json.dumps(said["deadlocks"]))
    text = clew("waits", capture, "--comm", "mpparent").stdout
    ok("deadlock: mpparent-" in text and " to end, mpworker-" in text and " that only " in text,
       "the sentence", text)
    text = clew("waits", capture, "--comm", "sockets").stdout
    ok(re.search(r"deadlock: sockets-\d+ waits at unix socket:\[\d+\], whose other end only sockets-\d+ has", text),
       "the sentence about sockets", text)


def has_hung(recording):
    """Whether the command of a recording, a parent with a queue, and its child hang."""
    parents = [
        pid for pid in children_of(recording.pid)
        if open(f"/proc/{pid}/comm", encoding="utf-8").read() == "mpparent\n"
    ]
    children = children_of(parents[0]) if parents else []
    return bool(children) and hangs(parents[0], 1) and hangs(children[0], 2)


def interrupt(recording):
    """Ctrl-C for a command and its recording."""
    os.killpg(recording.pid, signal.SIGINT)
    recording.communicate(timeout=PATIENCE)


def check_killed(processes, whole, command):
    """What is said of programs that were killed, and of a command that was interrupted."""
    expected = rotated(DEADLOCKS)
    for question in (["waits", whole], ["locks", whole]):
        said = answer(*question)["deadlocks"]
        ok(
            rotated(of_ours(said)) == expected and all(one["until"] for one in said),
            f"{question[0]}: each deadlock that was killed, and no other", said)
    for name, inside in (("orders", True), ("pipe", True), ("queue", True), ("timed", False),
                         ("nap", False), ("listening", False), ("receiving", False)):
        said = answer("why", whole, "--tid", str(processes[name].pid))
        told = [segment["deadlock"]["text"] for segment in said["segments"] if "deadlock" in segment]
        ok(bool(told) == inside, f"why: {name} was {'' if inside else 'not '}in a deadlock", told)
    said = answer("waits", command, "--comm", "mpparent")["deadlocks"]
    ok(
        list(of_ours(said).values()) == [["child", "thread", "reader"]] and said[0]["until"],
        "waits: the deadlock of an interrupted command", said)
    text = clew("report", command, "--comm", "mpparent").stdout
    ok(re.search(r"Deadlock since \+\S+ s, until a signal came at \+\S+ s:\s+mpparent-", text),
       "report: its headline", text)
    windows = dict(os.environ, CLEW_WINDOW_RECORDS="2000")
    for name, capture, field in (("report", command, "headline"), ("waits", whole, "deadlocks"),
                                 ("locks", whole, "deadlocks")):
        one, parts = (json.loads(run(CLEW, name, capture, "--json", env=each).stdout)[field]
                      for each in (None, windows))
        ok(one and one == parts, f"{name}: the same deadlocks in windows", [one, parts])


def check_kills():
    whole, command = scratch("killed.clew"), scratch("interrupted.clew")
    interrupted = subprocess.Popen([CLEW, "record", "-o", command, "--", sys.executable, "-c", QUEUE],
                                   start_new_session=True, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE)
    recording = start_recording(whole)
    processes = start()
    end = time.monotonic() + PATIENCE
    try:
        while not has_hung(interrupted) and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(HANG)
    finally:
        stop(processes)
        interrupt(interrupted)
    stop_recording(recording)
    check_killed(processes, whole, command)


def main():
    capture = scratch("hang.clew")
    processes = start()
    try:
        recording = start_recording(capture)
        stop_recording(recording)
        check(processes, capture)
    finally:
        stop(processes)
    check_kills()
    finish()


main()
