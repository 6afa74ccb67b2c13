# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
A shop of three hosts: web asks shop, which asks db, which reads its disk before it answers. Each host
is a network namespace, with a recorder that has the host's name and looks at the host's program.

Usage: _shop.py web|shop|db ADDRESS ...
"""

import contextlib
import json
import mmap
import os
import socket
import subprocess
import sys
import time

from _live import CLEW, run, scratch, start_recording
from _sockets import ask, receive

HOSTS = ("web", "shop", "db")
LINKS = (("web", "10.79.1.1", "10.79.1.2", "shop"), ("shop", "10.79.2.1", "10.79.2.2", "db"))
PORTS = {"shop": 8080, "db": 5432}
QUESTION, ANSWER = 200, 2000  # bytes
ORDERS = 20
PAGE, WHOLE = 1 << 12, 1 << 27  # bytes of the database's table that an order needs
SCANNING = 14  # the order that needs all of it


def serve(port, ready, work):
    """Answers one client."""
    listening = socket.create_server(("", port))
    with open(ready, "w", encoding="ascii"):
        pass
    connection, _ = listening.accept()
    while receive(connection, QUESTION):
        work()
        connection.sendall(b"a" * ANSWER)


def be_shop(ready, address):
    with socket.create_connection((address, PORTS["db"])) as database:

        def ask():
            database.sendall(b"q" * QUESTION)
            receive(database, ANSWER)

        serve(PORTS["shop"], ready, ask)


def be_db(ready, table, told):
    """
    Reads its table past the page cache, as databases do. Writes down when each read began and
    ended, ns.
    """
    page, reads = mmap.mmap(-1, WHOLE), []
    with open(table, "wb") as file:
        file.write(page)
        os.fsync(file.fileno())
    file = os.open(table, os.O_RDONLY | os.O_DIRECT)

    def look():
        part = WHOLE if len(reads) + 1 == SCANNING else PAGE
        begun = time.monotonic_ns()
        os.preadv(file, [memoryview(page)[:part]], 0)
        reads.append((begun, time.monotonic_ns()))

    serve(PORTS["db"], ready, look)
    with open(told, "w", encoding="ascii") as out:
        json.dump(reads, out)


def be_web(address, told):
    """Writes down when each order began and ended, ns."""
    ask((address, PORTS["shop"]), ORDERS, QUESTION, ANSWER, told)


class Shop:
    """The namespaces, which are the hosts, and what runs on them."""

    def __init__(self):
        self.space = {name: f"{name}{os.getpid()}" for name in HOSTS}
        self.device = {}

    def __enter__(self):
        with contextlib.ExitStack() as undo:
            undo.callback(self.__exit__)
            for name, space in self.space.items():
                run("ip", "netns", "add", space)
                run("ip", "-n", space, "link", "set", "lo", "up")
                os.symlink(sys.executable, scratch(name))
            for number, (one, address, other_address, other) in enumerate(LINKS):
                devices = (f"{one[0]}{number}n{os.getpid()}", f"{other[0]}{number}n{os.getpid()}")
                run("ip", "-n", self.space[one], "link", "add", devices[0], "type", "veth", "peer",
                    "name", devices[1], "netns", self.space[other])
                for host, device, at in ((one, devices[0], address),
                                         (other, devices[1], other_address)):
                    run("ip", "-n", self.space[host], "addr", "add", at + "/24", "dev", device)
                    run("ip", "-n", self.space[host], "link", "set", device, "up")
                    self.device.setdefault(host, []).append(device)
            undo.pop_all()
        return self

    def __exit__(self, *_):
        for space in self.space.values():
            run("ip", "netns", "del", space)

    def start(self, name, *arguments, ready=None):
        """Starts a host's program, and waits until it listens."""
        process = subprocess.Popen(
            ["ip", "netns", "exec", self.space[name], scratch(name), __file__, name, *arguments],
            preexec_fn=lambda: os.nice(-10))  # others keep the CPUs busy
        while ready and not os.path.exists(ready) and process.poll() is None:
            time.sleep(0.01)
        return process

    def record(self, name, capture):
        """Starts the recorder of a host; returns it once it records."""
        devices = [word for device in self.device[name] for word in ("--outside", device)]
        return start_recording(capture, "--comm", name, *devices, command=[
            "unshare", "--uts", "sh", "-c", f'hostname {name} && exec {CLEW} "$@"', "clew"])


if __name__ == "__main__":
    {"web": be_web, "shop": be_shop, "db": be_db}[sys.argv[1]](*sys.argv[2:])
