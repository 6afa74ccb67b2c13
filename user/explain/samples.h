/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Samples of running tasks. */
#ifndef CLEW_EXPLAIN_SAMPLES_H
#define CLEW_EXPLAIN_SAMPLES_H

#include "base/shared.h"
#include "base/vector.h"
#include "explain/why.h"

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
/* The number of them that have a stack. */
size_t clew_samples_with_stack(const struct clew_trace *trace, const struct clew_samples *samples);
void clew_samples_done(struct clew_samples *samples);

#endif
