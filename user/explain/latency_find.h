/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The things of a trace whose time `clew latency` shows: activations of functions, waits, waits for
 * a device or a lock, and operations.
 */
#ifndef CLEW_EXPLAIN_LATENCY_FIND_H
#define CLEW_EXPLAIN_LATENCY_FIND_H

#include "explain/chosen.h"
#include "explain/classes.h"
#include "explain/locks.h"
#include "explain/time_split.h"
#include "trace/frames.h"

enum clew_latency_of {
	CLEW_LATENCY_OF_FRAMES,
	CLEW_LATENCY_OF_WAITS,
	CLEW_LATENCY_OF_LOCKS,
	CLEW_LATENCY_OF_OPERATIONS,
};

/* One of them; of the pointers at most one is not NULL. */
struct clew_latency_item {
	const struct clew_trace_task *task;
	uint64_t from;
	uint64_t to;
	uint64_t split[CLEW_SPLIT_COUNT]; /* of from..to */
	const struct clew_trace_frame *frame;
	const struct clew_sleep *sleep;
	const struct clew_contended *lock;
	const struct clew_kind_operation *operation;
	/* It began before the capture, was not over at its end, or how it ended is not known:
	   from..to and the split mean nothing. */
	bool open;
};

/* When the thread of a wait for a lock ran again, and how the time until then divides. */
struct clew_lock_time {
	uint64_t to;
	uint64_t split[CLEW_SPLIT_COUNT];
	bool open; /* as in struct clew_latency_item */
};

/* Waits that may be for locks, and the time of each. */
struct clew_lock_times {
	struct clew_lock_waiting waiting;
	const struct clew_lock_time *sleeps;
	const struct clew_lock_time *spins;
};

struct clew_latency_asked {
	enum clew_latency_of of;
	struct clew_chosen chosen;
	uint64_t from; /* ns: things that overlap the interval */
	uint64_t to;
	bool idle;				/* idle waits, too */
	const struct clew_trace_window *window; /* NULL, or only what ends in it, */
	const struct clew_trace *tasks;		/* and what tasks are; NULL: the trace has them */
	/* Only these operations, whose waits are those of `tasks`; NULL: all. */
	const struct clew_kind_operation *operations;
	size_t operation_count;
	const struct clew_lock_times *locks; /* only these waits for locks; NULL: all */
	/* With a window: gets the operations, struct clew_kind_operation, that began before it
	   knows everything. */
	struct vector *longs;
	size_t idle_left_out; /* returned: waits that were left out as they were idle */
};

/*
 * Calls `take` for each thing, task by task in order of time; it returns 0, or an error that ends
 * the search. Returns that, 0 or -ENOMEM.
 *
 * A wait lasts until its thread ran again, so that its split has the time in the run queue, too.
 * An activation of a function that a process has from its parent's fork comes as any other one.
 */
int clew_latency_find(const struct clew_trace *trace, struct clew_latency_asked *asked,
		      int (*take)(void *context, const struct clew_latency_item *item),
		      void *context);

/* Finds the times of waits of a trace: as many as there are sleeps and spins. 0 or -ENOMEM. */
int clew_lock_times_find(const struct clew_trace *trace, const struct clew_lock_waiting *waiting,
			 struct clew_lock_time *ret_sleeps, struct clew_lock_time *ret_spins);

#endif
