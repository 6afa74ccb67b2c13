/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The short steps of an operation by their causes. A step is a segment of a why, and steps of one
 * cause are those of one thread that are called the same: "server-7 running in write".
 */
#ifndef CLEW_EXPORT_CAUSES_H
#define CLEW_EXPORT_CAUSES_H

#include "base/map.h"
#include "base/vector.h"
#include "explain/why.h"

struct export_cause {
	const struct clew_segment *first; /* of its steps */
	const char *what;		  /* as clew_segment_short_name() calls it */
	uint64_t ns;
	size_t steps;
};

/* Zeroed at first. */
struct export_causes {
	struct vector list; /* struct export_cause, in the order of their first steps */
	struct map known;   /* hash of a cause to its index */
	struct arena arena;
};

/* The shortest length with which a segment is among the `own` longest of a why; 0: all are.
 * All of one length are too short if they are too many. 0 or -ENOMEM. */
int export_least_length(const struct clew_why *why, size_t own, uint64_t *ret_least);

/* Adds a step. 0 or -ENOMEM. */
int export_causes_add(struct export_causes *causes, const struct clew_trace *trace,
		      const struct clew_segment *segment, size_t *ret_index);
/* The largest first; indices are no longer those of export_causes_add(). */
void export_causes_sort(struct export_causes *causes);
void export_causes_done(struct export_causes *causes);

#endif
