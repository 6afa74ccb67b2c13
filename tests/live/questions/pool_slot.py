# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The third request waits until one of two connections of a pool is free."""

import os
import queue
import socket
import threading
import time

from _truth import name, now, tell


def answer(client):
    while client.recv(64):
        time.sleep(0.3)
        client.send(b"answer")


def serve(listener):
    name("slotsvc")
    while True:
        threading.Thread(target=answer, args=(listener.accept()[0],)).start()


def request(pool, comm, times):
    name(comm)
    begin = now()
    client = pool.get()
    client.send(b"question")
    client.recv(64)
    pool.put(client)
    times[comm] = (begin, now())


def main():
    listener = socket.create_server(("127.0.0.1", 0))
    server = os.fork()
    if server == 0:
        serve(listener)
    name("gateway")
    pool = queue.LifoQueue()
    for _ in range(2):
        pool.put(socket.create_connection(listener.getsockname()))
    times = {}
    threads = [
        threading.Thread(target=request, args=(pool, f"slot-{i}", times)) for i in range(1, 4)
    ]
    for thread in threads:
        thread.start()
        time.sleep(0.01)
    for thread in threads:
        thread.join()
    tell("slot-3", *times["slot-3"])
    os.kill(server, 9)


if __name__ == "__main__":
    main()
