# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A terminal whose output is stopped, as by Ctrl-S, until its user goes on."""

import os
import pty
import select
import time

from _truth import name, now, tell


def write(terminal):
    name("ttyapp")
    begin = now()
    os.write(terminal, b"10 %\n")
    tell("ttyapp", begin, now())
    os._exit(0)


def main():
    user, terminal = pty.openpty()
    name("ttyuser")
    os.write(user, b"\x13")
    # A work item takes the key: until then the terminal is writable.
    while select.select([], [terminal], [], 0)[1]:
        time.sleep(0.001)
    child = os.fork()
    if child == 0:
        write(terminal)
    time.sleep(0.6)
    os.write(user, b"\x11")
    os.waitpid(child, 0)


if __name__ == "__main__":
    main()
