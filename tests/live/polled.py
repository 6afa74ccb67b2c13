#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
What a poller of several descriptors is told to have waited for, where the waker's call does not
say it: a shutdown of a Unix socket wakes pollers of both of its ends, and what is written to a tun
device makes sockets ready.
"""

import json
import os
import sys

from _live import CLEW, answer, clew, finish, ok, scratch, skip

ACTS = r"""
import fcntl, json, os, select, socket, struct, threading, time
reader, writer = os.pipe()
POLL = ("7", "73", "271") # poll and ppoll, of x86-64 and elsewhere

def sleeps(tid):
    if not tid:
        return False
    with open(f"/proc/self/task/{tid}/syscall") as file:
        return file.read().split()[0] in POLL

def case(name, polled, act):
    told = {"case": name, "by": threading.get_native_id(), "own": os.fstat(polled).st_ino}
    def wait():
        told["tid"] = threading.get_native_id()
        poll = select.poll()
        for fd in (polled, reader):
            poll.register(fd, select.POLLIN)
        poll.poll(30000)
    thread = threading.Thread(target=wait)
    thread.start()
    while not sleeps(told.get("tid")):
        time.sleep(0.01)
    time.sleep(0.2)
    act()
    thread.join()
    print(json.dumps(told), flush=True)

one, other = socket.socketpair()
case("shutdown of the polled end", one.fileno(), lambda: one.shutdown(socket.SHUT_RD))
one, other = socket.socketpair()
case("shutdown of the other end", one.fileno(), lambda: other.shutdown(socket.SHUT_WR))
try:
    tun = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tun, 0x400454CA, struct.pack("16sH22x", b"clew-tun0", 0x1001))
except OSError as error:
    print(json.dumps({"case": "tun", "lacks": str(error)}), flush=True)
    raise SystemExit
if os.system("ip address add 10.231.80.1/24 dev clew-tun0 && ip link set clew-tun0 up"):
    raise SystemExit("ip failed")
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(("10.231.80.1", 7777))

def packet():
    data = struct.pack("!HHHH", 5555, 7777, 13, 0) + b"hello"
    ends = socket.inet_aton("10.231.80.2") + socket.inet_aton("10.231.80.1")
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(data), 1, 0, 64, 17, 0) + ends
    total = sum(struct.unpack("!10H", head))
    total = (total >> 16) + (total & 0xffff)
    total += total >> 16
    os.write(tun, head[:10] + struct.pack("!H", ~total & 0xffff) + head[12:] + data)

case("a packet written to a tun device", receiver.fileno(), packet)
"""


def main():
    path = scratch("polled.clew")
    done = clew("record", "-o", path, "--", sys.executable, "-c", ACTS)
    ok(done.returncode == 0, "the acts are recorded", done.stderr.strip())
    waits = answer("waits", "--idle", path)["waits"]
    for case in (json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")):
        if "lacks" in case:
            skip(f"poll: {case['case']}", case["lacks"])
            continue
        found = [
            w for w in waits if w["tid"] == case["tid"] and w["call"] in (
                "poll", "ppoll") and w["end"] and w["end"] - w["start"] > 50e6
        ]
        right = len(found) == 1 and (found[0]["ended_by"] or {}).get("tid") == case["by"]
        what = right and found[0]["object"]
        # The end that is polled, or a socket that is not known.
        right = right and (not what
                           or what["kind"] == "socket" and what["ino"] in (0, None, case["own"]))
        ok(right, f"poll: {case['case']}", found)
    finish()


if __name__ == "__main__":
    assert os.path.exists(CLEW), "clew is not built"
    main()
