/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An operation takes longer for each ns by which calls within it take longer: by the slope of
 * a line through blocks of time, each as heavy as it has operations. Where blocks only have a
 * change or none, it takes so many times as long. Intervals are of blocks that are drawn again and
 * again with repetition; the draws are the same in each run.
 */
#ifndef CLEW_DELAY_SLOPE_H
#define CLEW_DELAY_SLOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <clew/kernel/maps/delay.h>

#define SLOPE_LEAST 6 /* blocks with operations, of those with a delay and of those without */

struct slope {
	bool known;		 /* false: too few blocks have operations, or nothing was added */
	double value, low, high; /* of the 95 % interval */
};

/* 0 or -ENOMEM. */
int slope_of(const struct clew_delay_block *blocks, size_t count, struct slope *ret_slope);
/* The mean of operations in blocks with a change over that in the others. 0 or -ENOMEM. */
int slope_ratio(const struct clew_delay_block *blocks, size_t count, struct slope *ret_ratio);

#endif
