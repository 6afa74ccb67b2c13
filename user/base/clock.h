/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The kernel's clocks. */
#ifndef CLEW_BASE_CLOCK_H
#define CLEW_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* The time that a clock (CLOCK_MONOTONIC ..) shows, ns. */
static inline uint64_t clock_read(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

#endif
