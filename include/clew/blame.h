/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Antagonism: who kept whom from going on. A victim is an ES that was ready to run
 * or waited for a resource, an antagonist is who had what it waited for.
 *
 * By resource: the time a victim was ready goes to what ran on the CPU that it ran on
 * next, or where the trace knows no CPUs to everything that ran; the time it waited
 * (or spun) for a lock to the lock's holders in turn; the time it waited for a request
 * to the submitters of the requests ahead of it, on that device and on those below.
 * Nobody else is blamed.
 *
 * Or by all that ran: an ES without a resource in mind waits from the moment all its
 * dependencies were resolved (without any, from the trace's first moment), and every
 * span that ran meanwhile is charged with it.
 *
 * Each moment of a victim counts once against each antagonist. A trace is only read.
 */
#ifndef CLEW_BLAME_H
#define CLEW_BLAME_H

#include <clew/model.h>

struct clew_blame_options {
	/* Spans in any order; NULL: all. */
	const uint32_t *victims;
	size_t victim_count;
	const uint32_t *antagonists;
	size_t antagonist_count;
	bool all_running;
};

struct clew_blame_pair {
	clew_time ns;
	uint32_t victim; /* spans */
	uint32_t antagonist;
	uint32_t kind;	      /* what was waited for, CLEW_SEGMENT_RUNQUEUE a CPU; with all_running
				 CLEW_WAIT_UNKNOWN */
	const char *resource; /* its name where there is one, else NULL; the model's */
};

/*
 * The pairs of which the first kept the second waiting, the longest first; then in
 * order of the spans. The array is the caller's to free. 0 or -ENOMEM.
 */
int clew_blame_find(const struct clew_model *model, const struct clew_blame_options *options,
		    struct clew_blame_pair **ret_pairs, size_t *ret_count);

#endif
