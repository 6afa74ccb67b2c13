/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The usual length of operations of one class: the median of those that ended in the last five
 * minutes.
 *
 * Invariant: memory is bounded by USUAL_MOST classes: beyond that all are forgotten.
 */
#ifndef CLEW_LIVE_USUAL_H
#define CLEW_LIVE_USUAL_H

#include "base/map.h"

#define USUAL_LEAST 50	  /* operations: with fewer nothing is usual */
#define USUAL_MOST  4096u /* classes */

struct usual {
	struct map classes; /* class -> struct usual_class * */
};

void usual_done(struct usual *usual);
/* Adds an operation that ended at a moment, ns. 0 or -ENOMEM. */
int usual_add(struct usual *usual, uint64_t class, uint64_t at, uint64_t ns);
/* The median at a moment, ns; 0: there were too few operations. */
uint64_t usual_median(const struct usual *usual, uint64_t class, uint64_t at);

#endif
