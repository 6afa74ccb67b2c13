#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Recording, and what may end it: its command, a duration, a signal, a full disk. The file opens after
any of these, and nothing stays attached. What may be lost of a recording is in losses.py.
"""

import collections
import ctypes
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from _live import CLEW, GUEST, PATIENCE, TRIES, WORKLOADS, answer, clew, finish, note, nothing_left, ok, run, scratch, skip, start_recording, stop_recording, wanted_runs
from _place import write



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
    write(plain, "no program")
    # Only its exec shows that a script's interpreter is absent.
    script = scratch("script")
    write(script, "#!/nonexistent/interpreter\n")
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


def ended_by_duration():
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
    nothing_left("duration")
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
    write(victim, "precious")
    os.symlink(victim, f"{shared}/link")
    write(f"{shared}/open", "")
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
    recording = start_recording(path)
    size, deadline = os.path.getsize(path), time.monotonic() + PATIENCE
    # Each second something is written. The second piece was asked for after the first one's end.
    for _ in range(2):
        while os.path.getsize(path) == size and time.monotonic() < deadline:
            time.sleep(0.02)
        size = os.path.getsize(path)
    stop_recording(recording)
    pages = [
        p["path"] for r in answer("requests", path)["requests"]
        if r["reason"] == "direct" and r["submitter"]["pid"] == recording.pid for p in r["pages"]
    ]
    ok(set(pages) == {os.path.realpath(path)}, name, set(pages))


def full_disk():
    place = scratch("full")
    os.makedirs(place)
    if run("mount", "-t", "tmpfs", "-o", "size=128k", "none", place).returncode != 0:
        skip("full disk", "a tmpfs cannot be mounted here")
        return
    try:
        path = os.path.join(place, "trace.clew")
        # The command is left to end by itself, whatever becomes of its recording.
        script = f"i=0; while [ $(stat -f -c %a {place}) != 0 ] && [ $i -lt 300 ]; do " \
                 f"i=$((i + 1)); {WORKLOADS}/race --seed $i; done"
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
    write(os.path.join(directory, "namespace"), str(os.stat("/proc/self/ns/mnt").st_ino))
    read_cold(os.path.join(here, "file"))
    # Each may get the inode that the one before had.
    for name in ("gone", "next", "last"):
        read_cold(os.path.join(directory, name), True)
    return 0


def files_used(directory):
    """Returns a child that used files there in a mount namespace, and deleted ones; None: refused."""
    for name in ("there", "here"):
        os.mkdir(os.path.join(directory, name))
    child = os.fork()
    if not child:
        status = 3
        try:
            status = use_files(directory)
        finally:
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return None if status == 2 else child


def check_used(waits, child, directory):
    """Their waits."""
    if child is None:
        skip("files of a mount namespace, and deleted ones", "mount namespaces are refused")
        return
    with open(os.path.join(directory, "namespace"), encoding="ascii") as file:
        namespace = int(file.read())
    files = [
        w["object"] for w in waits
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


def directories_moved(directory):
    """
    Of each file itself or a directory above is renamed or moved between two
    reads. Returns the two paths of each inode.
    """
    paths = {}
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
    return paths


def check_moved(waits, paths):
    """Each read is of the path that the file had then."""
    mine = [
        w for w in waits
        if w["tid"] == os.getpid() and w["kind"] == "read" and w["call"] == "pread64"
    ]
    told = {
        ino: list(dict.fromkeys(w["object"]["path"] for w in mine if w["object"]["ino"] == ino))
        for ino in paths
    }
    ok(
        told == paths,
        "files that are renamed or moved, or whose directories are, have the paths that they had then",
        (told, paths))


def files_told():
    path = scratch("files.clew")
    with tempfile.TemporaryDirectory(prefix="clew-live-files-", dir="/var/tmp") as used, \
            tempfile.TemporaryDirectory(prefix="clew-live-moved-", dir="/var/tmp") as moved:
        recording = start_recording(path)
        child, paths = files_used(used), directories_moved(moved)
        stop_recording(recording)
        waits = answer("waits", path)["waits"]
        check_used(waits, child, used)
        check_moved(waits, paths)


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
    write(mark, "")
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
    command_mode()
    ended_by_duration()
    open_at_both_ends()
    files_told()
    left_out()
    hidden_said()
    in_a_pid_namespace()
    if not GUEST:
        # No kernel has a part in it, and an emulated one takes long to load the
        # programs so often, and minutes to fill a disk.
        signals_and_command()
        few_descriptors()
        full_disk()
        prepared()
        outlives_its_first_thread()
        drains_in_its_own_memory()
    finish()


if __name__ == "__main__":
    main()
