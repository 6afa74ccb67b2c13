/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The segments of a why added up into causes: segments with the same words are
 * one cause.
 */
#ifndef CLEW_ANSWERS_WHY_CAUSES_H
#define CLEW_ANSWERS_WHY_CAUSES_H

#include "explain/why.h"
#include <stddef.h>
#include <stdint.h>

struct clew_why_cause {
	uint64_t ns;
	size_t segments;
	const struct clew_segment *first;
	char *text;
};

/* All causes of a why, largest first. `relations`: those it was made with. 0 or -errno. */
int clew_causes_make(const struct clew_trace *trace, const struct clew_relations *relations,
		     const struct clew_why *why, struct clew_why_cause **ret_causes,
		     size_t *ret_count);
/* Equal for segments of one cause. */
uint64_t clew_cause_key(const struct clew_trace *trace, const struct clew_relations *relations,
			const struct clew_segment *segment);
void clew_causes_free(struct clew_why_cause *causes, size_t count);

#endif
