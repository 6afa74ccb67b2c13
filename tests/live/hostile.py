#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
A recording where the machine is against it: the clock is set, the recorder is stopped for ten
seconds, memory runs out, file systems are full or read-only, its control group has little of the
CPU, of memory or of the disk, the kernel has no BTF, is locked down, or grants capabilities alone.
It ends, says in one line what is wrong, and accounts for all that it lost; killed, it leaves
nothing in the kernel. Only in guests: others would suffer.
"""

import ctypes
import json
import os
import random
import re
import signal
import subprocess
import sys
import time

from _live import (CLEW, GUEST, PATIENCE, WORKLOADS, answer, await_detached, clew, feature, finish,
                   note, nothing_left, ok, run, scratch, skip, skip_all, start_recording,
                   stop_recording)

KILLS = 20
STOPPED = 10  # s
DAY = 86400
EVENTS = [f"/sys/kernel/tracing/{kind}_events" for kind in ("uprobe", "kprobe")]
GROUPS = "/sys/fs/cgroup"
LOCKDOWN = "/sys/kernel/security/lockdown"
PR_CAPBSET_DROP, PR_SET_KEEPCAPS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE = 24, 8, 47, 2
CAPABILITIES_VERSION = 0x20080522
# docs/fleet.md lists them. With these a recorder records all but frames' numbers.
CAPABILITIES = {
    "DAC_READ_SEARCH": 2, "SYS_PTRACE": 19, "SYS_NICE": 23, "SYS_RESOURCE": 24, "SYSLOG": 34,
    "PERFMON": 38, "BPF": 39
}
# Sleeps 20 ms a hundred times, and says when each sleep began and ended.
SLEEPER = """
import json, os, time
log = []
for _ in range(100):
    start = time.monotonic_ns()
    time.sleep(0.02)
    log.append((start, time.monotonic_ns()))
print(json.dumps({"pid": os.getpid(), "log": log}))
"""
# Takes memory until it is killed.
HOG = """
with open("/proc/self/oom_score_adj", "w") as file:
    file.write("1000")
taken = []
while True:
    taken.append(bytearray(b"x") * (16 << 20))
