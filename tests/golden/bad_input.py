#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Arguments and files that cannot be used: the one clear line, the exit status,
and nothing on standard output. Prints TAP.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import _capture  # noqa: E402  pylint: disable=wrong-import-position

CLEW = os.environ.get("CLEW", os.path.join(HERE, "..", "..", "clew"))
# "what is wrong: what to do", on one line.
LINE = re.compile(r"\Aclew: [^\n]+: [^\n]+\n\Z")
READERS = ["report", "info", "waits", "locks", "edges", "requests", "io", "why", "dump", "check"]
COMMANDS = READERS + [
    "record", "doctor", "functions", "spans", "latency", "convert", "select", "pair", "forest",
    "stitch", "annotate", "export", "sql", "import", "join", "snapshot", "fetch", "trigger", "top",
    "daemon", "incidents", "compare", "history"
]
# Of the daemon: what is wrong, the line, words of the message.
BAD_SETTINGS = [
    ("an unknown setting", "  ringg /x", "conf:2:3: ", "\"ring\"?"),
    ("a ring in a relative place", "ring x", "conf:2:6: ", "begin it with /"),
    ("no value", "ring ", "conf:2:5: ", "no value"),
    ("a history in a relative place", "history x", "conf:2:9: ", "begin it with /"),
    ("a short segment", "rotate 1ms # too short", "conf:2:8: ", "200ms"),
    ("neither a time nor a size", "keep 10", "conf:2:6: ", "10s"),
    ("a kind that is not there", "trigger a: wait fsnyc > 1ms", "conf:2:17: ", "\"fsync\"?"),
    ("no duration", "trigger a: lock wait > 5", "conf:2:24: ", "50ms"),
    ("no disk", "trigger a: request > 5ms", "conf:2:20: ", "254:0"),
    ("nothing that a disk is asked for", "trigger a: request wirte vda > 5ms", "conf:2:20: ",
     "'wirte'"),
    ("a sum of requests", "trigger a: sum(request vda) > 5% of /", "conf:2:16: ", "no sum"),
    ("a trigger without a colon", "trigger a wait x", "conf:2:10: ", "colon"),
    ("a trigger without a rule", "trigger a:", "conf:2:11: ", "no rule"),
    ("a quota that is no size", "quota 5s", "conf:2:7: ", "512M"),
    ("a count that is none", "quota-count many", "conf:2:13: ", "1 to 100000"),
    ("an address of others", "metrics-address 0.0.0.0:80", "conf:2:17: ", "127.0.0.1"),
    ("neither yes nor no", "stacks maybe", "conf:2:8: ", "yes"),
    ("a device's name that is too long", "outside " + 16 * "x", "conf:2:9: ", "device"),
    ("peers by a relative path", "snapshot-peers clew fetch", "conf:2:16: ", "begin it with /"),
    ("no value of an incident", "snapshot-peers /x {form}", "conf:2:19: ", "{from}"),
    ("a long command", "snapshot-peers /" + 1100 * "x", "conf:2:16: ", "1023"),
    ("messages of some", "messages some", "conf:2:10: ", "yes"),
]
results = []


def run(arguments, **options):
    options.setdefault("stdin", subprocess.DEVNULL)
    options.setdefault("stdout", subprocess.PIPE)
    return subprocess.run([CLEW] + arguments,
                          stderr=subprocess.PIPE,
                          timeout=60,
                          check=False,
                          **options)


def report(name, problem):
    results.append(not problem)
    print(
        "%s %d - %s%s" %
        ("ok" if not problem else "not ok", len(results), name, ": " + problem if problem else ""),
        flush=True)


def skip(name, reason):
    results.append(True)
    print("ok %d - %s # SKIP %s" % (len(results), name, reason), flush=True)


def problem_of(done, status, words):
    """
    What is wrong with a run that should fail with this status and say these
    words; '' if nothing.
    """
    err = done.stderr.decode(errors="replace")
    if done.returncode != status:
        return "exit status %d instead of %d: %r" % (done.returncode, status, err)
    if not LINE.match(err):
        return "no line of the right form: %r" % err
    if done.stdout:
        return "wrote to standard output: %r" % done.stdout[:80]
    for word in words:
        if word not in err:
            return "does not say %r: %r" % (word, err)
    return ""


def fails(name, arguments, status, *words, **options):
    report(name, problem_of(run(arguments, **options), status, words))


