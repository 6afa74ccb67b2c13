/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Differences of means between two sides, and which of them are beyond noise.
 *
 * A side is blocks of time, as operations that are near each other are alike. Blocks are drawn
 * again and again with repetition, and where each side has three captures and more, captures are
 * drawn first. The draws are the same in each run of the program.
 */
#ifndef CLEW_COMPARE_NOISE_H
#define CLEW_COMPARE_NOISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NOISE_LEAST_BLOCKS   30 /* of a side; with fewer nothing is said */
#define NOISE_LEAST_PERIODS  20 /* .. where blocks are periods of a history */
#define NOISE_LEAST_CAPTURES 3	/* of a side, to be drawn */
#define NOISE_DRAWS	     2000

/* Blocks of one capture follow each other. */
struct noise_side {
	size_t blocks;
	uint32_t captures;
	const uint32_t *capture;    /* of each block, from 0 */
	const uint64_t *operations; /* of each block */
	const double *sums;	    /* of each block, one for each column, ns */
};

struct noise_difference {
	double change;	  /* ns an operation, after less before */
	double low, high; /* of its 95 % interval */
	double p;	  /* of a change at least as large, if there is none in truth */
	/* The mean after to the one before, for the first column alone; not a number where that
	 * is 0. */
	double ratio_low, ratio_high;
	bool beyond; /* set by noise_judge() */
};

/* True if captures are drawn, too. */
bool noise_draws_captures(const struct noise_side *before, const struct noise_side *after);

/* A difference for each column. Each side has two blocks and more. 0 or -ENOMEM. */
int noise_differences(const struct noise_side *before, const struct noise_side *after,
		      size_t columns, struct noise_difference *ret_differences);

/*
 * Sets `beyond` of those that are found changed at a false discovery rate of 5 %, and whose
 * intervals leave out 0 (Benjamini and Hochberg, 1995). Their order changes.
 */
void noise_judge(struct noise_difference **differences, size_t count);

#endif
