# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Sockets, for the live tests whose programs ask and answer."""

import json
import socket
import time


def receive(connection, size):
    """That many bytes; fewer at the end."""
    got = b""
    while len(got) < size:
        part = connection.recv(size - len(got))
        if not part:
            break
        got += part
    return got


def ask(address, count, question, answer, log):
    """Asks, and writes down when each question was sent and its answer was there, ns."""
    took = []
    with socket.create_connection(address) as connection:
        for _ in range(count):
            begun = time.monotonic_ns()
            connection.sendall(b"q" * question)
            receive(connection, answer)
            took.append((begun, time.monotonic_ns()))
    with open(log, "w", encoding="ascii") as file:
        json.dump(took, file)
