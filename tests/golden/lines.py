#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Lines and inlined functions of a program are those that addr2line reads from it, at each of its
instructions: with its debugging information in it, beside it, under /usr/lib/debug, shared (DWZ)
compressed, or at a server that was asked. A file of another build and one that is damaged give no
lines. Prints TAP.
"""
import http.server
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from _capture import HERE, MAKE_CAPTURE  # noqa: E402  pylint: disable=wrong-import-position
from _pprof import Profile  # noqa: E402  pylint: disable=wrong-import-position
from _trace import CLEW, Tap, resolved  # noqa: E402  pylint: disable=wrong-import-position

PROGRAM = """
#include <time.h>
static volatile unsigned long sum;
static inline __attribute__((always_inline)) void add(unsigned long value)
{
	sum += value;
}
static inline __attribute__((always_inline)) void nap(long ns)
{
	struct timespec time = {.tv_nsec = ns};

	add(ns);
	nanosleep(&time, NULL);
}
static inline __attribute__((always_inline)) void twice(long ns)
{
	nap(ns);
	if (sum % 3)
		nap(ns / 2);
}
__attribute__((noinline)) void work(long ns)
{
	for (unsigned i = 0; i < 3; i++)
		add(i);
	twice(ns);
	__asm__ volatile("");
}
int main(void)
{
	work(5000000);
	twice(1000);
	return 0;
}
"""
MOST = 126  # frames of a stack
tap = Tap()


def tool(*arguments, text=None):
    return subprocess.run(arguments,
                          input=text,
                          stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL,
                          check=True,
                          timeout=60,
                          text=True).stdout


def build(path, *options, source=PROGRAM):
    with open(path + ".c", "w", encoding="utf-8") as file:
        file.write(source)
    tool("gcc", "-O2", "-g", "-Wl,--build-id", *options, "-o", path, path + ".c")


def build_id(path):
    return re.search(r"Build ID: (\w+)", tool("readelf", "-n", path)).group(1)


def functions(path):
    """(name, address, size) of the program's own functions."""
    rows = [row.split() for row in tool("nm", "-S", path).splitlines()]
    return [(row[3], int(row[0], 16), int(row[1], 16)) for row in rows
            if row[-1] in ("main", "work")]


def instructions(path):
    """Addresses of the program's own functions' instructions."""
    lines = tool("objdump", "-d", "--no-show-raw-insn", path).splitlines()
    found = [int(line.split(":")[0], 16) for line in lines if re.match(r" +\w+:\t", line)]
    own = functions(path)
    inside = [a for a in found if any(start <= a < start + size for _, start, size in own)]
    return inside[:MOST]


def truth(path, addresses):
    """(name, file, line) of each place at the addresses, by binutils."""
    text = tool("addr2line", "-e", path, "-f", "-i", "-a", text="\n".join(map(hex, addresses)))
    places = []
    lines = iter(line for line in text.splitlines() if not line.startswith("0x"))
    for name in lines:
        file, line = re.sub(r" \(discriminator \d+\)", "", next(lines)).rsplit(":", 1)
        places.append((name, os.path.normpath(file), int(line) if line.isdigit() else None))
    return places


def load(path):
    """What the segment of code has in addresses more than in offsets."""
    rows = re.findall(r"LOAD +(\w+) (\w+) \w+ \w+ \w+ R E", tool("readelf", "-lW", path))
    return int(rows[0][1], 16) - int(rows[0][0], 16)


class Subject:
    """A program, and what a capture of it has."""

    def __init__(self, path, names=True, linked=True, identified=True):
        self.path, self.bias, self.linked = path, load(path), linked
        self.id = build_id(path) if identified else None
        self.addresses = instructions(path)
        self.places = truth(path, self.addresses)
        self.symbols = functions(path) if names else []

    def image(self):
        fields = ["image=1 inode=11 device=8388609", 'path="%s"' % self.path]
        if self.id:
            fields.append("build_id_size=20 build_id=%s" % self.id)
        if self.linked:
            fields.append("flags=16 bias=%d" % self.bias)
        return "user image 1000000050000 " + " ".join(fields)

    def records(self):
        with open(os.path.join(HERE, "stacks.records"), encoding="utf-8") as file:
            lines = [
                line for line in file.read().splitlines()
                if "image=1" not in line and " waker " not in line
            ]
        at = next(i for i, line in enumerate(lines) if "image=2" in line)
        symbols = [
            "user symbol 1000000050000 image=1 start=%d length=%d name=\"%s\"" %
            (start - self.bias, size, name) for name, start, size in self.symbols
        ]
        frames = ",".join("1:%d" % (address - self.bias) for address in self.addresses)
        lines[at:at] = [self.image()] + symbols
        return "\n".join(re.sub(r"frames=2:0x8040\S*", "frames=" + frames, line)
                         for line in lines) + "\n"


