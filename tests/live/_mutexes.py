# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Sleeps for mutexes of the kernel, in ways that look like waits for something else.

Two threads read from one terminal: the second waits interruptibly, for the mutex that the first
holds. Processes change a file system whose journal is small: each waits for the mutex of its
checkpoint as for I/O. Prints the numbers of the second thread and of the processes.

Usage: _mutexes.py FOLDER
"""
import json
import os
import pty
import sys
import threading
import time

PROCESSES = 6
ROUNDS = 6000


def wait_asleep(tid):
    """Until the thread sleeps in its call."""
    state = ""
    while state != "S":
        time.sleep(0.001)
        with open(f"/proc/self/task/{tid}/stat", encoding="ascii") as file:
            state = file.read().rpartition(")")[2].split()[0]


def read_terminal():
    """The number of the thread that comes second."""
    master, slave = pty.openpty()
    tids = []
    for _ in range(2):
        started = threading.Event()

        def read(started=started):
            tids.append(threading.get_native_id())
            started.set()
            os.read(slave, 10)

        threading.Thread(target=read).start()
        started.wait()
        wait_asleep(tids[-1])
    for line in b"1\n", b"2\n":
        os.write(master, line)
    for thread in threading.enumerate():
        if thread is not threading.current_thread():
            thread.join()
    return tids[1]


def change_files(folder):
    os.mkdir(folder)
    for number in range(ROUNDS):
        path = os.path.join(folder, str(number % 500))
        if os.path.exists(path):
            os.unlink(path)
        else:
            with open(path, "wb") as file:
                file.write(b"x")
    os._exit(0)


def main():
    second = read_terminal()
    processes = []
    for number in range(PROCESSES):
        process = os.fork()
        if not process:
            change_files(os.path.join(sys.argv[1], f"d{number}"))
        processes.append(process)
    for process in processes:
        os.waitpid(process, 0)
    print(json.dumps({"second": second, "processes": processes}))


main()
