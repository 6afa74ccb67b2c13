/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Samples of running tasks, as text and as JSON: the functions that a task ran in, each with its
 * share of the samples. Fewer than five samples have no shares.
 */
#ifndef CLEW_WORDS_SAMPLES_H
#define CLEW_WORDS_SAMPLES_H

#include <stdio.h>

#include "explain/samples.h"
#include "format/json.h"

/*
 * Prints `lead` and the function that at least half of the samples are in, with its callers: "61 %
 * in XLogFileInit <- XLogWrite <- XLogFlush (27 of 44 samples)"; behind a colon those that it
 * calls, if none of them has half. Nothing where there are no samples. 0 or -ENOMEM.
 */
int clew_print_samples(FILE *out, const char *lead, const struct clew_trace *trace,
		       const struct clew_samples *samples);
/* The same of the running ones among segments. */
int clew_print_segment_samples(FILE *out, const char *lead, const struct clew_trace *trace,
			       const struct clew_segment *const *segments, size_t count);

/*
 * Prints how much of the `waited` ns has stacks, `with`, and how many samples there are: "There are
 * stacks for 98.2 % of the time that it waited, and 44 samples of what ran." after an empty line.
 */
void clew_print_stacks_told(FILE *out, const struct clew_trace *trace, uint64_t waited,
			    uint64_t with, const struct clew_samples *samples);
/* The fields "samples" and "samples_with_stack" of the open object. */
void clew_json_samples_told(struct clew_json *json, const struct clew_trace *trace,
			    const struct clew_samples *samples);

/*
 * The field "sampled" of the open object: the chains of functions, the most frequent first, with
 * samples, share, and the bounds of its 95 % interval. The chains themselves are in the answer's
 * table of stacks. Nothing without samples. 0 or -ENOMEM.
 */
int clew_json_samples(struct clew_json *json, const struct clew_trace *trace,
		      const struct clew_samples *samples);
/* The same of a segment; nothing unless it is one of running. */
int clew_json_segment_samples(struct clew_json *json, const struct clew_trace *trace,
			      const struct clew_segment *segment);

#endif
