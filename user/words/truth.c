/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The ledger and the cost of the recording behind a causal trace. */
#include "words/truth.h"

#include "convert/convert.h"

#include "words/ledger.h"

/* Clamps a moment of the model to the capture's start and end. */
static uint64_t within(const struct clew_trace *trace, clew_time at)
{
	uint64_t start = clew_trace_start(trace), end = clew_trace_end(trace),
		 moment = at < 0 ? 0 : (uint64_t)at;

	return moment < start ? start : moment > end ? end : moment;
}

void clew_json_model_truth(struct clew_json *json, const struct clew_model *model, clew_time from,
			   clew_time to)
{
	struct clew_trace *trace;

	if (clew_trace_truth_from_model(model, &trace) < 0 || !trace)
		return;
	clew_json_ledger(json, trace, within(trace, from), within(trace, to));
	clew_trace_free(trace);
}

void clew_print_model_truth(FILE *out, const struct clew_model *model, clew_time from, clew_time to)
{
	struct clew_trace *trace;

	if (clew_trace_truth_from_model(model, &trace) < 0 || !trace)
		return;
	putc('\n', out);
	clew_print_ledger(out, trace, within(trace, from), within(trace, to));
	clew_print_cost(out, clew_trace_info(trace));
	clew_trace_free(trace);
}
