# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
A client that asks a server over TCP, for tests that measure requests. The answer takes 2 ms, or what is asked for: the
server sleeps for it, or asks a backend for each of its questions. Each is a process of its own. The
client thinks between two requests: the server would not wait for a question that is there already,
and two of them would be one operation. It prints the mean time of a request, ns.
"""
import sys

PROGRAM = """
import ctypes, os, socket, sys, time
requests, questions = int(sys.argv[1]), int(sys.argv[2])
answers = [float(text) for text in sys.argv[5].split(",")]
def become(name):
    ctypes.CDLL(None).prctl(15, name.encode(), 0, 0, 0)
def listen():
    it = socket.socket()
    it.bind(("127.0.0.1", 0))
    it.listen()
    return it
def connect(address):
    it = socket.create_connection(address)
    it.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return it
front, back = listen(), listen()
if questions and os.fork() == 0:
    become("backend")
    connection = back.accept()[0]
    while connection.recv(1):
        time.sleep(.002)
        connection.send(b"b")
    os._exit(0)
if os.fork() == 0:
    become(sys.argv[4])
    backend = connect(back.getsockname()) if questions else None
    connection = front.accept()[0]
    for number in range(requests):
        connection.recv(1)
        for _ in range(questions):
            backend.send(b"q")
            backend.recv(1)
        if not questions:
            time.sleep(answers[number % len(answers)])
        connection.send(b"a")
    os._exit(0)
become(sys.argv[3])
server = connect(front.getsockname())
taken = 0
for _ in range(requests):
    begun = time.monotonic_ns()
    server.send(b"r")
    server.recv(1)
    taken += time.monotonic_ns() - begun
    time.sleep(.0005)
print(taken // requests)
server.close()
os.wait()
if questions:
    os.wait()
"""


def command(requests, questions=0, client="client", server="server", answers=(.002, )):
    """Its command line. `questions`: for the backend, in each request. `answers`: what they take in
    turn, seconds."""
    return [
        sys.executable, "-c", PROGRAM,
        str(requests),
        str(questions), client, server, ",".join(map(str, answers))
    ]
