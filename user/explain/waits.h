/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Waits that are asked for: a list of them, or their sums by a key.
 *
 * They are begun, looked for in each window of a long capture or in a trace that was read in one
 * piece, which is one window (trace/windows.h), and finished.
 */
#ifndef CLEW_EXPLAIN_WAITS_H
#define CLEW_EXPLAIN_WAITS_H

#include <stdio.h>

#include "base/sort.h"
#include "base/vector.h"
#include "explain/wait_groups.h"
#include "trace/windows.h"

struct clew_waits_asked {
	/* True if a task is asked for, by what it was called at a moment. */
	bool (*wants)(void *context, const struct clew_trace *trace,
		      const struct clew_trace_task *task, uint64_t at);
	void *context;
	const struct clew_trace *tasks; /* has all tasks; NULL: so does the trace at hand */
	const struct clew_trace *works; /* has what separates operations, by which waits are idle;
					   NULL: so does the trace at hand */
	uint64_t from, to;		/* ns, CLOCK_MONOTONIC: waits that overlap this, */
	uint64_t least;			/* and took that long */
	uint64_t kinds;			/* bit mask, 0 all; one that is named may be idle */
	bool idle;			/* idle waits, too */
	bool self;			/* those of clew's own threads, too */
	bool named;			/* threads were asked for: their idle waits, too */
	bool stacks;			/* counts those that have stacks */
	bool by_length;			/* the list: longest first, and not by time */
	enum clew_sum_by by;		/* no list, but sums */
	/* Writes a wait of the list, as its trace is gone when the list is complete. */
	void (*write)(FILE *out, const struct clew_trace *trace, const struct clew_sleep *sleep);
};

struct clew_waits_counts {
	size_t wanted, all; /* waits */
	uint64_t ns;	    /* of the wanted ones */
	size_t covered;	    /* of them that have stacks */
	uint64_t covered_ns;
	size_t idle, self; /* left out */
	uint64_t idle_ns, self_ns;
};

/* One of the list. */
struct clew_listed_wait {
	uint64_t start; /* ns */
	uint64_t ns;	/* its length */
	uint32_t task;
	const struct clew_sleep *sleep; /* of the trace; NULL: it was written */
	const char *text;
	bool stuck; /* by it its task is in a deadlock, or waits for one */
};

struct clew_waits {
	const struct clew_waits_asked *asked;
	struct clew_waits_counts counts;
	struct clew_wait_groups groups;
	struct vector list;	/* struct clew_listed_wait */
	struct sort_key *order; /* of the finished list: indexes */
	size_t windows;
	struct arena arena; /* texts */
};

/* `asked` stays the caller's; it may say more until the first window is looked at. Free them with
 * clew_waits_done(). */
void clew_waits_begin(struct clew_waits *waits, const struct clew_waits_asked *asked);
/* For clew_windows_run() and clew_windows_alone(). */
struct clew_windows_taker clew_waits_taker(struct clew_waits *waits);
/* Puts the list in order; sums are finished with clew_wait_groups_finish(). 0 or -ENOMEM. */
int clew_waits_finish(struct clew_waits *waits);
void clew_waits_done(struct clew_waits *waits);

/* A wait of the finished list. */
static inline const struct clew_listed_wait *clew_waits_at(const struct clew_waits *waits, size_t i)
{
	return (const struct clew_listed_wait *)waits->list.data + waits->order[i].index;
}

#endif
