/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The waits that separate operations, for captures and causal traces alike.
 */
#ifndef CLEW_EXPLAIN_OPERATIONS_H
#define CLEW_EXPLAIN_OPERATIONS_H

#include "base/map.h"
#include "base/vector.h"
#include "explain/chosen.h"
#include "explain/why.h"
#include "trace/idle.h"
#include "trace/windows.h"

/*
 * True if a list of waits leaves a wait out unless it is asked for: a wait for work, an idle kernel
 * thread, and time for which a program chose to sleep.
 */
bool wait_is_idle(const struct clew_trace *trace, const struct clew_sleep *sleep);
/* The same, and a wait of which the capture does not show what it is, or that nothing in it began
 * or ended. */
bool sleep_is_idle(const struct clew_trace *trace, const struct clew_sleep *sleep);

/* The order of operations: negative if `a` comes first, as the longer or the earlier one. */
int clew_operation_compare(const struct clew_operation *a, const struct clew_operation *b);

/* A wait that separates operations. */
struct clew_idle_wait {
	uint64_t start, end; /* ns */
	uint32_t call_id;    /* as in struct clew_sleep */
	bool open;	     /* the capture does not show its start */
};

/* The first and the last one of a task that ended in a window. */
struct clew_idle_ends {
	uint32_t task;
	bool reached; /* the window knows of one before the first, and has the operation between */
	struct clew_idle_wait first, last;
};

/*
 * Operations whose idle wait behind them ended in one window. One that began before the window
 * knows everything is found from the ends of two windows.
 */
struct clew_window_operations {
	struct clew_operation *operations; /* the longest ones; free(3) them */
	size_t count;
	size_t total;	    /* without the limit */
	struct vector ends; /* struct clew_idle_ends; for vector_done() */
};

/* Finds the operations of the chosen tasks in a window, of which it keeps `limit`. 0 or -ENOMEM. */
int clew_operations_in_window(const struct clew_trace *trace, const struct clew_chosen *chosen,
			      uint64_t from, uint64_t to, const struct clew_trace_window *window,
			      size_t limit, struct clew_window_operations *ret_found);

/* The last idle wait of each task in all windows so far. */
struct clew_last_idle {
	struct map index;    /* a task -> index of waits */
	struct vector waits; /* struct clew_idle_wait */
};

void clew_last_idle_init(struct clew_last_idle *last);
void clew_last_idle_done(struct clew_last_idle *last);
/* Adds those of a task in the next window. 1: *ret_operation, within from..to, lies between them
 * and the ones before, and no window has it; 0: there is none; -ENOMEM. */
int clew_last_idle_add(struct clew_last_idle *last, const struct clew_idle_ends *ends,
		       uint64_t from, uint64_t to, struct clew_operation *ret_operation);

#endif
