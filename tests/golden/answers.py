#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Answers about captures whose every nanosecond is known, and about them as notation,
compared with tests/golden/expected/. Prints TAP.

Usage: answers.py [--write]     --write: take what clew says now as expected, to be read
before it is committed
"""
import itertools
import json
import os
import re
import resource
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import _capture  # noqa: E402  pylint: disable=wrong-import-position

CLEW = os.path.abspath(os.environ.get("CLEW", os.path.join(HERE, "..", "..", "clew")))
EXPECTED = os.path.join(HERE, "expected")

MANY = 100000

# The whole list, in order of time.
WHOLE = ["--idle", "--sort", "start"]

# capture, name of the answer, command and options
# yapf: disable
CASES = [
    ("peer", "report", ["report"]),
    ("peer", "report-comm", ["report", "--comm", "serv*"]),
    ("peer", "why", ["why", "--tid", "200"]),
    ("mutex", "info", ["info"]),
    ("mutex", "waits", ["waits", *WHOLE]),
    ("mutex", "waits-chosen",
     ["waits", "--tid", "101", "--min", "1ms", "--kind", "futex,poll", "--sort", "start"]),
    ("mutex", "locks", ["locks"]),
    ("mutex", "edges", ["edges", *WHOLE]),
    ("mutex", "why", ["why", "--tid", "101"]),
    ("mutex", "why-part", ["why", "--tid", "101", "--from", "0.35ms", "--to", "1000001450000"]),
    ("mutex", "why-slowest", ["why", "--slowest", "3"]),
    ("mutex", "why-without-unlock", ["why", "--tid", "101", "--without", "unlock"]),
    ("deadlock", "waits", ["waits", *WHOLE]),
    ("deadlock", "locks", ["locks"]),
    ("deadlock", "why", ["why", "--tid", "100"]),
    ("deadlock", "why-pipe", ["why", "--tid", "401"]),
    ("deadlock", "why-socket", ["why", "--tid", "1100"]),
    ("deadlock", "why-none", ["why", "--tid", "500"]),
    ("killed", "waits", ["waits", *WHOLE]),
    ("killed", "locks", ["locks"]),
    ("killed", "why", ["why", "--tid", "100"]),
    ("killed", "why-part", ["why", "--tid", "302"]),
    ("killed", "report", ["report", "--comm", "parent"]),
    ("tried", "waits", ["waits", *WHOLE]),
    ("tried", "report", ["report", "--comm", "waiter"]),
    ("tried", "why", ["why", "--tid", "200", "--steps"]),
    ("tried", "why-connect", ["why", "--tid", "300", "--steps"]),
    ("periodic", "why-slowest", ["why", "--comm", "sampler", "--slowest"]),
    ("periodic", "report", ["report", "--comm", "awaiter"]),
    ("safepoint", "waits", ["waits", *WHOLE]),
    ("safepoint", "report", ["report", "--comm", "request"]),
    ("safepoint", "why", ["why", "--tid", "102", "--from", "1000000050000", "--to", "1000001500000"]),
    ("stacks", "waits", ["waits", "--stacks", *WHOLE]),
    ("stacks", "waits-without", ["waits", *WHOLE]),
    ("stacks", "edges", ["edges", *WHOLE]),
    ("stacks", "why", ["why", "--tid", "101", "--steps"]),
    ("stacks", "path",
     ["path", "--from", "worker-101 @ 0%", "--to", "worker-101 @ 100%", "--strategy",
      "predecessor"]),
    ("life", "info", ["info"]),
    ("life", "waits", ["waits", *WHOLE]),
    ("life", "edges", ["edges", *WHOLE]),
    ("life", "edges-chosen", ["edges", "--type", "wake,fork", "--tid", "60", *WHOLE]),
    ("life", "why-child", ["why", "--tid", "51"]),
    ("life", "why-pool", ["why", "--tid", "61"]),
    ("names", "edges", ["edges", *WHOLE]),
    ("names", "waits", ["waits", "--tid", "80", *WHOLE]),
    ("names", "why", ["why", "--tid", "80"]),
    ("timers", "why", ["why", "--tid", "70"]),
    ("work", "edges", ["edges", *WHOLE]),
    ("work", "why", ["why", "--tid", "70"]),
    ("disk", "requests", ["requests", *WHOLE]),
    ("disk", "why", ["why", "--tid", "70"]),
    ("disk", "requests-named", ["requests", "--dev", "vda", *WHOLE]),
    ("disk", "requests-part", ["requests", *WHOLE, "--from", "0.25ms", "--to", "1ms"]),
    ("disk", "blame", ["blame"]),
    ("disk", "blame-part", ["blame", "--from", "0.25ms", "--to", "1ms"]),
    ("disk", "slack", ["slack"]),
    ("disk", "io-file", ["io", "--file", "/data/dump"]),
    ("discard", "io", ["io"]),
    ("discard", "why", ["why", "--tid", "70"]),
    ("filelock", "locks", ["locks"]),
    ("filelock", "why", ["why", "--tid", "80"]),
    ("locks", "waits", ["waits", *WHOLE]),
    ("locks", "locks", ["locks"]),
    ("locks", "locks-one", ["locks", "--top", "1", "--tid", "70"]),
    ("locks", "edges", ["edges", *WHOLE]),
    ("locks", "why", ["why", "--tid", "70"]),
    ("locks", "why-spin", ["why", "--tid", "80"]),
    ("locks", "blame", ["blame"]),
    ("filelock", "why-slowest", ["why", "--slowest", "--tid", "70"]),
    ("filelock", "why-other", ["why", "--tid", "90"]),
    ("devices", "waits", ["waits", *WHOLE]),
    ("devices", "edges", ["edges", *WHOLE]),
    ("devices", "requests", ["requests", *WHOLE]),
    ("devices", "requests-chosen", ["requests", "--dev", "254:0", *WHOLE]),
    ("devices", "requests-none", ["requests", "--dev", "99:99", *WHOLE]),
    ("devices", "why", ["why", "--tid", "70"]),
    ("devices", "why-peer", ["why", "--tid", "71", "--without", "timer"]),
    ("slices", "why", ["why", "--tid", "70"]),
    ("crowd", "why", ["why", "--tid", "70"]),
    ("swap", "waits", ["waits", *WHOLE]),
    ("swap", "requests-named", ["requests", "--dev", "fast swap", *WHOLE]),
    ("swap", "requests", ["requests", *WHOLE]),
    ("swap", "why", ["why", "--tid", "70"]),
    ("metadata", "edges", ["edges", *WHOLE]),
    ("pages", "requests", ["requests", *WHOLE]),
    ("pages", "edges", ["edges", *WHOLE]),
    ("pages", "waits", ["waits", *WHOLE]),
    ("pages", "why", ["why", "--tid", "90"]),
    ("pages", "io", ["io"]),
    ("own", "io", ["io"]),
    ("own", "io-self", ["io", "--self"]),
    ("own", "why-group", ["why", "--cgroup", "/system.slice/copy\\x2dall[1].service"]),
    ("pages", "io-files", ["io", "--by", "file", "--sort", "waited"]),
    ("pages", "io-programs", ["io", "--by", "program", "--sort", "name"]),
    ("pages", "io-disks", ["io", "--by", "disk"]),
    ("pages", "io-file", ["io", "--file", "/data/copy"]),
    ("reused", "io", ["io"]),
    ("reused", "io-file", ["io", "--file", "/data/two"]),
    ("calls", "edges", ["edges", *WHOLE]),
    ("mutex", "report", ["report"]),
    ("disk", "report", ["report"]),
    ("crowd", "report", ["report"]),
    ("command", "report", ["report"]),
    ("command", "report-machine", ["report", "--comm", "*"]),
    ("command", "why", ["why"]),
    ("mutex", "why-default", ["why"]),
    ("mutex", "report-part", ["report", "--from", "0.3ms", "--to", "1.5ms"]),
    ("mutex", "waits-longest", ["waits"]),
    ("mutex", "waits-part", ["waits", "--from=-1ms"]),
    ("mutex", "waits-by-holder", ["waits", "--by", "holder"]),
    ("mutex", "waits-by-object", ["waits", "--by", "object", "--idle"]),
    ("mutex", "waits-by-kind", ["waits", "--by", "kind", "--idle", "--from", "0.35ms"]),
    ("memory", "waits", ["waits", *WHOLE]),
    ("memory", "waits-by-object", ["waits", "--by", "object"]),
    ("memory", "report", ["report"]),
    ("devices", "edges-longest", ["edges"]),
    ("devices", "edges-by-kind", ["edges", "--by", "kind"]),
    ("devices", "requests-longest", ["requests"]),
    ("devices", "requests-by-task", ["requests", "--by", "task", "--idle"]),
    ("calls", "why", ["why", "--tid", "10"]),
    ("calls", "why-without-call", ["why", "--tid", "10", "--without", "call"]),
    ("calls", "path", ["path", "--from", "client-10 @ 0%", "--to", "client-10 @ 100%"]),
    ("calls", "path-there",
     ["path", "--from", "client-10 @ 0%", "--to", "server-20 @ 100%", "--strategy", "causal"]),
    ("calls", "path-clock",
     ["path", "--from", "client-10 @ 22:13:20.001", "--to", "-1ms", "--strategy", "causal"]),
    ("calls", "slack-part", ["slack", "--from", "0.2ms", "--to", "client-10@ 1ms latest"]),
    ("calls", "check", ["check"]),
    ("doubt", "why", ["why", "--tid", "10"]),
    ("doubt", "check", ["check"]),
    ("containers", "waits", ["waits", *WHOLE]),
    ("containers", "waits-inner", ["waits", "--tid", "7", *WHOLE]),
    ("containers", "waits-outer", ["waits", "--tid", "9", *WHOLE]),
    ("containers", "waits-group", ["waits", "--cgroup", "/*.slice", *WHOLE]),
    ("containers", "waits-container", ["waits", "--container", "0123b", *WHOLE]),
    ("containers", "waits-both", ["waits", "--container", "0123*", "--cgroup", "/docker", *WHOLE]),
    ("containers", "edges-container", ["edges", "--container", "0123b", *WHOLE]),
    ("containers", "why", ["why", "--tid", "7"]),
    ("containers", "path-container", ["path", "--container", "0123b"]),
    ("containers", "path-from",
     ["path", "--cgroup", "/docker", "--from", "(^w.*-500$) @ 0%", "--to", "all @ 100% latest"]),
    ("containers", "blame-container", ["blame", "--container", "0123a"]),
    ("containers", "slack-container", ["slack", "--container", "0123a"]),
    ("containers", "report", ["report"]),
    ("containers", "report-container", ["report", "--container", "0123a"]),
    ("pods", "waits", ["waits", "--idle", *WHOLE]),
    ("pods", "waits-pod", ["waits", "--idle", "--pod", "web-1", *WHOLE]),
    ("pods", "waits-container", ["waits", "--idle", "--container", "app", *WHOLE]),
    ("pods", "waits-both", ["waits", "--idle", "--pod", "shop/web-*", "--container", "proxy", *WHOLE]),
    ("pods", "waits-unit", ["waits", "--idle", "--unit", "nginx", *WHOLE]),
    ("pods", "edges-unit", ["edges", "--unit", "tmux.service", *WHOLE]),
    ("pods", "why", ["why", "--tid", "500"]),
    ("pods", "why-id", ["why", "--tid", "630"]),
    ("pods", "path-pod", ["path", "--pod", "shop/web-1"]),
    ("pods", "report", ["report"]),
    ("pods", "sql", ["sql", "select comm, container, pod, namespace, unit from tasks order by tid"]),
    ("containers", "why-group", ["why", "--cgroup", "/user.slice/session-?.scope"]),
    ("mutex", "why-steps", ["why", "--tid", "101", "--steps"]),
    ("life", "why-pool-steps", ["why", "--tid", "61", "--steps"]),
    ("slices", "why-steps", ["why", "--tid", "70", "--steps"]),
    ("crowd", "why-all", ["why", "--tid", "70", "--all"]),
    ("locks", "why-call", ["why", "--call", "madvise,re*", "--slowest", "2"]),
    ("locks", "why-lock", ["why", "--lock", "mmap_lock", "--slowest", "3"]),
    ("locks", "why-file", ["why", "--file", "/srv", "--tid", "70", "--from", "0.6ms"]),
    ("disk", "why-file", ["why", "--file", "in"]),
    ("filelock", "why-lock", ["why", "--lock", "/run/*"]),
    ("calls", "why-operation", ["why", "--operation", "kv", "--slowest", "2"]),
    ("calls", "why-call-in", ["why", "--operation", "app.*", "--call", "*"]),
    ("life", "why-slowest", ["why", "--slowest", "--idle", "futex,pipe", "--comm", "pool"]),
    ("pages", "io-part", ["io", "--from", "1ms", "--to=-1ms"]),
    ("pages", "io-file-part", ["io", "--file", "/data/db", "--from", "1ms"]),
    ("functions", "why", ["why", "--tid", "101", "--from", "0.1ms", "--to", "1.9ms"]),
    ("functions", "why-without",
     ["why", "--tid", "101", "--from", "0.1ms", "--to", "1.9ms", "--without-functions"]),
    ("functions", "why-span", ["why", "--span", "*", "--slowest", "2"]),
    ("functions", "why-lock-in", ["why", "--lock", "*", "--span", "store"]),
    ("functions", "check", ["check"]),
    ("functions", "blame", ["blame"]),
    ("functions", "blame-function", ["blame", "--by", "function"]),
    ("functions", "report", ["report"]),
    ("functions", "spans", ["spans", "--list"]),
    ("frames", "spans", ["spans", "--list"]),
    ("functions", "spans-name", ["spans", "--name", "store", "--tid", "101"]),
    ("functions", "latency", ["latency"]),
    ("functions", "latency-function", ["latency", "--by", "function", "--group", "thread"]),
    ("frames", "latency", ["latency"]),
    ("locks", "latency-lock", ["latency", "--by", "lock"]),
    ("disk", "latency-device", ["latency", "--by", "device", "--group", "comm", "--digits", "1"]),
    ("mutex", "latency", ["latency", "--idle", "--group", "process"]),
    ("peer", "latency-call", ["latency", "--by", "call"]),
    ("peer", "latency-operation", ["latency", "--by", "operation"]),
    ("message", "latency-operation", ["latency", "--by", "operation"]),
    ("message", "why-client", ["why", "--comm", "client", "--slowest", "1"]),
    ("message", "why-server", ["why", "--comm", "server", "--slowest", "1"]),
    ("usual", "latency-operation", ["latency", "--by", "operation"]),
    ("usual", "report", ["report"]),
    ("outside", "report", ["report", "--comm", "client"]),
    ("outside", "why", ["why", "--tid", "100", "--steps"]),
    ("outside", "caller", ["why", "--tid", "200", "--steps"]),
    ("outside", "waits", ["waits", *WHOLE]),
    ("outside", "latency", ["latency", "--by", "peer"]),
    ("usual", "why-client", ["why", "--comm", "client", "--slowest", "1"]),
    ("usual", "why-server", ["why", "--comm", "server", "--slowest", "2"]),
    ("functions", "path", ["path", "--from", "worker-101 @ 0.1ms", "--to", "worker-101 @ 1.9ms"]),
]
# yapf: enable


def mask(text, command):
    """What depends on the compression library's version is no part of the answer."""
    if command != "info":
        return text
    text = re.sub(r"(?m)^size .*$", "size       SIZE", text)
    text = re.sub(r"[0-9.]+ bytes a switch in its columns, [0-9.]+ in",
                  "N bytes a switch in its columns, N in", text)
    text = re.sub(r'"(bytes|column_bytes_per_switch|file_bytes_per_switch)":[0-9.]+', r'"\1":0',
                  text)
    return re.sub(r'"columns":\{[^}]*\}', '"columns":{}', text)


