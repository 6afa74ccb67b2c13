/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Calls two functions that call each other at random, so that callers, and theirs, are others each
 * time.
 *
 * Usage: bushy CHAINS
 *
 * A chain is DEPTH calls, each below the one before. Prints a JSON object: how often each list of
 * callers was there, by one letter a call, outermost first.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define KEEP  __attribute__((noinline, noclone, used))
#define DEPTH 17
#define BURST 20       /* chains between two pauses */
#define PAUSE 15000000 /* ns */
#define PATHS (1u << (DEPTH + 1))

/* By path: a leading 1, then one bit a call, 1 for right(). */
static unsigned counts[PATHS];
static volatile uint64_t sum;

KEEP static void right(unsigned bits, int left_over);

KEEP static void left(unsigned bits, int left_over)
{
	if (left_over)
		(bits & 1 ? right : left)(bits >> 1, left_over - 1);
	sum++;
}

KEEP static void right(unsigned bits, int left_over)
{
	if (left_over)
		(bits & 1 ? right : left)(bits >> 1, left_over - 1);
	sum += 2;
}

static void call_chain(unsigned bits)
{
	unsigned path = 1;

	for (int i = 0; i < DEPTH; i++) {
		path = path << 1 | (bits >> i & 1);
		counts[path]++;
	}
	(bits & 1 ? right : left)(bits >> 1, DEPTH - 1);
}

static void print_paths(void)
{
	const char *comma = "";

	putchar('{');
	for (unsigned path = 2; path < PATHS; path++) {
		int length = 31 - __builtin_clz(path);

		if (!counts[path])
			continue;
		printf("%s\"", comma);
		for (int i = length - 1; i >= 0; i--)
			putchar(path >> i & 1 ? 'r' : 'l');
		printf("\":%u", counts[path]);
		comma = ",";
	}
	puts("}");
}

int main(int argc, char **argv)
{
	const struct timespec pause = {.tv_nsec = PAUSE};
	int chains = argc > 1 ? atoi(argv[1]) : 30000;

	srandom(1);
	for (int i = 0; i < chains; i++) {
		call_chain((unsigned)random());
		if (i % BURST == BURST - 1)
			nanosleep(&pause, NULL);
	}
	print_paths();
	return 0;
}
