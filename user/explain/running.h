/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Facts about the running of a task that its segments do not have. */
#ifndef CLEW_EXPLAIN_RUNNING_H
#define CLEW_EXPLAIN_RUNNING_H

#include "explain/why.h"

/* Facts about segments besides the stay that they lie in. */
struct clew_running {
	uint64_t faults;  /* page faults that are known to be in them */
	uint64_t yields;  /* RUNQUEUE: how often the task on the CPU gave it up meanwhile */
	uint32_t ticks;	  /* that met the task in a segment without a stay */
	uint32_t in_call; /* that many of them in `call` */
	uint16_t call;	  /* the one that most ticks met, CLEW_NO_CALL none */
};

/* Adds up segments of one task, `count` of them in order of time. */
void clew_running_find(const struct clew_trace *trace, const struct clew_segment *const *segments,
		       size_t count, struct clew_running *ret_running);

#endif