def capture_of(subject):
    path = os.path.join(os.path.dirname(subject.path), "lines.clew")
    tool(MAKE_CAPTURE, path, text=subject.records())
    return path


def ask(*arguments, servers=None):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("DEBUGINFOD_")}
    done = subprocess.run([CLEW, *arguments],
                          capture_output=True,
                          timeout=60,
                          check=False,
                          env={**environment, **(servers or {})})
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def read(subject, name, option, servers):
    """The places of the user stack, and the state of the program."""
    status, out, err = ask("waits", capture_of(subject), option, "--json", servers=servers)
    if status or err:
        tap.report(name, "exit status %d, %s" % (status, err[-300:]))
        return [], "none"
    answer = resolved(json.loads(out))
    stacks = [wait["stack"] for wait in answer["waits"] if wait["stack"]]
    frames = next(stack["frames"] for stack in stacks if stack["frames"])
    states = {file["object"]: file["state"] for file in answer["lines"]}
    return frames, states.get(subject.path)


def equal(name, subject, option="--lines", servers=None):
    """All lines, all inlined functions."""
    frames, state = read(subject, name, option, servers)
    got = [(frame["name"], os.path.normpath(frame["file"] or "??"), frame["line"])
           for frame in frames]
    wrong = [pair for pair in zip(got, subject.places) if pair[0] != pair[1]]
    inlined = sum(frame["inlined"] for frame in frames)
    tap.report(
        name, "" if got == subject.places and state == "found"
        and inlined == len(frames) - len(subject.addresses) > 20 else "%s, %d and %d places, %r" %
        (state, len(got), len(subject.places), wrong[:3]))


def without(name, subject, state, option="--lines", servers=None):
    """No lines, the reason, and the rest of the answer as without --lines."""
    frames, told = read(subject, name, option, servers)
    plain = resolved(json.loads(ask("waits", capture_of(subject), "--stacks", "--json")[1]))
    stack = next(w["stack"]["frames"] for w in plain["waits"]
                 if w["stack"] and w["stack"]["frames"])
    rest = [{k: f[k] for k in f if k not in ("file", "line", "inlined")} for f in frames]
    known = [f for f in frames if f["file"] or f["line"] or f["inlined"]]
    tap.report(
        name, "" if told == state and rest == stack and not known else "%s, %r" %
        (told, known[:2] or (rest[:2], stack[:2])))
    text = ask("waits", capture_of(subject), option, servers=servers)[1]
    tap.report(
        name + ": in text, one line says so",
        "" if text.count("none of " + subject.path) == (state is not None)
        and "Lines of 0 of " in text else text[-500:])


def split(path, debug):
    """Moves debugging information to a file of its own."""
    tool("objcopy", "--only-keep-debug", path, debug)
    tool("objcopy", "--strip-all", "--add-gnu-debuglink=" + debug, path)


def test_own(directory):
    for name, options in (("position-independent", ()), ("at a fixed address", ("-no-pie", )),
                          ("DWARF 4", ("-gdwarf-4", )), ("compressed", ("-gz=zlib", )),
                          ("in sections", ("-ffunction-sections", "-no-pie"))):
        path = os.path.join(directory, "own")
        build(path, *options)
        equal(name, Subject(path))
    equal("no names in the capture", Subject(path, names=False))
    equal("an older capture, without the distance", Subject(path, linked=False))
    without("no build-id in the capture", Subject(path, identified=False), "unnamed")


