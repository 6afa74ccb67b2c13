#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
`clew stitch` of hosts whose clocks, delays and losses are known. Each host's trace is written in
notation, with messages as `clew convert` writes them. Prints TAP.
"""
import json
import os
import random
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from _trace import CLEW, Tap  # noqa: E402  pylint: disable=wrong-import-position

SECOND = 1_000_000_000
START = 1000 * SECOND

tap = Tap()
directory = tempfile.TemporaryDirectory()


class Host:
    """A thread that asks or answers; times are given by the true clock."""

    def __init__(self, name, offset=0, ppm=0.0, host=None):
        self.name, self.offset, self.ppm, self.host = name, offset, ppm, host
        self.messages, self.sockets, self.waits, self.disk = [], [], [], None

    def clock(self, at):
        return round(at + self.offset + (at - START) * self.ppm * 1e-6)

    def socket(self, inode, local, remote, sent, received):
        address = [bytes(map(int, text.split("."))).hex() + "0" * 24 for text, _ in (local, remote)]
        self.sockets.append(f'socket.{inode}="0 2 1 {local[1]} {remote[1]} {address[0]} '
                            f'{address[1]},,,,{sent},{received}"')

    def message(self, inode, received, time, at, position, size):
        flags = 8 | 16 | (1 if received else 0) | (2 if at else 0)
        self.messages.append((self.clock(time), self.clock(at) if at else 0, inode, position, size,
                              flags))

    def of_disk(self, ends):
        """A disk 8:0 of some name, and one read of a file on it."""
        if not self.disk:
            return []
        at = ends[0] + 1000
        return ["hierarchy devices", "category devices 8:0",
                f"span 8:0 [{ends[0]},{ends[1]}] in devices:8:0 dev=8:0 disk={self.disk}",
                f"span 8:0/read\\ 100+8 [{at},{at + 50000}] no-call sector=100 bytes=4096 op=read "
                f'operation_code=0 submitter={self.name}-1 object=file:/data file="8:0 7 0" '
                f'since="{at} {at + 10} {at + 50000}"']

    def names(self):
        """What the capture knows by numbers."""
        return self.sockets + ([
            f"text.{4 << 48 | 8 << 20}={self.disk}", f'file.8:0.7="0 0 0 0 /{self.disk}"'
        ] if self.disk else [])

    def write(self, end):
        ends = [self.clock(START), self.clock(end)]
        lines = ["hierarchy processes", f"category processes {self.name}", *self.of_disk(ends)]
        rows = ",".join(" ".join(map(str, row)) for row in self.messages)
        lines.append(f'span {self.name}-1 [{ends[0]},{ends[1]}] in processes:{self.name} tid=1 pid=1 '
                     + (f'messages="{rows}" ' if rows else "")
                     + ("" if self.host else " ".join(self.sockets)))
        for start, over, inode in self.waits:
            lines.append(f"wait {self.name}-1 {self.clock(start)}..{self.clock(over)} socket "
                         f"object=socket:{inode} id={inode} call=recvfrom context=softirq")
        if self.host:
            lines += ["hierarchy cpus", "category cpus machine",
                      f'span cpu0 [{ends[0]},{ends[1]}] in cpus:machine cpu=0 '
                      f'capture="{ends[0]} {ends[1]}" capture.host={self.host} '
                      f'capture.file="0 1 0 {ends[0]} {ends[1]} 1" ' + " ".join(self.names())]
        path = os.path.join(directory.name, self.name)
        with open(path, "w", encoding="ascii") as file:
            file.write("\n".join(lines) + "\n")
        return path


def talk(client, server, connection, count, seed, lose=lambda number: False, nat=False, start=START,
         alike=False):
    """
    A client asks `count` times. Returns where the true dependencies are, by the client's clock: when
    an answer left, and when the client went on.
    """
    draw = random.Random(seed)
    port, first = 40000 + connection, (100 + connection, 70000 + connection)
    inodes = (1000 + connection, (1000 if alike else 2000) + connection)
    here, there = ("10.0.0.1", port), ("10.0.0.2", 5432)
    client.socket(inodes[0], here, there, *first)
    server.socket(inodes[1], there, ("192.168.0.9", port + 1) if nat else here, *reversed(first))
    at, sent, got, truth = start + 1_000_000, 0, 0, []
    for number in range(count):
        delays = [60_000 + draw.randrange(200_000) for _ in range(2)]
        question, answer = draw.randrange(1, 400), draw.randrange(1, 30000)
        asleep = at + 10_000
        arrived = at + delays[0]
        left = arrived + draw.randrange(200_000, 5_000_000)
        back = left + delays[1]
        went_on = back + 20_000
        if not lose(4 * number):
            client.message(inodes[0], False, at + 5_000, at, sent, question)
        if not lose(4 * number + 1):
            server.message(inodes[1], True, arrived + 30_000, arrived, sent, question)
        if not lose(4 * number + 2):
            server.message(inodes[1], False, left + 5_000, left, got, answer)
        if not lose(4 * number + 3):
            client.message(inodes[0], True, went_on + 10_000, back, got, answer)
        client.waits.append((asleep, went_on, inodes[0]))
        if not lose(4 * number + 2) and not lose(4 * number + 3):
            truth.append((left, went_on))
        sent, got = sent + question, got + answer
        at = went_on + draw.randrange(100_000, 2_000_000)
    return truth, at


def stitch(*paths):
    out = os.path.join(directory.name, "out")
    done = subprocess.run([CLEW, "stitch", *paths, "--json", "-o", out],
                          capture_output=True,
                          text=True,
                          timeout=120,
                          check=False)
    if done.returncode:
        return done.stderr, []
    with open(out, encoding="ascii") as file:
        made = [line.split() for line in file if line.startswith("dep socket ")]
    return json.loads(done.stdout), made


def moments(made, name):
    """Origin and destination of dependencies that lead to a thread."""
    return [(int(words[2].split("@")[1]), int(words[4].split("@")[1])) for words in made
            if words[4].split("@")[0].endswith(name)]


def check(name, answer, made, client, truth, error, evidence="exact"):
    """The dependencies are the true ones: none is missing, none is wrong."""
    found = moments(made, client.name + "-1")
    wanted = {client.clock(went_on): client.clock(left) for left, went_on in truth}
    wrong = [(origin, at) for origin, at in found
             if at not in wanted or abs(origin - wanted[at]) > error]
    tap.same(f"{name}: dependencies", [len(found), wrong], [len(wanted), []])
    tap.same(f"{name}: evidence", {word for words in made for word in words
                                   if word.startswith("evidence=")}, {"evidence=" + evidence})
    tap.same(f"{name}: no effect comes before its cause", answer["backward"], 0)


def test_clocks():
    for offset, ppm, count in ((0, 0, 50), (123_456_789, 0, 200), (-987_654_321_000, 20, 3000),
                               (5 * SECOND, -100, 3000)):
        name = f"{offset} ns, {ppm} ppm"
        client, server = Host("client"), Host("server", offset, ppm)
        truth, end = talk(client, server, 0, count, 1)
        answer, made = stitch(client.write(end), server.write(end))
        clock = answer["traces"][1]
        check(name, answer, made, client, truth, 70_000)
        tap.same(f"{name}: source", clock["source"], "between")
        tap.same(f"{name}: the error is hardly more than the shortest delays",
                 clock["error"] < 100_000, True)
        if ppm:
            tap.same(f"{name}: rate", abs(clock["rate_ppm"] - ppm) < 10, True)
        else:
            tap.same(f"{name}: offset", abs(clock["offset"] + offset) <= clock["error"], True)
            tap.same(f"{name}: no rate", clock["rate_ppm"], 0)
        tap.same(f"{name}: all messages", answer["connected"]["joined"], 2 * count)


def test_connections():
    client, server = Host("client"), Host("server", 1_000_000)
    truth, end = [], START
    for connection in range(10):
        found, end = talk(client, server, 3 * connection, 20, connection, start=end)
        truth += found
    answer, made = stitch(client.write(end), server.write(end))
    check("ten connections", answer, made, client, truth, 200_000)
    tap.same("ten connections: of twenty ends",
             [answer["connected"][key] for key in ("connections", "ends")], [10, 20])


def test_nat():
    client, server = Host("client"), Host("server", 1_000_000)
    truth, end = talk(client, server, 0, 50, 7, nat=True)
    answer, made = stitch(client.write(end), server.write(end))
    check("through NAT", answer, made, client, truth, 70_000, "observed")


def test_parts():
    """A client takes the begin of a large answer before the last of it has left."""
    client, server = Host("client"), Host("server", 1_000_000)
    _, end = talk(client, server, 0, 20, 18)
    client.socket(5000, ("10.0.0.1", 41000), ("10.0.0.2", 80), 7, 9)
    server.socket(6000, ("10.0.0.2", 80), ("10.0.0.1", 41000), 9, 7)
    at, size, first = end, 20000, 1448
    for number in range(20):
        at += 1_000_000
        place = number * size
        server.message(6000, False, at + 900_000, at + 800_000, place, size)
        client.message(5000, True, at + 100_000, at + 90_000, place, first)
        client.message(5000, True, at + 990_000, at + 980_000, place + first, size - first)
    answer, _ = stitch(client.write(at + 1_000_000), server.write(at + 1_000_000))
    clock = answer["traces"][1]
    tap.same("answers taken in parts: source", clock["source"], "between")
    tap.same("answers taken in parts: offset", abs(clock["offset"] + 1_000_000) <= clock["error"],
             True)
    tap.same("answers taken in parts: all messages", answer["connected"]["joined"], 80)


def test_loss():
    """A message that either capture lost has no dependency, and gives none to its neighbours."""
    draw = random.Random(3)
    lost = {number for number in range(4 * 200) if draw.random() < 0.1}
    client, server = Host("client"), Host("server", 1_000_000)
    truth, end = talk(client, server, 0, 200, 8, lambda number: number in lost)
    answer, made = stitch(client.write(end), server.write(end))
    check("with losses", answer, made, client, truth, 70_000)


def test_reused():
    """Two connections one after the other have one port and other numbers."""
    client, server = Host("client"), Host("server", 1_000_000)
    truth, end = talk(client, server, 0, 20, 9)
    strangers = Host("strangers", 1_000_000)
    talk(strangers, strangers, 0, 20, 9)
    strangers.sockets = [
        re.sub(r",(\d+),(\d+)\"$", lambda match: ",5%s,5%s\"" % match.groups(), text)
        for text in strangers.sockets
    ]
    answer, made = stitch(client.write(end), server.write(end), strangers.write(end))
    check("a port used again", answer, made, client, truth, 70_000)
    tap.same("a port used again: the stranger's clock is assumed",
             answer["traces"][2]["source"], "assumed")


def test_shared():
    """Of bytes that two messages seem to have, nobody is said to be the sender."""
    client, server = Host("client"), Host("server", 1_000_000)
    _, end = talk(client, server, 0, 20, 10)
    server.messages += [(time + 1, at + 1, inode, position, size, flags)
                        for time, at, inode, position, size, flags in server.messages
                        if not flags & 1]
    _, made = stitch(client.write(end), server.write(end))
    tap.same("bytes of two messages have no sender", moments(made, "client-1"), [])


def test_three():
    """The third host's clock is known by way of the second."""
    client, server, disk = Host("client"), Host("server", 7_000_000), Host("disk", -3_000_000, 0)
    truth, end = talk(client, server, 0, 100, 11)
    _, end = talk(server, disk, 1, 100, 12, start=end)
    answer, made = stitch(client.write(end), server.write(end), disk.write(end))
    check("three hosts", answer, made, client, truth, 70_000)
    tap.same("three hosts: the third clock", [
        answer["traces"][2]["source"],
        abs(answer["traces"][2]["offset"] - 3_000_000) <= answer["traces"][2]["error"]
    ], ["between", True])


