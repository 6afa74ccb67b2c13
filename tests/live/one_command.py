#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
One command records and answers: a question with -d or with a command to run, the lines about a
command on a terminal, the recorded command where nothing is chosen, and a process that hangs.
Prints TAP.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time

from _live import CLEW, PATIENCE, clew, finish, ok, ready_socket, run, scratch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from terminal import on_terminal  # noqa: E402  pylint: disable=wrong-import-position

# CPUs count the time of interrupts apart; a program takes a while to begin. In s.
SLOW = 2
OWN_NAME = re.compile(r"clew-\d{6}(-\d)?\.clew")
# Two threads that wait for each other's locks, a third one that waits for what a sleeper has, and
# a first thread that waits for a child.
HANGS = """
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER,
		       c = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t met;
static void *one(void *x)
{
	pthread_setname_np(pthread_self(), "one");
	pthread_mutex_lock(&a);
	pthread_barrier_wait(&met);
	pthread_mutex_lock(&b);
	return x;
}
static void *two(void *x)
{
	pthread_setname_np(pthread_self(), "two");
	pthread_mutex_lock(&b);
	pthread_barrier_wait(&met);
	pthread_mutex_lock(&a);
	return x;
}
static void *three(void *x)
{
	pthread_setname_np(pthread_self(), "three");
	pthread_mutex_lock(&c);
	return x;
}
static void *sleeper(void *x)
{
	pthread_setname_np(pthread_self(), "sleeper");
	pthread_mutex_lock(&c);
	pthread_barrier_wait(&met);
	for (;;)
		pause();
	return x;
}
int main(void)
{
	pthread_t threads[4];

	if (!fork())
		for (;;)
			pause();
	pthread_barrier_init(&met, NULL, 2);
	pthread_create(&threads[3], NULL, sleeper, NULL);
	pthread_barrier_wait(&met);
	pthread_create(&threads[0], NULL, one, NULL);
	pthread_create(&threads[1], NULL, two, NULL);
	pthread_create(&threads[2], NULL, three, NULL);
	puts("begun");
	fflush(stdout);
	wait(NULL);
}
"""


def check_terminal(capture):
    """Five lines at most, and the command's own exit status."""
    words = ["record", "-o", capture, "--", "sh", "-c", "sleep 0.5; exit 5"]
    said, status = on_terminal([CLEW, *words], patience=PATIENCE)
    lines = said.partition("clew: sh -c sleep 0.5; exit 5 took ")[2].splitlines()
    ok(status == 5 and 1 < len(lines) <= 5, "a recorded command ends with lines about it", said)
    ok(lines and "clew why" in lines[0] and any("slept" in line and "clock_nanosleep" in line
                                                for line in lines[1:]),
       "they say what it slept for, and what to ask next", said)
    took = re.match(r"([\d.]+) (m?)s", lines[0] if lines else "")
    seconds = float(took.group(1)) / (1000 if took.group(2) else 1) if took else 0
    ok(0.5 <= seconds < 30, "and how long it took", said)
    done = clew(*words)
    ok(done.returncode == 5 and " took " not in done.stderr, "no script is told", done.stderr)


def check_default(capture):
    """The command first, the machine second."""
    told = json.loads(clew("report", capture, "--json").stdout)
    about = told.get("about", {})
    ok(
        about.get("command", "").startswith("sh -c") and about["threads"] == 2 and about["machine"]
        and {p["name"] for p in told["programs"] if p["tasks"]} <= {"sh", "sleep"},
        "report is about the command and its child", told)
    told = json.loads(clew("why", capture, "--json").stdout)
    sleeps = sum(s["ns"] for s in told["segments"] if s["kind"] == "sleep")
    ok(
        told["about"] == "command" and told["comm"] == "sh" and sleeps >= 400_000_000
        and sleeps <= told["total_ns"], "why explains all of the command, through its child",
        (told["about"], told["comm"], sleeps))


