/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Calls of traced functions by function: how often they were entered, how long they took, and how
 * they were left.
 *
 * A frame that a process has from its parent's fork is in no count. Times are of frames
 * whose end is known: those that are open, lost, or left nobody knows when have none.
 */
#ifndef CLEW_EXPLAIN_CALLS_H
#define CLEW_EXPLAIN_CALLS_H

#include "base/sort.h"
#include "explain/chosen.h"
#include "trace/frames.h"

/* The sums of a function. */
struct clew_calls_row {
	uint32_t function;
	uint64_t count; /* frames, but those that are inherited */
	uint64_t closed[CLEW_FRAME_CLOSED_COUNT];
	uint64_t entries; /* of which only the entry is seen */
	uint64_t points;  /* without a length */
	uint64_t jumped;  /* left by a tail call, and timed until that alone */
	uint64_t timed;	  /* with a total time; `totals` has them, sorted */
	uint64_t *totals;
	uint64_t total, self, probe;
	uint64_t unread; /* values */
};

struct clew_calls {
	const struct clew_trace *trace;
	struct clew_chosen chosen;
	uint64_t from, to;
	const bool *wanted; /* by function */
	/* Found: */
	struct clew_calls_row
		*rows; /* of functions that were called, most time of their own first */
	uint32_t row_count;
	struct clew_calls_row all;
	uint64_t cross_thread;
	uint64_t outermost_probe; /* of frames that are in no other one */
	uint64_t *totals;	  /* of all rows */
	struct sort_key *timed;	  /* key: total time, index: function */
	size_t timed_count;
};

/* 0 or -ENOMEM. */
int clew_calls_add_up(struct clew_calls *calls);
void clew_calls_done(struct clew_calls *calls);

typedef void clew_calls_take(void *context, const struct clew_trace_task *task,
			     const struct clew_trace_frame *frame);
/* Calls `take` for each frame that is wanted. */
void clew_calls_each(const struct clew_calls *calls, clew_calls_take *take, void *context);

/* Calls that are known from begin to end. */
static inline uint64_t clew_calls_built(const struct clew_calls_row *row)
{
	return row->closed[CLEW_FRAME_RETURNED] + row->closed[CLEW_FRAME_TAIL_CALL];
}

static inline uint64_t clew_calls_begun(const struct clew_calls_row *row)
{
	return row->count - row->entries - row->points;
}

/* The value that `share` of all are at or below: of 1,000 values, p99.9 is the 999th. */
uint64_t clew_calls_percentile(const struct clew_calls_row *row, double share);

#endif
