/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A period of clew top, as text and as JSON. */
#include "answers/top/top.h"

#include <inttypes.h>
#include <stdlib.h>

#include "answers/report/report_sum.h"
#include "format/style.h"
#include "format/text.h"
#include "words/class.h"
#include "words/ledger.h"
#include "words/object.h"
#include "words/stack_table.h"
#include "words/task.h"

#define BARS_WIDTH 98 /* columns that a terminal must have for bars */

/* ---- as text ---- */

static void print_requests(FILE *out, const struct top_period *period)
{
	const struct clew_trace *trace = period->trace;

	if (!period->request_count)
		return;
	fprintf(out, "\n%sRequests under way, oldest first%s\n",
		clew_style_begin(CLEW_STYLE_HEADING), clew_style_end(CLEW_STYLE_HEADING));
	for (size_t i = 0; i < period->request_count; i++) {
		const struct top_request *request = &period->requests[i];

		fprintf(out, "  %8s%s  ", CLEW_DURATION(request->ns), request->longer ? "+" : " ");
		clew_print_task(out, trace, request->operation->operation.task,
				clew_trace_end(trace));
		fputs(", ", out);
		clew_print_class_of(out, trace, request->operation, true);
		fputc('\n', out);
	}
}

#define SPANS_SHOWN 10

static void print_spans(FILE *out, const struct top_period *period)
{
	if (!period->span_count)
		return;
	fprintf(out, "\n%sLogical spans that are open, by where they were submitted%s\n",
		clew_style_begin(CLEW_STYLE_HEADING), clew_style_end(CLEW_STYLE_HEADING));
	for (size_t i = 0; i < period->span_count && i < SPANS_SHOWN; i++) {
		const struct top_span *span = &period->spans[i];

		fprintf(out, "  %8" PRIu64 "  %s.", span->count, span->oldest->runtime->name);
		clew_print_safe(out, span->name);
		if (span->in) {
			fputs(", submitted in ", out);
			clew_print_safe(out, span->in);
		}
		fprintf(out, ": %" PRIu64 " running, %" PRIu64 " queued, the oldest %s old\n",
			span->now[CLEW_JOB_RUNS], span->now[CLEW_JOB_QUEUED],
			CLEW_DURATION(clew_trace_end(period->trace) - span->oldest->begin));
	}
}

void top_period_print(FILE *out, const struct top_period *period, size_t width)
{
	fprintf(out, "%sUnder way now%s\n", clew_style_begin(CLEW_STYLE_HEADING),
		clew_style_end(CLEW_STYLE_HEADING));
	if (!period->wait_count)
		fputs("  nobody waits for a lock, a file, a disk, memory, a limit or an answer\n",
		      out);
	clew_now_print(out, period->trace, period->waits, period->wait_count, width);
	print_requests(out, period);
	print_spans(out, period);
	fputs("\n", out);
	report_print(out, &period->report, width, width >= BARS_WIDTH);
}

/* ---- as JSON ---- */

static void json_requests(struct clew_json *json, const struct top_period *period)
{
	clew_json_array(json, "requests");
	for (size_t i = 0; i < period->request_count; i++) {
		const struct top_request *request = &period->requests[i];
		const struct clew_kind_operation *operation = request->operation;
		char *text = NULL;
		size_t size;
		FILE *out = open_memstream(&text, &size);

		if (out) {
			clew_print_class_of(out, period->trace, operation, true);
			fclose(out);
		}
		clew_json_object(json, NULL);
		clew_json_task_fields(json, period->trace, operation->operation.task,
				      clew_trace_end(period->trace));
		clew_json_string(
			json, "kind",
			clew_operation_kind_name((enum clew_operation_kind)operation->kind));
		clew_json_unsigned(json, "ns", request->ns);
		clew_json_bool(json, "longer", request->longer);
		clew_json_string(json, "text", text);
		clew_json_object_end(json);
		free(text);
	}
	clew_json_array_end(json);
}

