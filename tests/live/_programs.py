# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Real programs that write files, each in a directory of its own, and what they
say themselves of their work.
"""

import array
import contextlib
import fcntl
import os
import random
import select
import shutil
import signal
import struct
import subprocess
import sys
import time

from _live import run
from _place import settings
from _postgres import Cluster

FIEMAP = 0xC020660B
UNSEEN = 0x2 | 0x4 | 0x8 | 0x800  # unknown, delayed, encoded, not written yet
VM = "/proc/sys/vm/"


def has(*names):
    return all(shutil.which(name) for name in names)


def sectors_of(path):
    """FIEMAP: [(offset in the file, bytes, sector)]."""
    most = 4096
    buffer = array.array("B",
                         struct.pack("=QQLLLL", 0, (1 << 64) - 1, 1, 0, most, 0) + bytes(56 * most))
    with open(path, "rb") as file:
        fcntl.ioctl(file, FIEMAP, buffer)
    count = struct.unpack_from("=L", buffer, 20)[0]
    found = []
    for i in range(count):
        logical, physical, length, _, _, flags = struct.unpack_from("=QQQQQL", buffer, 32 + 56 * i)
        if not flags & UNSEEN:
            found.append((logical, length, physical // 512))
    return found


def sector_at(extents, offset):
    for logical, length, sector in extents:
        if logical <= offset < logical + length:
            return sector + (offset - logical) // 512
    return None


SYNCS = """
import os, select
done = 0
print("begun", flush=True)
while done < 2 or not select.select([0], [], [], 0)[0]:
    pid = os.fork()
    if not pid:
        os.sync()
        os._exit(0)
    os.waitpid(pid, 0)
    print(pid, flush=True)
    done += 1
"""


class Syncing:
    """
    Syncs the whole system again and again, twice at least, by processes of
    their own; `tids` are theirs, after the end.
    """

    def __init__(self):
        self.tids = []

    def __enter__(self):
        self.process = subprocess.Popen([sys.executable, "-c", SYNCS],
                                        stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE,
                                        text=True)
        self.process.stdout.readline()
        return self

    def __exit__(self, kind, value, trace):
        self.tids += [int(line) for line in self.process.communicate()[0].split()]


@contextlib.contextmanager
def stopped(pid):
    """A process and its children do nothing meanwhile: what is counted stays so."""
    pids = [pid]
    os.kill(pid, signal.SIGSTOP)
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                if int(file.read().rpartition(")")[2].split()[1]) == pid:
                    os.kill(int(entry), signal.SIGSTOP)
                    pids.append(int(entry))
        except (OSError, ValueError):
            pass
    try:
        yield
    finally:
        for one in pids:
            try:
                os.kill(one, signal.SIGCONT)
            except OSError:
                pass


def bench_beside_copy(place, server, top, seconds):
    """
    pgbench, and soon after dd of more than may be dirty. Returns the copy, dd's
    tid, and when it began and ended, ns.
    """
    copy = os.path.join(top, "copy")
    with settings(place, {VM + "dirty_background_bytes": 32 << 20, VM + "dirty_bytes": 128 << 20}):
        bench = server.bench(6, max(2, round(seconds)))
        time.sleep(0.7)
        begun = time.monotonic_ns()
        with subprocess.Popen(
            ["dd", "if=/dev/zero", "of=" + copy, "bs=1M", "count=512", "status=none"]) as dd:
            tid = dd.pid
        ended = time.monotonic_ns()
        bench.wait()
    return copy, tid, begun, ended


def redis_program():
    """
    The server, which redis-tools has too, under another name: without a service
    of the machine's own.
    """
    return shutil.which("redis-server") or shutil.which("redis-check-rdb")


class Redis:
    """A server that writes what is changed to `log` and syncs it every second. Use with `with`."""

    def __init__(self, top):
        self.place = os.path.join(top, "redis")
        self.socket = os.path.join(self.place, "socket")
        self.log = os.path.join(self.place, "appendonlydir/appendonly.aof.1.incr.aof")
        self.process = None

    def __enter__(self):
        os.mkdir(self.place)
        with open(os.path.join(self.place, "said"), "wb") as said:
            self.process = subprocess.Popen([
                "redis-server", "--port", "0", "--unixsocket", self.socket, "--dir", self.place,
                "--appendonly", "yes", "--appendfsync", "everysec", "--save", "",
                "--auto-aof-rewrite-percentage", "0"
            ],
                                            executable=redis_program(),
                                            stdin=subprocess.DEVNULL,
                                            stdout=said,
                                            stderr=said)
        for _ in range(600):
            if os.path.exists(self.socket) and os.path.exists(self.log):
                return self
            time.sleep(0.05)
        self.__exit__(None, None, None)
        raise RuntimeError("redis-server has not begun after 30 s")

    def __exit__(self, kind, value, trace):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.place, True)

    @property
    def pid(self):
        return self.process.pid

    def tids(self):
        found = {}
        for tid in os.listdir(f"/proc/{self.pid}/task"):
            with open(f"/proc/{self.pid}/task/{tid}/comm", encoding="ascii") as file:
                found[int(tid)] = file.read().strip()
        return found

    def bench(self, seconds, megabytes):
        """For so long, or until it has written so many megabytes a second."""
        count = str(int(900 * megabytes * seconds))
        with subprocess.Popen([
                "redis-benchmark", "-s", self.socket, "-t", "set", "-n", count, "-d", "1024", "-r",
                "10000", "-c", "8", "-q"
        ],
                              stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as clients:
            time.sleep(seconds)
            clients.kill()
        time.sleep(1.5)  # the last sync


WRITER = """
import os, sqlite3, sys
with open("/proc/self/comm", "w") as file:
    file.write("clew-sqlite")
