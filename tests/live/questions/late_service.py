# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A program tries again and again to connect to a service that is late. Usage: late_service.py DIR"""

import os
import socket
import sys
import time

from _truth import connect_again, name, now, tell


def serve(path):
    name("latesvc")
    time.sleep(0.7)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    listener.accept()[0].recv(1)
    os._exit(0)


def main():
    path = os.path.join(sys.argv[1], "late.socket")
    service = os.fork()
    if service == 0:
        serve(path)
    name("webapp")
    begin = now()
    client = connect_again(socket.AF_UNIX, path)
    tell("webapp", begin, now())
    client.send(b"x")
    os.waitpid(service, 0)


if __name__ == "__main__":
    main()
