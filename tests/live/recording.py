#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# alone: it counts losses, which others would cause
"""
Recording, and what may end it: its command, signals, SIGKILL, a full disk, a ring that
overflows.

After any of these the file opens and nothing stays attached.
"""

import collections
import concurrent.futures
import contextlib
import ctypes
import json
import mmap
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from _host import Host, undisturbed
from _live import CLEW, GUEST, PATIENCE, TRIES, WORKLOADS, answer, await_detached, clew, feature, finish, note, ok, ready_socket, run, scratch, skip, start_recording, stop_recording, wanted_runs
from _place import Place, mounts

TOGETHER = 2 if GUEST else 5  # recordings that are killed at about the same time
KILLS = TOGETHER * (1 if GUEST else wanted_runs(10))


def nothing_left(name):
    left = await_detached()
    ok(not left, f"{name}: nothing stays attached", [p.get("name") for p in left])


def command_mode():
    path = scratch("command.clew")
    for script, status in (("exit 0", 0), ("kill -TERM $$", 143), ("exit 7", 7),
                           ("kill -KILL $$", 137))[2 if GUEST else 0:]:
        done = clew("record", "-o", path, "--", "/bin/sh", "-c", f"echo out; {script}")
        ok(done.returncode == status, f"status of `{script}` is {status}",
           f"{done.returncode}: {done.stderr.strip()}")
        ok(done.stdout == "out\n", f"standard output of `{script}` is the command's alone",
           repr(done.stdout))
    ok(answer("info", path)["complete"], "a recording ended by its command is complete")
    in_steps(path)
    cannot_run(path)
    nothing_left("command mode")


def cannot_run(path):
    """It costs neither the capture that is there nor a file that is not."""
    with open(path, "rb") as file:
        before = file.read()
    absent, plain = scratch("absent.clew"), scratch("plain")
    write_all(plain, "no program")
    # Only its exec shows that a script's interpreter is absent.
    script = scratch("script")
    write_all(script, "#!/nonexistent/interpreter\n")
    os.chmod(script, 0o700)
    for program, status in (("/nonexistent/program", 2), (plain, 3), (script, 2)):
        for output in (path, absent):
            done = clew("record", "-o", output, "--", program)
            said = done.returncode == status and done.stderr.startswith(
                f"clew: the command {program} cannot") and done.stderr.count("\n") == 1
            ok(said, f"a command that cannot run is an error of clew's own, status {status}",
               f"{done.returncode}: {done.stderr}")
    with open(path, "rb") as file:
        ok(file.read() == before, "a command that cannot run leaves the capture that was there",
           "it is another")
    ok(not os.path.exists(absent), "and makes no file", absent)
    limited = clew("record",
                   "-o",
                   path,
                   "--",
                   "/bin/true",
                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)))
    ok(limited.returncode == 3 and "no file may become larger: raise that limit" in limited.stderr,
       "a limit of files' sizes is named", f"{limited.returncode}: {limited.stderr}")


def independently(path):
    """A capture's records as another program reads them."""
    reader = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                          "capture_reader.py")
    done = run(sys.executable, reader, path)
    return [json.loads(line) for line in done.stdout.splitlines()][:-1]


def in_steps(path):
    """The clock is read in steps of 128 ns, by the programs as by clew itself."""
    if GUEST:
        # The independent reader is not there.
        records = answer("waits", path)["waits"]
        between = [(r["kind"], name) for r in records for name in ("start", "end")
                   if (r[name] or 0) % 128]
        ok(records and not between, "times are in steps of 128 ns", between[:3])
        return
    records = independently(path)
    between = [(r["kind"], name) for r in records
               for name in ("time", "wake_time", "start_time", "begin", "queued", "issued",
                            "allocated") if r.get(name, 0) % 128]
    ok(records and not between, "times are in steps of 128 ns", between[:3] or "no records")


def beside_a_load(path, number):
    """A recording's status when it is ended by a signal, its last lines, and what info says."""
    load = subprocess.Popen(
        ["/bin/sh", "-c", "while :; do :; done & while :; do sleep 0.001; done"],
        start_new_session=True)
    recording = start_recording(path)
    time.sleep(0.5)
    status, said = stop_recording(recording, number)
    os.killpg(load.pid, signal.SIGKILL)
    load.wait()
    return status, said, answer("info", path)


