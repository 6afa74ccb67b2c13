# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
The daemon with stacks while everything comes and goes: 50 forks a second, program files that are run
once, code that programs make themselves, libraries that are loaded and unloaded, control groups. What
it holds is flat, or under its bound, from a third of the time on.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

from _load import Load
from _map_entries import map_entries
from _soak_daemon import Daemon

MEMORY = 32 << 20  # bytes: the configuration's `memory`
# Beside a twentieth: while one segment follows another there are three threads more, and some files
# more of the workload wait for their turn at the moment of a look.
ROOM = {"memory (kB)": MEMORY >> 12, "descriptors": 32, "threads": 3}
BOUNDS = {"clew_images": 4096}  # entries, as docs/daemon.md has it
OTHERS_MOST = MEMORY // 4096  # an open file counts as so much of `memory`
SETTLED = 1 / 3  # of the time: the fifth minute of 15
# Sleeps three times in a call of its own, or with an argument in code that it has made.
PROGRAM = r"""
#include <string.h>
#include <sys/mman.h>
#include <time.h>
static int doze(struct timespec *time, void *rest) { return nanosleep(time, rest); }
int main(int argc, char **argv)
{
	/* mov $35, %eax; syscall; ret */
	static const unsigned char code[] = {0xb8, 35, 0, 0, 0, 0x0f, 0x05, 0xc3};
	int (*call)(struct timespec *, void *) = doze;
	struct timespec time = {0, 5000000};
	void *page = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(page, code, sizeof(code));
	if (argc > 1)
		call = (int (*)(struct timespec *, void *))page;
	for (int i = 0; i < 3; i++)
		call(&time, 0);
	return 0;
}
"""
LIBRARY = r"""
#include <time.h>
int doze(void) { struct timespec time = {0, 3000000}; return nanosleep(&time, 0); }
"""
# New names of one library, which is loaded and unloaded under each.
LOADER = """
import _ctypes, ctypes, os, shutil, sys, time
place, number = sys.argv[1], 0
while True:
    number += 1
    path = f"{place}/lib-{os.getpid()}-{number}.so"
    shutil.copy(f"{place}/doze.so", path)
    library = ctypes.CDLL(path)
    library.doze()
    _ctypes.dlclose(library._handle)
    os.unlink(path)
    time.sleep(0.2)
"""
# A process in a control group of its own, which is removed afterwards.
GROUPS = """
import os, subprocess, sys, time
root, number = sys.argv[1], 0
while True:
    number += 1
    group = f"{root}/clew-soak-{os.getpid()}-{number}"
    os.mkdir(group)
    child = subprocess.Popen(["sleep", "0.05"])
    with open(group + "/cgroup.procs", "w") as file:
        file.write(str(child.pid))
    child.wait()
    os.rmdir(group)
    time.sleep(0.4)
"""
FORKS = "while :; do for i in 1 2 3 4 5; do sleep 0.01 & done; wait; sleep 0.08; done"
FILES = "n=0; while :; do n=$((n+1)); cp {0}/img {0}/img-$n; {0}/img-$n; rm {0}/img-$n; sleep 0.1; done"
JIT = "while :; do {0}/img jit; sleep 0.15; done"


def build(place):
    for name, source, options in (("img", PROGRAM, []), ("doze.so", LIBRARY, ["-shared", "-fPIC"])):
        subprocess.run(["gcc", "-O1", "-x", "c", "-", "-o", f"{place}/{name}", *options],
                       input=source,
                       text=True,
                       check=True)


def group_root():
    """Where control groups can be made; None: nowhere."""
    for root in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"):
        if os.path.exists(root + "/cgroup.procs"):
            try:
                os.rmdir(tempfile.mkdtemp(dir=root))
                return root
            except OSError:
                pass
    return None


def loads(place):
    found = [
        Load(["sh", "-c", FORKS], 0),
        Load(["sh", "-c", FILES.format(place)], 0),
        Load(["sh", "-c", JIT.format(place)], 0),
        Load([sys.executable, "-c", LOADER, place], 0)
    ]
    root = group_root()
    if root:
        found.append(Load([sys.executable, "-c", GROUPS, root], 0))
    return found


