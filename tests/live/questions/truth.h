/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the programs share that are asked about: the truth about the slow thing. */
#ifndef CLEW_TESTS_QUESTIONS_TRUTH_H
#define CLEW_TESTS_QUESTIONS_TRUTH_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

static inline uint64_t now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return (uint64_t)at.tv_sec * 1000000000 + (uint64_t)at.tv_nsec;
}

/* The slow thing was from `begin` to `end`, in a thread named like that. */
static inline void tell(const char *comm, uint64_t begin, uint64_t end)
{
	printf("{\"comm\": \"%s\", \"from\": %" PRIu64 ", \"to\": %" PRIu64 "}\n", comm, begin,
	       end);
	fflush(stdout);
}

#endif
