#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# alone: it sets limits of the kernel for all dirty pages
"""
Through the page cache: who wrote the pages of each request, against stamps on the disk,
FIEMAP and the workloads' own log.

Each group of workloads is one recording, under settings of the kernel that make it write
for the reason
in question. Writers and sectors must all be right, and each page that was written must be
in a request.
When the kernel writes by its own clock or limits depends on what else the machine does:
why it did is taken from
the kernel's own word of it, see _flusher.py.

Recording and comparing may be done on two machines: a guest that is emulated is slow at the latter.

Usage: pagecache.py [--runs N] [--only NAME,..] [--seed N] [--record DIR | --compare DIR]
(runs also from CLEW_LIVE_RUNS)
"""

import argparse
import glob
import json
import os
import sys

from _accuracy import measured
from _flusher import Flushers, Watch
from _live import CLEW, GUEST, PATIENCE, answer, clew, feature, finish, note, ok, scratch, skip, wanted_runs
from _pages import Pages, Tally, below, compare, compare_sums, compare_unused
from _place import Place, settings, write
from _waiting import compare_waiting
from workloads import command, load

SYSTEMS = ("ext4", "xfs", "btrfs")
VM = "/proc/sys/vm/"
# Name, programs and variants, settings.
GROUPS = [("pages", [
    "pagecache,mix", "pagecache,race", "pagecache,many", "pagecache,pays", "pagecache,squeeze",
    "pagecache,contain", "pagereason,ahead", "pagereason,journal"
], {}),
          ("periodic", ["pagereason,periodic"],
           {VM + "dirty_expire_centisecs": 20, VM + "dirty_writeback_centisecs": 10}),
          ("memory", ["pagereason,memory"], {}),
          # The last: its limits stay.
          ("limits", ["pagereason,background", "pagereason,throttle"], {}), ]

WANTED_RUNS = wanted_runs(2)
MANY = 4  # with more a guest does what takes long there
# What the groups are to have flushers write for.
MEANT = {"periodic": ("periodic", ), "memory": ("memory", ), "limits": ("background", "throttled")}


def record(names, seeds, directory, place):
    script = os.path.join(directory, "run.sh")
    with open(script, "w", encoding="ascii") as file:
        file.write("cd \"${0%/*}\"\n")
        for seed in seeds:
            file.write("\n".join(command(name, seed, directory, place) for name in names) + "\n")
    path = trace_of(directory)
    # On a busy machine the rings may overflow: what is unknown then is another test's subject.
    for _ in range(1 if GUEST else 3):
        done = clew("record",
                    "-o",
                    path,
                    *([] if GUEST else ["--ring-size", "32M"]),
                    "--",
                    "/bin/sh",
                    script,
                    timeout=PATIENCE * 3)
        if done.returncode:
            raise RuntimeError(f"clew record: status {done.returncode}: {done.stderr}")
        note(done.stderr.strip())
        if "lost 0" in done.stderr:
            break


def trace_of(directory):
    return os.path.join(directory, "trace.clew")


def number_of(directory):
    device = os.stat(directory).st_dev
    return f"{os.major(device)}:{os.minor(device)}"


def images(place):
    """Disks that are loop devices, and their files."""
    found = {}
    for system in SYSTEMS:
        path = os.path.join(place.path, system + ".image")
        if not os.path.exists(path):
            continue
        status = os.stat(path)
        below_it = f"{os.major(status.st_dev)}:{os.minor(status.st_dev)}"
        for name in os.listdir("/sys/block"):
            try:
                with open(f"/sys/block/{name}/loop/backing_file", encoding="utf-8") as file:
                    same = file.read().strip() == path
                with open(f"/sys/block/{name}/dev", encoding="ascii") as file:
                    number = file.read().strip()
            except OSError:
                continue
            if same:
                found[number] = (below_it, status.st_ino)
    return found


def limit(place, system):
    """Little of this file system may be dirty, whatever else is. Returns why not."""
    device = os.stat(os.path.join(place.path, system)).st_dev
    directory = f"/sys/class/bdi/{os.major(device)}:{os.minor(device)}"
    if system == "btrfs":
        with open(os.path.join(place.path, "btrfs.disk"), encoding="ascii") as file:
            disk = file.read().split()[0]
        for path in glob.glob("/sys/fs/btrfs/*/devices/*/dev"):
            with open(path, encoding="ascii") as file:
                if file.read().strip() == disk:
                    directory = os.path.realpath(path.rpartition("/devices/")[0] + "/bdi")
    if not os.path.exists(f"{directory}/strict_limit"):
        return "no such limit: dirty pages of one device"
    write(f"{directory}/max_bytes", 4 << 20)
    write(f"{directory}/strict_limit", 1)
    return None


