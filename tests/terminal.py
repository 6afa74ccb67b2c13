# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
A program on a pseudo-terminal. The terminal stays open here until the program has ended: when the
last one closes it, a reader may be told so before it has read what was written last.
"""
import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time


def _controls():
    """The terminal is the one whose keys send signals to the program."""
    fcntl.ioctl(1, termios.TIOCSCTTY, 0)


def _read_all(inner, process, patience):
    """What is written to the terminal until the program ends, which is killed after `patience` s."""
    written, until = b"", time.monotonic() + patience
    ended = os.pidfd_open(process.pid)
    os.set_blocking(inner, False)
    over = False
    while True:
        if not over:
            ready = select.select([inner, ended], [], [], max(0, until - time.monotonic()))[0]
            over = ended in ready
            if not ready:
                process.kill()
        try:
            written += os.read(inner, 65536)
        except BlockingIOError:
            if over:
                break
    os.close(ended)
    return written


def on_terminal(words, width=80, height=24, environment=None, patience=60):
    """What the program writes to a terminal of that size, and its exit status (-N: signal N)."""
    inner, outer = pty.openpty()
    fcntl.ioctl(outer, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
    with subprocess.Popen(words,
                          stdin=outer,
                          stdout=outer,
                          stderr=outer,
                          env=environment,
                          start_new_session=True,
                          preexec_fn=_controls) as process:
        written = _read_all(inner, process, patience)
        status = process.wait()
    os.close(outer)
    os.close(inner)
    return written.decode(errors="replace").replace("\r\n", "\n"), status
