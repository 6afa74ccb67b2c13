# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
The workloads of `tools/bench cost`: each goes on until it is closed, and says at what rate it works.

A workload is used with `with`. rate(seconds) waits that long and returns units a second, None for
one that does nothing. What it needs and does not find is a Missing, with the program's name.
"""
import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CLIENTS = 8
FOR_EVER = 1000000


class Missing(Exception):
    """A program that a workload needs is not there, or does not start; the text says which."""


def find(name):
    path = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if path is None:
        raise Missing("%s is not installed: run tools/deps --all" % name)
    return path


def counted(count, seconds):
    """Units a second of a counter that only grows."""
    before, begun = count(), time.monotonic()
    time.sleep(seconds)
    return (count() - before) / (time.monotonic() - begun)


class Work:
    """What the workloads share: a directory, and programs that end with it."""
    unit = None

    def __init__(self):
        self.stack = contextlib.ExitStack()
        self.place = None

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            self.place = stack.enter_context(
                tempfile.TemporaryDirectory(prefix="clew-cost-", dir="/var/tmp"))
            self.stack = stack
            self.begin()
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *reason):
        self.stack.close()

    def begin(self):
        """Starts the workload."""

    def rate(self, seconds):
        """Waits for so many seconds; units a second meanwhile."""
        time.sleep(seconds)

    def file(self, name):
        return os.path.join(self.place, name)

    def start(self, command, **options):
        """Starts a program that is killed with its children at the end."""
        process = subprocess.Popen(command,
                                   stdin=subprocess.DEVNULL,
                                   start_new_session=True,
                                   **options)
        self.stack.callback(self._end, process)
        return process

    @staticmethod
    def _end(process):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
        process.wait()

    def wait_for(self, path):
        """Waits until a server made its socket."""
        for _ in range(200):
            if os.path.exists(path):
                return
            time.sleep(0.05)
        raise Missing("a server did not start: " + path)


class Idle(Work):
    """Nothing but what the machine does anyway."""


class Pgbench(Work):
    """Selects of one row each: `pgbench -S -c 8 -j 1` over a Unix socket."""
    unit = "transactions"

    def begin(self):
        sys.path.insert(0, os.path.join(ROOT, "tests", "live"))
        import _postgres  # pylint: disable=import-outside-toplevel,import-error
        if _postgres.programs() is None:
            raise Missing("PostgreSQL is not installed: run tools/deps")
        try:
            cluster = self.stack.enter_context(_postgres.Cluster(10))
        except _postgres.Refused as refused:
            raise Missing(str(refused)) from refused
        self.said = open(self.file("said"), "wb")  # pylint: disable=consider-using-with
        self.stack.callback(self.said.close)
        command = [_postgres.programs() + "/pgbench", "-h", cluster.place, "-n", "-S", "-P", "1"]
        command += ["-c", str(CLIENTS), "-j", "1", "-T", str(FOR_EVER), "postgres"]
        self.start(command, stdout=subprocess.DEVNULL, stderr=self.said, **cluster.user)

    def rate(self, seconds):
        """By what pgbench itself says each second; the second that was under way is left out."""
        before = os.path.getsize(self.said.name)
        time.sleep(seconds + 1)
        with open(self.said.name, encoding="ascii", errors="replace") as said:
            said.seek(before)
            rates = [float(rate) for rate in re.findall(r"s, ([\d.]+) tps", said.read())][1:]
        if not rates:
            raise Missing("pgbench says nothing: did it end?")
        return sum(rates) / len(rates)


class Nginx(Work):
    """A file of 1 kB: one worker of nginx, and wrk with one thread and eight connections."""
    unit = "requests"
    port = 18471
    config = """
daemon off;
worker_processes 1;
pid {place}/pid;
error_log {place}/errors;
events {{ worker_connections 64; }}
http {{
    access_log off;
    keepalive_requests 1000000000;
    client_body_temp_path {place}/body;
    proxy_temp_path {place}/proxy;
    fastcgi_temp_path {place}/fastcgi;
    uwsgi_temp_path {place}/uwsgi;
    scgi_temp_path {place}/scgi;
    server {{
        listen 127.0.0.1:{port};
        root {place}/files;
        location /status {{ stub_status; }}
    }}
}}
"""

    def begin(self):
        os.chmod(self.place, 0o755)
        os.mkdir(self.file("files"))
        with open(self.file("files/page"), "wb") as page:
            page.write(b"x" * 1024)
        with open(self.file("config"), "w", encoding="ascii") as config:
            config.write(self.config.format(place=self.place, port=self.port))
        self.start([find("nginx"), "-c", self.file("config"), "-e", self.file("errors")])
        self.wait_for(self.file("pid"))
        self.url = "http://127.0.0.1:%d/" % self.port
        self.start(
            [find("wrk"), "-t", "1", "-c",
             str(CLIENTS), "-d",
             "%ds" % FOR_EVER, self.url + "page"],
            stdout=subprocess.DEVNULL)

    def requests(self):
        with urllib.request.urlopen(self.url + "status", timeout=10) as answer:
            # Connections that were accepted, and that were handled, and requests.
            return int(answer.read().split(b"\n")[2].split()[2])

    def rate(self, seconds):
        return counted(self.requests, seconds)


class Redis(Work):
    """Reads of one key: redis-benchmark with eight clients over a Unix socket."""
    unit = "commands"

    def begin(self):
        self.socket = self.file("socket")
        # Without the server's package the tools have it, by another name.
        server = shutil.which("redis-server") or find("redis-check-rdb")
        self.start([
            "redis-server", "--port", "0", "--unixsocket", self.socket, "--save", "", "--dir",
            self.place
        ],
                   executable=server,
                   stdout=subprocess.DEVNULL)
        self.wait_for(self.socket)
        self.start([
            find("redis-benchmark"), "-s", self.socket, "-t", "get", "-c",
            str(CLIENTS), "-l", "-q"
        ],
                   stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)

    def commands(self):
        said = subprocess.run([find("redis-cli"), "-s", self.socket, "info", "stats"],
                              capture_output=True,
                              text=True,
                              check=False).stdout
        found = re.search(r"total_commands_processed:(\d+)", said)
        if not found:
            raise Missing("redis-server does not answer")
        return int(found.group(1))

    def rate(self, seconds):
        return counted(self.commands, seconds)


class Make(Work):
    """`make -j2` of small files of C, again and again."""
    unit = "files"
    files = 64
    rule = "\t@$(CC) -O1 -c -o $@ $< && echo >>done\n"

    def begin(self):
        source = "#include <pthread.h>\n#include <stdio.h>\n"
        source += "".join("int f%d(int x) { printf(\"%%d\\n\", x); return x * %d; }\n" % (i, i)
                          for i in range(20))
        for number in range(self.files):
            with open(self.file("f%d.c" % number), "w", encoding="ascii") as file:
                file.write(source)
        with open(self.file("Makefile"), "w", encoding="ascii") as makefile:
            makefile.write("all: %s\n" % " ".join("f%d.o" % i for i in range(self.files)))
            makefile.write("f%.o: f%.c\n" + self.rule)
        with open(self.file("done"), "wb"):
            pass
        self.start(["sh", "-c", "while make -s -B -j2; do :; done"], cwd=self.place)

    def rate(self, seconds):
        return counted(lambda: os.path.getsize(self.file("done")), seconds)


WORKLOADS = {"pgbench": Pgbench, "nginx": Nginx, "redis": Redis, "make": Make, "idle": Idle}