# Files whose bytes are known: written from memory that has never been touched,
# stored to page by page, and, last, each deleted before the next is made.
KNOWN = """
import mmap, os, sys
def opened(name):
    return os.open(os.path.join(sys.argv[1], name), os.O_CREAT | os.O_RDWR | os.O_TRUNC, 0o600)
def store(fd, size, pages):
    with mmap.mmap(fd, size) as mapping:
        mapping.madvise(mmap.MADV_RANDOM) # no large folios
        for page in pages:
            mapping[page * 4096] = 1
        os.fsync(fd)
for name, size in (("untouched", 30000), ("untouched-large", 300001)):
    fd = opened(name)
    os.write(fd, memoryview(mmap.mmap(-1, size)))
    os.fsync(fd)
for name, pages in (("hole-1", range(1)), ("hole-16", range(16)), ("hole-apart", range(0, 10, 2)), ("hole-6000", range(6000))):
    fd = opened(name)
    os.ftruncate(fd, 24 << 20)
    store(fd, 24 << 20, pages)
fd = opened("single")
for page in range(0, 10, 2):
    os.pwrite(fd, bytes(4096), page * 4096)
os.fsync(fd)
store(fd, 36864, range(0, 10, 2))
store(fd, 36864, range(1))
fd = opened("appended")
for i in range(700):
    os.write(fd, bytes(21))
    if i % 300 == 299:
        os.fsync(fd)
fd = opened("sections")
for _ in range(3):
    for place, size in ((64, 3000), (3072, 1024), (9000, 500), (4096, 4904), (0, 64)):
        os.pwrite(fd, bytes(size), place)
    os.fsync(fd)
for i in range(4):
    fd = opened(f"again-{i}")
    os.write(fd, bytes(10000 * (i + 1)))
    os.fsync(fd)
    print(os.fstat(fd).st_ino)
    os.close(fd)
    if i < 3:
        os.unlink(os.path.join(sys.argv[1], f"again-{i}"))
"""
# Name, bytes that calls asked for, bytes of the pages stored to, once a pass.
KNOWN_FILES = [("untouched", 30000, 0), ("untouched-large", 300001, 0), ("hole-1", 0, 4096),
               ("hole-16", 0, 65536), ("hole-apart", 0, 20480), ("hole-6000", 0, 6000 * 4096),
               ("single", 20480, 24576), ("appended", 14700, 0),
               ("sections", 28476, 0)] + [(f"again-{i}", 10000 * (i + 1), 0) for i in range(4)]


def check_known(place, top):
    """`clew io` tells just what was asked of files, of each alone."""
    os.makedirs(top, exist_ok=True)
    for system in SYSTEMS[:2]:
        if system in place.lacks:
            continue
        directory, path = os.path.join(place.path,
                                       system), os.path.join(top, f"known-{system}.clew")
        done = clew("record",
                    "-o",
                    path,
                    "--",
                    sys.executable,
                    "-c",
                    KNOWN,
                    directory,
                    timeout=PATIENCE)
        ok(done.returncode == 0, f"{system}: files of known bytes are recorded",
           done.stderr.strip())
        files = [
            f for f in answer("io", path)["files"]
            if f["path"] and os.path.dirname(f["path"]) == directory
        ]
        found = sorted(
            (os.path.basename(f["path"]), f["asked_bytes"], f["stored_bytes"]) for f in files)
        seen = system != "xfs" or feature("stores to mapped xfs pages")[0]
        known = [(name, asked, stored if seen else 0) for name, asked, stored in KNOWN_FILES]
        wrong = sorted(set(found) ^ set(known))
        ok(
            not wrong and len(found) == len(KNOWN_FILES),
            f"{system}: bytes asked of and stored to {len(found)} files, some with one inode number",
            wrong)
        one = os.path.join(directory, "again-1")
        told = answer("io", path, "--file", one)
        carried = sum(event["bytes"] for event in told["story"] if event["what"] == "request")
        ok([f["path"] for f in told["files"]] == [one] and carried == 20480,
           f"{system}: the story of one of these is its own", (told["files"], carried))


class Verdicts:
    """What was counted and found wrong, per file system and per workload."""

    def __init__(self):
        self.tallies = {system: Tally() for system in SYSTEMS}
        self.wrong = {}
        self.skipped = {}


