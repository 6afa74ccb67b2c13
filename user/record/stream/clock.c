/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The clocks of a recording. */
#include <time.h>

#include "opener/opener.h"
#include "record/stream/clock.h"

#include <clew/kernel/records.h>

static uint64_t read_clock(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

uint64_t clew_now(void)
{
	return CLEW_CLOCK(read_clock(CLOCK_MONOTONIC));
}

uint64_t clew_cpu_time(void)
{
	return read_clock(CLOCK_PROCESS_CPUTIME_ID) + clew_opener_cpu_time();
}
