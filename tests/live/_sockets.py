# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Sockets, for the live tests whose programs ask and answer."""


def receive(connection, size):
    """That many bytes; fewer at the end."""
    got = b""
    while len(got) < size:
        part = connection.recv(size - len(got))
        if not part:
            break
        got += part
    return got
