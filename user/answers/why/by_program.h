/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The segments of a why, grouped by what happened and in which program. Where
 * the causes are many and small, as with a pool of threads, the groups account
 * for most of the time.
 */
#ifndef CLEW_ANSWERS_WHY_BY_PROGRAM_H
#define CLEW_ANSWERS_WHY_BY_PROGRAM_H

#include "explain/why.h"
#include <stdio.h>

#include "format/json.h"

struct clew_program_share {
	uint64_t ns;
	const struct clew_segment
		*longest; /* its names and device are those of all segments, except for tids */
	size_t segments;
	size_t tasks; /* how many different tasks it is the time of */
	size_t by;    /* how many different tasks had their CPU; 0: none, or unknown */
};

/* All shares of a why, largest first; free(3) them. 0 or -errno. */
int clew_by_program_make(const struct clew_trace *trace, const struct clew_why *why,
			 struct clew_program_share **ret_shares, size_t *ret_count);

/* Prints what a segment's task did by its kind of time: "had vda busy with requests". If it was
 * ready and another task had the CPU, the caller has yet to print that one. */
void clew_print_broadly(FILE *out, const struct clew_trace *trace,
			const struct clew_segment *segment);

/* Prints what one share says, as the text of a cause. Safe to print. */
void clew_print_program_share(FILE *out, const struct clew_trace *trace, const struct clew_why *why,
			      const struct clew_program_share *share);
/* The same with its sums, as an element of the open array. */
void clew_json_program_share(struct clew_json *json, const struct clew_trace *trace,
			     const struct clew_why *why, const struct clew_program_share *share);

#endif
