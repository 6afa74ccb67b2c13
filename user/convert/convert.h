/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Converts the trace of a capture to a causal trace, and back.
 * docs/causal-trace.md lists the spans, dependencies and attributes.
 */
#ifndef CLEW_CONVERT_CONVERT_H
#define CLEW_CONVERT_CONVERT_H

#include "trace/trace.h"
#include <clew/model.h>

/*
 * Makes the causal trace of a finished trace: threads are in hierarchy
 * "processes", with the functions
 * that they called as children, runs in "cpus", requests in "devices". It keeps everything that
 * an answer can show. The caller frees the model. -E2BIG: the trace is larger
 * than a model can be; -ENOMEM.
 */
int clew_model_from_trace(const struct clew_trace *trace, struct clew_model **ret_model);

/* The same, with at most so many activations of functions as spans, the longest ones; the default
 * is CLEW_FRAMES_MOST. The others are added up in an attribute of the span above them. */
#define CLEW_FRAMES_MOST 200000u
int clew_model_with_frames(const struct clew_trace *trace, size_t most_frames,
			   struct clew_model **ret_model);

/* The root span that a span is in: of a thread's, the thread. */
static inline uint32_t clew_span_root(const struct clew_model *model, uint32_t span)
{
	while (model->spans[span].parent != CLEW_NONE)
		span = model->spans[span].parent;
	return span;
}

/* The serial of the task that a root span of a model from this trace stands for; CLEW_NO_TASK: it
 * is no thread, or nothing else is known of it. */
uint32_t clew_task_of_span(const struct clew_trace *trace, uint32_t root);
/* The root span that a task has in a model from this trace; CLEW_NONE: nothing is known of it. */
uint32_t clew_span_of_task(const struct clew_trace *trace, uint32_t serial);

/*
 * Makes a trace of a causal trace. If the model came from a capture, the trace
 * gives the same answers as the capture's. In any other model a root span that
 * is neither a CPU nor a device is a thread, its typed waits are sleeps, and
 * dependencies end them; a thread whose name does not end in -TID gets a free
 * number as its tid, from 1. `options` may be NULL. The caller frees the trace.
 * -EINVAL with `message`: an invalid value, or a time before 0. -ENOMEM.
 */
int clew_trace_from_model(const struct clew_model *model, const struct clew_trace_options *options,
			  struct clew_trace **ret_trace, char *message, size_t message_size);

/*
 * Makes a trace without threads that has only the facts about the capture that
 * a model came from: clew_trace_info, clew_trace_gaps, start and end.
 * *ret_trace is NULL if the model came from no capture, or if these attributes
 * are invalid. -ENOMEM.
 */
int clew_trace_truth_from_model(const struct clew_model *model, struct clew_trace **ret_trace);

#endif
