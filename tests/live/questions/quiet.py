# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Programs that have no slow operation: one that has nothing to do, a pool of connections that are kept
and not used, and a subscriber that waits for what a server sends when it likes. Says when they are
ready; ends when it can read a line.
"""

import os
import select
import socket
import sys
import time

from _truth import name

CONNECTIONS = 4


def have_nothing_to_do():
    name("quietidle")
    while True:
        time.sleep(0.2)


def publish(client):
    client.recv(64)
    client.send(b"subscribed")
    while True:
        time.sleep(0.4)
        client.send(b"news")


def subscribe(address):
    name("subscriber")
    client = socket.create_connection(address)
    client.send(b"subscribe")
    while client.recv(64):
        pass


def keep(address):
    name("keptpool")
    polled = select.epoll()
    kept = []
    for _ in range(CONNECTIONS):
        client = socket.create_connection(address)
        client.send(b"question")
        client.recv(64)
        polled.register(client, select.EPOLLIN)
        kept.append(client)
    polled.poll()


def answer(listener):
    name("keptsvc")
    kept = []
    for _ in range(CONNECTIONS):
        kept.append(listener.accept()[0])
        kept[-1].recv(64)
        kept[-1].send(b"answer")
    time.sleep(1000)


def main():
    news, pool = (socket.create_server(("127.0.0.1", 0)) for _ in range(2))
    children = []
    for run in (have_nothing_to_do, lambda: publish(news.accept()[0]),
                lambda: subscribe(news.getsockname()), lambda: answer(pool),
                lambda: keep(pool.getsockname())):
        child = os.fork()
        if child == 0:
            run()
            os._exit(0)
        children.append(child)
    sys.stdin.readline()
    for child in children:
        os.kill(child, 9)


if __name__ == "__main__":
    main()
