/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Locks that threads took by functions that were recorded (`record --lock-holds`), those that
 * nobody waited for, too.
 *
 * A hold begins with the return of the function that took the lock, and ends with the entry of the
 * one that released it; so a recursive lock is held from its first take to its last release. Times
 * are ns, CLOCK_MONOTONIC, and lie in the interval that was asked for; tasks are serials.
 */
#ifndef CLEW_EXPLAIN_LOCKS_TAKEN_H
#define CLEW_EXPLAIN_LOCKS_TAKEN_H

#include "explain/locks.h"

/* All holds of one task. */
struct clew_taker_sum {
	uint32_t task;
	size_t takes;
	uint64_t held_ns;
	uint64_t max_ns;
};

struct clew_taken_lock {
	struct clew_object object; /* its name in answers is that of this futex */
	uint32_t process;	   /* leader of those that took it */
	bool rwlock;
	bool held;	/* at the end of the interval */
	size_t waited;	/* index of the lock in what clew_locks_make() found; SIZE_MAX: nobody
			   waited for it */
	size_t takes;	/* that succeeded */
	size_t shared;	/* of these, others could have it as well */
	size_t refused; /* returned without it */
	uint64_t held_ns;
	struct clew_lock_hold longest;
	struct clew_taker_sum *takers; /* longest `held_ns` first */
	size_t taker_count;
	struct clew_lock_holder during; /* what the task of `longest` did in it;
					   clew_taken_explain() makes it */
};

struct clew_taken_locks {
	bool recorded;	/* functions of locks were */
	uint64_t until; /* when the first of them was dropped: nothing is known from then on */
	struct clew_taken_lock *locks; /* most `held_ns` first */
	size_t count;
	size_t *by_waited; /* index of each lock that was waited for, SIZE_MAX none */
	size_t waited_count;
};

/*
 * Finds what the chosen tasks took in from..to. `locks`: those of the same tasks and interval that
 * were waited for. Free the result with clew_taken_done(). 0 or -ENOMEM.
 */
int clew_taken_make(const struct clew_trace *trace, const struct clew_chosen *chosen, uint64_t from,
		    uint64_t to, const struct clew_locks *locks,
		    struct clew_taken_locks *ret_taken);
void clew_taken_done(struct clew_taken_locks *taken);

/* Follows what went on in the longest hold. `relations`: as for clew_why_explain(). 0 or -ENOMEM.
 */
int clew_taken_explain(const struct clew_trace *trace, const struct clew_relations *relations,
		       struct clew_taken_lock *lock);

/* The one that was waited for as `number`; NULL: none of its takes was recorded. */
const struct clew_taken_lock *clew_taken_of(const struct clew_taken_locks *taken, size_t number);

#endif
