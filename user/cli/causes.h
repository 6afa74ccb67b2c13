/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The segments of a why in words: each by itself, and added up into causes. Two
 * segments are one cause if the same words say what happened in them.
 */
#ifndef CLEW_CLI_CAUSES_H
#define CLEW_CLI_CAUSES_H

#include <clew/why.h>
#include <stdio.h>

struct clew_why_cause {
	uint64_t ns;
	size_t segments;
	const struct clew_segment *first;
	char *text;
};

/* All causes of a why, largest first. `relations`: those it was made with. 0 or -errno. */
int clew_causes_make(const struct clew_trace *trace, const struct clew_relations *relations, const struct clew_why *why,
		     struct clew_why_cause **ret_causes, size_t *ret_count);
void clew_causes_free(struct clew_why_cause *causes, size_t count);

/* When the wait ended that led to a segment; CLEW_TIME_OPEN: it did not, or nobody waited. */
uint64_t clew_awaited_until(const struct clew_trace *trace, const struct clew_segment *segment);

/* What the segment's task did: "was running", "waited for the disk: fsync of PATH". Safe to print. */
void clew_print_activity(FILE *out, const struct clew_trace *trace, const struct clew_segment *segment);

#endif
