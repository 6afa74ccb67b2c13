# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Threads of an interpreter with a global lock: one computes, and another one that sleeps
shortly again and again gets the lock back only after slices of 5 ms. Then two tick with a
timeout: one waits for nothing and gives up at last, and one does something at each tick, so often.

Prints JSON: the busy thread's and the sleeper's tid, in `laps` when each of the sleeper's
sleeps was over and when it had the lock again, and of each ticker its tid and when it began.
"""

import json
import os
import sys
import threading
import time

LAPS = 30
TICKS = 30
NAP = 0.002  # s


def compute(told, stop):
    told["busy"] = threading.get_native_id()
    while not stop:
        pass


def nap(told, stop):
    told["sleeper"] = threading.get_native_id()
    time.sleep(0.05)
    for _ in range(LAPS):
        begun = time.monotonic_ns()
        time.sleep(NAP)
        told["laps"].append((begun + int(NAP * 1e9), time.monotonic_ns()))
    stop.append(True)


def give_up(told, never):
    told["given_up"] = [threading.get_native_id(), time.monotonic_ns()]
    for _ in range(TICKS):
        never.wait(0.01)


def tick(told, never, pipe):
    told["ticker"] = [threading.get_native_id(), time.monotonic_ns()]
    for _ in range(TICKS):
        never.wait(0.01)
        os.write(pipe, b"tick")


def together(*threads):
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main():
    told = {"laps": []}
    stop, event = [], threading.Event()
    together(threading.Thread(target=compute, args=(told, stop)),
             threading.Thread(target=nap, args=(told, stop)))
    together(threading.Thread(target=give_up, args=(told, event)))
    end, pipe = os.pipe()
    if os.fork() == 0:
        os.close(pipe)
        while os.read(end, 64):
            pass
        os._exit(0)
    together(threading.Thread(target=tick, args=(told, event, pipe)))
    os.close(pipe)
    os.wait()
    json.dump(told, sys.stdout)


if __name__ == "__main__":
    main()