def test_usage():
    done = run([])
    report("no argument prints the commands and exits 2",
           "" if done.returncode == 2 and b"why" in done.stderr and not done.stdout else repr(done))
    wide = [line for line in done.stderr.decode().splitlines() if len(line) > 80]
    report("in lines that a terminal takes", "; ".join(wide))
    first = done.stderr.decode().partition("Commands:\n")[2].partition("\n\n")[0]
    named = re.findall(r"^  (\S+)", first, re.MULTILINE)
    report("those that a newcomer needs first",
           "" if sorted(named) == ["record", "report", "top", "waits", "why"] else repr(named))
    for arguments in (["help"], ["--help"], ["-h"], ["--version"], ["help", "help"]):
        done = run(arguments)
        report("clew %s exits 0" % " ".join(arguments),
               "" if done.returncode == 0 and done.stdout and not done.stderr else repr(done))
    for command in COMMANDS:
        for arguments in ([command, "--help"], [command, "-h"], ["help", command]):
            done = run(arguments)
            good = done.returncode == 0 and b"Usage: clew " + command.encode(
            ) in done.stdout and not done.stderr
            report("clew %s exits 0" % " ".join(arguments), "" if good else repr(done))
    fails("an unknown command", ["frobnicate"], 2, "frobnicate", "clew help")
    fails("a mistyped command", ["wiats"], 2, "clew waits")
    fails("an unknown option without a command", ["--frobnicate"], 2, "--frobnicate")
    fails("help on an unknown command", ["help", "frobnicate"], 2, "frobnicate")
    for command in COMMANDS:
        fails("%s: an unknown flag" % command, [command, "--frobnicate", "x"], 2, "--frobnicate",
              "clew help " + command)
        fails("%s: an unknown letter" % command, [command, "-Z"], 2, "-Z")
        fails("%s: a flag with an argument" % command, [
            command,
            {
                "record": "--sync",
                "convert": "--help",
                "export": "--help",
                "import": "--help",
                "join": "--help",
                "snapshot": "--help",
                "fetch": "--help"
            }.get(command, "--json") +
            "=3"
        ], 2, "no argument")
    for command in READERS:
        fails("%s: no file" % command, [command], 2, "trace.clew")
        fails("%s: two files" % command, [command, "a", "b"], 2, "'a'", "'b'")
    fails("doctor: an operand", ["doctor", "x"], 2, "'x'")
    fails("a line feed in an argument stays on the line", ["a\nb"], 2, "a\\x0ab")


def test_arguments(capture):
    for arguments, word in ((["waits", "--min"], "--min"), (["waits", "--min", "soon"], "soon"),
                            (["waits", "--min",
                              "-5ms"], "-5ms"), (["waits", "--min",
                                                  "99999999999999999999s"], "too long"),
                            (["waits", "--kind",
                              "nap"], "nap"), (["waits", "--kind",
                                                "futex,,pipe"], "''"), (["waits", "--tid",
                                                                         "x"], "'x'"),
                            (["waits", "--tid",
                              "0"], "'0'"), (["waits", "--tid",
                                              "-1"], "'-1'"), (["waits", "--tid",
                                                                "99999999999"], "99999999999"),
                            (["waits", "--comm",
                              ""], "--comm"), (["edges", "--type",
                                                "push"], "push"), (["requests", "--dev",
                                                                    "sda"], "sda"),
                            (["io", "--file",
                              "/no/such/file"], "/no/such/file"), (["io", "--file"], "--file"),
                            (["why", "--slowest", "--idle",
                              "tea"], "tea"), (["why", "--without", "unlock,nothing"],
                                               "nothing"), (["why", "--slowest=0"], "'0'"),
                            (["why", "--slowest=x"], "'x'"), (["why", "--span",
                                                               "x"], "no function was traced"),
                            (["why", "--span", "x", "--idle",
                              "poll"], "--span"), (["blame", "--by", "thread"], "'thread'"), ([
                                  "convert", "--frames", "x"
                              ], "'x'"), (["export"], "no format"), (["export", "--to",
                                                                      "svg"], "'svg'"),
                            (["export", "--to", "perfetto", "--to",
                              "25h"], "25h"), (["export", "--to", "perfetto", "--slowest",
                                                "0"], "'0'"), (["export", "--to", "dot", "--max",
                                                                "0"], "'0'"),
                            (["latency", "--digits", "0"], "'0'"),
                            (["latency", "--digits", "6"], "1 to 5"),
                            (["latency", "--by", "moon"], "'moon'"),
                            (["latency", "--group", "color"], "'color'"),
                            (["latency", "--by", "function"], "no functions were recorded"),
                            (["latency", "/no/such"], "/no/such"),
                            (["import"], "sched_switch"),
                            (["latency", "-d", "3s"], "-d"),
                            (["latency", "--", "true"], "and a command"),
                            (["latency", "--"], "no command"),
                            (["latency", "--live"], "--live"),
                            (["report", "-d", "3s"], "-d is about a recording"),
                            (["spans", "-f", "x:y"], "-f is about a recording"),
                            (["why", "--keep", "x.clew"], "--keep is about a recording"),
                            (["locks", "--", "true"], "and a command"),
                            (["waits", "--"], "no command"),
                            ):
        fails(" ".join(arguments), [arguments[0], capture] + arguments[1:], 2, word)
    for arguments, word in ((["--by", "path"], "-f"), (["--by", "lock"], "kind, call or device"),
                            (["--from", "1s"], "--from"), (["--cgroup", "x"], "--cgroup"),
                            (["-f", "x:y", "--by", "kind"], "--by path"), (["-f", "x:y"], "file x"),
                            (["--", "true"], "another terminal")):
        fails("latency --live " + " ".join(arguments), ["latency", "--live", *arguments], 2, word)
    fails("why: --now and no process", ["why", "--now"], 2, "--pid N")
    fails("why: --now and a name", ["why", "--now", "--pid", "1", "--comm", "x"], 2, "--comm")
    fails("why: --now and a duration", ["why", "--now", "--pid", "1", "-d", "1s"], 2, "-d")
    fails("why: --now and a capture", ["why", capture, "--now", "--pid", "1"], 2, capture)
    fails("report: nowhere to keep it", ["report", "-d", "1s", "--keep", "-"], 2, "name a file")
    fails("locks: no such command", ["locks", "--", "/no/such"], 2, "/no/such")
    fails("path: what is asked for is looked at before it records", ["path", "-d", "1s"], 2)
    fails("record: an operand without --", ["record", "true"], 2, "--")
    fails("record: nothing behind --", ["record", "--"], 2, "no command")
    fails("record: --keep alone", ["record", "--keep", "1s"], 2, "--rotate")
    file = os.path.abspath(__file__)
    fails("record: segments in a file", ["record", "-o", file, "--rotate", "1s"], 2, "no directory")
    for arguments in (["-d", "soon"], ["-d", "-1s"], ["-d", "0"], ["-d", "0ms"], ["-o", "-"],
                      ["-p", "x"], ["-p", "0"], ["-p", "1,"], ["-t", "1,,2"],
                      ["--rotate", "often"], ["--rotate", "1s,"], ["--rotate", "1s,2s"],
                      ["--rotate", "10ms"], ["--rotate", "8K"], ["--keep", "0s"]):
        fails("record " + " ".join(arguments),
              ["record", "-o", "/no/such/directory/x.clew"] + arguments, 2, arguments[1])


