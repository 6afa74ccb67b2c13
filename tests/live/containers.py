#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Containers: clew in a PID namespace of its own, where -p is a number of that namespace; and tasks
chosen by the group that a container engine makes, when recording and afterwards.
"""

import contextlib
import json
import os
import shutil
import sys

from _live import CLEW, answer, clew, finish, ok, run, scratch, skip
from _place import Lacking, controller, write

# Two programs read from pipes that stay empty; the first one is chosen. The tids printed are those
# of the namespace. They are such that no thread of the kernel has them outside.
INSIDE = """
cd "$1"
(echo $(($(cat /proc/sys/kernel/pid_max) - 1000)) >/proc/sys/kernel/ns_last_pid) 2>/dev/null
exec 3<>chosen-pipe 4<>other-pipe
"$4" -c "$5" chosen <&3 & chosen=$!
"$4" -c "$5" other <&4 & other=$!
for pid in $chosen $other; do
	until read name </proc/$pid/comm && read call file rest </proc/$pid/syscall &&
		case "$name $call $file" in "chosen 0 0x0" | "other 0 0x0") true;; *) false;; esac; do
		sleep 0.01
	done
done
"$2" record -o "$3" -p $chosen -d 500ms
status=$?
kill $chosen $other
echo $status $chosen $other
"""

READS = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(15, sys.argv[1].encode(), 0, 0, 0)
os.read(0, 1)
"""

# In each of two groups a program writes a file, 1 MiB and 256 KiB.
TWO = """
write() {
	/bin/sh -c 'echo $$ >"$1/cgroup.procs"; dd if=/dev/zero of="$2" bs=65536 count=$3 2>/dev/null
		sleep 0.1' sh "$@"
}
write "$1" "$2" 16 &
write "$3" "$4" 4 &
wait
"""

ENDS = 'echo $$ >"$1/cgroup.procs"; exec sleep 0.3'


def task_waits(path, name):
    return [wait for wait in answer("waits", path)["waits"] if wait["comm"] == name]


def in_its_namespace():
    directory, path = scratch("inside"), scratch("inside.clew")
    os.mkdir(directory)
    for pipe in ("chosen-pipe", "other-pipe"):
        os.mkfifo(os.path.join(directory, pipe))
    done = run("unshare", "--fork", "--pid", "--mount-proc", "/bin/sh", "-c", INSIDE, "sh",
               directory, CLEW, path, sys.executable, READS)
    if not os.path.exists(path) and not done.stdout:
        skip("in a PID namespace", f"it is refused: {done.stderr.strip()}")
        return
    status, chosen, other = map(int, done.stdout.split())
    if not ok(status == 0, "in a PID namespace: recorded with -p", done.stderr):
        return
    ours, theirs = task_waits(path, "chosen"), task_waits(path, "other")
    ok({wait["inner_tid"]
        for wait in ours} == {chosen}, "-p in a PID namespace: the chosen one by both its numbers",
       ours[:1])
    ok(
        all((wait["object"] or {}).get("kind") == "pipe" for wait in ours) and ours,
        "-p in a PID namespace is that namespace's number: its waits have full detail", ours[:1])
    ok({wait["inner_tid"]
        for wait in theirs} == {other} and all(
            (wait["object"] or {}).get("kind") != "pipe" for wait in theirs),
       "-p in a PID namespace: no other task has full detail", theirs[:1])
    tids = [
        task for task in run(CLEW, "dump", path).stdout.splitlines()
        if task.startswith(("chosen-", "other-"))
    ]
    ok(
        len(tids) == 2 and all("inner_tid=" in task for task in tids),
        "in a PID namespace: each task is there once, by the machine's number", tids)
    shown = json.loads(run(CLEW, "waits", "--idle", "--json", path).stdout)["waits"]
    # Another clew may run beside, outside of the namespace.
    shown = [wait for wait in shown if wait["comm"].startswith("clew") and wait.get("inner_tid")]
    ok(not shown, "in a PID namespace: clew knows its own threads", shown[:1])
    again = answer("waits", "--tid", chosen, path)["waits"]
    ok({wait["comm"]
        for wait in again} == {"chosen"}, "--tid takes the inner number where no other task has it",
       again[:1])


def in_anothers_proc():
    done = run("unshare", "--fork", "--pid", CLEW, "record", "-o", scratch("no.clew"), "-d",
               "100ms", "-p", 1)
    if "unshare" in done.stderr:
        skip("-p where /proc is another namespace's", f"it is refused: {done.stderr.strip()}")
        return
    ok(
        done.returncode == 2 and "/proc is another one's" in done.stderr
        and done.stderr.count("\n") == 1,
        "-p where /proc is another namespace's is status 2 and one line",
        f"{done.returncode}: {done.stderr}")


def groups_of(root):
    """Two groups as Docker names them, and one with a name; removed afterwards."""
    mine = f"{os.getpid():08x}"
    return [
        os.path.join(root, "docker-clew-test", ("a" + mine).ljust(64, "0")),
        os.path.join(root, f"docker-{('b' + mine).ljust(64, '0')}.scope"),
        os.path.join(root, f"lxc.payload.clew-{os.getpid()}")
    ]