def ended_by_signals():
    for number in (signal.SIGINT, ) if GUEST else (signal.SIGINT, signal.SIGTERM):
        path = scratch("signal.clew")
        status, said, info = undisturbed(lambda: beside_a_load(path, number),
                                         lambda found: found[2]["ledger"]["lost"])
        ledger = info["ledger"]
        ok(status == 0, f"{number.name} ends a recording with status 0", f"{status}: {said}")
        ok(info["complete"] and ledger["balanced"] and ledger["lost"] == 0,
           f"{number.name}: complete, balanced, nothing lost", ledger_text(ledger))
    path, most = scratch("duration.clew"), 3e9 if GUEST else 0.9e9
    # A recorder that has no CPU stops late.
    for _ in range(TRIES):
        begun = time.monotonic()
        done = clew("record", "-d", "500ms", "-o", path)
        took = time.monotonic() - begun
        length = answer("info", path)["duration_ns"]
        if done.returncode or length < most:
            break
    ok(done.returncode == 0 and 0.45e9 < length < most,
       f"a duration ends a recording ({length / 1e9:.2f} s recorded in {took:.2f} s)",
       f"{done.returncode} {length}")
    nothing_left("signals and duration")
    own_file()


def signals_and_command():
    """
    What is ignored from the start ends nothing; a command that goes on still
    gets what clew is sent.
    """
    path = scratch("signals.clew")
    recording = start_recording(path,
                                "-d",
                                "1s",
                                preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    time.sleep(0.3)
    recording.send_signal(signal.SIGHUP)
    status = recording.wait(timeout=PATIENCE)
    length = answer("info", path)["duration_ns"]
    ok(status == 0 and length > 0.95e9, "a SIGHUP that nohup has ignored does not end a recording",
       f"{status}: {length} ns")
    recording = start_recording(path, "-d", "100ms", "--", "/bin/sleep", "100")
    deadline = time.monotonic() + PATIENCE
    while not clew("info", path,
                   "--json").stdout.count('"complete":true') and time.monotonic() < deadline:
        time.sleep(0.1)
    recording.send_signal(signal.SIGTERM)
    ok(
        recording.wait(timeout=PATIENCE) == 143,
        "a command that outlives its recording gets the SIGTERM", recording.returncode)
    reading, writing = os.pipe()
    os.close(reading)
    done = clew("record", "-o", path, "--", "/bin/sh", "-c", "exit 5", stderr=writing)
    os.close(writing)
    ok(done.returncode == 5, "nobody who reads what is said: the command's status all the same",
       done.returncode)
    recording = start_recording(path)
    done = clew("record", "-o", path, "--", "/bin/true")
    status, said = stop_recording(recording)
    ok(
        done.returncode == 3 and done.stderr.startswith(f"clew: {path} is being written")
        and status == 0 and answer("info", path)["complete"],
        "two recordings into one file: the second is refused",
        f"{done.returncode}: {done.stderr}; {status}: {said}")


def few_descriptors():
    """Each CPU takes some: the limit is raised for clew, and not for its command."""
    path, name = scratch("few.clew"), "a low limit of open files is raised, the command's own stays"
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    done = clew("record",
                "-o",
                path,
                "--",
                "/bin/sh",
                "-c",
                "ulimit -Sn",
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (50, hard)))
    ok(done.returncode == 0 and done.stdout == "50\n", name,
       f"{done.returncode}: {done.stdout!r} {done.stderr}")
    done = clew("record",
                "-o",
                path,
                "--",
                "/bin/true",
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (50, 50)))
    ok(done.returncode == 3 and "too many open files: raise" in done.stderr,
       "one that cannot be raised is named", f"{done.returncode}: {done.stderr}")


def prepared():
    """Nothing that others may have prepared is recorded into."""
    shared, victim = scratch("shared"), scratch("victim")
    os.mkdir(shared)
    os.chmod(shared, 0o1777)
    write_all(victim, "precious")
    os.symlink(victim, f"{shared}/link")
    write_all(f"{shared}/open", "")
    os.chmod(f"{shared}/open", 0o666)
    for name, *more in (("link",), ("open",), ("", "--rotate", "1s")):
        done = clew("record", "-o", f"{shared}/{name}", *more, "--", "/bin/true")
        ok(done.returncode == 2 and done.stderr.count("\n") == 1,
           f"'{name}' of everybody's folder is refused in one line",
           f"{done.returncode}: {done.stderr}")
    with open(victim, encoding="ascii") as file:
        ok(file.read() == "precious", "nothing is overwritten")
    done = clew("record", "-o", "/dev/stdout", "--", "/bin/true")
    ok(done.returncode == 0 and done.stdout, "/dev/stdout is taken",
       f"{done.returncode}: {done.stderr}")


def own_file():
    """
    The capture is written past the page cache: nobody waits for its file but
    clew, and yet it has a name.
    """
    path, name = scratch("own.clew"), "requests of direct I/O have their file's path"
    device = os.stat(scratch()).st_dev
    if not os.path.exists(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}"):
        skip(name, "the capture is on no disk")
        return
    # Each second something is written.
    recording = start_recording(path)
    time.sleep(2.5)
    stop_recording(recording)
    pages = [
        p["path"] for r in answer("requests", path)["requests"]
        if r["reason"] == "direct" and r["submitter"]["pid"] == recording.pid for p in r["pages"]
    ]
    ok(set(pages) == {os.path.realpath(path)}, name, set(pages))


