/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Divides an interval of a task's time among a few kinds: each nanosecond has one kind, so that
 * the parts add up to the interval.
 */
#ifndef CLEW_EXPLAIN_TIME_SPLIT_H
#define CLEW_EXPLAIN_TIME_SPLIT_H

#include "base/vector.h"
#include "trace/trace.h"

enum clew_split {
	CLEW_SPLIT_RUNNING,
	CLEW_SPLIT_RUNQUEUE,
	CLEW_SPLIT_QUOTA, /* kept off the CPU by a quota */
	CLEW_SPLIT_LOCK,
	CLEW_SPLIT_DISK,
	CLEW_SPLIT_NETWORK,
	CLEW_SPLIT_OTHER, /* all else, and what the capture does not show */
	CLEW_SPLIT_COUNT,
};

/* The word for it, as in `clew latency --json`. */
const char *clew_split_name(enum clew_split split);

/* The part that a wait counts as: the report's parts (summary.h), where those that it has beside
 * these are OTHER, and idle waits are NETWORK at a socket and else OTHER. */
enum clew_split clew_split_of(const struct clew_trace *trace, const struct clew_sleep *sleep);

/* The parts of one task's life. */
struct clew_time_split {
	struct vector points; /* internal; in order of time */
};

/* Free the result with clew_time_split_done(), also after an error. 0 or -ENOMEM. */
int clew_time_split_make(const struct clew_trace *trace, uint32_t serial,
			 struct clew_time_split *ret_split);
void clew_time_split_done(struct clew_time_split *split);

/* Adds from..to to `ns`, CLEW_SPLIT_COUNT sums; to >= from. Costs O(log pieces). */
void clew_time_split_add(const struct clew_time_split *split, uint64_t from, uint64_t to,
			 uint64_t *ns);

#endif