def test_words(capture):
    """A word that is not known is answered with the one that was likely meant."""
    for arguments, meant in ((["waits", capture, "--kind", "fsnc"], "did you mean fsync?"),
                             (["waits", capture, "--kind", "futex,pol"], "did you mean poll?"),
                             (["edges", capture, "--type", "unlok"], "did you mean unlock?"),
                             (["waits", capture, "--by", "objct"], "did you mean object?"),
                             (["waits", capture, "--sort", "lenght"], "did you mean length?"),
                             (["io", capture, "--by", "dsik"], "did you mean disk?"),
                             (["latency", capture, "--by", "cal"], "did you mean call?"),
                             (["export", capture, "--to", "perfeto"], "did you mean perfetto?"),
                             (["export", capture, "--to", "folded", "--stacks", "offcpu"],
                              "did you mean off-cpu?"),
                             (["report", capture, "--htlm"], "did you mean --html?"),
                             (["report", capture, "--html=3", "--colour=never"],
                              "takes no argument"),
                             (["report", capture, "--colour=never"], "did you mean --color?"),
                             (["rep"], "did you mean `clew report`?"),
                             (["waits", capture, "--min", "50"], "50ns, 50us, 50ms or 50s"),
                             (["record", "--comm", "-d", "1s"], "'--comm' needs an argument")):
        fails(" ".join(arguments[:1] + arguments[-2:]), arguments, 2, meant)
    fails("a word that is like none", ["waits", capture, "--by", "disk"], 2, "give one of object")


