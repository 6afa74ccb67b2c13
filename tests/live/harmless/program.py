# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Generators, exceptions, threads and regular expressions of Python."""
import json
import re
import threading


def numbers(count):
    for number in range(count):
        if number % 7 == 3:
            try:
                raise ValueError(number)
            except ValueError as error:
                yield error.args[0] * 2
        yield number


def deep(depth):
    return deep(depth - 1) + 1 if depth else 0


sums = [0] * 4


def work(place):
    sums[place] = sum(numbers(50 * (place + 1)))


threads = [threading.Thread(target=work, args=(place, )) for place in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
try:
    deep(100000)
except RecursionError:
    sums.append(deep(50))
print(json.dumps({"sums": sums, "words": re.findall(r"\b[a-d]\w+", "alpha beta gamma delta")}))
