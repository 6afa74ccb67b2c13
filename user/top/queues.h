/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Adds up, for each CPU, how long it was busy in a period, and how long threads were ready for it.
 */
#ifndef CLEW_TOP_QUEUES_H
#define CLEW_TOP_QUEUES_H

#include "explain/summary.h"

struct top_queue {
	uint64_t busy_ns;
	uint64_t ready_ns;   /* threads that then came to run there were ready, added up */
	uint64_t longest_ns; /* one was, at most */
	size_t times;	     /* that somebody was */
	bool seen;	     /* anything is known of it */
	/* Programs, by their index in the summary, UINT32_MAX none or unknown. */
	uint32_t ran, waited; /* .. that ran there longest, and that waited longest */
	uint64_t ran_ns, waited_ns;
};

/*
 * An element for each CPU, for free(3). `summary`: of the same trace. A thread that is still ready
 * when the period ends counts on no CPU. 0 or -ENOMEM. Cost: each run and each wait for a CPU once.
 */
int top_queues_find(const struct clew_trace *trace, const struct clew_summary *summary,
		    struct top_queue **ret_queues, size_t *ret_count);

#endif
