#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# alone: metrics are sums over the whole machine, with gauges of who waits for a file on it
"""
Metrics of `clew daemon`, in a file and by HTTP, are right for strict readers, and are what the waiters'
own clocks, the kernel and the disks say.
"""

import collections
import contextlib
import importlib
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

from _daemon import HOLDER, WAITER, WAITERS, Daemon, Held, configure, hold, incidents, status, told_of
from _live import PATIENCE, ROOT, TRIES, finish, note, ok, run, scratch, skip
from _place import Lacking, Place, controller, write

sys.path.insert(0, os.path.join(ROOT, "tests"))
from prometheus import program  # noqa: E402  pylint: disable=wrong-import-position

BUSY = """
import os
os.sched_setaffinity(0, {0})
while True:
    pass
"""
# Prints how long it had no CPU, as the kernel counts it: since it was put there, and in all; and for
# how long neither it nor the busy process, its argument, had that CPU.
STARVED = """
import os, sys, time
busy = int(sys.argv[1])
while os.sched_getaffinity(busy) != {0}:
    time.sleep(0.01)
os.sched_setaffinity(0, {0})
def times():
    with open("/proc/self/schedstat") as mine, open(f"/proc/{busy}/schedstat") as other:
        ran, delay = map(int, mine.read().split()[:2])
        return time.monotonic_ns() - ran - int(other.read().split()[0]), delay
before, until = times(), time.monotonic() + 2
while time.monotonic() < until:
    time.sleep(0.002)
    end = time.monotonic() + 0.002
    while time.monotonic() < end:
        pass
after = times()
print((after[1] - before[1]) / 1e9, after[1] / 1e9, (after[0] - before[0]) / 1e9)
"""
# Writes to a file behind the page cache, four pieces at a time, until it is killed. Prints when each
# piece was asked for, and when that was over.
WRITER = """
import mmap, os, sys, time
file = os.open(sys.argv[1], os.O_RDWR | os.O_DIRECT)
piece = mmap.mmap(-1, 1 << 18)
end = time.monotonic() + float(sys.argv[2])
forks = [os.fork() for _ in range(2)]
number = sum(2 ** i for i, pid in enumerate(forks) if pid)
at, told = 0, []
while time.monotonic() < end:
    before = time.monotonic_ns()
    os.pwrite(file, piece, (number * 16 + at % 16) << 18)
    told.append(f"{before} {time.monotonic_ns()}\\n")
    at += 1
for pid in forks if all(forks) else [pid for pid in forks[1:] if pid]:
    os.waitpid(pid, 0)
with open(sys.argv[3], "a") as out:
    out.write("".join(told))
"""
# Reads a block of the file now and then, and prints the same.
READER = """
import mmap, os, sys, time
file = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
block = mmap.mmap(-1, 4096)
end = time.monotonic() + float(sys.argv[2])
at = 0
while time.monotonic() < end:
    before = time.monotonic_ns()
    os.preadv(file, [block], at * 40960 % (1 << 24))
    print(before, time.monotonic_ns())
    at += 1
    time.sleep(0.002)
"""
METRICS = scratch("clew.prom")
# The part of the name of prometheus_client's reader that differs between the formats.
TEXT, OPEN = "", ".openmetrics"


def parsed(text, of_format):
    """What metrics say, by the format's strict reader: {(name, labels): value}."""
    read = importlib.import_module(f"prometheus_client{of_format}.parser")
    families = list(read.text_string_to_metric_families(text))
    types = ("counter", "gauge", "histogram")
    untyped = [family.name for family in families if family.type not in types]
    assert not untyped and all(family.documentation for family in families), untyped
    return {(sample.name, frozenset(sample.labels.items())): sample.value
            for family in families for sample in family.samples}


def value_of(found, metric, **labels):
    return found.get((metric, frozenset(labels.items())), 0)


