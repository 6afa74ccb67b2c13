# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Threads of Python that want the interpreter: gil.py COUNT SEED. Two compute, and note each moment at
which they have it; a third one gives it back and takes it again COUNT times. Prints a line for each
thread with its tid and moments, and one for each time that it was taken again, with when it was
given back and had, and how often the thread slept meanwhile, of which once for its time.
"""

import random
import resource
import sys
import threading
import time

count, seed = int(sys.argv[1]), int(sys.argv[2])
rng = random.Random(seed)
sys.setswitchinterval(0.001)
stop = False
moments = {}
taken = []


def computes():
    mine = moments[threading.get_native_id()] = []
    while not stop:
        mine.append(time.monotonic_ns())
        sum(range(rng.randrange(500)))
        mine.append(time.monotonic_ns())


def sleeps():
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw


def takes():
    mine = moments[threading.get_native_id()] = []
    for _ in range(count):
        length = rng.choice([0, 0, 1e-5, 2e-4])
        before = sleeps()
        given = time.monotonic_ns()
        mine.append(given)
        time.sleep(length)
        had = time.monotonic_ns()
        mine.append(had)
        taken.append((threading.get_native_id(), given, had, sleeps() - before))


threads = [threading.Thread(target=computes, name=f"computes-{i}") for i in range(2)]
taker = threading.Thread(target=takes, name="takes")
for thread in (*threads, taker):
    thread.start()
taker.join()
stop = True
for thread in threads:
    thread.join()
for tid, times in moments.items():
    print("moments", tid, *times)
for item in taken:
    print("taken", *item)