@contextlib.contextmanager
def made(groups):
    try:
        for group in groups:
            os.makedirs(group)
        yield
    finally:
        for group in groups:
            with contextlib.suppress(OSError):
                os.removedirs(group)


def by_container():
    try:
        root = controller("cpu")[0]
    except Lacking as lacking:
        skip("--container", str(lacking))
        return
    groups = groups_of(root)
    with made(groups):
        for group in groups:
            name = os.path.basename(group)
            container = name.removeprefix("docker-").removeprefix("lxc.payload.")
            container = container.removesuffix(".scope")
            asked, path = container[:20], scratch("container.clew")
            if "payload" in name:
                asked = container
            done = clew("record", "-o", path, "--container", asked, "--", "/bin/sh", "-c", ENDS,
                        "sh", group)
            if not ok(done.returncode == 0, f"record --container {asked}", done.stderr):
                continue
            waits = answer("waits", "--container", asked, path)["waits"]
            ok(any(wait["comm"] == "sleep" for wait in waits), f"waits --container {asked}", waits)
            told = answer("why", "--container", asked, "--comm", "sleep", path)
            ok(told["container"] == container and told["cgroup"].endswith("/" + name),
               f"why tells the group and the container {asked}",
               (told["container"], told["cgroup"]))
            waits = answer("waits", "--cgroup", f"*/{name}", path)["waits"]
            ok(any(wait["comm"] == "sleep" for wait in waits), f"waits --cgroup */{name}", waits)
        done = clew("record", "-o", scratch("no.clew"), "-d", "100ms", "--container",
                    f"*{os.getpid():08x}*")
        ok(done.returncode == 2 and "choose one" in done.stderr and done.stderr.count("\n") == 1,
           "record: several containers are status 2 and one line", done.stderr)
    done = clew("record", "-o", scratch("no.clew"), "-d", "100ms", "--container", "nobody-here")
    ok(done.returncode == 2 and "nobody-here" in done.stderr and done.stderr.count("\n") == 1,
       "record: no such container is status 2 and one line", done.stderr)


def spans_of(path, *arguments):
    done = clew("select", path, "all", *arguments, "--json")
    return set(json.loads(done.stdout)["spans"]) if done.returncode == 0 else done.stderr


def tell_apart(path, container, files):
    """What commands say of the first of two containers whose programs each wrote a file."""
    pids = {wait["pid"] for wait in answer("waits", "--container", container, path)["waits"]}
    io = answer("io", "--container", container, path)
    mine = {file["path"]: file["asked_bytes"] for file in io["files"]}
    ok(
        mine.get(files[0]) == 1 << 20 and files[1] not in mine,
        "io --container: the file that its program wrote, and no other's", mine)
    spans = spans_of(path, "--container", container)
    # A program may write without a single wait.
    tids = {span.split("#")[0].rsplit("-", 1)[1] for span in spans}
    others = [program for program in io["programs"] if str(program["pid"]) not in tids]
    wrote = sum(program["asked_bytes"] for program in io["programs"])
    ok(wrote == 1 << 20 and not any(program["asked_bytes"] for program in others),
       "io --container: only its programs wrote", (wrote, others))
    ok(pids and tids >= {str(pid)
                         for pid in pids} and not any("cpu" in span for span in spans),
       "select --container: its threads", spans)
    found = answer("path", "--container", container, path)
    ok({instance["span"].split(" of ")[0]
        for instance in found["instances"]} <= spans and found["instances"],
       "path --container: the paths of its threads", found["instances"])
    told = answer("blame", "--container", container, path)
    victims = {pair["victim"].split(" of ")[0] for pair in told["pairs"]}
    ok(victims <= spans, "blame --container: its threads are the victims", victims - spans)
    ok(
        all(
            wait.get("container") == container
            for wait in answer("waits", "--container", container, path)["waits"]),
        "waits --container: each wait has its container", container)
    told = answer("report", "--container", container, path)
    busy = {program["name"] for program in told["programs"] if program["total_ns"]}
    ok("dd" in busy and busy <= {"dd", "sh", "sleep"}, "report --container: its programs", busy)


def two_containers():
    try:
        root = controller("cpu")[0]
    except Lacking as lacking:
        skip("two containers", str(lacking))
        return
    groups = groups_of(root)[:2]
    with made(groups):
        path, files = scratch("two.clew"), [scratch("first"), scratch("second")]
        done = clew("record", "-o", path, "--", "/bin/sh", "-c", TWO, "sh", groups[0], files[0],
                    groups[1], files[1])
        if ok(done.returncode == 0, "two containers: recorded", done.stderr):
            tell_apart(path, os.path.basename(groups[0]), files)


def main():
    if shutil.which("unshare"):
        in_its_namespace()
        in_anothers_proc()
    else:
        skip("in a PID namespace", "there is no unshare")
    by_container()
    two_containers()
    finish()


if __name__ == "__main__":
    main()