"""

libc = ctypes.CDLL(None, use_errno=True)


def sleep_beside(during=lambda: None):
    """Runs the sleeper, and `during` meanwhile; returns what it says."""
    with subprocess.Popen([sys.executable, "-S", "-E", "-c", SLEEPER],
                          stdout=subprocess.PIPE,
                          text=True) as sleeper:
        during()
        return json.loads(sleeper.communicate(timeout=PATIENCE)[0])


def check_accounted(name, path, lost=False):
    """All that was seen is stored or counted as lost. `lost`: something must be."""
    ledger = answer("info", path)["ledger"]
    sums = ledger[
        "seen"] == ledger["filtered"] + ledger["reserved"] + ledger["lost"] + ledger["missed"]
    gaps = sum(gap["lost"] for gap in ledger["gaps"])
    ok(ledger["balanced"] and sums and gaps == ledger["lost"] and (ledger["lost"] > 0 or not lost),
       f"{name}: what was lost is counted ({ledger['lost']})",
       json.dumps({key: value
                   for key, value in ledger.items() if key != "by"})[:300])
    return ledger


def check_sleeps(name, path, told):
    """The waits of the sleeper are its sleeps, but for those that fell into a loss."""
    ledger = answer("info", path)["ledger"]
    waits = [
        w for w in answer("waits", path, "--pid", told["pid"])["waits"] if w["kind"] == "sleep"
    ]
    wrong = []
    for start, end in told["log"]:
        inside = [w for w in waits if start <= w["start"] and w["end"] and w["end"] <= end]
        if len(inside) != 1 and not any(gap["from"] <= end and gap["to"] >= start
                                        for gap in ledger["gaps"]):
            wrong.append((start, end, inside))
    ok(not wrong, f"{name}: each sleep is a wait within it", f"{len(wrong)}: {wrong[:2]}")


def set_clock(seconds):
    time.clock_settime(time.CLOCK_REALTIME, time.time() + seconds)


def step_clock():
    for seconds in (DAY, -3 * DAY, 2 * DAY):
        time.sleep(0.4)
        set_clock(seconds)


def clock_steps():
    path = scratch("clock.clew")
    recording = start_recording(path)
    begun = time.monotonic_ns()
    told = sleep_beside(step_clock)
    least = time.monotonic_ns() - begun
    status, said = stop_recording(recording)
    most = time.monotonic_ns() - begun
    length = answer("info", path)["duration_ns"]
    ok(status == 0 and least <= length < most + 60 * 10**9,
       "the clock is set by days: recorded, for as long as it took", f"{status}, {length}: {said}")
    check_accounted("the clock is set", path)
    check_sleeps("the clock is set", path, told)


def recorder_stopped():
    path = scratch("stopped.clew")
    recording = start_recording(path, "--ring-size", "64K")

    def pause():
        os.kill(recording.pid, signal.SIGSTOP)
        time.sleep(STOPPED)
        os.kill(recording.pid, signal.SIGCONT)

    with subprocess.Popen(["/bin/sh", "-c", f"while :; do {WORKLOADS}/race >/dev/null; done"],
                          start_new_session=True) as load:
        told = sleep_beside(pause)
        os.killpg(load.pid, signal.SIGKILL)
    status, said = stop_recording(recording)
    ok(status == 0, f"a recorder that is stopped for {STOPPED} s goes on", f"{status}: {said}")
    check_accounted("the recorder is stopped", path, lost=True)
    check_sleeps("the recorder is stopped", path, told)


def no_memory():
    path = scratch("memory.clew")
    recording = start_recording(path)
    with subprocess.Popen([sys.executable, "-S", "-E", "-c", HOG]) as hog:
        killed = hog.wait(PATIENCE)
    told = sleep_beside()
    status, said = stop_recording(recording)
    ok(killed == -signal.SIGKILL and status == 0,
       "memory runs out, and the kernel kills another: recorded", f"{killed}, {status}: {said}")
    check_accounted("memory runs out", path)
    check_sleeps("memory runs out", path, told)


def one_line(done, status, words):
    return (done.returncode == status and len(done.stderr.splitlines()) == 1
            and done.stderr.startswith("clew: ") and re.search(words, done.stderr))


def bad_file_systems():
    place = scratch("mounted")
    os.makedirs(place)
    path = os.path.join(place, "trace.clew")
    run("mount", "-t", "tmpfs", "-o", "size=128k,ro", "none", place)
    done = clew("record", "-o", path, "--", "true")
    ok(one_line(done, 3, "[Rr]ead-only"), "a read-only file system is said in one line",
       f"{done.returncode}: {done.stderr}")
    run("mount", "-o", "remount,rw", place)
    done = clew("record",
                "-o",
                path,
                "--",
                "/bin/sh",
                "-c",
                f"for i in 1 2 3 4 5 6; do {WORKLOADS}/race; done",
                stdout=subprocess.DEVNULL)
    info = clew("info", path, "--json")
    ok(done.returncode == 3 and "clew: " in done.stderr and info.returncode == 0,
       "a full file system is status 3, and what fitted opens",
       f"{done.returncode}: {done.stderr} {info.stderr}")
    run("umount", place)
    nothing_left("bad file systems")


class Group:
    """A control group of version 2 with one limit."""

    def __init__(self, controller, file, value):
        self.path = os.path.join(GROUPS, "clew-hostile")
        with open(f"{GROUPS}/cgroup.subtree_control", "w", encoding="ascii") as control:
            control.write(f"+{controller}")
        os.makedirs(self.path)
        self.file = os.path.join(self.path, file)
        with open(self.file, "w", encoding="ascii") as limit:
            limit.write(value)

    def enter(self):
        with open(os.path.join(self.path, "cgroup.procs"), "w", encoding="ascii") as procs:
            procs.write("0")

    def close(self):
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            try:
                os.rmdir(self.path)
                return
            except OSError:
                time.sleep(0.1)


def limited():
    root = os.stat(scratch()).st_dev
    for controller, file, value in (
        ("cpu", "cpu.max", "30000 100000"), ("memory", "memory.high", str(120 << 20)),
        ("io", "io.max", f"{os.major(root)}:{os.minor(root)} wbps=262144 rbps=1048576")):
        name, path = f"the recorder's group has {file}", scratch(file + ".clew")
        try:
            group = Group(controller, file, value)
        except OSError as error:
            skip(name, str(error))
            continue
        recording = start_recording(path, preexec_fn=group.enter)
        told = sleep_beside()
        status, said = stop_recording(recording)
        group.close()
        if ok(status == 0, f"{name} = {value}: recorded", f"{status}: {said}"):
            check_accounted(name, path)
            check_sleeps(name, path, told)


def too_little():
    """Above memory.high each allocation sleeps: the recording would never begin."""
    path = scratch("little.clew")
    try:
        group = Group("memory", "memory.high", str(48 << 20))
    except OSError as error:
        skip("a memory.high that is too low", str(error))
        return
    done = clew("record", "-o", path, "--", "true", preexec_fn=group.enter)
    group.close()
    ok(
        one_line(done, 3, "memory") and not os.path.exists(path),
        "a memory.high that is too low is said in one line", f"{done.returncode}: {done.stderr}")


def grant():
    """In a child: another user, with no more than these capabilities, which a program keeps."""
    for number in range(64):
        if number not in CAPABILITIES.values():
            libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0)
    libc.prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0)
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
    low = sum(1 << number for number in CAPABILITIES.values() if number < 32)
    high = sum(1 << (number - 32) for number in CAPABILITIES.values() if number >= 32)
    header = (ctypes.c_uint32 * 2)(CAPABILITIES_VERSION, 0)
    sets = (ctypes.c_uint32 * 6)(low, low, low, high, high, high)
    if libc.capset(header, sets):
        os._exit(99)
    for number in CAPABILITIES.values():
        if libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, number, 0, 0):
            os._exit(98)


def capabilities():
    place = scratch("nobody")
    os.chmod(scratch(), 0o711)
    os.makedirs(place)
    os.chown(place, 65534, 65534)
    path = os.path.join(place, "trace.clew")
    if tuple(map(int, os.uname().release.split(".")[:2])) < (6, 2):
        done = clew("record", "-o", path, "--", "true", preexec_fn=grant)
        ok(
            one_line(done, 3, "before Linux 6.2 .* CAP_SYS_ADMIN") and not os.path.exists(path),
            "without root, by capabilities: one line says what they lack",
            f"{done.returncode}: {done.stderr}")
        return
    recording = start_recording(path, preexec_fn=grant)
    told = sleep_beside()
    status, said = stop_recording(recording)
    if ok(status == 0, "without root, by capabilities: recorded", f"{status}: {said}"):
        note(said)
        check_accounted("by capabilities", path)
        check_sleeps("by capabilities", path, told)


def left_events():
    """Probes of clew that are still in the lists of trace events."""
    found = []
    for place in EVENTS:
        if os.path.exists(place):
            with open(place, encoding="utf-8") as file:
                found += [line for line in file if "clew" in line]
    return found


def killed():
    frames = os.path.join(WORKLOADS, "frames")
    kinds = [[], ["-f", f"{frames}:g_*"], ["-f", "libc.so.6:pthread_*"]]
    if feature("kernel functions")[0]:
        kinds.append(["-k", "vfs_*"])
    usdt = os.path.join(WORKLOADS, "usdt-O2")
    if os.path.exists(usdt):
        kinds.append(["--usdt", f"{usdt}:ours:*"])
    dice, stayed, recorded = random.Random(1), [], 0
    with subprocess.Popen(["/bin/sh", "-c", f"while :; do {frames} 3; {usdt} 1; sleep 1; done"],
                          start_new_session=True,
                          stdout=subprocess.DEVNULL) as load:
        for turn in range(KILLS):
            path = scratch(f"killed{turn}.clew")
            options = ["--max-cost", "1000000", *kinds[turn // 2 % len(kinds)]]
            if turn % 2:
                recording = start_recording(path, *options)
                recorded += recording.poll() is None
                time.sleep(dice.uniform(0, 1))
            else:
                recording = subprocess.Popen([CLEW, "record", "-o", path, *options],
                                             stderr=subprocess.PIPE)
                time.sleep(dice.uniform(0, 8))
            recording.kill()
            recording.communicate()
            if turn % 5 == 4:
                stayed += await_detached()
        os.killpg(load.pid, signal.SIGKILL)
    ok(recorded == KILLS // 2, f"{KILLS} SIGKILLs: half of them while it records", recorded)
    ok(not stayed, f"{KILLS} SIGKILLs: no program and no map stays",
       [p.get("name") for p in stayed])
    done = clew("record", "-o", scratch("after.clew"), "-d", "10ms", "-f", "libc.so.6:getpid")
    left = left_events()
    ok(done.returncode == 0 and not left, "and after the next recording no trace event is left",
       f"{done.returncode}: {done.stderr[-200:]} {left[:3]}")


def no_types():
    """Without the kernel's BTF nothing can be recorded."""
    run("mount", "-t", "tmpfs", "none", "/sys/kernel/btf")
    path = scratch("types.clew")
    done = clew("record", "-o", path, "--", "true")
    ok(
        one_line(done, 3, "BTF") and not os.path.exists(path),
        "a kernel without BTF is said in one line", f"{done.returncode}: {done.stderr}")
    done = clew("doctor", "--json")
    told = {each["name"]: each for each in json.loads(done.stdout)["features"]}["recording"]
    ok(not told["available"] and "BTF" in told["reason"], "and doctor says so", told)
    run("umount", "/sys/kernel/btf")


