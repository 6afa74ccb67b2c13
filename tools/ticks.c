/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sleeps a short time, over and over: what a recorder adds to each sleep makes the
 * rate smaller.
 *
 * Usage: ticks SECONDS NANOSECONDS; prints "SLEEPS SECONDS".
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

static uint64_t now_ns(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return (uint64_t)at.tv_sec * 1000000000 + (uint64_t)at.tv_nsec;
}

int main(int argc, char **argv)
{
	uint64_t start = now_ns(), end, at, sleeps = 0;
	struct timespec time = {0};

	if (argc != 3) {
		fprintf(stderr, "usage: ticks SECONDS NANOSECONDS\n");
		return 2;
	}
	end = start + (uint64_t)(atof(argv[1]) * 1e9);
	time.tv_nsec = atol(argv[2]);
	prctl(PR_SET_TIMERSLACK, 1);
	while ((at = now_ns()) < end) {
		clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
		sleeps++;
	}
	printf("%llu %.6f\n", (unsigned long long)sleeps, (double)(at - start) / 1e9);
	return 0;
}
