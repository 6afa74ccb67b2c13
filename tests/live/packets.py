#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Packets that clew may lose sight of on their way: cut up, copied for many, held up until
an address is known.

Whoever sent them is named, or nobody is: never those who talk beside them all the time,
and never who used a socket or a
packet's memory before. What is cut up is its sender's in every part. And of pollers that
hand on to each other that there is something, none has sent it; nor has who
lets go of a socket's lock, nor who only reads by a socket and lets go on its way what
another has written to it.
"""

import array
import contextlib
import ctypes
import fcntl
import os
import resource
import select
import signal
import socket
import struct
import threading
import time

from _live import GUEST, answer, finish, note, ok, run, scratch, skip_all, start_recording, stop_recording
from _place import Place, enter

SIOCETHTOOL, ETHTOOL_STSO, SIOCOUTQ = 0x8946, 0x1F, 0x5411
PR_SET_NAME = 15
HERE, THERE = "10.231.77.1", "10.231.77.2"
GROUP = "239.77.0.7"
LAPS = 20
SPLIT = 30000

libc = ctypes.CDLL(None, use_errno=True)


def be_named(name):
    libc.prctl(PR_SET_NAME, name.encode(), 0, 0, 0)


def slept():
    """How often the calling thread has."""
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw


def process(name, function, *arguments):
    child = os.fork()
    if not child:
        be_named(name)
        with contextlib.suppress(OSError):
            function(*arguments)
        os._exit(0)
    return child


def noise():
    """
    A child and its parent, a group of their own, talk over the loopback device
    until they are killed.
    """
    os.setpgid(0, 0)
    listener = socket.create_server(("127.0.0.1", 0))
    if os.fork() == 0:
        be_named("noise-sink")
        other, _ = listener.accept()
        while other.recv(64):
            pass
        os._exit(0)
    connection = socket.create_connection(listener.getsockname())
    while True:
        connection.send(b"x")
        time.sleep(0.0003)


def ready(there):
    """Tells who started this reader that it can be sent to."""
    os.write(there, b"x")


def cut_reader(place, there):
    enter(place, "net-b")
    listener = socket.create_server((THERE, 7701))
    ready(there)
    connection, _ = listener.accept()
    while connection.recv(1 << 20):
        pass


def cut_sender(place):
    enter(place, "net-a")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        value = array.array("B", struct.pack("II", ETHTOOL_STSO, 0))
        fcntl.ioctl(any_socket, SIOCETHTOOL, struct.pack("16sP", b"clew-ab",
                                                         value.buffer_info()[0]))
    with socket.create_connection((THERE, 7701)) as connection:
        for _ in range(LAPS):
            connection.send(b"q" * 30000)
            time.sleep(0.01)


def split_reader(place, there):
    """At the other end of split_sender: tells something and waits for what comes."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    enter(place, "net-b")
    listener = socket.create_server((THERE, 7704))
    ready(there)
    connection, _ = listener.accept()
    for _ in range(2 * LAPS):
        connection.send(b"x")
        left = SPLIT
        while left > 0:
            left -= len(connection.recv(SPLIT))


def split_sender(place):
    """
    One reads and acknowledges, and another one writes by the same socket what is cut up
    then: the first part has the number
    that the acknowledgement had, and mostly its memory.
    """
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    enter(place, "net-a")
    read, written = os.pipe()
    with socket.create_connection((THERE, 7704)) as connection:
        writer = process("split-writer", split_write, connection, read)
        for _ in range(2 * LAPS):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
            connection.recv(1)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
            os.write(written, b"x")
        os.waitpid(writer, 0)


def split_write(connection, read):
    for _ in range(2 * LAPS):
        os.read(read, 1)
        connection.sendall(bytes(SPLIT))


def copy_reader(place, there):
    enter(place, "net-a")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as member:
        member.bind(("", 7702))
        member.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
                          socket.inet_aton(GROUP) + socket.inet_aton(HERE))
        ready(there)
        for _ in range(LAPS):
            member.recv(64)


def copy_sender(place):
    enter(place, "net-a")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(HERE))
        for _ in range(LAPS):
            sender.sendto(b"to all", (GROUP, 7702))
            time.sleep(0.01)


def held_reader(place, there):
    enter(place, "net-b")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as reader:
        reader.bind((THERE, 7703))
        ready(there)
        for _ in range(2 * LAPS):
            reader.recv(64)


def send_one(place):
    enter(place, "net-a")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"once", (THERE, 7703))