def test_join(directory, capture):
    empty = os.path.join(directory, "segments")
    os.mkdir(empty)
    fails("join: no segment is named", ["join"], 2, "SEGMENT")
    fails("join: an empty directory", ["join", empty], 2, "--rotate")
    fails("join: a capture that is no segment", ["join", capture], 2, capture, "no segment")
    fails("trigger: not test", ["trigger", "try", capture, "wait fsync > 1ms"], 2, "'try'")
    fails("trigger: no rule", ["trigger", "test", capture], 2, "RULE")
    fails("trigger: a kind that is not there", ["trigger", "test", capture, "wait fsnyc > 1ms"], 2,
          "fsync")
    fails("trigger: no duration", ["trigger", "test", capture, "lock wait > 5"], 2, "'5'")
    nowhere = dict(os.environ, CLEW_RUN_DIRECTORY=empty)
    fails("snapshot: no directory, no daemon", ["snapshot"], 2, "no daemon", env=nowhere)
    fails("daemon: status of none", ["daemon", "status"], 2, "no daemon", env=nowhere)
    fails("daemon: neither status nor stop", ["daemon", "halt"], 2, "'halt'")
    fails("daemon: --json without status", ["daemon", "--json"], 2, "status")
    fails("daemon: no such file", ["daemon", "-c", "/no/such"], 2, "/no/such")
    fails("incidents: one that is not there", ["incidents", "7", "--directory", empty], 2, "'7'")
    for name, line, *words in BAD_SETTINGS:
        with open(f"{directory}/conf", "w", encoding="ascii") as file:
            file.write(f"# one\n{line}\n")
        fails(f"daemon: {name}", ["daemon", "-c", f"{directory}/conf"], 2, *words)
    fails("snapshot: nobody records", ["snapshot", empty], 2, "nobody records")
    fails("snapshot: no such directory", ["snapshot", "/no/such"], 2, "/no/such")
    fails("snapshot: --last and --from", ["snapshot", empty, "--last", "1s", "--from", "-1s"], 2,
          "twice")
    for name in ("-oProxyCommand=x", "a b", "a;b", ""):
        fails(f"fetch: no host: {name}", ["fetch", "--", name], 2, f"'{name}'", "HOST")
    fails("fetch: a directory for a shell", ["fetch", "web:/a$b"], 2, "$b")
    fails("fetch: a host twice", ["fetch", "web", "web:/a"], 2, "'web'", "twice")
    fails("fetch: no command", ["fetch", "web", "--ssh", " "], 2, "--ssh")
    fails("fetch: a time of one host", ["fetch", "web", "--from", "5"], 2, "'5'", "-30s")
    fails("fetch: a directory that has files", ["fetch", "web", "-o", "/usr"], 2, "/usr")
    fails("fetch: no file with it", ["fetch", "web", "--with", "/no/such"], 2, "/no/such")
    fails("join: a segment that is not there", ["join", "/no/such.clew"], 2, "/no/such.clew")


def test_layers(directory):
    where, description = os.path.join(directory, "l.clew"), os.path.join(directory, "bad.layer")
    fails("record: a layer's file that is not there",
          ["record", "-o", where, "--layer", "/no/such.layer"], 2, "/no/such.layer")
    fails("record: a layer's file that is a directory",
          ["record", "-o", where, "--layer", directory], 2, directory)
    fails("record: no layer's file", ["record", "-o", where, "--layer", ","], 2, "','")
    for choice, words in (("nocolon", "OBJECT:GLOB"), (":malloc", "names no file"),
                          ("./clew:", "names no functions")):
        fails("record: functions '%s'" % choice, ["record", "-o", where, "-f", choice], 2, choice,
              words)
    fails("record: no way to see returns", ["record", "-o", where, "--returns", "often"], 2,
          "often")
    fails("record: a runtime that is not known", ["record", "-o", where, "--runtime", "gone"], 2,
          "'gone' is no runtime that is known", "go, io_uring, java, openmp, pthread, python, uv")
    fails("record: a runtime's file that is not there",
          ["record", "-o", where, "--runtime", "/no/such.runtime"], 2, "/no/such.runtime")
    fails("record: all runtimes of nobody", ["record", "-o", where, "--runtime", "auto"], 2,
          "--runtime auto is for some processes")
    fails("functions: a runtime and functions",
          ["functions", "--runtime", "go", "libc.so.6", "read"], 2, "give one of them")
    fails("functions: no such runtime there", ["functions", "--runtime", "uv", "libc.so.6"], 1,
          "none of these runtimes")
    for text, place, words in ((b"layer db\ncall enter q:f\n", ":2:6: ",
                                "usdt"), (b"call usdt a:b\n", ":1:1: ", "layer NAME"),
                               (b"layer a\ncall usdt p:q x=u8(arg9)\n", ":2:23: ",
                                "too large"), (b"layer a\0b\n", "", "no text")):
        with open(description, "wb") as file:
            file.write(text)
        fails("record: a layer's file with %r" % text[:20],
              ["record", "-o", where, "--layer", description], 2, description + place, words)


def test_described(directory):
    """Of a capture whose description of layers cannot be read, why says what it can."""
    capture = os.path.join(directory, "described.clew")
    with open(os.path.join(HERE, "calls.records"), "rb") as file:
        records = file.read().replace(b"\nmeta end", b"\nmeta layers garbage\nmeta end", 1)
    subprocess.run([_capture.MAKE_CAPTURE, capture], input=records, check=True, timeout=60)
    done, without = run(["why", "--tid", "10",
                         capture]), run(["why", "--tid", "10", "--without", "call", capture])
    report(
        "why: a description of layers that cannot be read",
        "" if done.returncode == 0 and done.stdout and done.stdout == without.stdout
        and LINE.match(done.stderr.decode()) and b"layers" in done.stderr else repr(done))
    fails("edges: a description of layers that cannot be read", ["edges", capture], 2, "layers",
          "clew why")


