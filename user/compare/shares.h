/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sums of shares: the rows of a class, who took whose time, and what the mix of classes makes. */
#ifndef CLEW_COMPARE_SHARES_H
#define CLEW_COMPARE_SHARES_H

#include "compare/blocks.h"

/*
 * Makes the rows of a class, of which those that change least are one, and sets the row of each
 * cause in `row_of`, which was 0. 0 or -ENOMEM.
 */
int shares_add_up(const struct compare *compare, const struct class_operations *sides,
		  uint32_t *row_of, struct compare_class *class);
/* Adds an operation to those of the slowest ones of its class. */
void shares_add_slowest(const struct compare *compare, const struct compare_operation *operation,
			struct compare_class *class, const uint32_t *row_of, unsigned side);
/* Rounds the means of the rows so that they add up. */
void shares_finish(struct compare_class *class);

/* Sets the blames of a result. 0 or -ENOMEM. */
int shares_blame(const struct compare *compare, struct compare_result *result);
/* Sets its mixes. */
void shares_mix(const struct compare *compare, struct compare_result *result);

#endif
