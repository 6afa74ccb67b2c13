/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Relations between calls in different tasks, as dependencies between these tasks. */
#ifndef CLEW_EXPLAIN_DEPEND_H
#define CLEW_EXPLAIN_DEPEND_H

#include "relate/relate.h"

/*
 * A call leads from the upper activity's task to the lower one's. It starts where the
 * upper task fell asleep, if the lower activity begins during that sleep, else at the
 * upper activity's begin.
 *
 * A return leads back, from the lower activity's end to the moment at which the task
 * that waited for it runs again. It exists only where no recorded wake already shows
 * that wait. The waiter may be a task between the two that announces nothing.
 */
struct clew_call_dependency {
	uint64_t from_at, to_at; /* ns, CLOCK_MONOTONIC */
	uint32_t from, to;	 /* serials of tasks */
	const struct clew_relation *relation;
	bool is_return;
};

/*
 * The dependencies of all relations that have exactly one upper end, in order of the
 * lower activity's begin, a call before its return. The array is the caller's to free.
 * Returns 0 or -ENOMEM.
 */
int clew_relations_dependencies(const struct clew_relations *relations,
				struct clew_call_dependency **ret_dependencies, size_t *ret_count);

#endif
