/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared by the programs that `make bench` runs: the same numbers in each run, and
 * CPU time. The work of others on the machine is no part of that.
 */
#ifndef CLEW_TOOLS_MEASURE_H
#define CLEW_TOOLS_MEASURE_H

#include <stdint.h>
#include <time.h>

static __attribute__((unused)) unsigned pick(unsigned below)
{
	static uint64_t seed = 88172645463325252u;

	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed >> 20) % below;
}

static double now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
	return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

#endif
