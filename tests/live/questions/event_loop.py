# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A client that waits in epoll for the answers of a server, over two connections; one is late."""

import os
import select
import socket
import time

from _truth import name, now, slowest

CONNECTIONS = 2


def serve(listener):
    name("slowapi")
    clients = [listener.accept()[0] for _ in range(CONNECTIONS)]
    pauses = [0.03, 0.3, 0.03]
    while all(client.recv(64) for client in clients):
        time.sleep(pauses.pop())
        for client in clients:
            client.send(b"answer")
    os._exit(0)


def main():
    listener = socket.create_server(("127.0.0.1", 0))
    if os.fork() == 0:
        serve(listener)
    name("evclient")
    polled = select.epoll()
    clients = {}
    for _ in range(CONNECTIONS):
        client = socket.create_connection(listener.getsockname())
        polled.register(client, select.EPOLLIN)
        clients[client.fileno()] = client
    rounds = []
    for _ in range(3):
        begin = now()
        for client in clients.values():
            client.send(b"question")
        left = set(clients)
        while left:
            for descriptor, _ in polled.poll():
                clients[descriptor].recv(64)
                left.discard(descriptor)
        rounds.append((begin, now()))
    slowest("evclient", rounds)


if __name__ == "__main__":
    main()