def test_files(directory, capture):
    with open(capture, "rb") as file:
        good = file.read()

    def write(name, content):
        path = os.path.join(directory, name)
        with open(path, "wb") as file:
            file.write(content)
        return path

    foreign = {
        "an empty file": write("empty", b""), "a text": write("text", b"hello, world\n" * 100),
        "zeros": write("zeros", bytes(65536)), "an ELF file": "/bin/true",
        "the first bytes of a capture": write("short", good[:16]),
    }
    empty = os.path.join(directory, "empty.clew")
    _capture.make("empty", empty)
    for command in READERS:
        more = ["--slowest"] if command == "why" else []
        fails("%s: no such file" % command, [command, os.path.join(directory, "nothing")] + more, 2,
              "nothing")
        fails("%s: a path through a file" % command, [command, os.path.join(capture, "x")] + more,
              2, capture)
        fails("%s: a directory" % command, [command, directory] + more, 2, "directory")
        fails("%s: a device" % command, [command, "/dev/null"] + more, 2, "/dev/null")
        for name, path in foreign.items():
            fails("%s: %s" % (command, name), [command, path] + more, 2, path)
        fails("%s: an empty capture" % command, [command, empty] + more, 2, empty, "record again")
        fails("%s: foreign standard input" % command, [command, "-"] + more,
              2,
              "standard input",
              stdin=None,
              input=b"nonsense\n" * 20)
    for size in (len(good) - 1, len(good) // 2):
        done = run(["info", write("cut", good[:size]), "--json"])
        report(
            "a capture cut to %d bytes opens and says so, or says why not" % size, "" if
            (done.returncode == 0 and b'"complete":false' in done.stdout)
            or not problem_of(done, 2, []) else repr(done))
    with open(capture, "rb") as file:
        report("a capture as standard input",
               "" if run(["info", "-"], stdin=file).returncode == 0 else "refused")
    report("a capture through a pipe",
           "" if run(["info", "-"], stdin=None, input=good).returncode == 0 else "refused")


def test_positions(capture):
    fails("waits: no such tid", ["waits", capture, "--tid", "4000000"], 2, "4000000")
    fails("edges: no such tid", ["edges", capture, "--tid", "4000000"], 2, "4000000")
    fails("why: no such tid", ["why", capture, "--tid", "4000000"], 2, "4000000")
    fails("why: no such pid", ["why", capture, "--pid", "4000000"], 2, "4000000")
    fails("why: no such name", ["why", capture, "--comm", "nobody-*"], 2, "nobody-*")
    fails("why: two threads chosen", ["why", capture, "--comm", "*"], 2, "--slowest",
          "log writer-102, ..")
    fails("why: two threads chosen, which are named", ["why", capture, "--comm", "*er*"], 2,
          "server-100, worker-101, log writer-102:")
    for option in ("--from", "--to"):
        fails("why %s: no moment" % option, ["why", capture, "--tid", "101", option, "soon"], 2,
              "soon")
        fails("why %s: a decimal without a unit" % option,
              ["why", capture, "--tid", "101", option, "1.5"], 2, "1.5")
        fails("why %s: before the capture" % option, ["why", capture, "--tid", "101", option, "5"],
              2, "outside")
        fails("why %s: after the capture" % option, ["why", capture, "--tid", "101", option, "3h"],
              2, "outside")
    for command in ("path", "slack"):
        fails(command + ": moments of no span", [command, capture, "--from", "1ms", "--to", "-1ms"],
              2, "SPAN @ 1ms")
        fails(command + ": a moment outside",
              [command, capture, "--from", "worker-101 @ 3h", "--to", "-1ms"], 2, "outside")
    fails("why: an empty interval",
          ["why", capture, "--tid", "101", "--from", "1ms", "--to", "1ms"], 2, "--from")
    fails("why: an interval backwards",
          ["why", capture, "--tid", "101", "--from", "2ms", "--to", "1ms"], 2, "--from")
    done = run(["why", capture, "--slowest", "--idle", "tty"])
    report("why: no operation is a negative answer", problem_of(done, 1, ["operation"]))
    fails("why: no operation, and what to ask instead",
          ["why", capture, "--slowest", "5", "--idle", "tty", "--comm", "w*r"], 1,
          "--comm 'w*r' --call futex --slowest 5`")
    fails("why: no such system call", ["why", capture, "--call", "futx"], 2, "is futex meant?")
    fails("why: a call in which nobody waited", ["why", capture, "--call", "fdatasync"], 1,
          "there is fsync (")
    fails("why: no such lock", ["why", capture, "--lock", "mmap_lock"], 2, "there is futex 0x")
    fails("why: no such file", ["why", capture, "--file", "/none"], 2, "--file")
    fails("why: no operations were announced", ["why", capture, "--operation", "get"], 1,
          "announced an operation")
    fails("why: nothing fits both",
          ["why", capture, "--call", "futex", "--lock", "0x*", "--tid", "101", "--from", "1.9ms"],
          1, "waited")
    fails("why: idle waits and a question", ["why", capture, "--call", "futex", "--idle", "poll"],
          2, "--idle")
    done = run(["why", capture, "--call", "fdatasync", "--json"])
    report(
        "why: a call in which nobody waited, in JSON",
        "" if done.returncode == 1 and b'"call":"fdatasync"' in done.stdout
        and LINE.match(done.stderr.decode()) else repr(done))
    done = run(["why", capture, "--slowest", "--idle", "tty", "--json"])
    report(
        "why: no operation, in JSON", "" if done.returncode == 1
        and b'"operations":[]' in done.stdout and LINE.match(done.stderr.decode()) else repr(done))


def test_output(capture):
    for command in READERS:
        arguments = [command, capture] + (["--tid", "101"] if command == "why" else [])
        with open("/dev/full", "wb") as full:
            fails("%s: no room for standard output" % command,
                  arguments,
                  3,
                  "standard output",
                  stdout=full)
        reading, writing = os.pipe()
        os.close(reading)
        done = run(arguments, stdout=writing)
        os.close(writing)
        report("%s: nobody reads standard output" % command,
               "" if done.returncode == 0 and not done.stderr else repr(done))


def test_over_itself(directory, capture):
    link = os.path.join(directory, "link.clew")
    os.link(capture, link)
    with open(capture, "rb") as file:
        before = file.read()
    for name, arguments in (("convert", [
            "convert", capture, "-o", capture
    ]), ("convert by another name", ["convert", capture, "-o", link]), ("annotate", [
            "annotate", capture, "mark incoming dependencies(all) of spans(**) as label(in-);",
            "-o", capture
    ]), ("pair", ["pair", capture, "-o",
                  capture]), ("stitch", ["stitch", link, capture, "-o", capture])):
        fails("%s: over the capture itself" % name, arguments, 2,
              capture if name != "convert by another name" else link, "capture itself")
    with open(capture, "rb") as file:
        fails("convert: over what standard input is", ["convert", "-", "-o", capture],
              2,
              "capture itself",
              stdin=file)
    with open(capture, "rb") as file:
        report("the capture is as it was", "" if file.read() == before else "it is another")
    os.unlink(link)


def test_privileges(directory, capture):
    if os.geteuid() != 0:
        skip("as another user", "not root")
        return
    as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]

    def run_as_nobody(arguments):
        return subprocess.run(as_nobody + [os.path.abspath(CLEW)] + arguments,
                              stdin=subprocess.DEVNULL,
                              capture_output=True,
                              timeout=60,
                              check=False,
                              cwd="/")

    if run_as_nobody(["--version"]).returncode != 0:
        skip("as another user", "the program lies where nobody cannot reach it")
        return
    open_directory = os.path.join(directory, "open")
    os.mkdir(open_directory)
    os.chmod(open_directory, 0o777)
    os.chmod(directory, 0o755)
    report(
        "record: not root",
        problem_of(
            run_as_nobody(["record", "-o",
                           os.path.join(open_directory, "x.clew"), "-d", "10ms"]), 3, ["root"]))
    report("waits: not root, and nothing was recorded yet",
           problem_of(run_as_nobody(["waits", "-d", "10ms"]), 3, ["root"]))
    report("why --now: not root",
           problem_of(run_as_nobody(["why", "--pid", "1", "--now"]), 3, ["root"]))
    os.chmod(capture, 0o600)
    for command in READERS:
        more = ["--slowest"] if command == "why" else []
        report("%s: an unreadable file" % command,
               problem_of(run_as_nobody([command, capture] + more), 3, [capture]))
    os.chmod(capture, 0o644)
    report("info: another user may read what is readable",
           "" if run_as_nobody(["info", capture]).returncode == 0 else "refused")
    done = run_as_nobody(["doctor", "--json"])
    report("doctor: without privileges",
           "" if done.returncode == 0 and b'"privileged":false' in done.stdout else repr(done))


