#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# alone: its screen has what hurts most, which may be a neighbour's
"""
clew top beside a lock that is held for some seconds and two programs that share a CPU: its JSON tells
who waits for what, for how long over all periods, who has it and what that one does, what the lock
and the CPU cost; its screen in tmux has the same, and keys do what the manual says.
"""

import contextlib
import fcntl
import glob
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

from _live import CLEW, GUEST, PATIENCE, answer, clew, finish, ok, run, scratch, skip
from _tmux import Terminal, all_of, has

PERIOD = "1s" if GUEST else "500ms"
HOGS = ("hogone", "hogtwo")  # of one CPU


def folders():
    return set(glob.glob("/dev/shm/clew-top.*") + glob.glob("/tmp/clew-top.*"))


BEFORE = folders()


def left_behind():
    return folders() - BEFORE


def named(name, program):
    """A copy of a program, of that name."""
    path = scratch(name)
    if not os.path.exists(path):
        shutil.copy(shutil.which(program), path)
    return path


def is_held(path):
    with open(path, "w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


@contextlib.contextmanager
def held_lock():
    """A program that has a lock while its child sleeps, and one that waits: yields both pids."""
    path = scratch("lock")
    with subprocess.Popen([named("lockholder", "flock"), path, "sleep", "600"],
                          start_new_session=True) as holder:
        while not is_held(path):
            time.sleep(.05)
        with subprocess.Popen([named("lockwaiter", "flock"), path, "true"]) as waiter:
            yield holder.pid, waiter.pid
            os.killpg(holder.pid, signal.SIGKILL)


@contextlib.contextmanager
def shared_cpu():
    """Two programs that compute on one CPU: yields its number."""
    cpu = max(os.sched_getaffinity(0))
    hogs = [subprocess.Popen(["taskset", "-c", str(cpu), named(name, "dash"), "-c", "while :; do :; done"])
            for name in HOGS]
    yield cpu
    for hog in hogs:
        hog.kill()
        hog.wait()


def periods_of(*arguments):
    done = clew("top", "--period", PERIOD, *arguments)
    periods = [json.loads(line) for line in done.stdout.splitlines()]
    return done, periods


@contextlib.contextmanager
def unanswered():
    """A client that has asked a server which does not answer: yields the client's pid, and the port."""
    program = "import socket,sys; s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); " \
              "s.send(b'?'); s.recv(1)"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with subprocess.Popen([sys.executable, "-c", program, str(port)]) as client:
            peer, _ = listener.accept()
            with peer:
                peer.recv(1)
                yield client.pid, port
            client.wait()


def test_periods():
    """A lock, a request and a CPU at once."""
    asked = time.monotonic_ns()
    with unanswered() as request, held_lock() as lock, shared_cpu() as cpu:
        time.sleep(.5)
        done, periods = periods_of("-n", "4")
    ok(done.returncode == 0 and not done.stderr and len(periods) == 4,
       "without a terminal: four periods, a line each",
       f"{done.returncode}: {done.stderr} {done.stdout[:300]}")
    ok(all(a["to"] <= b["from"] + 1000000 for a, b in zip(periods, periods[1:])),
       "periods follow each other", [(it["from"], it["to"]) for it in periods])
    check_lock(periods, *lock)
    check_request(periods, asked, *request)
    check_cpu(periods, cpu)
    ok(not left_behind(), "nothing is left behind", left_behind())


def check_lock(periods, holder, waiter):
    found = [[it for it in period["now"] if it["tid"] == waiter] for period in periods]
    if not ok(all(len(it) == 1 for it in found), "each tells of the waiter", found):
        return
    found = [it[0] for it in found]
    ok(all(it["longer"] and it["object"]["name"] == scratch("lock") for it in found),
       "what it waits for, and that it did so before", found)
    ok(all(f"lockholder-{holder}" in it["text"] for it in found), "who has the lock", found)
    ok(all("sleep-" in it["text"] and "clock_nanosleep" in it["text"] for it in found),
       "the chain goes on to the holder's child, and what that one does", found)
    lengths = [period["to"] - period["from"] for period in periods]
    expected = [sum(lengths[:i + 1]) for i in range(len(lengths))]
    ok(all(.95 * length - 50e6 <= it["ns"] <= 1.05 * length + 50e6
           for it, length in zip(found, expected)), "its age goes on from period to period",
       ([it["ns"] for it in found], expected))
    objects = [[it for it in period["objects"] if it["object"]["name"] == scratch("lock")]
               for period in periods]
    ok(all(len(it) == 1 and it[0]["waits"] == 1 and abs(it[0]["ns"] - length) < .05 * length
           and it[0]["holder"] and it[0]["holder"]["pid"] == holder
           for it, length in zip(objects, lengths)), "what the lock cost, and who had it", objects)
    blame = [[it["ns"] for it in period["blame"] if it["victim"] == "lockwaiter"
              and it["antagonist"] == "lockholder"] for period in periods]
    ok(all(len(it) == 1 and abs(it[0] - length) < .05 * length
           for it, length in zip(blame, lengths)), "the holder's program is blamed", blame)


def check_request(periods, asked, client, port):
    """A question from before clew top has its true age: the kernel knows when it left."""
    found = [[it for it in period["requests"] if it["tid"] == client] for period in periods]
    if not ok(all(len(it) == 1 for it in found), "each period has the request under way", found):
        return
    found = [it[0] for it in found]
    ok(all(it["kind"] == "request" and it["text"].endswith(f" to 127.0.0.1:{port}")
           for it in found), "with its endpoint", found)
    ages = [period["to"] - asked for period in periods]
    ok(all(age - 2e9 <= it["ns"] <= age and not it["longer"] for it, age in zip(found, ages)),
       "its age goes on from period to period", ([it["ns"] for it in found], ages))


def check_cpu(periods, cpu):
    lengths = [period["to"] - period["from"] for period in periods]
    queues = [[it for it in period["run_queues"] if it["cpu"] == cpu] for period in periods]
    ok(all(len(it) == 1 for it in queues), "each period has the CPU", queues)
    ok(all(it[0]["busy_ns"] > .9 * length and .8 * length < it[0]["ready_ns"]
           for it, length in zip(queues, lengths)),
       "it is busy, and one of two programs is always ready", (queues, lengths))
    others = [sum(it["spent_ns"]["run"] for it in period["programs"] if it["name"] not in HOGS)
              for period in periods]
    ok(all((it[0]["ran"] in HOGS and it[0]["waited"] in HOGS) or other > .2 * length
           for it, other, length in zip(queues, others, lengths)),
       "they are named as those that ran and waited, unless others ran much", (queues, others))
    for victim, antagonist in (HOGS, HOGS[::-1]):
        blame = [sum(it["ns"] for it in period["blame"]
                     if (it["victim"], it["antagonist"], it["kind"]) ==
                     (victim, antagonist, "runqueue")) for period in periods]
        # One is ready whenever the other one runs.
        ran = [sum(it["spent_ns"]["run"] for it in period["programs"] if it["name"] == antagonist)
               for period in periods]
        ok(all(it and abs(it - other) < .03 * length
               for it, other, length in zip(blame, ran, lengths)),
           f"{victim} waited for {antagonist} while that one ran", (blame, ran, lengths))


def row_of(lines, text):
    """The line of a table with that text, without the head; -1: none."""
    rows = [i for i, line in enumerate(lines) if text in line and i > 3]
    return rows[0] if rows else -1


def test_screen():
    terminal = Terminal(120, 30)
    folder = scratch("saved")
    os.mkdir(folder)
    terminal.send(f"cd {folder}; {CLEW} top --period {PERIOD}; echo status $?", "Enter")
    with held_lock() as (holder, waiter), shared_cpu() as cpu:
        # A screen may be looked at while it is drawn.
        whole = all_of("lost 0", "q quit", "AGE", f"lockwaiter-{waiter}", f"lockholder-{holder}")
        lines = terminal.wait_for(whole)
        ok(has("lost 0")(lines) and has("q quit")(lines) and has("AGE")(lines),
           "a screen with a head, a table and the keys", lines)
        ok(f"lockholder-{holder}" in lines[row_of(lines, f"lockwaiter-{waiter}")],
           "the wait is there, with its chain", lines)
        terminal.send("2")
        lines = terminal.wait_for(
            lambda lines: row_of(lines, scratch("lock")) > 0 and has("LONGEST")(lines))
        ok(f"lockholder-{holder}" in lines[row_of(lines, scratch("lock"))] and
           has("LONGEST")(lines), "2: the lock is there, and who has it", lines)
        terminal.send("3")
        lines = terminal.wait_for(lambda lines: row_of(lines, "lockholder") > 0 and row_of(
            lines, HOGS[0]) > 0)
        ok("lockwaiter" in lines[row_of(lines, "lockholder")] and row_of(lines, HOGS[0]) > 0,
           "3: who blocks whom", lines)
        terminal.send("c")
        lines = terminal.wait_for(lambda lines: has("control groups")(lines) and row_of(lines, "/")
                                  > 0)
        ok(has("control groups")(lines) and row_of(lines, "/") > 0, "c: by control group", lines)
        terminal.send("4")

        def has_hogs(lines):
            return any(line.split()[:1] == [str(cpu)] and "hog" in line for line in lines)

        # Others may have run there more than the hogs in one period.
        lines = terminal.wait_for(lambda lines: has("RAN MOST")(lines) and has_hogs(lines))
        ok(has_hogs(lines), "4: the CPU, and what ran on it", lines)
        test_keys(terminal, waiter)
        terminal.send("w")
        lines = terminal.wait_for(has("saved: "))
        saved = glob.glob(folder + "/clew-top-*.clew")
        ok(len(saved) == 1 and has("saved: ")(lines), "w saves a capture", (saved, lines))
        ok(any(wait["tid"] == waiter for wait in answer("waits", saved[0])["waits"])
           if saved else False, "that has the wait", saved)
        terminal.resize(80, 24)
        lines = terminal.wait_for(lambda lines: len(lines) == 24 and headline(lines)[-1:] == ".")
        ok(headline(lines)[-1:] == ".", "80 columns have the whole headline", lines)
    terminal.send("q")
    lines = terminal.wait_for(lambda lines: has("status 0")(lines) and not has("q quit")(lines))
    ok(has("status 0")(lines) and not has("q quit")(lines), "q leaves the shell's screen", lines)
    ok(not left_behind(), "nothing is left behind the screen", left_behind())
    terminal.send(f"TERM=nothing {CLEW} top", "Enter")
    lines = terminal.wait_for(all_of("use --text", "the terminal 'nothing' is not known"))
    ok(has("the terminal 'nothing' is not known")(lines), "an unknown terminal is told", lines)


def headline(lines):
    """The lines between the first one and the names of the tables."""
    tabs = next((i for i, line in enumerate(lines) if line.startswith(" 1 waits")), 0)
    return " ".join(line.strip() for line in lines[1:tabs])


def test_one_period():
    """-n 1 on a terminal leaves its answer there."""
    terminal = Terminal(80, 100)
    terminal.send(f"{CLEW} top -n 1 --period {PERIOD}; echo status $?", "Enter")
    lines = terminal.wait_for(has("status 0"))
    # A shell that begins late prints its prompt behind what was typed.
    ok(has("status 0")(lines) and has("Under way now")(lines), "-n 1 prints the period", lines)


def head(lines):
    return lines[0] if lines else ""


def test_keys(terminal, waiter):
    """What keys do with the table of waits and that of who blocks whom."""
    terminal.send("3", "c", "/", "HOG")
    lines = terminal.wait_for(lambda lines: has("filter: HOG_")(lines) and row_of(lines, "hogone") >
                              0 and row_of(lines, "lockholder") < 0)
    ok(row_of(lines, "hogone") > 0 and row_of(lines, "lockholder") < 0,
       "/ leaves the rows with a text", lines)
    terminal.send("Enter", "s", "s")

    def victims(lines):
        return [line.split()[2] for line in lines[4:-1] if "hog" in line]

    lines = terminal.wait_for(lambda lines: all_of("by VICTIM", "filter 'HOG'")(lines) and victims(
        lines) == sorted(victims(lines)) and len(victims(lines)) > 1)
    rows = victims(lines)
    ok(has("filter 'HOG'")(lines) and rows == sorted(rows) and len(rows) > 1,
       "s sorts by the next column", lines)
    terminal.send("Escape", "1")
    lines = terminal.wait_for(has(f"lockwaiter-{waiter}"))
    terminal.send(" ")
    terminal.wait_for(has("FROZEN"))
    time.sleep(.3)  # the rest of it is drawn by then
    frozen = terminal.screen()
    time.sleep(2.5 if GUEST else 1.5)
    ok(has("FROZEN")(frozen) and terminal.screen() == frozen, "the blank stays at a period", frozen)
    terminal.send("/", "LOCKWAITER", "Enter", "Enter")
    lines = terminal.wait_for(all_of("Where the time went", "clock_nanosleep"))
    ok(f"lockwaiter-{waiter}" in head(lines) and has("clock_nanosleep")(lines),
       "enter opens the chain", lines)
    terminal.resize(80, 12)
    lines = terminal.wait_for(lambda lines: len(lines) == 12)
    terminal.send("G")
    lines = terminal.wait_for(lambda lines: not has("Where the time went")(lines) and has(
        "escape back")(lines))
    ok(not has("Where the time went")(lines) and has("escape back")(lines),
       "a small screen scrolls it", lines)
    terminal.send("Escape", "Escape")
    terminal.resize(120, 30)
    terminal.send(" ")
    lines = terminal.wait_for(lambda lines: has("AGE")(lines) and not has("FROZEN")(lines) and
                              row_of(lines, f"lockwaiter-{waiter}") > 0)
    ok(row_of(lines, f"lockwaiter-{waiter}") > 0 and not has("FROZEN")(lines) and len(lines) == 30,
       "escape and the blank go on", lines)
    terminal.send("h")
    lines = terminal.wait_for(all_of("this text", "who blocks whom: had the lock"))
    ok(has("who blocks whom: had the lock")(lines), "h explains the keys", lines)
    terminal.send("/")
    lines = terminal.wait_for(lambda lines: has("AGE")(lines) and not has("filter:")(lines))
    ok(has("AGE")(lines) and not has("filter:")(lines), "any key goes back, and does no more", lines)


def children(pid):
    return [int(child) for child in run("pgrep", "-P", str(pid)).stdout.split()]


def test_told():
    """What ends the screen is told on the shell's."""
    terminal = Terminal(100, 24)
    terminal.send(f"setpriv --reuid 65534 --clear-groups {CLEW} top; echo status $?", "Enter")
    lines = terminal.wait_for(has("status 3"))
    told = [line for line in lines if line.startswith("clew: ")]
    ok(has("status 3")(lines) and len(told) == 1 and "root" in told[0], "no permission is told",
       lines)
    terminal.send("clear", "Enter")
    terminal.send(f"{CLEW} top --period {PERIOD}; echo status $?", "Enter")
    terminal.wait_for(has("lost 0"))
    # A recorder that dies at once can say nothing.
    for top in children(terminal.shell()):
        for recorder in children(top):
            os.kill(recorder, signal.SIGKILL)
    lines = terminal.wait_for(all_of("status 3", "the recorder ended: start again"))
    ok(has("the recorder ended: start again")(lines), "so is the recorder's end", lines)
    terminal.end()


def test_reader():
    """The reader of a pipe has seen enough; a program that was killed left its recording."""
    top = run("sh", "-c", f"{CLEW} top --period {PERIOD} | head -n 1", timeout=60)
    ok(json.loads(top.stdout)["run_queues"] and not top.stderr and not left_behind(),
       "it ends when its reader has left", (top, left_behind()))
    with subprocess.Popen([CLEW, "top", "--period", PERIOD], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        process.kill()
    left = left_behind()
    for folder in left:
        # The recorder ends soon after that.
        until = time.monotonic() + PATIENCE
        while run("pgrep", "-f", folder).stdout and time.monotonic() < until:
            time.sleep(.1)
        os.utime(folder, (0, 0))
    clew("top", "-n", "1", "--period", PERIOD)
    ok(len(left) == 1 and not left_behind(), "what a killed one left is removed by the next one",
       (left, left_behind()))


def test_interrupted():
    with subprocess.Popen([CLEW, "top", "--period", PERIOD, "--json"],
                          stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        error = process.communicate(timeout=30)[1]
    ok(process.returncode == 0 and not error and not left_behind(), "an interrupt ends it cleanly",
       (process.returncode, error, left_behind()))


test_periods()
if shutil.which("tmux"):
    test_screen()
    test_one_period()
    test_told()
else:
    skip("the screen", "tmux is not installed")
test_reader()
test_interrupted()
done = clew("top", "-n", "1", "--period", PERIOD, "--text")
ok(done.returncode == 0 and "Under way now" in done.stdout, "--text: as text", done.stdout)
finish()