static void json_spans(struct clew_json *json, const struct top_period *period)
{
	clew_json_array(json, "spans");
	for (size_t i = 0; i < period->span_count; i++) {
		const struct top_span *span = &period->spans[i];

		clew_json_object(json, NULL);
		clew_json_string(json, "runtime", span->oldest->runtime->name);
		clew_json_string(json, "kind", span->oldest->kind->name);
		clew_json_string(json, "name", span->name);
		clew_json_string(json, "submitted_in", span->in);
		clew_json_unsigned(json, "count", span->count);
		for (unsigned kind = 0; kind <= CLEW_JOB_SUSPENDED; kind++)
			clew_json_unsigned(json, clew_job_piece_word(kind), span->now[kind]);
		clew_json_unsigned(json, "oldest_ns",
				   clew_trace_end(period->trace) - span->oldest->begin);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
}

static void json_objects(struct clew_json *json, const struct top_period *period)
{
	const struct clew_trace *trace = period->trace;

	clew_json_array(json, "objects");
	for (size_t i = 0; i < period->object_count; i++) {
		const struct top_object *object = &period->objects[i];

		clew_json_object(json, NULL);
		clew_json_string(json, "kind", clew_wait_kind_name(object->longest->kind));
		clew_json_object_of(json, "object", trace, &object->longest->object,
				    object->longest);
		clew_json_unsigned(json, "ns", object->ns);
		clew_json_unsigned(json, "waits", object->waits);
		clew_json_unsigned(json, "longest_ns", object->longest_ns);
		if (object->holder == CLEW_NO_TASK) {
			clew_json_null(json, "holder");
		} else {
			clew_json_object(json, "holder");
			clew_json_task_fields(json, trace, object->holder, clew_trace_end(trace));
			clew_json_unsigned(json, "ns", object->holder_ns);
			clew_json_object_end(json);
		}
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
}

static void json_pairs(struct clew_json *json, const char *name, const struct top_pairs *pairs)
{
	clew_json_array(json, name);
	for (size_t i = 0; i < pairs->count; i++) {
		clew_json_object(json, NULL);
		clew_json_string(json, "victim", pairs->pairs[i].victim);
		clew_json_string(json, "antagonist", pairs->pairs[i].antagonist);
		clew_json_string(json, "kind", sums_pair_kind_name(pairs->pairs[i].kind));
		clew_json_unsigned(json, "ns", pairs->pairs[i].ns);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
}

static void json_program(struct clew_json *json, const char *name, const struct top_period *period,
			 uint32_t program)
{
	clew_json_string(json, name,
			 program == UINT32_MAX ? NULL
					       : period->report.summary.programs[program].name);
}

static void json_queues(struct clew_json *json, const struct top_period *period)
{
	clew_json_array(json, "run_queues");
	for (size_t i = 0; i < period->queue_count; i++) {
		const struct top_queue *queue = &period->queues[i];

		if (!queue->seen)
			continue;
		clew_json_object(json, NULL);
		clew_json_unsigned(json, "cpu", i);
		clew_json_unsigned(json, "busy_ns", queue->busy_ns);
		clew_json_unsigned(json, "ready_ns", queue->ready_ns);
		clew_json_unsigned(json, "times", queue->times);
		clew_json_unsigned(json, "longest_ns", queue->longest_ns);
		json_program(json, "ran", period, queue->ran);
		json_program(json, "waited", period, queue->waited);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
}

void top_period_json(FILE *out, const struct top_period *period)
{
	char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);
	struct clew_stacked answer;
	struct clew_json *json = &answer.fields.json;

	if (!memory)
		return;
	if (clew_stacked_begin(&answer,
			       clew_trace_has_stacks(period->trace) ? period->trace : NULL) < 0) {
		fclose(memory);
		free(text);
		return;
	}
	clew_now_json(json, period->trace, period->waits, period->wait_count);
	json_requests(json, period);
	json_spans(json, period);
	json_objects(json, period);
	json_pairs(json, "blame", &period->pairs[TOP_BY_PROGRAM]);
	json_pairs(json, "blame_by_cgroup", &period->pairs[TOP_BY_CGROUP]);
	json_queues(json, period);
	report_json(json, &period->report);
	clew_json_cost(json, clew_trace_info(period->trace));
	clew_stacked_end(&answer, memory);
	if (fclose(memory))
		return;
	/* Line feeds of a document lie between its elements, and at its end. */
	for (size_t i = 0; i + 1 < size; i++)
		if (text[i] == '\n')
			text[i] = ' ';
	fputs(text, out);
	free(text);
}