def test_record(directory):
    if os.geteuid() != 0:
        skip("record as root", "not root")
        return
    pid = 4194303
    while os.path.exists("/proc/%d" % pid):
        pid -= 1
    where = os.path.join(directory, "r.clew")
    fails("record: a vanished pid",
          ["record", "-o", where, "-p", str(pid), "-d", "10ms"], 2, str(pid))
    fails("record: a vanished tid",
          ["record", "-o", where, "-t", str(pid), "-d", "10ms"], 2, str(pid))
    fails("record: no such cgroup",
          ["record", "-o", where, "--cgroup", "/no/such/group", "-d", "10ms"], 2, "/no/such/group")
    library = os.path.join(HERE, "..", "..", "build/tests/objects/functions.so")
    for choice, words in ((directory + ":f", ("directory", )), ("/no/such/file:f",
                                                                ("/no/such/file", )),
                          (__file__ + ":f", ("no ELF file", )), ("%d:f" % pid, (str(pid), )),
                          ("no-such-library.so:f",
                           ("no-such-library.so", )), (library + ":calls_otu", ("calls_out", )),
                          (library + ":qqqqqqqqqq*", ("qqqqqqqqqq*", "clew functions"))):
        fails("record: functions of " + choice, ["record", "-o", where, "-d", "10ms", "-f", choice],
              2, *words)
    fails("record: too many functions",
          ["record", "-o", where, "-d", "10ms", "-f", library + ":*", "--max-functions", "1"], 2,
          "--max-functions")
    for percent in ("0", "-1", "x", "25%"):
        fails("record: --max-cost " + percent,
              ["record", "-o", where, "-d", "10ms", "-f", library + ":*", "--max-cost", percent], 2,
              "--max-cost")
    for names in ("A=b", ",", "A,,B", "x" * 70, ",".join("V%d" % i for i in range(20))):
        fails("record: --environment " + names[:8],
              ["record", "-o", where, "-d", "10ms", "--environment", names], 2,
              "environment variable")
    for name, path in (("no such directory", os.path.join(directory, "no", "x.clew")),
                       ("a directory", directory), ("below a file", "/bin/true/x.clew")):
        fails("record: unwritable: " + name, ["record", "-o", path, "-d", "10ms"], 3, path)
    fails("record: a command that is not there", ["record", "-o", where, "--", "/no/such/program"],
          2, "/no/such/program")


