/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Samples of running tasks, as text and as JSON: the functions that a task ran in, each with its
 * share of the samples. Fewer than five samples have no shares.
 */
#ifndef CLEW_WORDS_SAMPLES_H
#define CLEW_WORDS_SAMPLES_H

#include <stdio.h>

#include "base/vector.h"
#include "explain/why.h"
#include "format/json.h"

/* Samples of one task or several. Zeroed at first. */
struct clew_samples {
	struct vector samples; /* const struct clew_task_stacks *, of the trace */
};

/* Adds those of a task in from..to. 0 or -ENOMEM. */
int clew_samples_add(struct clew_samples *samples, const struct clew_trace *trace, uint32_t task,
		     uint64_t from, uint64_t to);
/* Adds samples that live as long as the sum. 0 or -ENOMEM. */
int clew_samples_add_list(struct clew_samples *samples, const struct clew_task_stacks *list,
			  size_t count);
/* Samples for another process. */
struct clew_samples_found {
	const struct clew_task_stacks *samples;
	size_t count;
};
struct shared;

/* Copies them to shared memory. 0 or -ENOMEM. */
int clew_samples_export(const struct clew_samples *samples, struct shared *shared,
			struct clew_samples_found *ret_found);
/* Adds copies of them, which are in the arena. 0 or -ENOMEM. */
int clew_samples_import(struct clew_samples *samples, struct arena *arena,
			const struct clew_samples_found *found);
/* Adds those of the running segments. 0 or -ENOMEM. */
int clew_samples_add_segments(struct clew_samples *samples, const struct clew_trace *trace,
			      const struct clew_segment *const *segments, size_t count);
/* Adds those of all running segments of a why. 0 or -ENOMEM. */
int clew_samples_of_why(struct clew_samples *samples, const struct clew_trace *trace,
			const struct clew_why *why);
/* How many of them have a stack. */
size_t clew_samples_with_stack(const struct clew_trace *trace, const struct clew_samples *samples);
void clew_samples_done(struct clew_samples *samples);

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
 * The field "stacks" of the open object: the chains of functions, the most frequent first, with
 * samples, share, and the bounds of its 95 % interval. Nothing without samples. 0 or -ENOMEM.
 */
int clew_json_samples(struct clew_json *json, const struct clew_trace *trace,
		      const struct clew_samples *samples);
/* The same of a segment; nothing unless it is one of running. */
int clew_json_segment_samples(struct clew_json *json, const struct clew_trace *trace,
			      const struct clew_segment *segment);

#endif