def await_metrics(since):
    """Waits for a file that is younger."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if os.path.exists(METRICS) and os.stat(METRICS).st_mtime_ns > since:
            with open(METRICS, encoding="utf-8") as file:
                return parsed(file.read(), TEXT)
        time.sleep(0.1)
    return {}


@contextlib.contextmanager
def made_groups(*names):
    """Directories of cgroups of the unified hierarchy, or None."""
    place = scratch("cgroups")
    os.makedirs(place, exist_ok=True)
    if run("mount", "-t", "cgroup2", "none", place).returncode:
        yield None
        return
    groups = [f"{place}/clew-{name}-{os.getpid()}" for name in names]
    for group in groups:
        os.mkdir(group)
    try:
        yield groups
    finally:
        for group in groups:
            os.rmdir(group)
        run("umount", place)


def starve(antagonist, victim):
    """
    One group keeps a CPU busy on which the other one wants to run. How long that waited, s: then,
    and in all; and how long others had the CPU then.
    """
    processes = []
    for group, code in ((antagonist, BUSY), (victim, STARVED)):
        more = processes[0].pid if processes else ""
        inside = f"echo 0 >{group}/cgroup.procs; exec {sys.executable} -c '{code}' {more}"
        processes.append(subprocess.Popen(["sh", "-c", inside], stdout=subprocess.PIPE, text=True))
    waited = [float(word) for word in processes[1].communicate(timeout=60)[0].split()]
    processes[0].kill()
    processes[0].communicate()
    return waited


def blame():
    """
    Groups keep each other waiting, for a lock and for a CPU. Returns the waits for the lock, and what
    looks at the metrics of them all.
    """
    with made_groups("holder", "waiter") as groups:
        if not groups:
            return [], lambda _: skip("who kept whom waiting",
                                      "cgroups of version 2 cannot be mounted")
        # Too short for the rule.
        pairs = [hold(0.05, *groups) for _ in range(5)]
        least = sum(held.let_go - held.asleep for held in pairs) / 1e9
        most = sum(held.after - held.before for held in pairs) / 1e9
        waited = starve(*groups)
    names = ["/" + os.path.basename(group) for group in groups]
    return pairs, lambda found: check_blame(found, names, (least, most), waited)


def check_blame(found, names, held, starved):
    """`held`: how long the lock was waited for, at least and at most, s; `starved`: see starve()."""
    (holder, waiter), (least, most), (then, in_all, others) = names, held, starved
    blamed = value_of(found,
                      "clew_blame_seconds_total",
                      victim=waiter,
                      antagonist=holder,
                      kind="file")
    ok(least <= blamed <= most, "who kept whom waiting is as long as the waiters' clocks say",
       (blamed, least, most, [each for each in found if each[0].startswith("clew_blame")]))
    blamed = value_of(found,
                      "clew_blame_seconds_total",
                      victim=waiter,
                      antagonist=holder,
                      kind="runqueue")
    note(f"{blamed:.3f} s of {in_all:.3f} s without a CPU are the group's that ran, "
         f"{others:.3f} s at most are of others")
    ok(0.5 * max(then - others, 0) < blamed < 1.03 * in_all + 0.005,
       "who had the CPU is charged with what the kernel says one waited for it",
       (blamed, then, in_all, others))
    waited = value_of(found, "clew_wait_seconds_total", cgroup=waiter, kind="file")
    ok(least <= waited < most + 0.02, "so is what the waiters' group waited",
       (waited, least, most))


def on_disk(group, code, file, *more):
    """A program that asks a disk, in a group."""
    inside = f'echo 0 >{group}/cgroup.procs; exec "$@"'
    return subprocess.Popen(
        ["sh", "-c", inside, "sh", sys.executable, "-c", code, file, "2", *more],
        stdout=subprocess.PIPE,
        text=True)


def times_of(text):
    return [tuple(map(int, line.split())) for line in text.splitlines()]


def behind(reads, writes):
    """How long each read had a write before it that was asked for earlier, at most, ns."""
    known = 0
    for begin, end in reads:
        over = max((over for asked, over in writes if asked < end and over > begin), default=begin)
        known += max(min(over, end) - begin, 0)
    return known


def ask_disks(place, groups):
    """Two groups ask one disk and a third one asks another; what the reads and the writes took."""
    for system in ("ext4", "xfs"):
        with open(f"{place}/{system}/blame", "wb") as file:
            file.write(bytes(1 << 24))
            os.fsync(file.fileno())
    written = scratch("written")
    programs = [
        on_disk(groups[0], WRITER, f"{place}/ext4/blame", written),
        on_disk(groups[1], READER, f"{place}/ext4/blame"),
        on_disk(groups[2], WRITER, f"{place}/xfs/blame", scratch("beside"))
    ]
    told = [program.communicate(timeout=PATIENCE)[0] for program in programs]
    with open(written, encoding="ascii") as file:
        return times_of(told[1]), times_of(file.read())


def disk_blame():
    """Groups ask disks. Returns what looks at the metrics of that."""
    with contextlib.ExitStack() as stack:
        place = stack.enter_context(Place(only=["ext4", "xfs"]))
        groups = stack.enter_context(made_groups("writer", "reader", "beside"))
        lacking = place.lacks.get("ext4") or place.lacks.get("xfs")
        if lacking or not groups:
            return lambda _: skip("who was ahead at a disk", lacking or
                                  "cgroups of version 2 cannot be mounted")
        reads, writes = ask_disks(place.path, groups)
    names = ["/" + os.path.basename(group) for group in groups]
    return lambda found: check_disk_blame(found, names, reads, writes)


def check_disk_blame(found, names, reads, writes):
    writer, reader, beside = names
    blamed, other = (value_of(found,
                              "clew_blame_seconds_total",
                              victim=reader,
                              antagonist=each,
                              kind="disk") for each in (writer, beside))
    most = behind(reads, writes) / 1e9
    whole = sum(end - begin for begin, end in reads) / 1e9
    # Without the time that the reader then had no CPU.
    waited = value_of(found, "clew_wait_seconds_total", cgroup=reader, kind="read")
    note(f"{len(reads)} reads took {whole:.3f} s and waited {waited:.3f} s, {blamed:.3f} s of that "
         f"behind the writer, {most:.3f} s at most by its clock")
    ok(
        len(reads) > 20 and 0.6 * min(most, waited) < blamed <= min(most, waited) + 0.005,
        "who was ahead at a disk is charged with what a read waited for it",
        (blamed, most, waited, [each for each in found if ("kind", "disk") in each[1]]))
    ok(other == 0, "who asked another disk is not", other)


@contextlib.contextmanager
def quota():
    """The directory of a group that has 4 ms of CPU time in 20 ms, or None."""
    try:
        directory, unified = controller("cpu")
        group = f"{directory}/clew-quota-{os.getpid()}"
        os.mkdir(group)
    except (Lacking, OSError):
        yield None
        return
    try:
        if unified:
            write(f"{group}/cpu.max", "4000 20000")
        else:
            write(f"{group}/cpu.cfs_period_us", 20000)
            write(f"{group}/cpu.cfs_quota_us", 4000)
        yield group
    finally:
        os.rmdir(group)


def throttled(group):
    """How long the kernel says that the group was kept off its CPUs, s."""
    with open(f"{group}/cpu.stat", encoding="ascii") as file:
        stat = dict(line.split() for line in file)
    return int(stat["throttled_usec"]) / 1e6 if "throttled_usec" in stat else int(
        stat["throttled_time"]) / 1e9


def quota_blame():
    """A group uses up its quota. Returns what looks at the metrics of that."""
    with quota() as group:
        if not group:
            return lambda _: skip("a group is charged for its own quota",
                                  "no group with a quota can be made")
        # One thread, so that the group's time is the thread's.
        busy = "import time; end = time.monotonic() + 2\nwhile time.monotonic() < end: pass"
        run("sh", "-c", f"echo $$ >{group}/cgroup.procs; exec {sys.executable} -c '{busy}'")
        known = throttled(group)
    return lambda found: check_quota_blame(found, group, known)


def check_quota_blame(found, group, known):
    charged = {
        labels: value
        for (metric, labels), value in found.items()
        if metric == "clew_blame_seconds_total" and ("kind", "throttle") in labels
    }
    blamed = sum(value for labels, value in charged.items()
                 if dict(labels)["antagonist"].endswith(os.path.basename(group)))
    note(f"{blamed:.3f} s of {known:.3f} s that a quota kept its group off a CPU are charged")
    ok(known > 0.5 and 0.9 * known < blamed < 1.05 * known + 0.02,
       "a group is charged for what its quota took, as the kernel counts it",
       (blamed, known, charged))
    kept = sum(value for (metric, labels), value in found.items()
               if metric == "clew_quota_seconds_total"
               and dict(labels)["cgroup"].endswith(os.path.basename(group)))
    ok(0.9 * known < kept < 1.05 * known + 0.02,
       "and its threads have that time in a metric of its own", (kept, known))


def ask(address, accepted):
    """The answer by HTTP: its type and its text."""
    request = urllib.request.Request(f"http://{address}/metrics", headers={"Accept": accepted})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.headers["Content-Type"], answer.read().decode()


def ask_open(address):
    return ask(address, "application/openmetrics-text;version=1.0.0")[1]


def sums_by(found, metric, label):
    """{value of the label: sum of all series that have it}"""
    sums = collections.Counter()
    for (name, labels), value in found.items():
        if name == metric:
            sums[dict(labels)[label]] += value
    return sums


def unlike(one, other):
    return {key for key in {*one, *other} if abs(one.get(key, 0) - other.get(key, 0)) > 1e-6}


def are_cumulative(found, metric):
    """Whether the buckets of each series of a histogram grow up to its count."""
    series = collections.defaultdict(list)
    for (name, labels), value in found.items():
        if name == metric + "_bucket":
            bound = float(dict(labels)["le"])
            series[frozenset(each for each in labels if each[0] != "le")].append((bound, value))
    counts = {labels: value for (name, labels), value in found.items() if name == metric + "_count"}
    return series.keys() == counts.keys() and all(
        sorted(value for _, value in buckets) == [value for _, value in sorted(buckets)]
        and max(buckets) == (float("inf"), counts[labels]) and len(buckets) == 20
        for labels, buckets in series.items())


def check_lengths(address):
    """
    What the histogram says of all groups together is what the counters say of each. Returns its
    waits for a lock.
    """
    held = [hold(0.02) for _ in range(5)]
    time.sleep(1)
    found = parsed(ask_open(address), OPEN)
    length = "clew_wait_length_seconds"
    counts = sums_by(found, length + "_count", "kind")
    ok(
        counts["file"] >= 5 and counts["runqueue"] > 100
        and not unlike(counts, sums_by(found, "clew_waits_total", "kind")),
        "the lengths of waits count as many as have ended in all groups", counts)
    sums = sums_by(found, length + "_sum", "kind")
    ok(not unlike(sums, sums_by(found, "clew_wait_seconds_total", "kind")),
       "they are as long together", sums)
    ok(are_cumulative(found, length), "a bucket has all that the shorter ones have",
       [each for each in found.items() if each[0][0].startswith(length)])
    return held


def examples(text):
    """{bound of the bucket: (incident, value, timestamp)} of waits for files."""
    read = importlib.import_module("prometheus_client.openmetrics.parser")
    return {
        float(sample.labels["le"]): (sample.exemplar.labels["incident"], sample.exemplar.value,
                                     float(sample.exemplar.timestamp))
        for family in read.text_string_to_metric_families(text) for sample in family.samples
        if sample.exemplar and sample.labels["kind"] == "file"
    }


def check_examples(address):
    """The last incident for a wait of some length is named beside the bucket of that length."""
    deadline = time.monotonic() + 30
    while status()["triggers"][0]["made"] < 3 and time.monotonic() < deadline:
        time.sleep(0.1)
    expected = {}
    for name in incidents():
        if "-held-" in name:
            trigger = json.loads(told_of(name)["trigger.json"])
            ended = (trigger["wall"] - (trigger["at"] - trigger["end"])) / 1e9
            least = min(bound for bound in (0.25, 0.5, 1, 2.5) if trigger["ns"] <= bound * 1e9)
            expected[least] = (name, trigger["ns"] / 1e9, ended)
    text = ask_open(address)
    found = examples(text)
    ok(
        expected and found.keys() == expected.keys() and all(
            each[0] == expected[bound][0] and abs(each[1] - expected[bound][1]) < 1e-6
            and abs(each[2] - expected[bound][2]) < 1e-3 for bound, each in found.items()),
        "a bucket names the last incident for a wait of its length", (found, expected))
    ok("# {" in text and "# {" not in ask(address, "*/*")[1], "in OpenMetrics alone")


def check_requests(address):
    """Each block that is written behind the page cache is one request, and they follow another."""
    name = "requests of a disk are counted with what they took"
    with Place(only=["ext4"]) as place:
        if place.lacks.get("ext4"):
            skip(name, place.lacks["ext4"])
            return
        file = f"{place.path}/ext4/requests"
        with open(file, "wb") as made:
            made.write(bytes(64 * 4096))
            os.fsync(made.fileno())
        device = os.stat(file).st_dev
        labels = {
            "dev": f"{os.major(device)}:{os.minor(device)}", "op": "write", "reason": "direct"
        }
        # Some machines hide single completions from every tracer.
        for _ in range(TRIES):
            told = [parsed(ask_open(address), OPEN)]
            before = time.monotonic()
            done = run("dd", "if=/dev/zero", f"of={file}", "bs=4k", "count=64", "oflag=direct",
                       "conv=notrunc")
            took = time.monotonic() - before
            time.sleep(2)
            told.append(parsed(ask_open(address), OPEN))
            count, seconds = (
                value_of(told[1], metric, **labels) - value_of(told[0], metric, **labels)
                for metric in ("clew_request_seconds_count", "clew_request_seconds_sum"))
            if not 60 <= count < 64:
                break
    ok(count == 64 and 0 < seconds < took, name, (count, seconds, took, done.stderr, labels))
    ok(are_cumulative(told[1], "clew_request_seconds"), "in buckets that have all shorter ones")


def await_open(address, met):
    """Waits until `met` is true of how many waits for a file go on and how long the oldest has."""
    deadline = time.monotonic() + 30
    while True:
        found = parsed(ask_open(address), OPEN)
        told = [
            value_of(found, metric, kind="file")
            for metric in ("clew_open_waits", "clew_longest_wait_seconds")
        ]
        if met(*told) or time.monotonic() > deadline:
            return told
        time.sleep(0.1)


def check_open(address):
    """A wait for a lock is in the gauges while it goes on, with its age, and not behind that."""
    name = "a wait that goes on is counted, with its age"
    if await_open(address, lambda *_: True)[0]:
        skip(name, "something else waits for a file")
        return
    command = [sys.executable, "-c", HOLDER, WAITER, scratch("lock"), "4.5"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        count, longest = await_open(address, lambda _, longest: longest >= 3)
        seen = time.monotonic_ns()
        held = Held(*map(int, process.communicate(timeout=PATIENCE)[0].split()))
    ok(count == 1 and 3 <= longest <= (seen - held.before) / 1e9 and seen < held.after, name,
       (count, longest, seen, held))
    told = await_open(address, lambda *told: not any(told))
    ok(not any(told), "and no more when it has ended", told)


def check_http(address):
    host, port = address.split(":")
    mute = socket.create_connection((host, int(port)))
    names = []
    for accepted, of_format, expected in (("*/*", TEXT, "text/plain; version=0.0.4"),
                                          ("application/openmetrics-text;version=1.0.0", OPEN,
                                           "application/openmetrics-text; version=1.0.0")):
        kind, text = ask(address, accepted)
        names.append({name for name, _ in parsed(text, of_format)})
        ok(
            kind.startswith(expected) and names[-1],
            f"they are there by HTTP for {accepted}, while another client says nothing",
            (kind, text))
    ok(names[0] <= names[1], "with the same names in both formats", names)
    mute.settimeout(10)
    ok(mute.recv(1) == b"", "who says nothing is dropped")
    mute.close()
    try:
        urllib.request.urlopen(f"http://{address}/other", timeout=10)
        ok(False, "nothing else is there")
    except urllib.error.HTTPError as error:
        ok(error.code == 404, "nothing else is there", error)


def check_promtool():
    promtool, why = program("promtool")
    if not promtool:
        skip("promtool finds nothing wrong in the file", why)
        return
    with open(METRICS, encoding="utf-8") as file:
        done = run(promtool, "check", "metrics", stdin=file)
    ok(done.returncode == 0, "promtool finds nothing wrong in the file", done.stdout + done.stderr)


def test_metrics():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = "127.0.0.1:%d" % free.getsockname()[1]
    configure("rotate 1s", "keep 20s", f"metrics-file {METRICS}", f"metrics-address {address}",
              f"trigger held: lock wait > 150ms where comm {WAITERS}")
    daemon = Daemon()
    before = await_metrics(0)
    ok(bool(before), "metrics are in the file, for a strict reader")
    check_http(address)
    check_promtool()
    waits, *checks = *blame(), disk_blame(), quota_blame()
    # The last waits are charged a second later.
    time.sleep(2)
    found = await_metrics(time.time_ns())
    for check in checks:
        check(found)
    waits += check_lengths(address)
    check_requests(address)
    waits += [hold(0.2) for _ in range(4)]
    time.sleep(2)
    after = await_metrics(time.time_ns())
    results = {
        result: value_of(after, "clew_triggers_total", name="held", result=result)
        for result in ("fired", "suppressed", "failed")
    }
    # A short wait lasts longer where the machine has no CPU for its holder.
    surely = sum(held.let_go - held.asleep > 150_000_000 for held in waits)
    perhaps = sum(held.after - held.before > 150_000_000 for held in waits)
    ok(
        results["fired"] == 3 and results["failed"] == 0
        and surely <= 3 + results["suppressed"] <= perhaps, "so are the results of rules",
        (results, surely, perhaps))
    ok(
        value_of(after, "clew_lost_records_total") == 0
        and value_of(after, "clew_records_total") > 0
        and 5 < value_of(after, "clew_window_seconds") < 26
        and value_of(after, "clew_cost_cpu_seconds_total", part="user") > 0
        and value_of(after, "clew_forgotten_writers_total") == 0
        and value_of(after, "clew_memory_bytes") > 1e6, "so are losses, the cost and the window",
        after)
    check_examples(address)
    check_open(address)
    code, error = daemon.stop()
    # While it runs it may be just about to replace the file.
    left = [name for name in os.listdir(os.path.dirname(METRICS)) if name.startswith("clew.prom.")]
    ok(code == 0 and not left, "it stops, and leaves nothing beside the file", (error, left))


test_metrics()
finish()
