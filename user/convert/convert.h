/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The trace of a capture as a causal trace, and back. docs/causal-trace.md says
 * which spans, dependencies and attributes there are.
 */
#ifndef CLEW_CONVERT_CONVERT_H
#define CLEW_CONVERT_CONVERT_H

#include "trace/trace.h"
#include <clew/model.h>

/*
 * The causal trace of a finished trace: threads in hierarchy "processes", runs in
 * "cpus", requests in "devices". Nothing of the trace is lost. The model is the
 * caller's to free. -E2BIG: more than a model holds; -ENOMEM.
 */
int clew_model_from_trace(const struct clew_trace *trace, struct clew_model **ret_model);

/*
 * The way back. Of a model that came from a capture the trace gives the same answers;
 * of any other, what can be known: a root span that is no CPU and no device is a
 * thread, its typed waits are sleeps, dependencies end them. Threads whose names do
 * not end in -TID get free numbers as tids, from 1. `options` may be NULL.
 * -EINVAL with `message`: a value that cannot be, a time before 0. -ENOMEM.
 */
int clew_trace_from_model(const struct clew_model *model, const struct clew_trace_options *options,
			  struct clew_trace **ret_trace, char *message, size_t message_size);

/*
 * Of a model that came from a capture, by whatever way, what that says of itself: clew_trace_info,
 * clew_trace_gaps, start and end; it has no threads. *ret_trace is NULL where the model came from
 * none, or where it is not told as it was written. -ENOMEM.
 */
int clew_trace_truth_from_model(const struct clew_model *model, struct clew_trace **ret_trace);

#endif