def test_separate(directory):
    path = os.path.join(directory, "separate")
    for name, debug in (("beside it", path + ".debug"), ("in .debug",
                                                         os.path.join(directory, ".debug",
                                                                      "separate.debug"))):
        build(path)
        subject = Subject(path)
        os.makedirs(os.path.dirname(debug), exist_ok=True)
        split(path, debug)
        equal("a debug link: " + name, subject)
        os.unlink(debug)
    without("a debug link to nothing", subject, "none")
    other = os.path.join(directory, "other")
    build(other, source=PROGRAM.replace("5000000", "6000000"))
    tool("objcopy", "--only-keep-debug", other, path + ".debug")
    without("a debug link to another build's file", subject, "other")
    os.unlink(path + ".debug")
    shutil.copy(other, path)
    without("another build is at the path", subject, "changed")
    os.unlink(path)
    os.mkfifo(path)
    without("a pipe is at the path", subject, "changed")
    os.unlink(path)
    without("nothing is at the path", subject, "gone")


def test_system(directory):
    path = os.path.join(directory, "system")
    build(path)
    subject, debug = Subject(path), path + ".moved"
    split(path, debug)
    kept = "/usr/lib/debug/.build-id/%s/%s.debug" % (subject.id[:2], subject.id[2:])
    made = not os.path.isdir(os.path.dirname(kept))
    if not os.access("/usr/lib", os.W_OK):
        tap.skip("a file under /usr/lib/debug", "only root can put one there")
        return
    os.makedirs(os.path.dirname(kept), exist_ok=True)
    try:
        shutil.copy(debug, kept)
        equal("a file under /usr/lib/debug", subject)
        os.unlink(path)
        equal("the same, and the program is gone", subject)
        subject.linked = False
        without("the same of an older capture", subject, "gone")
    finally:
        os.unlink(kept)
        if made:
            os.rmdir(os.path.dirname(kept))


def test_shared(directory):
    paths = [os.path.join(directory, name) for name in ("first", "second")]
    for path in paths:
        build(path, source=PROGRAM + "\n/* %s */" % path)
    subject = Subject(paths[0])
    common = os.path.join(directory, "common.debug")
    tool("dwz", "-m", common, *paths)
    links = "gnu_debugaltlink" in tool("readelf", "-SW", paths[0])
    tap.report("dwz makes a shared part", "" if links else "no link to it")
    equal("a shared part", subject)
    shutil.move(common, common + ".away")
    without("a shared part that is missing", subject, "shared")
    build(paths[1] + ".x")
    shutil.copy(paths[1] + ".x", common)
    without("a shared part of another build", subject, "shared")


