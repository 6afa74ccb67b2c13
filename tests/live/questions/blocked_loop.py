# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A health check of an asyncio server, one of whose coroutines blocks the event loop."""

import asyncio
import os
import socket
import time

from _truth import name, now, tell


async def handle(reader, writer):
    if await reader.readline() == b"REPORT\n":
        time.sleep(0.4)
    writer.write(b"ok\n")
    await writer.drain()


async def serve(listener):
    name("aioserver")
    server = await asyncio.start_server(handle, sock=listener)
    await server.serve_forever()


def main():
    listener = socket.create_server(("127.0.0.1", 0))
    server = os.fork()
    if server == 0:
        asyncio.run(serve(listener))
    name("healthchk")
    report = socket.create_connection(listener.getsockname())
    report.send(b"REPORT\n")
    time.sleep(0.1)
    check = socket.create_connection(listener.getsockname())
    begin = now()
    check.send(b"PING\n")
    check.recv(9)
    tell("healthchk", begin, now())
    os.kill(server, 9)


if __name__ == "__main__":
    main()
