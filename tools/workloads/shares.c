/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A thread that spends known shares of its CPU time in three functions, in turns.
 *
 * Usage: shares [--kernel] TURN_US SECONDS
 *
 * Prints a JSON object: the function's names and the shares as the thread's CPU clock has them.
 * With --kernel a fourth function spends all of the time, reading from /dev/zero.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define KEEP	   __attribute__((noinline, noclone, used))
#define ROUNDS	   2000
#define READ_BYTES (1 << 20)

static double spent[3];
static volatile long sum;

static double now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

KEEP static double burn(double seconds)
{
	double start = now(CLOCK_THREAD_CPUTIME_ID), end;

	do {
		for (int i = 0; i < ROUNDS; i++)
			sum += i;
		end = now(CLOCK_THREAD_CPUTIME_ID);
	} while (end - start < seconds);
	return end - start;
}

/* The statement behind the call keeps it from being a tail call. */
KEEP static void most(double turn)
{
	spent[0] += burn(turn * 0.6);
	sum++;
}

KEEP static void some(double turn)
{
	spent[1] += burn(turn * 0.3);
	sum++;
}

KEEP static void little(double turn)
{
	spent[2] += burn(turn * 0.1);
	sum++;
}

KEEP static void take_zeros(double until)
{
	static char bytes[READ_BYTES];
	int zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	while (zeros >= 0 && now(CLOCK_MONOTONIC) < until)
		if (read(zeros, bytes, sizeof(bytes)) < 0)
			exit(1);
	close(zeros);
}

int main(int count, char **arguments)
{
	int kernel = count > 1 && !strcmp(arguments[1], "--kernel");
	double turn, until, all;

	if (count != 3 + kernel) {
		fprintf(stderr, "usage: shares [--kernel] TURN_US SECONDS\n");
		return 2;
	}
	turn = atof(arguments[1 + kernel]) / 1e6;
	until = now(CLOCK_MONOTONIC) + atof(arguments[2 + kernel]);
	if (kernel) {
		take_zeros(until);
		puts("{\"take_zeros\": 1}");
		return 0;
	}
	while (now(CLOCK_MONOTONIC) < until) {
		most(turn);
		some(turn);
		little(turn);
	}
	all = spent[0] + spent[1] + spent[2];
	printf("{\"most\": %.6f, \"some\": %.6f, \"little\": %.6f}\n", spent[0] / all,
	       spent[1] / all, spent[2] / all);
	return 0;
}