def locked_down():
    """The last part, as there is no way back."""
    if not os.path.exists(LOCKDOWN):
        run("mount", "-t", "securityfs", "none", "/sys/kernel/security")
    if not os.path.exists(LOCKDOWN):
        skip("lockdown", "this kernel has none")
        return
    for level in ("integrity", "confidentiality"):
        with open(LOCKDOWN, "w", encoding="ascii") as file:
            file.write(level)
        path = scratch(level + ".clew")
        done = clew("record", "-o", path, "--", "/bin/sleep", "0.2")
        told = {each["name"]: each for each in answer("doctor")["features"]}["recording"]
        note(f"{level}: {done.returncode}: {done.stderr.strip()}; {told}")
        if level == "integrity":
            ok(done.returncode == 0 and told["available"], "lockdown=integrity: recorded", told)
            check_accounted("lockdown=integrity", path)
        else:
            ok(
                one_line(done, 3, "lock") and not told["available"] and "lock" in told["reason"],
                "lockdown=confidentiality is said in one line, by doctor, too",
                f"{done.returncode}: {done.stderr} {told}")
        nothing_left(f"lockdown={level}")


def main():
    if not GUEST:
        skip_all("it takes what others need, so it runs in guests only")
    parts = [
        clock_steps, recorder_stopped, no_memory, bad_file_systems, limited, too_little,
        capabilities, killed, no_types, locked_down
    ]
    wanted = sys.argv[1:]
    for part in parts:
        if not wanted or part.__name__ in wanted:
            part()
    finish()


if __name__ == "__main__":
    main()
