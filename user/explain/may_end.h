/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The threads that may end a wait for a word in memory which has no holder and is not over at the
 * end of the capture: those of its process that do not wait for the same word themselves.
 */
#ifndef CLEW_EXPLAIN_MAY_END_H
#define CLEW_EXPLAIN_MAY_END_H

#include "trace/trace.h"

#define CLEW_MAY_END_MOST 16 /* that are kept */

struct clew_may_end {
	uint32_t tasks[CLEW_MAY_END_MOST]; /* in order of serial */
	size_t count;			   /* of all, kept or not */
};

/* None for all other waits. Cost: each task once. */
struct clew_may_end clew_may_end_find(const struct clew_trace *trace,
				      const struct clew_sleep *sleep);

#endif