def ask(command):
    out = os.path.join(directory.name, "out")
    done = subprocess.run([CLEW, command, out, "--idle", "--json"], capture_output=True, text=True,
                          timeout=60, check=False)
    return json.loads(done.stdout) if done.stdout else done.stderr


def test_named():
    """Hosts that captures name are in all names, with how well their clocks are known."""
    client, server = Host("client", host="web"), Host("server", 1_000_000, host="db1")
    _, end = talk(client, server, 0, 50, 14)
    answer, made = stitch(client.write(end), server.write(end))
    tap.same("named hosts: spans", {words[2].split("@")[0] for words in made}
             | {words[4].split("@")[0] for words in made}, {"web:client-1", "db1:server-1"})
    waits = ask("waits")
    tap.same("named hosts: clocks", waits["hosts"],
             [{"host": "web", "error_ns": 0},
              {"host": "db1", "error_ns": answer["traces"][1]["error"]}])
    tap.same("named hosts: threads",
             {(wait["comm"], wait["host"], wait["ended_by"]["comm"], wait["ended_by"]["host"])
              for wait in waits["waits"] if wait["ended_by"]["comm"]},
             {("client", "web", "server", "db1")})
    text = subprocess.run([CLEW, "waits", "--idle", os.path.join(directory.name, "out")],
                          capture_output=True, text=True, timeout=60, check=False).stdout
    tap.same("named hosts: in words", ["client-1 on web" in text, "db1 %.1f us" %
                                       (answer["traces"][1]["error"] / 1e3) in text],
             [True, True])
    again = os.path.join(directory.name, "again")
    subprocess.run([CLEW, "stitch", os.path.join(directory.name, "out"), client.write(end), "-o",
                    again], capture_output=True, timeout=60, check=False)
    with open(again, encoding="ascii") as file:
        tap.same("named hosts: a trace of several has no one name", "web:web:" in file.read(), False)


