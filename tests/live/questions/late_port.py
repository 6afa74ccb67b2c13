# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
A program tries again and again to connect to a port where the service that is late does not listen
yet. Usage: late_port.py DIR
"""

import os
import socket
import time

from _truth import connect_again, name, now, tell


def serve(listener):
    name("latetcp")
    time.sleep(0.7)
    listener.listen()
    listener.accept()[0].recv(1)
    os._exit(0)


def main():
    # It has a port, and does not listen.
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    address = listener.getsockname()
    service = os.fork()
    if service == 0:
        serve(listener)
    listener.close()
    name("tcpapp")
    begin = now()
    client = connect_again(socket.AF_INET, address)
    tell("tcpapp", begin, now())
    client.send(b"x")
    os.waitpid(service, 0)


if __name__ == "__main__":
    main()
