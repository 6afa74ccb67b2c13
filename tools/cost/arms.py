# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
The tracers that `tools/bench cost` compares, and what each takes while it runs.

An arm is used with `with`: it traces from the first line of the block on. Its processes are its
own and their descendants.
"""
import contextlib
import dataclasses
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time

from cost.work import ROOT

CLEW = os.path.join(ROOT, "clew")
EVENTS = "sched:sched_switch,sched:sched_waking"
COUNTS = """BEGIN { printf("on\\n"); }
tracepoint:sched:sched_switch { @switches = count(); }
tracepoint:sched:sched_waking { @wakes = count(); }"""
TICKS = os.sysconf("SC_CLK_TCK")
STATISTICS = "/proc/sys/kernel/bpf_stats_enabled"


class Broken(Exception):
    """A tracer that ends at once, or does not begin; the text says why."""


@dataclasses.dataclass
class Used:
    """CPU seconds of an arm's threads by name, how often they were switched to, bytes written."""
    cpu: dict
    switches: int
    written: int

    def since(self, before):
        cpu = {name: spent - before.cpu.get(name, 0) for name, spent in self.cpu.items()}
        return Used(cpu, self.switches - before.switches, self.written - before.written)


def parents():
    """{pid: its parent} of all processes."""
    found = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError, IndexError):
            with open("/proc/%s/stat" % entry, encoding="ascii", errors="replace") as stat:
                found[int(entry)] = int(stat.read().rpartition(")")[2].split()[1])
    return found


def descendants(pid):
    """A process and all that it started, as far as they are there."""
    of, found = parents(), {pid}
    more = True
    while more:
        new = {child for child, parent in of.items() if parent in found} - found
        found |= new
        more = bool(new)
    return found


def used_by(pids):
    cpu, switches, written = {}, 0, 0
    for pid in pids:
        with contextlib.suppress(OSError):
            with open("/proc/%d/io" % pid, encoding="ascii") as io:
                written += int(re.search(r"wchar: (\d+)", io.read()).group(1))
            for tid in os.listdir("/proc/%d/task" % pid):
                thread = "/proc/%d/task/%s/" % (pid, tid)
                with open(thread + "stat", encoding="ascii", errors="replace") as stat:
                    head, _, rest = stat.read().rpartition(")")
                words, name = rest.split(), head.partition("(")[2]
                spent = (int(words[11]) + int(words[12])) / TICKS
                cpu[name] = cpu.get(name, 0) + spent
                with open(thread + "status", encoding="ascii", errors="replace") as status:
                    switches += sum(map(int, re.findall(r"ctxt_switches:\s*(\d+)", status.read())))
    return Used(cpu, switches, written)


def system_switches():
    """How often this machine's CPUs went from one task to another."""
    with open("/proc/stat", encoding="ascii") as stat:
        return int(re.search(r"^ctxt (\d+)", stat.read(), re.M).group(1))


def program_ids(pids):
    """The BPF programs that processes hold open."""
    found = set()
    for pid in pids:
        directory = "/proc/%d/fdinfo" % pid
        with contextlib.suppress(OSError):
            for entry in os.listdir(directory):
                with contextlib.suppress(OSError), open(os.path.join(directory, entry),
                                                        encoding="ascii",
                                                        errors="replace") as info:
                    found.update(map(int, re.findall(r"^prog_id:\t(\d+)", info.read(), re.M)))
    return found


def programs(ids):
    """These BPF programs: {id: (name, runs, ns)}."""
    done = subprocess.run(["bpftool", "-j", "prog", "show"],
                          capture_output=True,
                          text=True,
                          check=False)
    return {
        one["id"]: (one.get("name", "?"), one.get("run_cnt", 0), one.get("run_time_ns", 0))
        for one in (json.loads(done.stdout) if done.returncode == 0 else []) if one["id"] in ids
    }


@contextlib.contextmanager
def statistics_on():
    """The kernel counts programs' runs and time meanwhile, which itself costs some 30 ns a run."""
    with open(STATISTICS, encoding="ascii") as current:
        before = current.read()
    with open(STATISTICS, "w", encoding="ascii") as current:
        current.write("1")
    try:
        yield
    finally:
        with open(STATISTICS, "w", encoding="ascii") as current:
            current.write(before)