def test_otlp():
    """An operation that another host answers is one trace, in which each span has its host."""
    client, server = Host("client", host="web"), Host("server", 1_000_000, host="db1")
    _, end = talk(client, server, 0, 20, 19)
    stitch(client.write(end), server.write(end))
    done = subprocess.run([CLEW, "export", os.path.join(directory.name, "out"), "--to", "otlp",
                           "--call", "recvfrom", "--comm", "client", "--slowest", "1", "-o", "-"],
                          capture_output=True, text=True, timeout=60, check=False)
    parts = json.loads(done.stdout)["resourceSpans"]
    spans = [(next(item["value"]["stringValue"] for item in part["resource"]["attributes"]
                   if item["key"] == "host.name"), span)
             for part in parts for scope in part["scopeSpans"] for span in scope["spans"]]
    tap.same("a trace of two hosts for OpenTelemetry: one id, both hosts",
             [len({span["traceId"] for _, span in spans}), {host for host, _ in spans}],
             [1, {"web", "db1"}])
    ids = {span["spanId"]: host for host, span in spans}
    tap.same("a trace of two hosts for OpenTelemetry: the other's span is below a wait of this one",
             {ids[span["parentSpanId"]] for host, span in spans if host == "db1"}, {"web"})


def test_one_number():
    """A number of two hosts' sockets joins what it should, and names neither."""
    for alike in (False, True):
        client, server = Host("client", host="web"), Host("server", 1_000_000, host="db1")
        truth, end = talk(client, server, 0, 30, 16, alike=alike)
        answer, made = stitch(client.write(end), server.write(end))
        name = "one number" if alike else "two numbers"
        client.name = "web:client"
        check(name, answer, made, client, truth, 70_000)
        tap.same(f"{name}: the socket's addresses",
                 {wait["object"]["peer"] for wait in ask("waits")["waits"] if wait["object"]},
                 {None if alike else "10.0.0.2:5432"})