def test_damaged(directory):
    path = os.path.join(directory, "damaged")
    build(path)
    subject, debug = Subject(path), path + ".debug"
    split(path, debug)
    equal("before it is damaged", subject)
    with open(debug, "rb") as file:
        whole = file.read()
    with open(debug, "wb") as file:
        file.write(whole[:len(whole) // 2])
    without("a debug file that was cut off", subject, "unreadable")
    with open(debug, "wb") as file:
        file.write(b"\0" * len(whole))
    without("a debug file of zeros", subject, "unreadable")
    capture, wrong = capture_of(subject), []
    for seed in range(20):
        draw = random.Random(seed)
        data = bytearray(whole)
        for _ in range(draw.choice((1, 4, 40, 400))):
            data[draw.randrange(len(data))] = draw.randrange(256)
        with open(debug, "wb") as file:
            file.write(data)
        status, out, err = ask("waits", capture, "--lines", "--json")
        if status or err or json.loads(out)["lines"][0]["object"] != path:
            wrong.append((seed, status, out[-200:], err[-200:]))
    tap.report("20 damaged debug files", "" if not wrong else repr(wrong[:5]))


class Server:
    """Serves debugging information by build-id, and keeps what was asked for."""

    def __init__(self, directory):
        self.files, self.asked = {}, []
        self.directory = directory
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):

            def do_GET(self):
                server.asked.append(self.path)
                file = server.files.get(self.path)
                self.send_response(200 if file else 404)
                self.end_headers()
                if file:
                    with open(file, "rb") as data:
                        self.wfile.write(data.read())

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def has(self, build, file):
        self.files["/buildid/%s/debuginfo" % build] = file

    def environment(self):
        """With an empty cache."""
        return {
            "DEBUGINFOD_URLS": "http://127.0.0.1:%d" % self.http.server_address[1],
            "DEBUGINFOD_CACHE_PATH": tempfile.mkdtemp(dir=self.directory)
        }


def test_server(directory):
    server = Server(directory)
    path = os.path.join(directory, "served")
    build(path)
    subject, debug, want = Subject(path), path + ".away", "--debuginfod"
    split(path, path + ".debug")
    shutil.move(path + ".debug", debug)
    without("a server that was not asked", subject, "none", servers=server.environment())
    tap.report("gets no question", "" if not server.asked else repr(server.asked))
    without("a server that has nothing of it", subject, "none", want, server.environment())
    asked = "/buildid/%s/debuginfo" % subject.id
    tap.report("gets questions", "" if asked in server.asked else repr(server.asked))
    server.has(subject.id, debug)
    equal("a server that has it", subject, want, server.environment())
    with open(debug + ".cut", "wb") as cut, open(debug, "rb") as whole:
        cut.write(whole.read(4000))
    server.has(subject.id, debug + ".cut")
    without("a server that sends a part", subject, "unreadable", want, server.environment())
    other = os.path.join(directory, "other")
    build(other, source=PROGRAM.replace("5000000", "6000000"))
    server.has(subject.id, other)
    without("a server that sends another build's", subject, "other", want, server.environment())
    server.has(subject.id, debug)
    os.unlink(path)
    equal("a server that has it, and the program is gone", subject, want, server.environment())
    gone = server.environment()
    server.http.shutdown()
    server.http.server_close()
    without("a server that is gone", subject, "unasked", want, gone)
    for name, value in (("no server", {}), ("an empty list of servers", {"DEBUGINFOD_URLS": " "})):
        status, out, err = ask("waits", capture_of(subject), want, servers=value)
        tap.report(
            name, "" if status == 2 and not out and err.count("\n") == 1
            and "DEBUGINFOD_URLS" in err else "%d, %s" % (status, err))


def test_server_shared(directory):
    paths = [os.path.join(directory, name) for name in ("first", "second")]
    for path in paths:
        build(path, source=PROGRAM + "\n/* %s */" % path)
    subject = Subject(paths[0])
    common = os.path.join(directory, "common.debug")
    tool("dwz", "-m", common, *paths)
    server = Server(directory)
    server.has(build_id(common), common + ".moved")
    shutil.move(common, common + ".moved")
    equal("a shared part at a server", subject, "--debuginfod", server.environment())
    server.files.clear()
    without("a shared part that no server has", subject, "shared", "--debuginfod",
            server.environment())


def test_text(directory):
    path = os.path.join(directory, "text")
    build(path)
    subject = Subject(path)
    subject.addresses = [
        next(a for a in subject.addresses
             if [p[0] for p in truth(path, [a])] == ["nap", "twice", "work"])
    ]
    places = truth(path, subject.addresses)
    want = " <- ".join("%s (text.c:%d%s)" % (name, line, ", inlined" if name != "work" else "")
                       for name, _, line in places)
    capture = capture_of(subject)
    for arguments in (("waits", "--lines"), ("why", "--tid", "101", "--lines"),
                      ("why", "--tid", "101", "--lines", "--steps")):
        status, out, err = ask(arguments[0], capture, *arguments[1:])
        flat = re.sub(r"\s+", " ", out)
        tap.report(
            "text: " + " ".join(arguments),
            "" if not status and want in flat and "Lines of 1 of 1 file" in flat else
            "%r is not in %r, %s" % (want, flat[-900:], err))
    answer = resolved(json.loads(ask("why", capture, "--tid", "101", "--lines", "--json")[1]))
    steps = [step for s in answer["segments"] for step in [s] + s["hops"]]
    stacks = [step["stack"]["frames"] for step in steps if step.get("stack")]
    got = [[(f["name"], f["file"], f["line"]) for f in frames] for frames in stacks if frames]
    tap.report("why has them in JSON", "" if got and got == [places] * len(got) else repr(got))
    tap.report(
        "and says of which files",
        "" if {"object": path, "state": "found"} in answer["lines"] else repr(answer["lines"]))


def test_profile(directory):
    """A profile has all places, innermost first; one function is one, wherever it was put."""
    path = os.path.join(directory, "profile")
    build(path)
    subject = Subject(path)
    capture, want = capture_of(subject), subject.places

    def profile(*arguments):
        done = subprocess.run([CLEW, "export", capture, "--to", "pprof", *arguments],
                              capture_output=True,
                              timeout=60,
                              check=False)
        return Profile(done.stdout), done

    places = profile("--lines")[0].places
    found = [
        all for all in places for i in range(len(all))
        if [(n, os.path.normpath(f or "??"), line) for n, f, line in all[i:i + len(want)]] == want
    ]
    tap.report("pprof: places of a profile", "" if len(found) == 1 else repr(places[:1])[:900])
    plain, lined = (profile(*more)[0] for more in ((), ("--lines", )))
    tap.report(
        "pprof: without lines there are none",
        "" if not any(file or line for sample in plain.places for _, file, line in sample)
        and len(plain.samples) == len(lined.samples) else repr(plain.places[:1])[:900])
    for arguments in (("--to", "folded", "--lines"), ("--to", "pprof", "--lines", "--stacks",
                                                      "wake")):
        status, out, err = ask("export", capture, *arguments)
        tap.report(
            "no lines: " + " ".join(arguments),
            "" if status == 2 and not out and err.count("\n") == 1 else "%d, %s" % (status, err))


def test_sampled(directory):
    """Answers that tell samples have their places, too."""
    path = os.path.join(directory, "sampled")
    build(path)
    subject = Subject(path)
    subject.addresses = [
        next(a for a in subject.addresses
             if [p[0] for p in truth(path, [a])] == ["nap", "twice", "work"])
    ]
    want = [(name, os.path.normpath(file), line)
            for name, file, line in truth(path, subject.addresses)]
    records = "".join("user sample 10000014%05d task=4 user=101 end=1\n" % i for i in range(10, 19))
    last = "user waited 1000001800000"
    capture = os.path.join(directory, "sampled.clew")
    tool(MAKE_CAPTURE, capture, text=subject.records().replace(last, records + last))
    whole = ("--from", "\"log writer-102\" @ 0%", "--to", "\"log writer-102\" @ 100%", "--strategy",
             "predecessor")
    for command, arguments in (("report", ()), ("path", whole), ("blame", ())):
        answer = resolved(json.loads(ask(command, capture, *arguments, "--lines", "--json")[1]))
        stacks = [
            s for o in [answer] + answer.get("programs", []) + answer.get("pairs", [])
            for s in o.get("sampled") or []
        ]
        got = [[(f["name"], os.path.normpath(f["file"]), f["line"]) for f in s["frames"]]
               for s in stacks if s["frames"]]
        tap.report(
            command + ": samples have places", "" if got and got == [want] * len(got)
            and {"object": path, "state": "found"} in answer["lines"] else repr((got, want))[:900])
        status, out, err = ask(command, capture, *arguments, "--lines")
        flat = re.sub(r"\s+", " ", out)
        tap.report(
            command + ": in text, too", "" if not status and "nap (sampled.c:" in flat
            and "Lines of 1 of 1 file" in flat else flat[-900:] + err)
    for arguments in (("--by", "function"), ("--all-running", )):
        status, out, err = ask("blame", capture, "--lines", *arguments)
        tap.report("blame: --lines " + arguments[0],
                   "" if status == 2 and err.count("\n") == 1 else "%d, %s" % (status, err))


def test_refused(directory):
    path = os.path.join(directory, "none.clew")
    with open(os.path.join(HERE, "mutex.records"), encoding="utf-8") as file:
        tool(MAKE_CAPTURE, path, text=file.read())
    for command in (("waits", ), ("why", "--slowest")):
        status, out, err = ask(command[0], path, *command[1:], "--lines")
        tap.report(
            "%s: a capture without stacks" % command[0], "" if status == 2 and not out
            and err.count("\n") == 1 and "--no-stacks" in err else "%d, %s" % (status, err))


def main():
    for test in (test_own, test_separate, test_system, test_shared, test_damaged, test_server,
                 test_server_shared, test_text, test_profile, test_sampled, test_refused):
        with tempfile.TemporaryDirectory() as directory:
            test(directory)
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
