/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Blame: which spans kept which others from running. A victim is an ES that was
 * ready to run or waited for a resource. Its antagonists are the spans that had
 * what it waited for.
 *
 * By resource: a victim's time in the run queue is charged to what ran on the
 * CPU that it ran on next; where the trace has no CPUs, to everything that ran.
 * Its wait, or spinning, for a lock is charged to the holders in turn; while a
 * waiter had been woken for the lock and had no CPU yet, to what ran on the CPU
 * that this one ran on next. Its wait for a request is charged to the submitters
 * of the requests ahead, on that device and on those below it. A pause or a wait
 * that a limit of a cgroup imposes is charged to the limit itself, unless
 * antagonists are chosen. Nothing else is
 * blamed.
 *
 * By all that ran (`all_running`): an ES waits from the moment that its
 * dependencies were resolved; without any, from the trace's first moment. Every
 * span that ran meanwhile is charged, CPUs and devices only if they were chosen.
 *
 * A span and those that it calls are one thread, which is no antagonist of its own.
 *
 * Each moment of a victim counts once for each antagonist. The model is only
 * read, in any number of threads.
 */
#ifndef CLEW_BLAME_H
#define CLEW_BLAME_H

#include <clew/model.h>

struct clew_blame_pair {
	clew_time ns;
	uint32_t victim;     /* indexes of spans */
	uint32_t antagonist; /* CLEW_NONE: the limit of the resource, a cgroup */
	uint32_t kind;	 /* enum clew_wait_kind; CLEW_SEGMENT_RUNQUEUE: for a CPU; with all_running
			    CLEW_WAIT_UNKNOWN */
	uint32_t number; /* of the pairs, in the order in which they were found */
	const char *resource; /* its name, a string of the model; NULL: none */
	unsigned evidence;    /* enum clew_evidence: the weakest of what was charged. Time that
				 only a candidate may have caused is in a pair of its own. */
};

struct clew_blame_options {
	/* Indexes of spans, in any order; NULL: all spans. */
	const uint32_t *victims;
	size_t victim_count;
	const uint32_t *antagonists;
	size_t antagonist_count;
	bool all_running;
	/*
	 * Called for each stretch of time in which an antagonist had a CPU or a lock that the
	 * victim waited for, with the pair as it is by then, the stretch included. Not called with
	 * all_running, or where the trace has no CPUs, for these. NULL: ignored. 0 or -errno,
	 * which ends the search.
	 */
	int (*charged)(void *context, const struct clew_blame_pair *pair, clew_time from,
		       clew_time to);
	void *context;
	/* An antagonist is the call in which its thread was at the time, or in which it submitted
	 * the request; else the thread. */
	bool innermost;
	/* Only waits that end at ends_from or later, and before ends_to, whole; both 0: all. Not
	 * with all_running. */
	clew_time ends_from, ends_to;
	/* Only the time from `from` on and before `to`; both 0: all. */
	clew_time from, to;
	/* The model has all runs from here on; used with ends_from and ends_to. */
	clew_time known;
	/* Not NULL: the time in run queues before `known` is added, which nobody is charged with.
	 */
	clew_time *unknown;
};

/*
 * Finds all pairs, the longest first, then in order of the spans. The array is
 * the caller's to free. Returns 0 or -ENOMEM.
 */
int clew_blame_find(const struct clew_model *model, const struct clew_blame_options *options,
		    struct clew_blame_pair **ret_pairs, size_t *ret_count);

/* Puts pairs in that order. */
void clew_blame_sort(struct clew_blame_pair *pairs, size_t count);

#endif