def test_disks():
    """Two hosts' disks of one number are two disks, and so are the files on them."""
    client, server = Host("client", host="web"), Host("server", 1_000_000, host="db1")
    client.disk, server.disk = "sda", "vda"
    _, end = talk(client, server, 0, 20, 17)
    answer, _ = stitch(client.write(end), server.write(end))
    tap.same("two disks of one number: stitched", answer["connected"]["connections"], 1)
    tap.same("two disks of one number: requests to each, and the files of each",
             [(request["dev"], request["path"]) for request in ask("requests")["requests"]],
             [("8:0", "/sda"), ("512:0", "/vda")])
    out = os.path.join(directory.name, "out")
    told = json.loads(subprocess.run([CLEW, "io", out, "--json"], capture_output=True, text=True,
                                     timeout=60, check=False).stdout)
    tap.same("two disks of one number: each has its own sums",
             [(device["dev"], device["requests"]) for device in told["devices"]],
             [("8:0", 1), ("512:0", 1)])
    told = subprocess.run([CLEW, "io", out], capture_output=True, text=True, timeout=60,
                          check=False).stdout
    tap.same("two disks of one number: their names and their hosts'",
             [name in told for name in ("sda on web", "vda on db1")], [True, True])
    both = [os.path.join(directory.name, name) for name in ("web.disk", "out")]
    os.rename(both[1], both[0])
    third = Host("third", 2_000_000, host="db2")
    third.disk = "nvme0n1"
    subprocess.run([CLEW, "stitch", both[0], third.write(end), "-o", both[1]], capture_output=True,
                   timeout=60, check=False)
    tap.same("two disks of one number: a third trace's has a third one",
             sorted(request["dev"] for request in ask("requests")["requests"]),
             ["512:0", "513:0", "8:0"])


def test_one_name():
    """Hosts that are called the same have numbers."""
    client, server = Host("client", host="web"), Host("server", 1_000_000, host="web")
    _, end = talk(client, server, 0, 20, 15)
    _, made = stitch(client.write(end), server.write(end))
    tap.same("hosts of one name: spans", {words[2].split("@")[0] for words in made}
             | {words[4].split("@")[0] for words in made}, {"client-1", "server-1"})
    tap.same("hosts of one name: none is said", "hosts" in ask("waits"), False)


def test_refused():
    """What cannot be joined is said."""
    client, server = Host("client"), Host("server")
    _, end = talk(client, server, 0, 5, 13)
    paths = [client.write(end), server.write(end)]
    done = subprocess.run([CLEW, "stitch", paths[0], paths[0]], capture_output=True, text=True,
                          timeout=60, check=False)
    tap.same("one capture twice", [done.returncode, done.stdout.count("those are of one host"),
                                   done.stdout.count("no connection in common")], [1, 1, 1])
    answer, _ = stitch(paths[0], paths[1])
    tap.same("no end is repeated", answer["connected"]["repeated"], 0)


if __name__ == "__main__":
    test_refused()
    test_clocks()
    test_connections()
    test_nat()
    test_parts()
    test_loss()
    test_reused()
    test_shared()
    test_three()
    test_named()
    test_otlp()
    test_one_number()
    test_disks()
    test_one_name()
    directory.cleanup()
    sys.exit(tap.end())
