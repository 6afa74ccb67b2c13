/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Changes that might shorten operations, by what these spent their time on. The times of two
 * changes may overlap.
 */
#ifndef CLEW_EXPLAIN_CHANGES_H
#define CLEW_EXPLAIN_CHANGES_H

#include "explain/classes.h"

enum clew_change_kind {
	CLEW_CHANGE_CPU,    /* one CPU more */
	CLEW_CHANGE_DEVICE, /* a faster disk */
	CLEW_CHANGE_LOCK,   /* a lock that is not kept over something, or not waited for */
	CLEW_CHANGE_SLEEP,  /* shorter sleeps */
	CLEW_CHANGE_RUN,    /* less computing */
	CLEW_CHANGE_ANSWER, /* faster answers from outside */
	CLEW_CHANGE_QUOTA,  /* no CPU quota */
};

#define CLEW_CHANGE_CALLS 4

struct clew_change {
	uint64_t ns; /* for which the operations were kept so */
	uint8_t kind;
	uint32_t task;		       /* whose time it was; LOCK: who had the lock */
	uint32_t waiter;	       /* LOCK: who waited for it */
	uint32_t device;	       /* DEVICE */
	const struct clew_sleep *wait; /* LOCK, SLEEP, ANSWER, QUOTA: a wait that it is about */
	/* LOCK: the calls in which the holder spent most of the time, largest first. */
	struct {
		uint64_t ns;
		uint32_t call;
	} over[CLEW_CHANGE_CALLS];
};

/*
 * Finds those of the `count` operations, explained one by one: struct clew_change, most time first,
 * for vector_done() also after an error. `relations` may be NULL. 0 or -errno.
 */
int clew_changes_find(const struct clew_trace *trace, const struct clew_relations *relations,
		      const struct clew_kind_operation *operations, size_t count,
		      struct vector *ret_changes);

#endif