def ledger_text(ledger):
    return json.dumps({key: value for key, value in ledger.items() if key not in ("by", "gaps")})


def tiny_ring():
    """A ring of 64 KiB whose drain pauses for a second."""
    path = scratch("tiny.clew")
    output = scratch("tiny.json")
    script = f"for s in {'1 2 3' if GUEST else '1 2 3 4 5 6'}; do {WORKLOADS}/race --seed $s >{output}; done"
    done = clew("record", "--ring-size", "65536", "--pause-drain", "10s" if GUEST else "1s",
                "--verify-counters", "-o", path, "--", "/bin/sh", "-c",
                f"sleep 0.2; {script}; sleep 1; {script}")
    if done.returncode != 0:
        ok(False, "a ring of 64 KiB with the drain paused records",
           f"{done.returncode}: {done.stderr}")
        return
    info = answer("info", path)
    ledger = info["ledger"]
    ok(ledger["lost"] > 0, f"a full ring loses records and says how many ({ledger['lost']})",
       ledger_text(ledger))
    balanced = ledger["balanced"] and ledger[
        "seen"] == ledger["filtered"] + ledger["reserved"] + ledger["lost"] + ledger["missed"]
    ok(balanced and ledger["reserved"] == ledger["read"] == ledger["stored"],
       "the ledger balances all the same", ledger_text(ledger))
    rows = ledger["by"]
    ok(all(r["seen"] == r["filtered"] + r["reserved"] + r["lost"] + r["missed"] for r in rows),
       "so does each row of it",
       [r for r in rows
        if r["seen"] != r["filtered"] + r["reserved"] + r["lost"] + r["missed"]][:2])
    ok(
        bool(ledger["gaps"]) and sum(g["lost"] for g in ledger["gaps"]) == ledger["lost"],
        "the gaps account for all that was lost", f"{ledger['gaps'][:3]} against {ledger['lost']}")
    counted = [line for line in done.stderr.splitlines() if "counted apart" in line]
    numbers = [
        int(word.strip(",")) for line in counted for word in line.split()
        if word.strip(",").isdigit()
    ]
    ok(
        len(numbers) == 2 and numbers[0] == numbers[1],
        "a counter of its own agrees with what was seen", counted or done.stderr)
    if ledger["gaps"]:
        gap = max(ledger["gaps"], key=lambda g: g["lost"])
        tid = longest_waiter(path)
        middle = (gap["from"] + gap["to"]) // 2
        begin, end = max(middle - 10**8, info["start"]), min(middle + 10**8,
                                                             info["start"] + info["duration_ns"])
        text = clew("why", path, "--tid", tid, "--from", begin, "--to", end)
        ok(text.returncode == 0 and "lost" in text.stdout + text.stderr,
           "why over a loss says where it is blind",
           f"{text.returncode}: {(text.stdout + text.stderr)[:300]}")
    nothing_left("tiny ring")


def identities_lost(path):
    return any(row["kind"] == "task" and row["lost"]
               for row in answer("info", path)["ledger"]["by"])


def born_in_a_loss():
    """Whose identity was lost tells it again."""
    path = scratch("born.clew")
    script = "i=0; while [ $i -lt 1200 ]; do /bin/true; i=$((i+1)); done; /bin/sh -c 'echo $$; /bin/sleep 1.5; /bin/sleep 0.2'"
    # The pause begins with the recording; on a busy machine the script begins later.
    for pause in ("1s", "3s", "9s"):
        done = clew("record", "--ring-size", "65536", "--pause-drain", pause, "-o", path, "--",
                    "/bin/sh", "-c", script)
        lost = done.returncode == 0 and identities_lost(path)
        if lost:
            break
    waits = clew("waits", path, "--json", "--pid", done.stdout.strip())
    named = waits.returncode == 0 and [
        w["comm"] for w in json.loads(waits.stdout)["waits"] if w["call"] == "wait4"
    ]
    ok(named and set(named) == {"sh"},
       "a process that was born while records were lost has its name", named or waits.stderr)
    ok(lost, "and identities were lost then", done.stderr)


def longest_waiter(path):
    """A thread that lived through the whole capture."""
    info = answer("info", path)
    waits = answer("waits", path)["waits"]
    for wait in waits:
        if wait["open"] in ("both", "start") and wait["start"] <= info["start"] + 10**7:
            return wait["tid"]
    return waits[0]["tid"]