def check_group(verdicts, directory, group):
    """
    Compares what one recording holds with what its workloads printed. `group`:
    what take_down() wrote of it.
    """
    path, names, seeds = trace_of(directory), group["names"], group["seeds"]
    ledger = answer("info", path)["ledger"]
    if ledger["missed"]:
        note(f"ledger: missed {ledger['missed']}")
    ok(not ledger["lost"] and ledger["balanced"], f"{group['name']}: nothing is lost",
       f"lost {ledger['lost']}, balanced {ledger['balanced']}")
    capture = Pages(answer("requests", path)["requests"])
    files = answer("io", path)["files"]
    edges, waits = answer("edges", path)["edges"], answer("waits", path)["waits"]
    flushers = Flushers(group["flushers"])
    graphs = []
    for name in names:
        system = name.rpartition("-")[2]
        problems = verdicts.wrong.setdefault(name, [])
        for seed in seeds:
            graph, problem = load(name, seed, directory)
            if graph is None:
                problems.append(problem)
                continue
            if "skip" in graph:
                verdicts.skipped[name] = graph["skip"]
                continue
            graphs.append(graph)
            before = {what: len(texts) for what, texts in verdicts.tallies[system].wrong.items()}
            label = f"{graph['variant']} seed {seed}"
            compare(verdicts.tallies[system], label, graph, capture, flushers)
            compare_waiting(verdicts.tallies[system], label, graph, capture, edges, waits, flushers)
            for what, texts in verdicts.tallies[system].wrong.items():
                problems += [f"{what}: {text}" for text in texts[before.get(what, 0):]]
    for system in SYSTEMS[:2]:
        # btrfs tells its writes in whole blocks, and those to what is dirty once.
        own = [graph for graph in graphs if graph["system"] == system]
        compare_sums(verdicts.tallies[system], system, own,
                     [f for f in files if f["dev"] == group["numbers"].get(system)])
    for system in SYSTEMS:
        compare_unused(verdicts.tallies[system], system,
                       [graph for graph in graphs if graph["system"] == system], files)
    lower = Tally()
    below(lower, graphs, capture, group["images"])
    return lower


def choose(options, programs, left_out):
    """Names of the workloads of a group; what is left out is put down there with its reason."""
    names = [f"{program}-{system}" for system in SYSTEMS for program in programs]
    if GUEST:
        # Emulated, each takes a while: what differs between kernels is in these.
        wanted = ["pagecache,pays-ext4", "pagereason,ahead-ext4"] + (
            ["pagereason,periodic-xfs", "pagereason,memory-ext4"] if WANTED_RUNS > MANY else [])
        names = [name for name in names if "mix" in name or "journal" in name or name in wanted]
    if options.only:
        names = [name for name in names if any(word in name for word in options.only.split(","))]
    names = [name for name in names if "squeeze" not in name or name.endswith("-btrfs")]
    uses, reason = feature("use of cached pages")
    for name in [name for name in names if "ahead" in name and not uses]:
        names.remove(name)
        left_out.append([name, reason, False])
    return names


