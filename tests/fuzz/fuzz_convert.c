/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fuzzes the way from notation to a trace and back. The input is notation. Whatever its
 * attributes say: no crash and no endless loop, neither in making the trace nor in
 * what answers go through, and a trace that was made is a causal trace again.
 */
#include "convert/convert.h"
#include "explain/why.h"
#include "relate/relate.h"
#include <clew/notation.h>
#include <errno.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void go_through(const struct clew_trace *trace)
{
	struct clew_relations *relations = NULL;
	uint32_t *order, *begin;
	size_t count;
	int r;

	if (clew_trace_edge_groups(trace, &order, &begin, &count) < 0)
		abort();
	free(order);
	free(begin);
	r = clew_relations_new(trace, NULL, &relations);
	if (r < 0 && r != -EINVAL)
		abort();
	for (size_t i = 0; i < clew_trace_task_count(trace); i++) {
		const struct clew_trace_task *task = clew_trace_task_at(trace, i);
		struct clew_why why;

		if (clew_why_explain(trace, relations, task->serial, clew_trace_start(trace),
				     clew_trace_end(trace), &why) < 0)
			abort();
		clew_why_done(&why);
	}
	clew_relations_free(relations);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct clew_model *model, *again;
	struct clew_trace *trace;
	char message[300];
	int r;

	if (clew_notation_read((const char *)data, size, NULL, &model, message, sizeof(message)) <
	    0)
		return 0;
	r = clew_trace_from_model(model, NULL, &trace, message, sizeof(message));
	if (r < 0 && r != -EINVAL)
		abort();
	if (r == 0) {
		go_through(trace);
		if (clew_model_from_trace(trace, &again) < 0)
			abort();
		clew_model_free(again);
		clew_trace_free(trace);
	} else if (!message[0]) {
		abort();
	}
	clew_model_free(model);
	return 0;
}
