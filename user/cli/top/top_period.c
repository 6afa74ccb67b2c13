/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A period of clew top. */
#include "cli/top/top_period.h"

#include <stdlib.h>
#include <unistd.h>

#include "answers/report/report_sum.h"
#include "cli/front/fail.h"
#include "cli/operand/open.h"
#include "format/style.h"
#include "format/text.h"
#include "words/class.h"
#include "words/ledger.h"
#include "words/object.h"
#include "words/stack_table.h"
#include "words/task.h"

#define MOST_WAITS 40 /* each is explained */
#define BARS_WIDTH 98 /* columns that a terminal must have for bars */

/* The chosen threads, but none of clew top itself. */
static bool wants(void *context, const struct clew_trace_task *task)
{
	struct top_period *period = context;

	return task->pid != period->own && clew_selection_wants(&period->selection, task);
}

static uint64_t age_of(void *context, const struct clew_sleep *sleep, bool *ret_longer)
{
	return ages_of(context, sleep, ret_longer);
}

static int find(struct top_period *period, struct ages *ages)
{
	const struct clew_trace *trace = period->trace;
	const struct report_asked asked = {.chosen = {.wants = wants, .context = period},
					   .from = clew_trace_start(trace),
					   .to = clew_trace_end(trace)};
	const struct clew_chosen *chosen = &asked.chosen;
	const struct clew_now_age age = {age_of, ages};
	int r = report_make(trace, period->relations, &asked, &period->report);

	if (r >= 0)
		r = ages_take(ages, trace);
	if (r >= 0)
		r = clew_now_find(trace, period->relations, chosen, &age, MOST_WAITS,
				  &period->waits, &period->wait_count);
	if (r >= 0)
		r = top_requests_find(trace, &period->report.classes, ages, &period->requests,
				      &period->request_count);
	if (r >= 0)
		r = top_objects_find(trace, chosen, &period->objects, &period->object_count);
	if (r >= 0)
		r = top_queues_find(trace, &period->report.summary, &period->queues,
				    &period->queue_count);
	for (enum top_by by = 0; r >= 0 && by <= TOP_BY_CGROUP; by++)
		r = top_pairs_find(trace, chosen, &period->report.summary, by, &period->pairs[by]);
	return r;
}

int top_period_read(const char *path, const struct clew_selection *selection, struct ages *ages,
		    struct top_period **ret_period)
{
	struct top_period *period = *ret_period = calloc(1, sizeof(*period));
	int status = period ? 0 : clew_fail_memory();

	if (status)
		return status;
	period->selection = *selection;
	period->own = (uint32_t)getpid();
	status = clew_open_segment(path, &period->trace);
	if (!status)
		status = clew_selection_resolve(&period->selection, period->trace);
	if (!status)
		status = clew_try_relations(period->trace, &period->relations);
	if (!status && find(period, ages) < 0)
		status = clew_fail_memory();
	return status;
}

void top_period_free(struct top_period *period)
{
	if (!period)
		return;
	clew_selection_done(&period->selection);
	report_done(&period->report);
	clew_now_free(period->waits, period->wait_count);
	free(period->requests);
	free(period->objects);
	free(period->queues);
	for (enum top_by by = 0; by <= TOP_BY_CGROUP; by++)
		top_pairs_done(&period->pairs[by]);
	clew_relations_free(period->relations);
	clew_trace_free(period->trace);
	free(period);
}

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

void top_period_print(FILE *out, const struct top_period *period, size_t width)
{
	fprintf(out, "%sUnder way now%s\n", clew_style_begin(CLEW_STYLE_HEADING),
		clew_style_end(CLEW_STYLE_HEADING));
	if (!period->wait_count)
		fputs("  nobody waits for a lock, a file, a disk, memory, a limit or an answer\n",
		      out);
	clew_now_print(out, period->trace, period->waits, period->wait_count, width);
	print_requests(out, period);
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