def problem_of(path, written, write):
    if write:
        with open(path, "w", encoding="utf-8") as file:
            file.write(written)
        return ""
    try:
        with open(path, encoding="utf-8") as file:
            expected = file.read()
    except OSError as error:
        return str(error)
    if written == expected:
        return ""
    for number, (line, wanted) in enumerate(
            zip(written.splitlines() + [""],
                expected.splitlines() + [""]), 1):
        if line != wanted:
            return "line %d of %s is %r instead of %r" % (number, os.path.basename(path),
                                                          line[:300], wanted[:300])
    return "%s differs in length" % os.path.basename(path)


def check_cover(why):
    """Every ns of the interval in one segment and one cause, none twice."""
    at = why["from"]
    for segment in why["segments"]:
        if segment["start"] != at or segment["end"] - segment["start"] != segment["ns"] or segment[
                "ns"] <= 0:
            return "segment at %d does not follow on %d" % (segment["start"], at)
        at = segment["end"]
    if at != why["to"] or why["to"] - why["from"] != why["total_ns"]:
        return "the segments end at %d, the interval at %d" % (at, why["to"])
    if sum(cause["ns"] for cause in why["causes"]) != why["total_ns"]:
        return "the causes do not add up"
    if sum(segment["ns"]
           for segment in why["segments"] if segment["kind"] == "unknown") != why["unknown_ns"]:
        return "unknown_ns is not the sum of the unknown segments"
    return ""