def held_senders(place):
    """
    In turns one that knows the address, and one whose first packet leaves when
    the answer to its question comes.
    """
    enter(place, "net-a")
    for lap in range(2 * LAPS):
        if lap % 2:
            run("ip", "neigh", "flush", "dev", "clew-ab")
        os.waitpid(process("held-second" if lap % 2 else "held-first", send_one, place), 0)
        time.sleep(0.01)


def turns():
    """
    Two threads wait at one epoll instance, level-triggered: who is woken wakes
    the other, too.
    """
    listener = socket.create_server(("127.0.0.1", 0))
    writer = process("turn-sender", turn_sender, listener.getsockname())
    connection, _ = listener.accept()
    poller = select.epoll()
    poller.register(connection, select.EPOLLIN)
    threads = [
        threading.Thread(target=take_turns, args=(name, poller, connection))
        for name in ("turn-one", "turn-two")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    os.waitpid(writer, 0)


def turn_sender(address):
    with socket.create_connection(address) as connection:
        for _ in range(LAPS):
            connection.send(b"x")
            time.sleep(0.005)
        time.sleep(0.1)


def take_turns(name, poller, connection):
    be_named(name)
    while poller.poll(1):
        try:
            if not connection.recv(64, socket.MSG_DONTWAIT):
                return
        except BlockingIOError:
            pass


def shares():
    """
    A socket that one thread fills, so that it has its lock for long, and that
    another one sets options of.
    """
    listener = socket.create_server(("127.0.0.1", 0))
    reader = process("share-reader", share_reader, listener.getsockname())
    connection, _ = listener.accept()
    over = threading.Event()
    threads = [
        threading.Thread(target=function, args=(connection, over))
        for function in (share_fill, share_set)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    connection.close()
    os.waitpid(reader, 0)


def share_reader(address):
    with socket.create_connection(address) as connection:
        while connection.recv(1 << 24):
            pass


def share_fill(connection, over):
    be_named("share-fill")
    while not over.is_set():
        connection.sendall(bytes(1 << 22))


def share_set(connection, over):
    """Until it has found the lock taken some times; on busy CPUs who has it seldom lets it run."""
    be_named("share-set")
    begun, waited = time.monotonic(), 0
    while time.monotonic() < begun + 0.5 or (waited < 5 and time.monotonic() < begun + 5):
        before = slept()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        waited += slept() - before
        time.sleep(0.0005)
    over.set()


def duplex():
    """
    One socket, which one process fills and another reads, both as fast as they
    can; at its other end, where there is little room, likewise.
    """
    listener = socket.create_server(("127.0.0.1", 0))
    own = socket.create_connection(listener.getsockname())
    other, _ = listener.accept()
    other.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
    other.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    ends = [("duplex-fill", fill, own), ("duplex-read", drain, own), ("duplex-drain", drain, other),
            ("duplex-talk", talk, other)]
    children = [process(name, function, end) for name, function, end in ends]
    time.sleep(1)
    own.shutdown(socket.SHUT_RDWR)
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def fill(connection):
    while True:
        connection.sendall(bytes(1 << 20))


def talk(connection):
    """Never fills the socket: that there is room again would wake who reads by it, too."""
    data = bytes(1 << 17)
    while True:
        if struct.unpack("i", fcntl.ioctl(connection, SIOCOUTQ, bytes(4)))[0] < len(data):
            connection.send(data)


def drain(connection):
    buffer = bytearray(1 << 20)
    while connection.recv_into(buffer):
        pass


def check_duplex(path):
    edges = [
        e for e in answer("edges", path, "--type", "socket")["edges"]
        if e["to"][0]["comm"] == "duplex-drain"
    ]
    wrong = [e for e in edges if e["from"][0]["comm"] == "duplex-read"]
    note(f"a socket that one writes and another reads: {len(edges)} edges to its peer's reader")
    ok(not wrong, "who only reads by a socket has sent nothing by it", wrong[:1])


def bulk():
    """
    Over the loopback device, whose packets are cut up where two fill one, to
    who waits for each of them in its turn.
    """
    listener = socket.create_server(("127.0.0.1", 0))
    reader = process("bulk-reader", bulk_reader, listener.getsockname())
    connection, _ = listener.accept()
    begun = time.monotonic()
    with contextlib.suppress(ConnectionError):
        while time.monotonic() < begun + 10:
            connection.sendall(bytes(1 << 22))
    connection.close()
    os.waitpid(reader, 0)


def bulk_reader(address):
    """Until it has waited some times: on busy CPUs there often is something."""
    buffer = bytearray(1 << 22)
    before = slept()
    with socket.create_connection(address) as connection:
        while connection.recv_into(buffer) and slept() < before + LAPS:
            pass


def check_told(ended, what):
    # What ends the connection may have been held up until it was nobody's act.
    ok(
        len(ended) >= 10 * ended.count(None), f"{what}: its sender is known of all its parts",
        f"{ended.count(None)} of {len(ended)} are not told")


def check_shared(path):
    waits = [
        w for w in answer("waits", path, "--comm", "share-set")["waits"]
        if w["call"] == "setsockopt" and w["end"] is not None
    ]
    edges = [
        e for e in answer("edges", path)["edges"]
        if e["to"][0]["comm"] == "share-set" and any(e["to"][0]["at"] == w["end"] for w in waits)
    ]
    wrong = [
        w for w in waits
        if w["kind"] != "lock" or (w["ended_by"] or {}).get("comm") not in (None, "share-fill")
    ]
    wrong += [
        e for e in edges if e["type"] != "unlock" or e["evidence"] != "observed"
        or e["from"][0]["comm"] != "share-fill"
    ]
    note(f"a socket's lock: {len(waits)} waits, {len(edges)} edges")
    # With one CPU, or an emulated one, who has the lock seldom lets another run.
    ok((edges or GUEST or os.cpu_count() == 1) and not wrong,
       "who waits for a socket's lock waits for who has it, and for nothing to be sent", wrong[:1]
       or "no wait")


def waits_of(path, name):
    return [
        w for w in answer("waits", path, "--comm", name)["waits"]
        if w["call"] in ("recvfrom", "read") and w["end"] is not None
    ]


def check(path, what, reader, senders):
    waits = waits_of(path, reader)
    ended = [(w["ended_by"] or {}).get("comm") for w in waits]
    wrong = sorted({comm for comm in ended if comm not in [None, *senders]})
    ok(
        len(waits) >= LAPS // 2 and not wrong,
        f"{what}: of {len(waits)} waits none was ended by another than {' or '.join(senders)}",
        wrong or "too few waits")
    note(f"{what}: {sum(comm is not None for comm in ended)} of {len(waits)} are told by whom")
    return ended


def main():
    path = scratch("packets.clew")
    with Place(("net", )) as place:
        if "net" in place.lacks:
            skip_all(place.lacks["net"])
        recording = start_recording(path)
        beside = process("noise", noise)
        for reader, read, send in (("cut-reader", cut_reader,
                                    cut_sender), ("split-reader", split_reader, split_sender),
                                   ("copy-reader", copy_reader,
                                    copy_sender), ("held-reader", held_reader, held_senders)):
            here, there = os.pipe()
            reads = process(reader, read, place, there)
            os.read(here, 1)
            sends = process(reader.replace("reader", "sender"), send, place)
            os.waitpid(sends, 0)
            time.sleep(0.2)
            with contextlib.suppress(ProcessLookupError):
                os.kill(reads, signal.SIGKILL)
            os.waitpid(reads, 0)
        os.waitpid(process("turns", turns), 0)
        os.waitpid(process("shares", shares), 0)
        for _ in range(3):
            os.waitpid(process("duplex", duplex), 0)
        os.waitpid(process("bulk-sender", bulk), 0)
        os.killpg(beside, signal.SIGKILL)
        os.waitpid(beside, 0)
        stop_recording(recording)
    check_told(check(path, "a packet that is cut up", "cut-reader", ["cut-sender"]),
               "a packet that is cut up")
    check_told(check(path, "much at once over the loopback device", "bulk-reader", ["bulk-sender"]),
               "much at once over the loopback device")
    check_told(
        check(path, "what is cut up after an acknowledgement", "split-reader", ["split-writer"]),
        "what is cut up after an acknowledgement")
    check(path, "a copy of what goes to many", "copy-reader", ["copy-sender"])
    ended = check(path, "a packet that waits for an address", "held-reader",
                  ["held-first", "held-second"])
    # Which lap each is: all waits are there.
    wrong = [(lap, comm) for lap, comm in enumerate(ended)
             if comm not in (None, "held-second" if lap % 2 else "held-first")]
    ok(
        len(ended) != 2 * LAPS or not wrong,
        "a packet that waits for an address: it is not told as sent by who had that socket's memory before",
        wrong[:3])
    edges = [
        e for e in answer("edges", path, "--type", "socket")["edges"]
        if e["from"][0]["comm"] in ("turn-one", "turn-two")
    ]
    ok(not edges, "pollers that hand on to each other have sent nothing", edges[:1])
    check_shared(path)
    check_duplex(path)
    finish()


if __name__ == "__main__":
    main()
