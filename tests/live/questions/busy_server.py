# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A request that arrives while the server's only thread is busy with another client's."""

import os
import select
import socket
import time

from _truth import name, now, tell


def serve(listener):
    name("busysrv")
    polled = select.epoll()
    polled.register(listener, select.EPOLLIN)
    clients = {}
    while True:
        for descriptor, _ in polled.poll():
            if descriptor == listener.fileno():
                client = listener.accept()[0]
                clients[client.fileno()] = client
                polled.register(client, select.EPOLLIN)
                continue
            question = clients[descriptor].recv(64)
            if not question:
                polled.unregister(descriptor)
                clients.pop(descriptor).close()
                continue
            if question == b"slow":
                time.sleep(0.3)
            clients[descriptor].send(b"answer")


def ask(client, question):
    client.send(question)
    client.recv(9)


def main():
    listener = socket.create_server(("127.0.0.1", 0))
    server = os.fork()
    if server == 0:
        serve(listener)
    first = os.fork()
    client = socket.create_connection(listener.getsockname())
    ask(client, b"fast")
    if first == 0:
        name("busyfirst")
        time.sleep(0.1)
        ask(client, b"slow")
        os._exit(0)
    name("busysecond")
    time.sleep(0.15)
    begin = now()
    ask(client, b"fast")
    tell("busysecond", begin, now())
    time.sleep(0.1)
    os.kill(server, 9)


if __name__ == "__main__":
    main()
