/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The waits of threads that are not over when a capture ends, and who could end them: a chain from
 * a thread to the one that runs, to one of which nobody is known who could end its wait, or back to
 * itself.
 */
#ifndef CLEW_EXPLAIN_HANG_H
#define CLEW_EXPLAIN_HANG_H

#include "base/map.h"
#include "trace/trace.h"

#define CLEW_HANG_MOST 16 /* threads of a chain */

enum clew_hang_role {
	CLEW_HANG_FIRST,  /* whose chain it is */
	CLEW_HANG_HOLDER, /* it has the lock that the one before waits for */
	CLEW_HANG_PEER,	  /* it has the other end */
	CLEW_HANG_CHILD,  /* it is the child whose end is waited for */
	CLEW_HANG_THREAD, /* it is a thread of the process that may end the wait */
};

struct clew_hang_step {
	uint32_t task;
	const struct clew_sleep *sleep; /* what it waits for; NULL: it runs, or is ready to */
	uint8_t role;			/* enum clew_hang_role */
	uint8_t evidence;		/* of that */
	size_t others;			/* that could end the wait before as well */
};

struct clew_hang {
	struct clew_hang_step steps[CLEW_HANG_MOST];
	size_t count;
	size_t cycle; /* the last one waits for this step; CLEW_HANG_MOST: there is no cycle */
	bool cut;     /* the chain is longer */
};

/* The wait of each task that is not over; for map_done(). 0 or -ENOMEM. */
int clew_hangs_index(const struct clew_trace *trace, struct map *ret_waits);
/* The chain of a task. 0 or -ENOMEM. */
int clew_hang_find(const struct clew_trace *trace, const struct map *waits, uint32_t task,
		   struct clew_hang *ret_hang);
/* True if a chain ends in a deadlock. */
bool clew_hang_is_deadlock(const struct clew_trace *trace, const struct clew_hang *hang);

const char *clew_hang_role_name(enum clew_hang_role role);

#endif
