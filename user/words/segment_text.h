/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The segments of a why in words. A segment of another task also says what that
 * task has to do with the waiting one.
 */
#ifndef CLEW_WORDS_SEGMENT_TEXT_H
#define CLEW_WORDS_SEGMENT_TEXT_H

#include "explain/why.h"
#include <stdio.h>

#include "words/beside.h"

/*
 * Prints what the segment's task did: "was running", "waited for the disk:
 * fsync of PATH". Safe for a terminal.
 */
void clew_print_activity(FILE *out, const struct clew_trace *trace,
			 const struct clew_segment *segment);

/*
 * Prints that a segment's task was ready, and which task had the CPU, which is
 * called `cpu`. True: the caller has yet to print that task, segment->by.
 */
bool clew_print_ready(FILE *out, const struct clew_trace *trace, const struct clew_segment *segment,
		      const char *cpu);

/* The name of a logical span, with its runtime: "go.main.main". */
void clew_print_job(FILE *out, const struct clew_trace *trace, const struct clew_job *job);
/* Says that a span was suspended, and which one resumed it, to be freed; NULL: no memory. */
char *clew_job_hop_text(const struct clew_trace *trace, const struct clew_job_hop *hop);

/*
 * All words about a segment, to be freed; NULL: no memory. Segments with equal
 * keys in causes.c have equal words.
 */
char *clew_segment_text(const struct clew_trace *trace, const struct clew_relations *relations,
			const struct clew_segment *segment, const struct clew_beside *beside);

#endif
