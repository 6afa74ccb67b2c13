#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Tasks of asyncio of random shape: tasks.py COUNT SEED. They compute, sleep, wait for a future or for a
task of their own, fail, or are canceled, before they begin or while they wait. Prints for each its
number, shape, who made it, when it was made, when each of its steps began and ended, how it ended.
"""

import asyncio
import random
import sys
import time

now = time.monotonic_ns
items, log = [], {}


def work(microseconds):
    until = now() + microseconds * 1000
    while now() < until:
        pass


def note(number, what):
    log[number].append((what, now()))


def make(number, parent):
    kind, shape, length = (computes, item)[number % 2], *items[number]
    log[number] = [("shape", shape), ("parent", parent), ("made", now())]
    task = asyncio.create_task(kind(number, shape, length))
    note(number, "until")
    return task


async def computes(number, shape, length):
    await item(number, shape, length)


async def item(number, shape, length):
    note(number, "runs")
    try:
        work(length)
        if shape == "sleeps":
            note(number, "waits")
            await asyncio.sleep(length / 1e6)
            note(number, "runs")
        elif shape == "yields":
            note(number, "waits")
            await asyncio.sleep(0)
            note(number, "runs")
        elif shape == "future":
            future = asyncio.get_running_loop().create_future()
            asyncio.get_running_loop().call_later(length / 1e6, future.set_result, None)
            note(number, "waits")
            await future
            note(number, "runs")
        elif shape == "canceled":
            note(number, "waits")
            await asyncio.get_running_loop().create_future()
        elif shape == "fails":
            raise ValueError
        elif shape == "parent" and number + 1 < len(items) and number + 1 not in log:
            child = make(number + 1, number)
            note(number, "waits")
            try:
                await child
            except (ValueError, asyncio.CancelledError):
                pass
            note(number, "runs")
        work(length)
    finally:
        note(number, "ends")


async def main(count, seed):
    chance = random.Random(seed)
    shapes = ("plain", "sleeps", "yields", "future", "canceled", "never", "fails", "parent")
    items.extend((chance.choice(shapes), chance.randrange(20, 300)) for _ in range(count))
    for first in range(0, count, 5):
        tasks = [(n, make(n, -1)) for n in range(first, min(first + 5, count)) if n not in log]
        for number, task in tasks:
            if items[number][0] == "never":
                task.cancel()
        await asyncio.sleep(0.002)
        for number, task in tasks:
            if items[number][0] == "canceled":
                task.cancel()
        await asyncio.wait([task for _, task in tasks], timeout=0.05)
        for number, task in list(tasks):
            task.cancel()
        await asyncio.gather(*(task for _, task in tasks), return_exceptions=True)
        for number, task in tasks:
            how = "canceled" if task.cancelled() else "done"
            log[number].append(("how", how))


asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
for number in sorted(log):
    print(number, *(f"{what}={value}" for what, value in log[number]))