def check_questions():
    """They keep what they record."""
    place = scratch("questions")
    os.mkdir(place)
    done = clew("report", "--json", "--", "sh", "-c", "echo out; exit 3", cwd=place)
    first, _, rest = done.stdout.partition("\n")
    ok(
        done.returncode == 3 and first == "out"
        and json.loads(rest)["about"]["command"].startswith("sh -c echo"),
        "report records a command, and answers", done.stderr)
    (name, ) = os.listdir(place)
    ok(OWN_NAME.fullmatch(name) and name in done.stderr, "and keeps the capture, and says so", name)
    with ready_socket() as (ready, environment):
        ready.settimeout(PATIENCE)
        begun = subprocess.Popen([CLEW, "waits", "--json", "-d", "100s", "--keep", "kept.clew"],
                                 cwd=place,
                                 stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE,
                                 text=True,
                                 env=dict(os.environ, **environment))
        ready.recv(64)
    begun.send_signal(signal.SIGINT)
    out, error = begun.communicate(timeout=PATIENCE)
    ok(
        begun.returncode == 0 and "waits" in json.loads(out or "{}")
        and os.path.exists(os.path.join(place, "kept.clew")),
        "Ctrl-C ends -d, and the answer comes", error)
    done = clew("locks", "-d", "1s", cwd="/proc/self")
    ok(
        done.returncode == 3 and done.stderr.count("\n") == 1 and "--keep" in done.stderr,
        "a folder that takes no file is said in one line", done.stderr)


# A server whose pool waits for work all the time, and answers its third request late, and a client.
POOL = """
import os, socket, threading, time
listening = socket.create_server(("127.0.0.1", 0))
if not os.fork():
    with socket.create_connection(listening.getsockname()) as asking:
        for _ in range(8):
            asking.sendall(b"q")
            asking.recv(1)
    os._exit(0)
changed, over = threading.Condition(), False
def wait():
    with changed:
        while not over:
            changed.wait()
pool = [threading.Thread(target=wait) for _ in range(6)]
for each in pool:
    each.start()
with listening.accept()[0] as answering:
    for number in range(8):
        answering.recv(1)
        time.sleep(0.3 if number == 2 else 0.001)
        answering.sendall(b"a")
with changed:
    over = True
    changed.notify_all()
for each in pool:
    each.join()
os.wait()
"""


def check_pool(capture):
    """Threads that wait for work have most time, and are not what the headline is about."""
    done = clew("record", "-o", capture, "--", sys.executable, "-c", POOL)
    said = json.loads(clew("report", capture, "--json").stdout)
    ok(done.returncode == 0 and re.match(r"The longest of 8 requests of \S+ (to|at) ", said["headline"]),
       "the headline of a recorded server is about its requests", said["headline"])


def check_now():
    """A deadlock, a lock that a sleeper has, and a child."""
    source, program = scratch("hangs.c"), scratch("hangs")
    with open(source, "w", encoding="utf-8") as file:
        file.write(HANGS)
    run("gcc", "-w", "-pthread", "-o", program, source)
    start = time.monotonic()
    hung = subprocess.Popen([program], stdout=subprocess.PIPE, text=True)
    hung.stdout.readline()
    expected = {"one": ["one", "two"], "two": ["two", "one"], "three": ["three", "sleeper"],
                "sleeper": ["sleeper"], "hangs": ["hangs", "hangs"]}
    # The threads may still be on their way to their locks.
    for _ in range(20):
        before = time.monotonic()
        done = clew("why", "--pid", str(hung.pid), "--now", "--json")
        after = time.monotonic()
        told = json.loads(done.stdout or '{"threads": []}')
        threads = {t["comm"]: t for t in told["threads"]}
        chains = {c: [s["comm"] for s in t["chain"]] for c, t in threads.items()}
        if chains == expected:
            break
    ok(chains == expected, "each thread has its chain", (chains, done.stderr))
    ages = [t["waited_ns"] / 1e9 for t in threads.values() if t["waited_ns"] is not None]
    least, most = before - start - SLOW, after - start + SLOW
    ok(not ages or all(least <= age <= most for age in ages), "and for how long it has waited",
       (least, ages, most))
    ok({c for c, t in threads.items() if t["deadlock"]} == {"one", "two"},
       "the two that wait for each other are a deadlock", threads)
    ok(
        threads.get("three", {}).get("chain", [{}])[-1].get("role") == "holder"
        and threads.get("hangs", {}).get("chain", [{}])[-1].get("role") == "child",
        "holder and child are told", threads)
    said = clew("why", "--pid", str(hung.pid), "--now").stdout
    ok("a deadlock" in said, "in words, too", said)
    subprocess.run(["pkill", "-KILL", "-P", str(hung.pid)], check=False)
    hung.kill()
    hung.wait()
    done = clew("why", "--pid", str(hung.pid), "--now")
    ok(done.returncode == 2 and done.stderr.count("\n") == 1 and "ended" in done.stderr,
       "a process that has ended is said in one line", done.stderr)


CAPTURE = scratch("command.clew")
check_terminal(CAPTURE)
check_default(CAPTURE)
check_questions()
check_now()
check_pool(scratch("pool.clew"))
finish()
