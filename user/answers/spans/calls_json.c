/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Calls of traced functions in JSON. */
#include <clew/tokens.h>
#include <string.h>

#include "answers/spans/spans.h"
#include "words/dropped.h"
#include "words/frame.h"
#include "words/ledger.h"

static void json_reasons(struct clew_json *json, const char *key, const struct clew_calls_row *row,
			 bool all)
{
	clew_json_object(json, key);
	for (unsigned i = 0; i < CLEW_FRAME_CLOSED_COUNT; i++)
		if (row->closed[i] && (all || (i > CLEW_FRAME_TAIL_CALL && i != CLEW_FRAME_OPEN)))
			clew_json_unsigned(json, clew_frame_closed_name(i), row->closed[i]);
	clew_json_object_end(json);
}

static void json_total(struct clew_json *json, const struct clew_calls_row *row)
{
	static const struct {
		const char *name;
		double share;
	} percentiles[] = {
		{"p50_ns", .5}, {"p90_ns", .9}, {"p99_ns", .99}, {"p999_ns", .999}, {"max_ns", 1}};

	if (!row->timed) {
		clew_json_null(json, "total");
		return;
	}
	clew_json_object(json, "total");
	clew_json_unsigned(json, "count", row->timed);
	clew_json_unsigned(json, "sum_ns", row->total);
	clew_json_unsigned(json, "mean_ns", row->total / row->timed);
	for (unsigned i = 0; i < sizeof(percentiles) / sizeof(percentiles[0]); i++)
		clew_json_unsigned(json, percentiles[i].name,
				   clew_calls_percentile(row, percentiles[i].share));
	clew_json_object_end(json);
}

static void json_row(struct clew_json *json, const struct clew_trace *trace,
		     const struct clew_calls_row *row)
{
	const struct clew_trace_function *function = clew_trace_function(trace, row->function);

	clew_json_object(json, NULL);
	clew_json_string(json, "name", function ? function->name : NULL);
	clew_json_string(json, "demangled",
			 function && strcmp(function->readable, function->name) ? function->readable
										: NULL);
	clew_json_string(json, "object", function ? function->object : NULL);
	clew_json_null(json, "runtime");
	clew_json_unsigned(json, "count", row->count);
	json_reasons(json, "closed", row, true);
	clew_json_unsigned(json, "jumped", row->jumped);
	clew_json_unsigned(json, "entries_only", row->entries);
	clew_json_unsigned(json, "points", row->points);
	json_total(json, row);
	clew_json_unsigned(json, "self_ns", row->self);
	clew_json_unsigned(json, "probe_ns", row->probe);
	clew_json_unsigned(json, "unread", row->unread);
	clew_json_object_end(json);
}

static void json_summary(struct clew_json *json, const struct clew_calls *calls)
{
	const struct clew_calls_row *all = &calls->all;
	uint64_t begun = clew_calls_begun(all);

	clew_json_object(json, "summary");
	clew_json_unsigned(json, "begun", begun);
	clew_json_unsigned(json, "built", clew_calls_built(all));
	if (begun)
		clew_json_number(json, "success_rate",
				 (double)clew_calls_built(all) / (double)begun);
	else
		clew_json_null(json, "success_rate");
	json_reasons(json, "unmatched", all, false);
	clew_json_unsigned(json, "cross_thread", calls->cross_thread);
	clew_json_unsigned(json, "open", all->closed[CLEW_FRAME_OPEN]);
	clew_json_unsigned(json, "entries_only", all->entries);
	clew_json_unsigned(json, "points", all->points);
	clew_json_object_end(json);
}

/* The trace and where its frames go. */
struct frame_list {
	const struct clew_trace *trace;
	struct clew_json *json;
};

static void json_frame(void *context, const struct clew_trace_task *task,
		       const struct clew_trace_frame *frame)
{
	const struct frame_list *list = context;

	clew_json_object(list->json, NULL);
	clew_json_frame_fields(list->json, list->trace, task, frame);
	clew_json_object_end(list->json);
}

int clew_json_calls(FILE *out, const struct clew_calls *calls, const struct clew_logical *logical,
		    bool each)
{
	struct clew_json json = {.out = out};
	struct frame_list list = {.trace = calls->trace, .json = &json};
	int r = 0;

	clew_json_answer(&json);
	json_summary(&json, calls);
	clew_json_array(&json, "by_name");
	for (uint32_t i = 0; i < calls->row_count; i++)
		json_row(&json, calls->trace, &calls->rows[i]);
	clew_json_array_end(&json);
	if (each) {
		clew_json_array(&json, "list");
		clew_calls_each(calls, json_frame, &list);
		clew_json_array_end(&json);
	}
	if (logical)
		r = clew_json_logical(&json, logical);
	clew_json_array(&json, "groups_dropped");
	clew_json_dropped(&json, calls->trace);
	clew_json_array_end(&json);
	clew_json_ledger(&json, calls->trace, calls->from, calls->to);
	clew_json_object_end(&json);
	clew_json_end(&json);
	return r;
}