def anonymous(pid):
    """kB of its own memory: the maps that it shares with the kernel have their size from the start."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon:"))


def descriptors(pid, place):
    """How many it has open, and how many of them are files that others on the machine map: those
    have their bound in `memory`, and say nothing about what the workload leaves behind."""
    count, others = 0, 0
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            path = os.readlink(f"/proc/{pid}/fd/{name}")
        except FileNotFoundError:
            continue
        count += 1
        others += path.startswith("/") and not path.startswith((place, "/memfd:", "/proc/"))
    return count, others


def check_maps(maps, tap):
    """What the kernel replaces by itself, least recently used first, is bounded by its size."""
    if not tap.check(len(maps) == 2 and all(maps), "churn: entries of maps are counted twice",
                     str([len(each) for each in maps])):
        return
    grown = {
        name: (maps[0][name][1], entries, most)
        for name, (kind, entries, most) in maps[1].items()
        if kind == "hash" and name in maps[0] and
        entries > max(maps[0][name][1] * 1.25 + 256, BOUNDS.get(name, 0))
    }
    tap.check(not grown, "churn: entries of maps stay flat", str(grown))


def watch(daemon, minutes, tap):
    seen, maps, most_others = [], [], 0
    pid, begun = daemon.process.pid, time.monotonic()
    end, step = begun + minutes * 60, min(30, minutes * 60 / 15)
    while time.monotonic() < end and daemon.process.poll() is None:
        time.sleep(min(step, max(0.0, end - time.monotonic())))
        count, others = descriptors(pid, daemon.directory)
        most_others = max(most_others, others)
        resident = anonymous(pid)
        threads = len(os.listdir(f"/proc/{pid}/task"))
        at = time.monotonic() - begun
        seen.append((resident, count - others, threads))
        print(
            f"# {at:.0f} s: {resident} kB, {count - others} descriptors and {others} of others' "
            f"files, {threads} threads",
            flush=True)
        if len(seen) in (int(minutes * 60 / step * SETTLED) + 1, int(minutes * 60 / step) - 1):
            maps.append(map_entries(pid))
            print("# maps: " + json.dumps(maps[-1]), flush=True)
    tap.check(daemon.process.poll() is None, "churn: it runs to the end", f"{minutes:g} minutes")
    settled = seen[int(len(seen) * SETTLED):]
    first, last = settled[:len(settled) // 2], settled[len(settled) // 2:]
    if not first or not last:
        tap.check(False, "churn: it is looked at", str(len(seen)))
        return
    for index, (name, room) in enumerate(ROOM.items()):
        before, after = (max(each[index] for each in half) for half in (first, last))
        tap.check(after <= before * 1.05 + room, f"churn: {name} stay flat",
                  f"{before} at most, then {after}")
    tap.check(most_others <= OTHERS_MOST, "churn: files of others are bounded",
              f"{most_others} of {OTHERS_MOST} at most")
    check_maps(maps, tap)


def run(clew, directory, minutes, tap):
    if not shutil.which("gcc"):
        print("# SKIP churn: gcc is not installed")
        return
    build(directory)
    daemon = Daemon(clew, directory, "stacks yes", f"memory {MEMORY >> 20}M", "keep 20s,128M")
    beside = loads(directory)
    for load in beside:
        load.start()
    daemon.start()
    try:
        watch(daemon, minutes, tap)
        told = json.loads(daemon.ask("daemon", "status", "--json") or "{}")
        print("# status: " + json.dumps(told), flush=True)
        tap.check(told.get("lost") == 0, "churn: nothing is lost",
                  f"{told.get('lost')} of {told.get('records')} records")
    finally:
        status = daemon.stop()
        for load in beside:
            load.stop()
    tap.check(status == 0, "churn: it stops when asked", f"status {status}")
