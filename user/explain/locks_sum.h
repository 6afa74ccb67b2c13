/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The locks of all of a trace: in one piece, or in the windows of a long capture
 * (trace/windows.h).
 *
 * They are made of the waits that all windows have. Then each window is looked at again for what
 * the holders did.
 */
#ifndef CLEW_EXPLAIN_LOCKS_SUM_H
#define CLEW_EXPLAIN_LOCKS_SUM_H

#include <stdio.h>

#include "explain/lock_waits.h"
#include "explain/locks_taken.h"

struct clew_locks_asked {
	struct clew_chosen chosen;
	uint64_t from, to;			/* ns, CLOCK_MONOTONIC */
	size_t top;				/* the holders of that many are followed */
	const struct clew_relations *relations; /* as for clew_why_explain(); not with windows */
	/* Writes what a holder did, as the trace that it was found in is gone when it is printed;
	 * NULL: it is not printed. */
	void (*say)(FILE *out, const struct clew_trace *trace, uint32_t holder,
		    const struct clew_lock_doing *doing);
};

struct clew_locks_sum {
	const struct clew_locks_asked *asked;
	const struct clew_trace *names;
	struct lock_waits waits;
	struct arena arena; /* what the holders did */
	struct clew_locks locks;
	struct clew_taken_locks taken;
};

/* `asked` stays the caller's; it may say more until the locks are made. Free the sum with
 * clew_locks_sum_done(). */
void clew_locks_sum_begin(struct clew_locks_sum *sum, const struct clew_locks_asked *asked);
void clew_locks_sum_done(struct clew_locks_sum *sum);
/* Gathers waits. For clew_windows_run() and clew_windows_alone(). */
struct clew_windows_taker clew_locks_sum_taker(struct clew_locks_sum *sum);
/* Makes the locks. `names`: the trace, or one that has the capture's names. 0 or -ENOMEM. */
int clew_locks_sum_make(struct clew_locks_sum *sum, const struct clew_trace *names);
/* Follows the holders, when all windows are looked at once more; false: there are none. */
bool clew_locks_sum_again(struct clew_locks_sum *sum, struct clew_windows_taker *ret_taker);
/* Puts what they did in order. */
void clew_locks_sum_finish(struct clew_locks_sum *sum);

#endif
