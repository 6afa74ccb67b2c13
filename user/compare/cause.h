/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The cause of a piece of a task's timeline, by its name in a comparison. */
#ifndef CLEW_COMPARE_CAUSE_H
#define CLEW_COMPARE_CAUSE_H

#include "compare/compare.h"

/* The causes of one capture. */
struct cause_finder {
	struct compare *compare;
	const struct clew_trace *trace;
	enum compare_side_name side;
	struct map known; /* a key of a wait -> number of its cause */
};

/* Calls `take` with each part of a piece, in from..to, and the number of its cause. 0, -ENOMEM, or
 * what `take` returned. */
int cause_each(struct cause_finder *finder, const struct clew_kind_operation *operation,
	       const struct clew_piece *piece, uint64_t from, uint64_t to,
	       int (*take)(void *context, uint32_t cause, uint64_t ns), void *context);
void cause_finder_done(struct cause_finder *finder);

#endif