def asked():
    with open("/proc/self/io") as file:
        return int(dict(line.split(":") for line in file)["wchar"])
before, answers, done = asked(), 0, 0
database = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=20)
database.execute("PRAGMA synchronous=FULL")
while os.read(0, 1) == b"x":
    database.execute("BEGIN IMMEDIATE")
    database.execute("INSERT INTO t VALUES (?, randomblob(3000))", (os.getpid(),))
    database.execute("COMMIT")
    answers += os.write(1, b"y")
    done += 1
os.write(1, b"z%d %d\\n" % (asked() - before - answers, done))
os._exit(0)
"""


def sqlite_database(top):
    """Makes one; nobody closes it, so that its log stays."""
    path = os.path.join(top, "sqlite.db")
    run(
        sys.executable, "-c",
        "import os, sqlite3, sys\nd = sqlite3.connect(sys.argv[1])\nd.execute('PRAGMA journal_mode=WAL')\n"
        "d.execute('CREATE TABLE t (a, b)')\nd.commit()\nos._exit(0)", path)
    return path


def sqlite(path, seconds, writers=4):
    """
    Writers that each do one transaction after the other, told by a pipe. Who
    they were, how much they did and asked for.
    """
    crew = [
        subprocess.Popen([sys.executable, "-c", WRITER, path],
                         stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE,
                         bufsize=0) for _ in range(writers)
    ]
    poll = select.poll()
    by_fd = {}
    for one in crew:
        poll.register(one.stdout, select.POLLIN)
        by_fd[one.stdout.fileno()] = one
        one.stdin.write(b"x")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for fd, _ in poll.poll(1000):
            if os.read(fd, 1) == b"y":
                by_fd[fd].stdin.write(b"x")
    written = transactions = 0
    for one in crew:
        one.stdin.write(b"-")
        counts = one.communicate()[0].rpartition(b"z")[2].split()
        written += int(counts[0])
        transactions += int(counts[1])
    return {
        "tids": [one.pid for one in crew], "written": written, "transactions": transactions, "log":
        path + "-wal", "database": path
    }


def fill(directory, count, seed):
    """Files of many sizes in a few directories."""
    chance = random.Random(seed)
    for i in range(count):
        place = os.path.join(directory, f"part{i % 40}")
        os.makedirs(place, exist_ok=True)
        with open(os.path.join(place, f"file{i}"), "wb") as file:
            file.write(chance.randbytes(chance.randrange(1, 20000)))


def files_below(directory):
    return [
        os.path.join(place, name) for place, _, names in os.walk(directory) for name in names
        if "/.git" not in place
    ]


def repository(top, count):
    """A repository whose files are not in its work tree."""
    path = os.path.join(top, "repository")
    fill(path, count, 1)
    identity = ["-c", "user.name=clew", "-c", "user.email=clew@localhost"]
    run("git", "init", "-q", path)
    run("git", "-C", path, "add", "-A")
    run("git", "-C", path, *identity, "commit", "-q", "-m", "all")
    for name in os.listdir(path):
        if name != ".git":
            shutil.rmtree(os.path.join(path, name))
    return path


def under_sync(directory, *command):
    """
    Runs a command while the system is synced; its tid, the syncs' tids, and
    sizes of what is in `directory` then, by inode.
    """
    with Syncing() as syncing:
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              text=True) as process:
            said = process.communicate()[1]
        if process.returncode:
            raise RuntimeError(f"{command[0]}: status {process.returncode}: {said}")
    return {"tid": process.pid, "syncs": syncing.tids, "files": files_below(directory)}


def package(directory):
    """A package of a few hundred files."""
    tree = os.path.join(directory, "tree")
    fill(os.path.join(tree, "opt"), 200, 2)
    os.mkdir(os.path.join(tree, "DEBIAN"))
    with open(os.path.join(tree, "DEBIAN/control"), "w", encoding="ascii") as file:
        file.write(
            "Package: clew-test\nVersion: 1\nArchitecture: all\nMaintainer: clew <clew@localhost>\nDescription: a test\n"
        )
    path = os.path.join(directory, "clew-test.deb")
    done = run("dpkg-deb", "--root-owner-group", "-b", tree, path)
    if done.returncode:
        raise RuntimeError(f"dpkg-deb: {done.stderr}")
    return path


def unpack(path, top):
    """Into a root of its own; dpkg syncs every file."""
    root = os.path.join(top, "root")
    admin = os.path.join(root, "admin")
    for name in ("updates", "info", "triggers"):
        os.makedirs(os.path.join(admin, name))
    for name in ("status", "available"):
        with open(os.path.join(admin, name), "wb"):
            pass
    return under_sync(os.path.join(root, "opt"), "dpkg", "--admindir=" + admin, "--instdir=" + root,
                      "--log=/dev/null", "--unpack", path)
