#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# alone: it counts losses, which others would cause
"""
What is lost of a recording: nothing beside a load and in bursts, what a full ring has no room for,
and what a SIGKILL cuts off at the end. It is counted, and no answer hides it. The file opens after
any of these, and nothing stays attached.
"""

import concurrent.futures
import contextlib
import json
import mmap
import os
import random
import shutil
import signal
import subprocess
import time

from _host import Host, undisturbed
from _live import CLEW, GUEST, PATIENCE, WORKLOADS, answer, await_detached, clew, feature, finish, note, nothing_left, ok, ready_socket, scratch, skip, start_recording, stop_recording, wanted_runs
from _place import Place, mounts, write

TOGETHER = 2 if GUEST else 5  # recordings that are killed at about the same time
KILLS = TOGETHER * (1 if GUEST else wanted_runs(10))


def ledger_text(ledger):
    return json.dumps({key: value for key, value in ledger.items() if key not in ("by", "gaps")})


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
    nothing_left("signals")


def longest_waiter(path):
    """A thread that lived through the whole capture."""
    info = answer("info", path)
    waits = answer("waits", path)["waits"]
    for wait in waits:
        if wait["open"] in ("both", "start") and wait["start"] <= info["start"] + 10**7:
            return wait["tid"]
    return waits[0]["tid"]


def waits_of(path, begin, end):
    """Waits of more than 50 us that overlap an interval, by thread and begin, and if they are blind."""
    rows = answer("waits", path, "--comm", "*", "--from", str(begin), "--to", str(end))["waits"]
    return {(row["tid"], row["start"]): row["blind"]
            for row in rows if not row["end"] or row["end"] - row["start"] > 50_000}


def blind_alike(path):
    """Gaps make the same waits blind, wherever reading begins and ends."""
    info = answer("info", path)
    length = info["end"] - info["start"]
    begin, step = info["start"] + int(0.3 * length), length // 40
    part = waits_of(path, begin, begin + step)
    whole = waits_of(path, begin - 8 * step, begin + 9 * step)
    differ = {key: (blind, whole.get(key)) for key, blind in part.items() if whole.get(key) != blind}
    ok(part and any(part.values()) and not differ,
       f"a window and the whole agree which of {len(part)} waits are blind",
       (len(differ), list(differ.items())[:3]))


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
    blind_alike(path)
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
        write(file, "")
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


def main():
    random.seed(1)
    ended_by_signals()
    tiny_ring()
    mounted_late()
    loses_little()
    killed()
    if not GUEST:
        # No kernel has a part in it.
        burst_after_silence()
        born_in_a_loss()
    finish()


if __name__ == "__main__":
    main()
