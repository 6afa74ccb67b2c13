/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Holds of locks that were recorded by their functions (`record --lock-holds`), those that nobody
 * waited for, too.
 *
 * A hold begins with the return of the function that took the lock, and ends with the entry of the
 * one that released it; so a recursive lock is held from its first take to its last release. Its
 * task had the lock for at least as long.
 */
#ifndef CLEW_TRACE_TAKEN_H
#define CLEW_TRACE_TAKEN_H

#include "trace/trace.h"

struct clew_lock_function;

#define CLEW_RWLOCK_SIZE 16 /* bytes of an rwlock in which its futexes are */

/* Times are ns, CLOCK_MONOTONIC; tasks are serials. */
struct clew_taken {
	uint64_t address;
	uint64_t from;
	uint64_t to;	  /* CLEW_TIME_OPEN: its release is not recorded */
	uint64_t latest;  /* the largest `to` of those of the lock up to this one */
	uint32_t process; /* its leader */
	uint32_t task;
	bool rwlock;
	bool shared;  /* others could have it as well */
	bool refused; /* the function returned without the lock, at `from` */
};

/* True if two are of one lock. */
static inline bool clew_taken_same(const struct clew_taken *a, const struct clew_taken *b)
{
	return a->process == b->process && a->address == b->address;
}

/* In order of process, address and begin. */
const struct clew_taken *clew_trace_taken(const struct clew_trace *trace, size_t *ret_count);
/* The function by its number, if it takes or releases locks and its values were recorded. */
const struct clew_lock_function *clew_trace_lock_function(const struct clew_trace *trace,
							  uint32_t number);
/* When the first such function was dropped; nothing is known from then on. CLEW_TIME_OPEN: none
 * was. */
uint64_t clew_trace_taken_until(const struct clew_trace *trace);

#endif
