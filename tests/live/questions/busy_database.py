# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
A program tries again and again to lock a file that another one has locked, and sleeps in between, as
the busy handler of a database does. Usage: busy_database.py DIR
"""

import fcntl
import os
import sys
import time

from _truth import name, now, tell


def write(path, ready):
    name("dbwriter")
    with open(path, "r+b") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        os.write(ready, b"x")
        time.sleep(0.7)
    os._exit(0)


def lock(file):
    while True:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError:
            time.sleep(0.03)


def main():
    path = os.path.join(sys.argv[1], "busy.db")
    with open(path, "wb"):
        pass
    told, ready = os.pipe()
    writer = os.fork()
    if writer == 0:
        write(path, ready)
    os.read(told, 1)
    name("dbwaiter")
    begin = now()
    with open(path, "r+b") as file:
        lock(file)
    tell("dbwaiter", begin, now())
    os.waitpid(writer, 0)


if __name__ == "__main__":
    main()