def test_no_types(directory):
    """A kernel that does not tell its types, as seen from where they are hidden."""
    hidden = [
        "unshare", "-m", "sh", "-c", "mount -t tmpfs none /sys/kernel/btf && exec \"$0\" \"$@\"",
        os.path.abspath(CLEW)
    ]

    def run_hidden(arguments):
        return subprocess.run(hidden + arguments,
                              stdin=subprocess.DEVNULL,
                              capture_output=True,
                              timeout=60,
                              check=False)

    if os.geteuid() != 0 or run_hidden(
        ["--version"]).returncode != 0 or os.path.exists("/boot/vmlinux-" + os.uname().release):
        skip("without the kernel's types", "they cannot be hidden here")
        return
    where = os.path.join(directory, "t.clew")
    report(
        "record: no BTF",
        problem_of(run_hidden(["record", "-o", where, "-d", "10ms"]), 3, ["BTF"])
        or ("a file was made" if os.path.exists(where) else ""))
    done = run_hidden(["doctor", "--json"])
    report(
        "doctor: no BTF", "" if done.returncode == 0 and not done.stderr
        and b'{"name":"BTF","tier":"base","available":false' in done.stdout else repr(done))


def test_groups(directory, other):
    """Control groups, containers and inner pids that are not there, or are several."""
    capture = os.path.join(directory, "containers.clew")
    _capture.make("containers", capture)
    operand = {"select": ["all"], "what-if": ["scale spans(all) by .5;"]}
    for command in ("waits", "edges", "requests", "why", "io", "report", "path", "slack", "blame",
                    "select", "what-if"):
        more = operand.get(command, [])
        for options, *words in ((["--cgroup",
                                  ""], "empty GLOB"), (["--cgroup",
                                                        "/nowhere"], "'/nowhere'", "/docker/"),
                                (["--container",
                                  ""], "empty NAME"), (["--container",
                                                        "nobody"], "'nobody'", "0123aaaa"),
                                (["--container", "0123"], "several", "0123", "more of the id")):
            fails("%s %s" % (command, " ".join(options)), [command, capture] + more + options, 2,
                  *words)
        fails("%s --container without containers" % command,
              [command, other, *more, "--container", "web"], 2, "no task", "--container")
        if command in ("waits", "edges", "why"):
            fails("%s: an inner tid of several" % command, [command, capture, "--tid", "1"], 2,
                  "several pid namespaces", "500, 600")
    fails("waits: an inner pid of several", ["waits", capture, "--pid", "1"], 2,
          "several pid namespaces", "500, 600")
    fails("blame: victims of another group",
          ["blame", capture, "--container", "0123b", "--victims", "web-500"], 2,
          "no span of the group")
    fails("path: a position of another group",
          ["path", capture, "--container", "0123b", "--from", "web-500 @ 0%", "--to", "all @ 0%"],
          2, "nowhere in the group")
    fails("path: a group and one end",
          ["path", capture, "--container", "0123b", "--to", "web-500 @ 0%"], 2, "end is missing")
    fails("waits: a pid of nobody", ["waits", capture, "--pid", "7"], 2, "no process 7")


