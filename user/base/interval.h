/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Intervals of time. */
#ifndef CLEW_BASE_INTERVAL_H
#define CLEW_BASE_INTERVAL_H

#include <stdint.h>

/* The time by which two intervals overlap, ns; 0 if they do not. */
static inline uint64_t interval_overlap(uint64_t start, uint64_t end, uint64_t from, uint64_t to)
{
	uint64_t first = start > from ? start : from, last = end < to ? end : to;

	return last > first ? last - first : 0;
}

#endif
