/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Lengths by group, added up over one trace or several: each in one piece, or in the
 * windows of a long capture (trace/windows.h), whose groups are added like those of several traces.
 */
#ifndef CLEW_ANSWERS_LATENCY_LATENCY_SUM_H
#define CLEW_ANSWERS_LATENCY_LATENCY_SUM_H

#include "answers/latency/latency.h"
#include "explain/lock_waits.h"

struct clew_latency_sum {
	struct clew_latency_options options;
	struct clew_latency latency;
	struct clew_latency_left_out left_out;
	/* The trace that is being added: */
	struct vector works; /* struct clew_kind_operation: in windows, all operations */
	struct vector longs; /* .. and those that began before their window knows everything */
	struct lock_waits locks;
};

/* `digits`: as for clew_latency_new(). Free it with clew_latency_sum_done(). */
void clew_latency_sum_begin(struct clew_latency_sum *sum, unsigned digits);
void clew_latency_sum_done(struct clew_latency_sum *sum);

/* Begins to add a trace. `options` say what of it: in one piece its from..to, in windows
 * `tasks`. For clew_windows_run() and clew_windows_alone(). */
struct clew_windows_taker clew_latency_sum_taker(struct clew_latency_sum *sum);
/* Finds the operations of a long capture before its windows are looked at. `names`: of the capture,
 * with what struct clew_windows_taker calls works; the options have it as `tasks`. 0 or -ENOMEM. */
int clew_latency_sum_works(struct clew_latency_sum *sum, const struct clew_trace *names);
/* Operations that are longer than what their windows know are in sum->longs: adds these, from a
 * trace of their time. 0 or -ENOMEM. */
int clew_latency_sum_longs(void *sum, const struct clew_trace *trace, const void *operations,
			   size_t count);
/* Adds what is known only when all windows are; `names`: the trace, or one that has the capture's
 * names. 0 or -ENOMEM. */
int clew_latency_sum_finish(struct clew_latency_sum *sum, const struct clew_trace *names);

/* By function, all groups of one become one. 0 or -ENOMEM. */
int clew_latency_sum_aggregate(struct clew_latency_sum *sum);

#endif
