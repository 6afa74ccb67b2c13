#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# alone: it compares times of two runs
"""
What would help, as `clew report` says, against reality: a lock that is not held over a sleep, half
as many requests to a disk, and one CPU more. Prints TAP.

A prediction is right if the changed program takes as long within 15 %, or lies in the interval
that is printed. The program as it was is recorded before the changed one and after it: only where
both take as long did the machine, and its disk, go on as they were when the prediction was made.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import _live  # noqa: E402  pylint: disable=wrong-import-position
import predict  # noqa: E402  pylint: disable=wrong-import-position

TOLERANCE = 0.15
STEADY = 0.1  # by which the two recordings of the program as it was may differ
MOST = 8  # recordings of each, until that is so
SECONDS = "0.3"
BLOCKS = 96

# Threads that sleep 20 times for 5 ms; "inside": while they have the one lock.
LOCK = r"""
#include <pthread.h>
#include <string.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int inside;
static void *work(void *unused)
{
	for (int i = 0; i < 20; i++) {
		if (!inside)
			usleep(5000);
		pthread_mutex_lock(&lock);
		if (inside)
			usleep(5000);
		pthread_mutex_unlock(&lock);
	}
	return unused;
}
int main(int argc, char **argv)
{
	pthread_t threads[3];
	inside = argc > 1 && !strcmp(argv[1], "inside");
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
"""

# Reads so many MiB of a file, past the page cache.
FILE = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	void *memory;
	int file = open(argv[1], O_RDONLY | O_DIRECT), blocks = atoi(argv[2]);
	if (argc != 3 || file < 0 || posix_memalign(&memory, 4096, 1 << 20))
		return 1;
	for (int i = 0; i < blocks; i++)
		if (pread(file, memory, 1 << 20, (off_t)i << 20) != 1 << 20)
			return 1;
	return 0;
}
"""


def compiled(name, source):
    path = _live.scratch(name)
    with open(path + ".c", "w", encoding="ascii") as file:
        file.write(source)
    done = _live.run("gcc", "-O1", "-pthread", "-o", path, path + ".c")
    if done.returncode:
        raise RuntimeError(done.stderr)
    return path


def record(name, command):
    """
    What would help a recorded command, and how long it took: from the moment at which the
    recording let it begin.
    """
    capture = _live.scratch(name + ".clew")
    done = _live.clew("record", "-o", capture, "--", *predict.FIRST, *command)
    if done.returncode:
        raise RuntimeError(done.stderr)
    explained = _live.answer("why", capture)
    return _live.answer("report", capture).get("would_help",
                                               []), explained["to"] - explained["from"]


def compare(name, before, after, wanted):
    """Whether the change whose text has these words takes as long really."""
    said, judged = "nothing", 0
    for number in range(MOST):
        helps, recorded = record("%s-before-%d" % (name, number), before)
        real = record("%s-after-%d" % (name, number), after)[1]
        again = record("%s-again-%d" % (name, number), before)[1]
        if abs(again - recorded) > STEADY * recorded and number < MOST - 1:
            _live.note("once more: as it was, %.1f and then %.1f ms" %
                       (recorded / 1e6, again / 1e6))
            continue
        judged += 1
        found = next((help_ for help_ in helps if wanted in help_["text"]), None)
        said = "it is not said: %s" % [help_["text"] for help_ in helps]
        if found:
            said = "%s: %.1f and %.1f ms, predicted %.1f to %.1f ms, really %.1f ms" % (
                found["text"], recorded / 1e6, again / 1e6, found["least_ns"] / 1e6,
                found["most_ns"] / 1e6, real / 1e6)
        _live.note(said)
        if (found and found["least_ns"] * (1 - TOLERANCE) <= real <= found["most_ns"] *
            (1 + TOLERANCE) and found["most_ns"] < recorded * 0.9):
            _live.ok(True, name + ": what would help is as predicted within 15 %")
            return
        if judged == _live.TRIES:
            break
    _live.ok(False, name + ": what would help is as predicted within 15 %", said)


def compare_lock():
    program = compiled("locked", LOCK)
    compare("a lock held over a sleep", [program, "inside"], [program, "outside"], "not held over")


def compare_file():
    """Half as many requests stand for a disk that is twice as fast."""
    program, path = compiled("reads", FILE), _live.scratch("blocks")
    with open(path, "wb") as file:
        file.write(os.urandom(BLOCKS << 20))
        os.fsync(file.fileno())
    done = _live.run(program, path, "1")
    if done.returncode:
        _live.skip("requests half as long", "the file system has no direct I/O")
        return
    compare("requests half as long", [program, path, str(BLOCKS)],
            [program, path, str(BLOCKS // 2)], "half as long")


def compare_cpus():
    cpus = sorted(os.sched_getaffinity(0))[-2:]
    if len(cpus) < 2:
        _live.skip("one CPU more", "there is one CPU")
        return
    before, after = ([
        sys.executable, "-c", predict.BURNERS, "2", SECONDS, ",".join(map(str, some))
    ] for some in (cpus[:1], cpus))
    compare("one CPU more", before, after, "one CPU more")


def main():
    if _live.GUEST:
        _live.skip_all("an emulated machine is too slow to keep times by")
    compare_lock()
    compare_file()
    compare_cpus()
    _live.finish()


if __name__ == "__main__":
    main()