def kill_at_random(path, delay, surely):
    """
    Ends the recorder on the spot, some time after its file is there, or `surely` a second and more
    after it has begun to record; returns for how many seconds it had been recording.
    """
    with ready_socket() as (ready, environment):
        recording = subprocess.Popen([CLEW, "record", "-o", path],
                                     stderr=subprocess.DEVNULL,
                                     env=dict(os.environ, **environment))
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and not (os.path.exists(path) and os.path.getsize(path)):
            time.sleep(0.01)
        kill_at = time.monotonic() + delay
        ready.settimeout(PATIENCE if surely else delay)
        try:
            ready.recv(64)
            begun = time.monotonic()
            if surely:
                kill_at = begun + 1.5 + delay
            time.sleep(max(kill_at - begun, 0))
            recorded = time.monotonic() - begun
        except TimeoutError:
            recorded = 0
        recording.send_signal(signal.SIGKILL)
        recording.wait()
    return recorded


def killed():
    """SIGKILL at random moments: every file opens up to its last whole chunk."""
    dice = random.Random(1)
    wrong, stayed, states = [], [], {True: 0, False: 0, None: 0}
    load = subprocess.Popen([
        "/bin/sh", "-c", f"while :; do {WORKLOADS}/pipe >/dev/null; sleep {1 if GUEST else 0}; done"
    ],
                            start_new_session=True,
                            stdout=subprocess.DEVNULL)
    for first in range(0, KILLS, TOGETHER):
        paths = [scratch(f"killed{turn}.clew") for turn in range(first, first + TOGETHER)]
        delays = [dice.uniform(0, 10 if GUEST else 2.5) for _ in paths]
        # How long programs take to load is the machine's: one of them has recorded for sure.
        surely = [not GUEST and path == paths[-1] for path in paths]
        with Host() as host, \
                concurrent.futures.ThreadPoolExecutor(max_workers=TOGETHER) as pool:
            recorded = list(pool.map(kill_at_random, paths, delays, surely))
        soon = (8 if GUEST else 1.5) + host.away / 1e9
        for path, seconds in zip(paths, recorded):
            done = clew("info", path, "--json")
            if done.returncode == 0:
                states[json.loads(done.stdout)["complete"]] += 1
            elif done.returncode == 2 and done.stderr.startswith("clew: ") and seconds < soon:
                # Killed before the first whole chunk: that is said, too.
                states[None] += 1
            else:
                wrong.append(
                    f"after {seconds:.2f} s: {done.returncode}: {done.stderr.strip()} ({os.path.getsize(path)} bytes)"
                )
            os.unlink(path)
        stayed += await_detached()
    os.killpg(load.pid, signal.SIGKILL)
    load.wait()
    note(
        f"{KILLS} kills: {states[False]} files open as incomplete, {states[None]} had no whole chunk yet, {states[True]} were complete"
    )
    ok(not wrong, f"{KILLS} SIGKILLs at random moments: each file opens", wrong[:3])
    ok(states[True] == 0, "none of them says that it is complete", states[True])
    ok(states[False] >= max(KILLS // 3, 1), "many of them had recorded something", states)
    ok(not stayed, "no program stayed attached on the way", [p.get("name") for p in stayed[:3]])


def kill_beside_sleeps(path):
    """Kills a recording; ns that its file lacks at its end."""
    recording = subprocess.Popen(
        [CLEW, "record", "-o", path, "--", "/bin/sh", "-c", "while :; do sleep 0.01; done"],
        stderr=subprocess.DEVNULL,
        start_new_session=True)
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and clew("info", path).returncode != 0:
        time.sleep(0.3)
    time.sleep(4 if GUEST else 1.5)
    killed_at = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    recording.send_signal(signal.SIGKILL)
    recording.wait()
    # Its command may have ended with it.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(recording.pid, signal.SIGKILL)
    info = answer("info", path)
    return killed_at - (info["start"] + info["duration_ns"])


def loses_little():
    """What is missing at the end of a killed recording is at most a second."""
    path, most = scratch("killed.clew"), 2.5e9 if GUEST else 1.1e9
    missing = undisturbed(lambda: kill_beside_sleeps(path), lambda found: found > most)
    info = answer("info", path)
    ok(missing <= most,
       f"a killed recording lacks {missing / 1e9:.2f} s at its end", "more than a second")
    waits = answer("waits", path)["waits"]
    sure = [w for w in waits if w["open"] in ("end", "both") and not w["blind"]]
    ok(waits and not sure,
       "no wait is told to last until a killed recording's end as if that were known", sure[:2])
    sleeper = [w for w in waits if w["comm"] == "sleep" and w["kind"] == "sleep"]
    long = [w for w in sleeper if not w["blind"] and w["end"] - w["start"] > 10**9]
    ok(sleeper and not long, "of sleeps of 10 ms none is told as long", long[:2])
    gaps = info["ledger"]["gaps"]
    ok(
        gaps and all(g["missing"] is None and g["lost"] == 0 and g["to"] >= info["start"] +
                     info["duration_ns"] for g in gaps),
        "what is missing at its end is no loss of the recording", gaps[:3])
    os.unlink(path)


def full_disk():
    place = scratch("full")
    os.makedirs(place)
    if run("mount", "-t", "tmpfs", "-o", "size=128k", "none", place).returncode != 0:
        skip("full disk", "a tmpfs cannot be mounted here")
        return
    try:
        path = os.path.join(place, "trace.clew")
        # The command is left to end by itself, whatever becomes of its recording.
        script = f"for i in $(seq 300); do {WORKLOADS}/race --seed $i; done"
        done = clew("record", "-o", path, "--", "/bin/sh", "-c", script, stdout=subprocess.DEVNULL)
        ok(done.returncode == 3 and done.stderr.startswith("clew: "),
           "a full disk is status 3 and said in one line", f"{done.returncode}: {done.stderr}")
        info = clew("info", path, "--json")
        ok(info.returncode == 0, "the file on the full disk opens",
           f"{info.returncode}: {info.stderr}")
        if info.returncode == 0:
            told = json.loads(info.stdout)
            ok(told["bytes"] > 1 << 15 and told["duration_ns"] > 0, "and holds what fitted",
               f"{told['bytes']} bytes")
    finally:
        run("umount", "-l", place)
        os.rmdir(place)
    nothing_left("full disk")


def open_at_both_ends():
    """Waits that began before the capture, and those that last beyond it."""
    path = scratch("open.clew")
    sleeper = subprocess.Popen(["/bin/sleep", "1000"])
    reader = subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    lock = subprocess.Popen([f"{WORKLOADS}/deadlock", "--variant", "stay"],
                            stdout=subprocess.PIPE,
                            text=True,
                            start_new_session=True)
    graph = ""
    while not graph.rstrip().endswith("]}"):
        graph += lock.stdout.readline()
    graph = json.loads(graph)
    dead = subprocess.Popen(["/bin/true"])
    os.waitid(os.P_PID, dead.pid, os.WEXITED | os.WNOWAIT)
    time.sleep(0.2)
    recording = start_recording(path)
    time.sleep(0.3)
    reader.stdin.write(b"x")
    reader.stdin.flush()
    time.sleep(0.3)
    stop_recording(recording)
    for process in (sleeper, reader, lock, dead):
        process.kill()
        process.wait()
    info = answer("info", path)
    waits = answer("waits", path)["waits"]
    of = {p.pid: [w for w in waits if w["tid"] == p.pid] for p in (sleeper, reader)}
    end = info["start"] + info["duration_ns"]
    first = of[sleeper.pid]
    ok(
        len(first) == 1 and first[0]["open"] == "both" and first[0]["end"] is None
        and first[0]["kind"] == "sleep" and first[0]["ended_by"] is None,
        "a sleep longer than the capture is open at both ends", first)
    first = of[reader.pid]
    ok(
        len(first) >= 2 and first[0]["open"] == "start" and first[0]["kind"] == "pipe"
        and (first[0]["ended_by"] or {}).get("tid") == os.getpid(),
        "a wait open at the start is resolved when it ends, its kind and object known", first[:1])
    ok(
        bool(first) and first[-1]["open"] == "end" and first[-1]["kind"] == "pipe"
        and first[-1]["end"] is None, "the next one is open at the end", first[-1:])
    ok(not [w for w in waits if w["tid"] == dead.pid],
       "who had ended before the capture waits for nothing",
       [w for w in waits if w["tid"] == dead.pid])
    tids = [task["tid"] for task in graph["tasks"]][1:]
    held = [w for w in waits if w["tid"] in tids]
    ok(
        len(held) == 2 and all(w["open"] == "both" and w["kind"] == "futex" for w in held),
        "two deadlocked threads wait from before to after", held)
    ok(
        len(held) == 2
        and all([h["tid"] for h in w["holders"]] == [t for t in tids if t != w["tid"]]
                for w in held), "each knows the other as the holder", [w["holders"] for w in held])
    why = answer("why", path, "--tid", tids[0], "--from", info["start"], "--to", end)
    cycle = sum(s["ns"] for s in why["segments"] if s.get("cycle") and s["kind"] == "futex")
    ok(cycle == why["total_ns"], "why ends in the cycle",
       [(s["kind"], s["ns"], s.get("cycle")) for s in why["segments"]][:5])


CLONE_NEWNS, CLONE_NEWPID, MS_BIND, MS_REC, MS_PRIVATE = 0x20000, 0x20000000, 0x1000, 0x4000, 1 << 18


def open_cold(path):
    """A file of its own, for whose writing it waits."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
    os.write(fd, bytes(1 << 20))
    os.fsync(fd)
    return fd


def sleep_cold(fd):
    """Waits for the disk, reading."""
    # A fast disk is not always slept for, and dropping pages may wait for other CPUs.
    slept = 0
    for _ in range(1000):
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
        os.pread(fd, 4096, 500000)
        slept += resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw - before
        if slept >= 3:
            break


def read_cold(path, remove=False):
    fd = open_cold(path)
    if remove:
        os.unlink(path)
    sleep_cold(fd)
    os.close(fd)


def use_files(directory):
    """
    In a child: a file that has another path in its mount namespace, and one
    that is deleted while it is open.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    there, here = os.path.join(directory, "there"), os.path.join(directory, "here")
    if libc.unshare(CLONE_NEWNS) or libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None):
        return 2
    if libc.mount(there.encode(), here.encode(), None, MS_BIND, None):
        return 2
    write_all(os.path.join(directory, "namespace"), str(os.stat("/proc/self/ns/mnt").st_ino))
    read_cold(os.path.join(here, "file"))
    # Each may get the inode that the one before had.
    for name in ("gone", "next", "last"):
        read_cold(os.path.join(directory, name), True)
    return 0


def write_all(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def files_told():
    path = scratch("files.clew")
    with tempfile.TemporaryDirectory(prefix="clew-live-files-", dir="/var/tmp") as directory:
        for name in ("there", "here"):
            os.mkdir(os.path.join(directory, name))
        recording = start_recording(path)
        child = os.fork()
        if not child:
            status = 3
            try:
                status = use_files(directory)
            finally:
                os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        stop_recording(recording)
        if status == 2:
            skip("files of a mount namespace, and deleted ones", "mount namespaces are refused")
            return
        with open(os.path.join(directory, "namespace"), encoding="ascii") as file:
            namespace = int(file.read())
        files = [
            w["object"] for w in answer("waits", path)["waits"]
            if w["tid"] == child and w["kind"] == "read" and w["call"] == "pread64"
        ]
        inside = [f for f in files if f["path"] == os.path.join(directory, "here", "file")]
        ok(
            bool(inside) and all(f["mount_namespace"] == namespace and not f["deleted"]
                                 and f"namespace {namespace}" in f["name"] for f in inside),
            "a file in a mount namespace has the path that is seen there, and says so", files)
        gone = [f for f in files if f not in inside]
        ok(
            bool(gone) and all(f["deleted"] and f["name"].endswith("(deleted)") for f in gone),
            "a file that was deleted while it was open says so", files)
        names = [os.path.basename(f["path"] or "") for f in gone]
        ok(
            list(dict.fromkeys(names)) == ["gone", "next", "last"],
            f"files that follow one another have their own names, on {len({f['ino'] for f in gone})} inodes",
            files)


def directories_moved():
    """
    Of each file itself or a directory above is renamed or moved between two
    reads: each is of the path that the file had then.
    """
    path, paths = scratch("moved.clew"), {}
    with tempfile.TemporaryDirectory(prefix="clew-live-moved-", dir="/var/tmp") as directory:
        recording = start_recording(path)
        moves = ("a/b/c", "a/b/other"), ("a/b", "a/other"), ("a", "other"), ("a/b/c", "other"), (
            "", "other"), ("a/b/c/file", "other"), ("a/b/c/file", "a/b/c/other")
        for number, (old, new) in enumerate(moves):
            top = os.path.join(directory, str(number))
            os.makedirs(os.path.join(top, "a/b/c"))
            file, old, new = os.path.join(top, "a/b/c/file"), os.path.join(
                top, old).rstrip("/"), os.path.join(top if old else directory, new)
            fd = open_cold(file)
            sleep_cold(fd)
            os.rename(old, new)
            if old != file:
                time.sleep(0.01)  # for 8 ms a directory is taken to have the name that it had
            sleep_cold(fd)
            paths[os.fstat(fd).st_ino] = [file, file.replace(old, new, 1)]
            os.close(fd)
        stop_recording(recording)
        waits = [
            w for w in answer("waits", path)["waits"]
            if w["tid"] == os.getpid() and w["kind"] == "read" and w["call"] == "pread64"
        ]
        told = {
            ino:
            list(dict.fromkeys(w["object"]["path"] for w in waits if w["object"]["ino"] == ino))
            for ino in paths
        }
        ok(
            told == paths,
            "files that are renamed or moved, or whose directories are, have the paths that they had then",
            (told, paths))


# Once a file is there, the kernel seems to have left out three runs of each
# program for contended locks.
LEAVE_OUT = """
#include <dlfcn.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int bpf_obj_get_info_by_fd(int fd, void *info, __u32 *size)
{
	int (*own)(int, void *, __u32 *) = (int (*)(int, void *, __u32 *))dlsym(RTLD_NEXT, "bpf_obj_get_info_by_fd");
	struct bpf_prog_info *program = info;
	int r = own(fd, info, size);

	if (r == 0 && *size >= 224 && !strncmp(program->name, "clew_contention", 15) && access(getenv("LEFT_OUT"), F_OK) == 0)
		program->recursion_misses += 3;
	return r;
}
"""


def left_out():
    """What the kernel left out of the programs' runs is missed, of their kind and on no CPU."""
    if GUEST:
        skip("runs that the kernel left out are missed", "no compiler in the guest")
        return
    path, library, mark = scratch("left_out.clew"), scratch("left_out.so"), scratch("left_out")
    run("gcc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-x", "c", "-", "-o", library, input=LEAVE_OUT)
    recording = start_recording(path, env=dict(os.environ, LD_PRELOAD=library, LEFT_OUT=mark))
    write_all(mark, "")
    stop_recording(recording)
    ledger = answer("info", path)["ledger"]
    rows = [r for r in ledger["by"] if r["kind"] == "lock" and r["missed"]]
    # It may have left out some by itself.
    ok(ledger["balanced"] and len(rows) == 1 and rows[0]["seen"] == rows[0]["missed"] >= 6,
       "runs that the kernel left out are missed", rows)


def hidden_said():
    """Record's last lines have the waits that this kernel hid something of, as info has them."""
    path, any_hidden = scratch("hidden.clew"), 0
    for lap in range(2 if GUEST else max(3, wanted_runs(8))):
        done = clew("record", "-o", path, "-d", f"{200 + 100 * lap}ms")
        hidden = answer("info", path)["hidden"]
        said = re.findall(r"^clew: this kernel hid.* switches of (\d+) waits?:", done.stderr, re.M)
        any_hidden += hidden
        if said != ([str(hidden)] if hidden else []):
            ok(False, "record says of how many waits this kernel hid switches", (hidden, said))
            return
    note(f"{any_hidden} waits with hidden switches")
    ok(True, "record says of how many waits this kernel hid switches")


def sync_of_files(files, busy):
    """The ledger of a sync of files that were just written to, beside busy threads."""
    for file in files:
        with open(file, "r+b") as written:
            written.write(b"x" * 3000)
    path = scratch("burst.clew")
    loops = "while :; do :; done & loops=\"$loops $!\"; " * busy
    clew("record", "-o", path, "--", "sh", "-c",
         f"{loops} sleep 0.3; sync -f {files[0]}; [ -z \"$loops\" ] || kill $loops")
    return answer("info", path)["ledger"]


def drains_in_its_own_memory():
    """
    The kernel has one lock for a process's mappings. Who drains the rings must not ask
    for it: a thread that encodes may
    have it and get no CPU.
    """
    name = "who drains the rings has the kernel change no mapping"
    if not shutil.which("strace"):
        skip(name, "no strace")
        return
    path, log = scratch("own.clew"), scratch("strace")
    done = run(
        "strace", "-f", "-Y", "-e", "trace=memory,clock_nanosleep", "-o", log, CLEW, "record", "-o",
        path, "--", "sh", "-c",
        f"{WORKLOADS}/race --seed 1 >/dev/null; sleep 0.6; {WORKLOADS}/race --seed 2 >/dev/null")
    with open(log, encoding="utf-8", errors="replace") as file:
        calls = re.findall(r"^\d+<clew-(?:drain|urgent)> (?!<)(\w+)\(", file.read(), re.M)
    # The C library gives back a thread's stack as it ends.
    changed = collections.Counter(call for call in calls
                                  if call not in ("clock_nanosleep", "madvise"))
    ok(done.returncode == 0 and "clock_nanosleep" in calls and not changed, name,
       (done.stderr[-200:], changed))


def burst_after_silence():
    """
    Who syncs thousands of small files makes more records in a few ms than a ring holds; the drain
    sleeps for longer, and on busy CPUs it would wait for its turn, too.
    """
    directory = scratch("burst")
    files = [
        os.path.join(directory, f"a_directory_with_a_long_name_{number // 200}",
                     f"some_file_name_{number}") for number in range(12000)
    ]
    for file in files:
        os.makedirs(os.path.dirname(file), exist_ok=True)
        write_all(file, "")
    ledger = undisturbed(lambda: sync_of_files(files, 0), lambda found: found["lost"])
    ok(ledger["lost"] == 0 and ledger["balanced"],
       "nothing is lost of a burst of records after silence", f"{ledger['lost']} lost")
    name = "nothing is lost of bursts on busy CPUs"
    available, lacks = feature("real-time priority")
    if available:
        lost = [
            undisturbed(lambda: sync_of_files(files, 2 * os.cpu_count())["lost"], bool)
            for _ in range(wanted_runs(6))
        ]
        ok(not any(lost), name, f"{lost} lost")
    else:
        skip(name, lacks)
    shutil.rmtree(directory)


def store_in_turns(shared, pages):
    """This process and then a child of it store to each page; returns the child's number."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return child
    for page in pages:
        shared[page * mmap.PAGESIZE + 1] = 2
    os._exit(0)


def mounted_late():
    """
    Stores to a mapped file of an xfs that nobody had mounted at the start: what
    is not told is counted.
    """
    path, pages = scratch("mounted.clew"), 20
    mounted = any(system == "xfs" for _, _, system, _ in mounts())
    with Place(("xfs", )) as place:
        lacking = place.lacks.get("xfs")
    if lacking:
        skip("an xfs that is mounted while it is recorded", lacking)
        return
    recording = start_recording(path)
    with Place(("xfs", )) as place:
        name = os.path.join(place.path, "xfs", "stored")
        with open(name, "w+b") as file:
            file.truncate((pages + 1) * mmap.PAGESIZE)
            with mmap.mmap(file.fileno(), (pages + 1) * mmap.PAGESIZE) as shared:
                shared[0] = 1
                time.sleep(5 if GUEST else 1)
                for page in range(1, pages + 1):
                    shared[page * mmap.PAGESIZE] = 1
                child = store_in_turns(shared, range(1, pages + 1))
                shared.flush()
        stop_recording(recording)
    info = answer("info", path)["ledger"]
    missed = sum(row["missed"] for row in info["by"] if row["kind"] == "extent")
    told = "none is missed" if mounted else "the first alone is missed, and counted"
    ok(info["balanced"] and missed == (0 if mounted else 1),
       f"stores to an xfs that is mounted while it is recorded: {told}", info["by"])
    told = next((file for file in answer("io", "--file", name, path)["files"]), {"writers": []})
    stored = {writer["pid"]: writer["bytes"] for writer in told["writers"]}
    ok(
        stored.get(child) == pages * mmap.PAGESIZE,
        "an xfs that is mounted while it is recorded: who stored to pages that were dirty already",
        told)


def in_a_pid_namespace():
    """What runs in it is recorded all the same, and what is unknown is said."""
    path, libc = scratch("namespace.clew"), ctypes.CDLL(None, use_errno=True)
    child = os.fork()
    if not child:
        if libc.unshare(CLONE_NEWPID):
            os._exit(9)
        done = clew("record", "-o", path, "--", "/bin/sh", "-c", "sleep 0.1; exit 3")
        os._exit(3 if done.returncode == 3 and "clew: in a PID namespace of its own" in done.stderr
                 else 4)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status == 9:
        skip("in a PID namespace", "PID namespaces are refused")
        return
    ok(status == 3,
       "in a PID namespace: what is unknown there is said, the command's status returned", status)
    waits = [
        wait for wait in answer("waits", path)["waits"]
        if wait["kind"] == "child" and wait["comm"] == "sh"
    ]
    ok(waits, "in a PID namespace: a command's waits are there", "no wait for a child")


# Its first thread ends; another makes a third after that, which says its tid.
OUTLIVES = """
import ctypes, os, threading, time
def last():
    print(os.getpid(), threading.get_native_id(), flush=True)
    os._exit(0)
def second():
    while open(f"/proc/{os.getpid()}/stat").read().rsplit(")", 1)[1].split()[0] != "Z":
        time.sleep(0.01)
    threading.Thread(target=last).start()
    time.sleep(60)
threading.Thread(target=second).start()
ctypes.CDLL(None).pthread_exit(None)
"""


def outlives_its_first_thread():
    path = scratch("outlives.clew")
    done = clew("record", "-o", path, "--", sys.executable, "-c", OUTLIVES)
    pid, tid = map(int, done.stdout.split())
    tasks = {task["tid"]: task for task in independently(path) if task["kind"] == "task"}
    ok(tasks[tid]["process"] == tasks[pid]["task"],
       "a thread made after its process's first one ended is of that process",
       (tasks[tid], tasks[pid]))


def main():
    random.seed(1)
    command_mode()
    ended_by_signals()
    tiny_ring()
    open_at_both_ends()
    files_told()
    directories_moved()
    left_out()
    hidden_said()
    mounted_late()
    in_a_pid_namespace()
    loses_little()
    killed()
    if not GUEST:
        # No kernel has a part in it, and an emulated one takes long to load the
        # programs so often, and minutes to fill a disk.
        signals_and_command()
        few_descriptors()
        full_disk()
        prepared()
        outlives_its_first_thread()
        drains_in_its_own_memory()
        burst_after_silence()
        # Nor here.
        born_in_a_loss()
    finish()


if __name__ == "__main__":
    main()