def test_compare(capture):
    fails("compare: one capture", ["compare", capture], 2, "--")
    fails("compare: three without --", ["compare", capture, capture, capture], 2, "3 captures")
    fails("compare: nothing before --", ["compare", "--", capture], 2, "before")
    fails("compare: halves of two sides", ["compare", "--halves", capture, "--", capture], 2,
          "--halves")
    fails("compare: an unknown key", ["compare", capture, capture, "--by", "colour"], 2, "function")
    fails("compare: no two names", ["compare", capture, capture, "--map", "x"], 2, "OLD=NEW")
    fails("compare: a page and JSON", ["compare", capture, capture, "--html", "--json"], 2,
          "choose one")
    fails("compare: -o without a page", ["compare", capture, capture, "-o", "x"], 2, "--html")
    fails("compare: no such operations",
          ["compare", capture, capture, "--class", "requests of nobody"], 1, "no operation")


def test_functions(directory):
    """Files that have no functions to probe, and words that fit none."""
    library = os.path.join(HERE, "..", "..", "build/tests/objects/functions.so")
    with open(library, "rb") as file:
        data = bytearray(file.read())

    def write(name, content):
        path = os.path.join(directory, name)
        with open(path, "wb") as out:
            out.write(content)
        return path

    cases = [("a text file", write("text", b"int main;\n" * 20), "is no ELF file"),
             ("an empty file", write("empty", b""), "is no ELF file"),
             ("a file that is cut off", write("short", data[:len(data) // 2]), "cut off"),
             ("a header alone", write("header", data[:64]), "cut off"),
             ("a directory", directory, "is a directory"),
             ("no such file", os.path.join(directory, "none"), "no such file"),
             ("a device", "/dev/null", "no regular file"),
             ("a name of nothing", "libnosuchthing.so.9", "libnosuchthing.so.9"),
             ("a process that is gone", "2147483646", "no process 2147483646"),
             ("a kernel thread", "2", "process 2"), ]
    data[18:20] = (183).to_bytes(2, "little")
    cases.append(("a file of another machine", write("arm", data), "another machine (183)"))
    data[18:20] = (62).to_bytes(2, "little")
    data[4] = 1
    cases.append(("a file of 32 bits", write("short32", data), "32 bits"))
    for name, path, word in cases:
        fails("functions: " + name, ["functions", path], 2, word)
    fails("functions: nothing", ["functions"], 2, "operand")
    fails("functions: two globs", ["functions", library, "a*", "b*"], 2, "'b*'")
    fails("functions: no way of returns", ["functions", library, "--returns", "soon"], 2, "'soon'")
    fails("functions: a misspelt name", ["functions", library, "calls_otu"], 2, "calls_out")
    fails("functions: a name of nothing", ["functions", library, "qqqqqqqqqq*"], 2, "qqqqqqqqqq*",
          "clew functions")
    shell = os.path.join(directory, "shell")
    shutil.copy("/bin/bash", shell)
    # It is deleted once it runs, and says so.
    mapped = subprocess.Popen([shell, "-c", "echo; read"],
                              stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE)
    mapped.stdout.readline()
    os.unlink(shell)
    fails("functions: a deleted file", ["functions", shell], 2, "number of a process")
    done = run(["functions", str(mapped.pid), "--json"])
    report("functions: a process whose file is deleted",
           "" if not done.returncode and b"/shell (deleted)" in done.stdout else repr(done.stderr))
    mapped.communicate()


def main():
    with tempfile.TemporaryDirectory() as directory:
        capture = os.path.join(directory, "good.clew")
        _capture.make("mutex", capture)
        test_usage()
        test_arguments(capture)
        test_groups(directory, capture)
        test_layers(directory)
        test_words(capture)
        test_join(directory, capture)
        test_compare(capture)
        test_functions(directory)
        test_described(directory)
        test_files(directory, capture)
        test_positions(capture)
        test_output(capture)
        test_over_itself(directory, capture)
        test_privileges(directory, capture)
        test_record(directory)
        test_no_types(directory)
    print("1..%d" % len(results))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
