/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Adds up, for each lock, file, disk or other object, how long threads waited for it in a period.
 */
#ifndef CLEW_TOP_OBJECTS_H
#define CLEW_TOP_OBJECTS_H

#include "explain/chosen.h"

struct top_object {
	const struct clew_sleep *longest; /* the longest wait for it; the trace's */
	uint64_t ns;			  /* waits for it, added up, within the period */
	uint64_t longest_ns;
	size_t waits;
	uint32_t holder;    /* the task that had it longest meanwhile, CLEW_NO_TASK unknown */
	uint64_t holder_ns; /* for so long, once for each that waited */
};

/*
 * Finds them, the dearest first. Only waits that matter (answers/why/now.h) count, those under way
 * as far as they have come. The result is for free(3). 0 or -ENOMEM. Cost: each wait of the trace
 * once.
 */
int top_objects_find(const struct clew_trace *trace, const struct clew_chosen *chosen,
		     struct top_object **ret_objects, size_t *ret_count);

#endif