def take_down(top, options):
    """
    Records all groups and keeps under `top` what report() needs: a directory a
    recording, and about.json.
    """
    about = {"kernel": os.uname().release, "groups": [], "left_out": []}
    with Place(("ext4", "xfs", "btrfs", "limit")) as place:
        if not options.only:
            check_known(place, top)
        for group, programs, values in GROUPS:
            names = choose(options, programs, about["left_out"])
            # A btrfs in a group that small is busy with itself for many seconds.
            names = [name for name in names if group != "memory" or not name.endswith("-btrfs")]
            for name in list(names):
                reason = place.needs(name) or (limit(place,
                                                     name.rpartition("-")[2])
                                               if group == "limits" else None)
                if reason:
                    names.remove(name)
                    about["left_out"].append([name, reason, GUEST])
            if not names:
                continue
            directory = os.path.join(top, group)
            os.makedirs(directory)
            seeds = list(
                range(
                    options.seed, options.seed + (options.runs if group == "pages" else
                                                  (options.runs + 1) // 2)))
            with settings(place, values), Watch() as watch:
                record(names, seeds, directory, place)
            numbers = {
                system: number_of(os.path.join(place.path, system))
                for system in SYSTEMS if system not in place.lacks
            }
            about["groups"].append({
                "name": group, "names": names, "seeds": seeds, "numbers": numbers, "images":
                images(place), "flushers": watch.lines
            })
    with open(os.path.join(top, "about.json"), "w", encoding="ascii") as file:
        json.dump(about, file)


def report_orders(verdicts, groups):
    """
    The reason that a group is for is that of some requests; not one is wrong,
    which its workloads' results say.
    """
    for group in groups:
        words = MEANT.get(group["name"], ())
        count = sum(tally.count[f"reason {word}"] for tally in verdicts.tallies.values()
                    for word in words)
        if words and Flushers(group["flushers"]).says(words, group["numbers"].values()):
            ok(
                count,
                f"{group['name']}: {count} requests of flushers are for that reason, as the kernel says",
                "none")
        elif words:
            skip(f"{group['name']}: why flushers write",
                 "the kernel has written for no such reason, or says nothing of it")


def take_accuracy(kernel, verdicts):
    for system, tally in verdicts.tallies.items():
        count = tally.count
        where = {"kernel": kernel, "unit": "pages"}
        wrong = count["writer too many"] + count["writer missing"]
        measured("pages writers", count["writer"] + count["writer missing"], wrong,
                 witness=f"stamps on the disk and the log of who wrote, {system}", **where)
        measured("requests sectors", count["sector"] + count["sector wrong"], count["sector wrong"],
                 witness=f"FIEMAP, {system}", **where)
        measured("requests pages", count["written"] + count["unwritten"], count["unwritten"],
                 witness=f"the log of who wrote, {system}", **where)
        for type in ("writeback", "readahead", "journal", "throttle"):
            measured(f"dependency {type}", count[type] + count[f"{type} wrong"],
                     count[f"{type} wrong"], witness=f"the log of who wrote and read, {system}",
                     kernel=kernel)
        measured("wait journal", count["journal wait"] + count["journal wait wrong"],
                 count["journal wait wrong"], witness=f"the log of who slept, {system}",
                 kernel=kernel)
        measured("wait throttle", count["pauses known"], count["pauses wrong"],
                 witness=f"the kernel's own event, {system}", kernel=kernel)
        known = sum(count[what] for what in count if what.startswith("reason ") and
                    what not in ("reason wrong", "reason unknown"))
        measured("requests reasons", known + count["reason wrong"] + count["reason unknown"],
                 count["reason wrong"], count["reason unknown"],
                 witness=f"what flushers and callers did, {system}", kernel=kernel)


def report(top):
    with open(os.path.join(top, "about.json"), encoding="ascii") as file:
        about = json.load(file)
    for name, reason, wrong in about["left_out"]:
        # A guest is made with all that is needed.
        if wrong:
            ok(False, f"workload {name}", reason)
        else:
            skip(f"workload {name}", reason)
    verdicts = Verdicts()
    lower = [
        check_group(verdicts, os.path.join(top, group["name"]), group) for group in about["groups"]
    ]
    take_accuracy(about["kernel"], verdicts)
    report_orders(verdicts, about["groups"])
    runs = max((len(group["seeds"]) for group in about["groups"]), default=0)
    for system, tally in verdicts.tallies.items():
        for line in tally.lines():
            note(f"{system}: {line}")
        note(f"{system}: {dict(sorted(tally.count.items()))}")
    for name, problems in verdicts.wrong.items():
        if name in verdicts.skipped and not problems:
            skip(f"workload {name}", verdicts.skipped[name])
            continue
        for problem in problems[:6]:
            note(f"{name}: {problem}")
        ok(not problems, f"workload {name}: {runs} runs",
           f"{len(problems)} disagree, first: {(problems or [''])[0]}")
    for system, tally in verdicts.tallies.items():
        if tally.count["passes"] and system != "btrfs":
            ok(not tally.wrong["io"], f"{system}: bytes asked of {tally.count['io']} files",
               tally.wrong["io"][:2])
        if tally.count["unused"] or tally.wrong["unused"]:
            ok(not tally.wrong["unused"],
               f"{system}: {tally.count['unused']} pages were read ahead for nobody",
               tally.wrong["unused"][:2])
        if tally.count["passes"]:
            ok(not tally.count["sector wrong"],
               f"{system}: {tally.count['sector']} pages at the sectors that FIEMAP gives",
               tally.count["sector wrong"])
            ok(not tally.count["unwritten"],
               f"{system}: {tally.count['written']} dirty pages are in a request",
               tally.count["unwritten"])
            ok(
                not tally.count["writer too many"] + tally.count["writer missing"],
                f"{system}: {tally.count['writer']} writers of pages",
                f"{tally.count['writer too many']} too many, {tally.count['writer missing']} missing"
            )
    count = verdicts.tallies["btrfs"].count
    known, unknown = sum(count[what] for what in count if what.startswith("reason")
                         and "wrong" not in what and "unknown" not in what), count["reason unknown"]
    if known + unknown:
        ok(unknown <= known / 4,
           f"btrfs: why it writes is known of {known} requests of {known + unknown}", "too few")
    found, wrong = (sum(tally.count[what] for tally in lower) for what in ("below", "below wrong"))
    for tally in lower:
        for problem in tally.wrong["below"][:3]:
            note(problem)
    if lower:
        ok(not wrong and found,
           f"below a loop device {found} pages have the writers of those above",
           f"{wrong} have not")
    finish()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=min(2, WANTED_RUNS))
    parser.add_argument("--only", default="")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--record", metavar="DIR", help="record only")
    parser.add_argument("--compare", metavar="DIR", help="what --record left there")
    options = parser.parse_args()
    options.runs = 1 if GUEST else options.runs
    if not options.compare:
        top = options.record or scratch("recorded")
        take_down(top, options)
    if options.record:
        ok(True, "workloads recorded")
        finish()
    report(options.compare or top)


if __name__ == "__main__":
    assert os.path.exists(CLEW), "clew is not built"
    main()
