/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The last seconds of what one rule is about: how long each took, or how much of each second all
 * took together.
 *
 * Seconds are whole ones of CLOCK_MONOTONIC. Memory is bounded by the number of seconds.
 */
#ifndef CLEW_LIVE_WINDOW_H
#define CLEW_LIVE_WINDOW_H

#include "base/histogram.h"
#include "live/trigger.h"

#define WINDOW_SECOND 1000000000ull /* ns */

struct window_second {
	uint64_t number;	  /* it begins at that many seconds */
	uint64_t ns;		  /* of a sum */
	struct histogram lengths; /* of a percentile */
	struct clew_slow longest;
};

struct window {
	unsigned over; /* s */
	struct window_second *seconds;
	unsigned count;
};

/* `over`: as in the rule, above 0. 0 or -ENOMEM. */
int window_init(struct window *window, unsigned over);
void window_done(struct window *window);
/* Something ended: its length counts in the second of `at`. 0 or -ENOMEM. */
int window_add_length(struct window *window, const struct clew_slow *slow);
/* Something ended: each second gets its part. */
void window_add_parts(struct window *window, const struct clew_slow *slow);

/* The window that ends when second `end` begins. */
struct window_value {
	uint64_t ns;
	struct clew_slow longest; /* in it; an `end` of 0: there is none */
};
/* `share` of 100: how long so many are at most. 0 or -ENOMEM. */
int window_percentile(const struct window *window, uint64_t end, unsigned share,
		      struct window_value *ret_value);
/* All parts that lie in it. */
struct window_value window_sum(const struct window *window, uint64_t end);
/* Adds the part of something that goes on. */
void window_value_add_open(const struct window *window, uint64_t end, const struct clew_slow *slow,
			   struct window_value *value);

#endif