def keys_of(value):
    """Names of fields, but for those that people or captures give."""
    if isinstance(value, list):
        return set().union(*map(keys_of, value))
    if not isinstance(value, dict):
        return set()
    return set(value).union(*(keys_of(field) for key, field in value.items()
                              if key not in ("descriptors", "attributes", "columns", "events")))


def undocumented(keys):
    with open(os.path.join(HERE, "..", "..", "docs", "answers.md"), encoding="utf-8") as file:
        words = " ".join(re.findall(r"`[^`]*`", file.read()))
    told = set(re.findall(r"\w+", words)) | set(re.findall(r"[\w-]+", words))
    return ", ".join(sorted(keys - told))


def many_requests(directory):
    """
    A question that none of two disks' many requests is an answer to takes no
    time for each pair of them.
    """
    lines = ["meta cpus 1", "meta start 1000000000000", "meta end 1001000000000"]
    for i in range(2 * MANY):
        fields = "request=0x1000 sector=%d bytes=4096 device=%d operation=1 allocated=%d task=2" % (
            8 * i, 0xfe00000 + i // MANY, 1000000000000 + 1000 * i)
        lines += [
            "0 request %d flags=%s %s" % (1000000000100 + 1000 * i + at, event, fields)
            for at, event in ((0, "issue"), (500, "complete"))
        ]
    path = os.path.join(directory, "many.clew")
    subprocess.run([_capture.MAKE_CAPTURE, path],
                   input="\n".join(lines).encode() + b"\n",
                   check=True,
                   timeout=120)
    limit = lambda: resource.setrlimit(resource.RLIMIT_CPU, (5, 5))  # noqa: E731
    done = subprocess.run([CLEW, "requests", "--dev", "99:99", path],
                          capture_output=True,
                          timeout=120,
                          check=False,
                          preexec_fn=limit)
    return "" if b"there are requests of: 254:0, 254:1\n" in done.stdout else "exit status %d, %r" % (
        done.returncode, done.stdout[:200])


PATH = ["path", "--from", "db-70 @ 0%", "--to", "db-70 @ 100%"]
LATER = ["path", "--from", "db-70 @ 5%", "--to", "db-70 @ 7%"]
# Answers about causal traces, and how many of the capture's losses touch them.
TOUCHED = [(PATH, 1), (LATER, 0), (["slack"], 1), (["slack"] + LATER[1:], 0), (["dump"], 1),
           (["check"], 1), (["select", "**"], 1), (["select", "** @ 5%"], 1), (["blame"], 1),
           (["what-if", "--cpus", "2"], 1),
           (["what-if", "--sweep", "scale spans(**) by 0..1", "--steps", "2"], 1),
           (["forest", "--types", "request", "--several", "all"], 1),
           (["annotate", "mark incoming dependencies(all) of spans(**) as label(in-);"], 1),
           (["pair"], 1)]


def tells_loss(directory, name, arguments, gaps):
    """Of an answer in JSON and in words, whether it says what of the loss is in it."""
    done = [
        subprocess.run([CLEW, arguments[0], name] + arguments[1:] + more,
                       cwd=directory,
                       capture_output=True,
                       timeout=60,
                       check=False) for more in (["--json"], [])
    ]
    try:
        told = json.loads(done[0].stdout)["ledger"]
    except (ValueError, KeyError):
        return "no ledger: exit status %d, %r" % (done[0].returncode,
                                                  (done[0].stdout + done[0].stderr)[:300])
    words = done[1].stdout.decode().splitlines()
    at = next((at for at, line in enumerate(words) if line.startswith("ledger: ")), len(words))
    line = " ".join(line.strip() for line in words[at:])
    if told["gaps"] != gaps or (not line and done[1].returncode == 0) or (
            "BLIND here in %d gap" % gaps in line) != (gaps > 0 and done[1].returncode == 0):
        return "%d gaps, %r" % (told["gaps"], line)
    return ""


def stitched_losses(directory):
    """What one of two captures lost, the trace of both has lost."""
    for name in ("mutex", "disk"):
        with open(os.path.join(directory, name + ".clew"), "rb") as file:
            data = file.read()
        if name == "disk":
            data = data[:-1]
        with open(os.path.join(directory, name + ".cut"), "wb") as file:
            file.write(data)
    problems = []
    for order in (["mutex.cut", "disk.cut"], ["disk.cut", "mutex.cut"]):
        done = subprocess.run([CLEW, "stitch", *order, "--json"],
                              cwd=directory,
                              capture_output=True,
                              timeout=60,
                              check=False)
        answer = json.loads(done.stdout) if done.returncode == 0 else {}
        ledger, cost = answer.get("ledger", {}), answer.get("cost", {})
        if ledger.get("complete") is not False or ledger.get("gaps",
                                                             0) < 2 or cost.get("user_ns") != 12000:
            problems.append("%s: %r" % (" ".join(order), (ledger, cost, done.stderr)))
    return "; ".join(problems)


def missed_is_said(directory):
    """info of a recording that lost nothing, but missed a record."""
    with open(os.path.join(_capture.HERE, "mutex.records"), "rb") as file:
        records = file.read()
    row = b"ledger 0 switch 5 1 4 4 4 0 0\n"
    if row not in records:
        return "no such row in mutex.records"
    path = os.path.join(directory, "missed.clew")
    subprocess.run([_capture.MAKE_CAPTURE, path],
                   input=records.replace(row, b"ledger 0 switch 6 1 4 4 4 0 1\n"),
                   check=True,
                   timeout=60)
    done = subprocess.run([CLEW, "info", path], capture_output=True, timeout=60, check=False)
    good = b"but 1 was missed" in done.stdout and b"Nothing was lost" not in done.stdout
    return "" if good else "%r" % done.stdout[-300:]


def main():
    write = sys.argv[1:] == ["--write"]
    number, failed = 0, 0
    keys = set()
    os.makedirs(EXPECTED, exist_ok=True)

    def report(name, problem):
        nonlocal number, failed
        number += 1
        failed += bool(problem)
        print("%s %d - %s%s" %
              ("not ok" if problem else "ok", number, name, ": " + problem if problem else ""),
              flush=True)

    with tempfile.TemporaryDirectory() as directory:
        for name in sorted({case[0] for case in CASES}):
            _capture.make(name, os.path.join(directory, name + ".clew"))
            subprocess.run([CLEW, "convert", name + ".clew", "-o", name + ".ctrace"],
                           cwd=directory,
                           timeout=60,
                           check=True)
        for (capture, answer, arguments), kind in itertools.product(CASES, ("clew", ) if write else
                                                                    ("clew", "ctrace")):
            # Notation has no stacks.
            if (capture, kind) == ("stacks", "ctrace") and answer != "waits-without":
                continue
            for extension, more in (("txt", []), ("json", ["--json"])):
                done = subprocess.run([CLEW, arguments[0], capture + "." + kind] + arguments[1:] +
                                      more,
                                      cwd=directory,
                                      capture_output=True,
                                      timeout=60,
                                      check=False)
                label = "%s.%s: clew %s" % (capture, kind, " ".join(arguments + more))
                # words.py has that line.
                noted = answer == "waits-outer" and b"--tid 9 is taken for init" in done.stderr
                if done.returncode or (done.stderr and not noted):
                    report(label, "exit status %d, %r" % (done.returncode, done.stderr))
                    continue
                text = mask(done.stdout.decode(), arguments[0])
                report(
                    label,
                    problem_of(os.path.join(EXPECTED, "%s.%s.%s" % (capture, answer, extension)),
                               text, write))
                if extension == "json":
                    document = json.loads(text)
                    keys |= keys_of(document)
                    whys = document.get("operations", [document]) if arguments[0] == "why" else []
                    problem = next(filter(None, map(check_cover, whys)), "")
                    if whys:
                        report(label + ": every ns once", problem)
        for (arguments, gaps), kind in itertools.product(() if write else TOUCHED,
                                                         ("clew", "ctrace")):
            report("disk.%s: clew %s: what was lost" % (kind, " ".join(arguments)),
                   tells_loss(directory, "disk." + kind, arguments, gaps))
        report("two captures stitched: what was lost", stitched_losses(directory))
        report("info of a record that was missed", missed_is_said(directory))
        report("each field is in docs/answers.md", undocumented(keys))
        report("many requests of two disks, none of the one asked for", many_requests(directory))
    print("1..%d" % number)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