class Arm:
    """A tracer: `name`, and `version`, None if it is not installed."""
    ours = False
    version = ""

    def __init__(self, name):
        self.name = name
        self.place = self.process = None

    def command(self):
        raise NotImplementedError

    def wait_begun(self):
        """Waits until it traces."""

    def __call__(self, place):
        self.place = place
        return self

    def file(self, name):
        return os.path.join(self.place, name)

    def environment(self):
        return os.environ

    def __enter__(self):
        self.said = open(self.file("said"), "w+", encoding="utf-8", errors="replace")
        self.process = subprocess.Popen(self.command(),
                                        stdin=subprocess.DEVNULL,
                                        stdout=self.said,
                                        stderr=self.said,
                                        env=self.environment(),
                                        start_new_session=True)
        try:
            self.wait_begun()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *reason):
        for pid in descendants(self.process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.said.close()
        for entry in os.listdir(self.place):
            path = self.file(entry)
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)

    def last_words(self):
        self.said.seek(0)
        return (self.said.read().strip().splitlines() or ["it says nothing"])[-1]

    def wait_until(self, begun, seconds=60):
        """Waits until begun() is true; Broken if the tracer ends or takes too long."""
        until = time.monotonic() + seconds
        while not begun():
            if self.process.poll() is not None or time.monotonic() > until:
                raise Broken("%s: %s" % (self.name, self.last_words()))
            time.sleep(0.02)

    def programs(self):
        """Its BPF programs: {id: (name, runs, ns)}."""
        return programs(program_ids(descendants(self.process.pid)))

    def used(self):
        return used_by(descendants(self.process.pid))


class Perf(Arm):

    def __init__(self):
        super().__init__("perf record, two events")
        self.version = version_of("perf", "--version")

    def command(self):
        return ["perf", "record", "-q", "-a", "-e", EVENTS, "-o", self.file("perf.data")]

    def wait_begun(self):
        # Its header, which it writes when all is attached, and the first events.
        self.wait_until(lambda: os.path.exists(self.file("perf.data")) and os.path.getsize(
            self.file("perf.data")) > 65536)


class Bpftrace(Arm):

    def __init__(self):
        super().__init__("bpftrace, counts two events")
        self.version = version_of("bpftrace", "--version")

    def command(self):
        return ["bpftrace", "-B", "line", "-e", COUNTS]

    def wait_begun(self):
        self.wait_until(lambda: "on" in open(self.file("said"), encoding="utf-8").read().split())


class Record(Arm):
    """`clew record`; it sends a datagram when all is attached."""
    ours = True

    def __init__(self, name, *options, stopped=False):
        super().__init__(name)
        self.options, self.stopped = options, stopped
        self.ready = None

    def command(self):
        return [CLEW, "record", "-o", self.file("capture.clew"), *self.options]

    def environment(self):
        self.ready = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.ready.bind("")
        self.ready.settimeout(0)
        return dict(os.environ, NOTIFY_SOCKET="@" + self.ready.getsockname()[1:].decode())

    def is_ready(self):
        try:
            return b"READY=1" in self.ready.recv(4096)
        except BlockingIOError:
            return False

    def wait_begun(self):
        with self.ready:
            self.wait_until(self.is_ready)
        if self.stopped:
            for pid in descendants(self.process.pid):
                os.kill(pid, signal.SIGSTOP)


class Daemon(Record):
    """`clew daemon` with a configuration that says no more than where it keeps its ring."""

    def command(self):
        with open(self.file("conf"), "w", encoding="ascii") as conf:
            conf.write("ring %s\nincidents %s\n" % (self.file("ring"), self.file("incidents")))
        return [CLEW, "daemon", "-c", self.file("conf"), "--foreground"]

    def environment(self):
        return dict(super().environment(), CLEW_RUN_DIRECTORY=self.file("run"))


def version_of(*command):
    """What a program says its version is, None if it is not there."""
    if shutil.which(command[0]) is None:
        return None
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or None


def all_arms():
    """In the order in which they are measured and printed."""
    return [
        Bpftrace(),
        Perf(),
        Record("clew record, its programs alone", "--ring-size", "256M", stopped=True),
        Record("clew record --no-stacks", "--no-stacks"),
        Record("clew record"),
        Daemon("clew daemon"),
    ]
