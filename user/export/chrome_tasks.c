/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Threads for Chrome's trace events: announced calls and functions, waits, and the time ready are
 * slices of a thread, and dependencies are arrows between them.
 */
#include "export/chrome.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "export/flow.h"
#include "export/slices.h"

#define PROGRESS_EVERY 65536

/* A name behind which others have the same number: the last one is shown. */
static void put_names(struct chrome *it)
{
	for (size_t i = 0, count = clew_trace_task_count(it->trace); i < count; i++) {
		const struct clew_trace_task *task = clew_trace_task_at(it->trace, i);

		if (!task->tid)
			continue;
		if (chrome_pid(task) == task->tid)
			chrome_name(it, task->tid, 0, task->comm);
		chrome_name(it, chrome_pid(task), task->tid, task->comm);
	}
}

static void note(void *context, const char *key, const char *value)
{
	clew_json_string(context, key, value);
}

/* A slice that does not nest is asynchronous, and has a row of its own. */
static int put_beside(struct chrome *it, const struct export_slice *slice, size_t number,
		      const struct clew_trace_task *task, const char *name)
{
	int r;

	it->count += 2;
	if (it->counting)
		return 0;
	for (unsigned ends = 0; ends < (slice->end == CLEW_TIME_OPEN ? 1u : 2u); ends++) {
		clew_json_object(&it->json, NULL);
		clew_json_string(&it->json, "ph", ends ? "e" : "b");
		clew_json_microseconds(&it->json, "ts", ends ? slice->end : slice->start);
		clew_json_unsigned(&it->json, "pid", chrome_pid(task));
		clew_json_unsigned(&it->json, "tid", task->tid);
		clew_json_unsigned(&it->json, "id", number + 1);
		clew_json_string(&it->json, "cat", slice->activity ? "call" : "function");
		clew_json_string(&it->json, "name", name);
		clew_json_object(&it->json, "args");
		r = ends ? 0 : export_slice_notes(it->trace, slice, note, &it->json);
		chrome_close(it);
		if (r < 0)
			return r;
	}
	return 0;
}

static int put_slices(struct chrome *it)
{
	struct vector slices = {};
	int r = export_slices(it->export, &slices);

	for (size_t i = 0; i < slices.count && r >= 0; i++) {
		const struct export_slice *slice = (const struct export_slice *)slices.data + i;
		const struct clew_trace_task *task = clew_trace_task(it->trace, slice->task);
		char name[SLICE_NAME_SIZE];

		if (!task->tid)
			continue;
		export_slice_name(it->trace, slice, name, sizeof(name));
		if (slice->beside) {
			r = put_beside(it, slice, i, task, name);
		} else if (chrome_open(it, &(struct chrome_event){.name = name,
								  .category = slice->activity
										      ? "call"
										      : "function",
								  .start = slice->start,
								  .end = slice->end,
								  .pid = chrome_pid(task),
								  .tid = task->tid})) {
			r = export_slice_notes(it->trace, slice, note, &it->json);
			chrome_close(it);
		}
	}
	vector_done(&slices);
	return r;
}

static void put_wait(struct chrome *it, const struct clew_sleep *sleep,
		     const struct clew_trace_task *task)
{
	char name[EXPORT_TASK_SIZE];
	struct object_description object;

	if (!chrome_open(it, &(struct chrome_event){.name = clew_wait_kind_name(sleep->kind),
						    .category = "wait",
						    .start = sleep->start,
						    .end = sleep->end,
						    .pid = chrome_pid(task),
						    .tid = task->tid}))
		return;
	if (object_describe_then(it->trace, &sleep->object, sleep, sleep->start, &object))
		clew_json_string(&it->json, "object", object.name);
	if (clew_call_name(sleep->call))
		clew_json_string(&it->json, "call", clew_call_name(sleep->call));
	if (sleep->holder_count)
		clew_json_array(&it->json, "holders");
	for (uint32_t i = 0; i < sleep->holder_count; i++)
		if (!sleep->holders[i].coming)
			clew_json_string(&it->json, NULL,
					 export_task_name(it->trace, sleep->holders[i].task,
							  sleep->holders[i].from, name));
	if (sleep->holder_count)
		clew_json_array_end(&it->json);
	if (sleep->end != CLEW_TIME_OPEN) {
		if (sleep->ended_by != CLEW_NO_TASK)
			clew_json_string(
				&it->json, "ended_by",
				export_task_name(it->trace, sleep->ended_by,
						 sleep->raw_end ? sleep->raw_end : sleep->end,
						 name));
		clew_json_string(&it->json, "context", clew_context_name(sleep->context));
		if (sleep->edge_type >= 0)
			clew_json_string(&it->json, "evidence",
					 clew_evidence_name(sleep->edge_evidence));
	}
	if (sleep->open & CLEW_OPEN_START)
		clew_json_string(&it->json, "open", "start");
	if (sleep->blind)
		clew_json_string(&it->json, "blind", sleep->hidden ? "hidden" : "lost");
	chrome_close(it);
}

static void put_ready(struct chrome *it, const struct clew_sleep *sleep,
		      const struct clew_trace_task *task, const struct clew_edge *edges,
		      size_t edge_count)
{
	const struct clew_edge *edge;
	size_t at = 0;

	if (!flow_was_ready(sleep))
		return;
	if (chrome_open(it, &(struct chrome_event){.name = "ready",
						   .category = "ready",
						   .start = sleep->end,
						   .end = sleep->switch_in,
						   .pid = chrome_pid(task),
						   .tid = task->tid}))
		chrome_close(it);
	while ((edge = flow_next(it->export, edges, edge_count, sleep, &at)))
		for (unsigned k = 0; k <= flow_further_count(edge); k++)
			if (k == 0 || clew_trace_task(it->trace, flow_further(edge, k)->task))
				chrome_flow(it, flow_number(at - 1, k), true,
					    clew_trace_type_name(it->trace, edge->type), sleep->end,
					    chrome_pid(task), task->tid);
}

int chrome_tasks(struct chrome *it)
{
	size_t count, edge_count;
	const struct clew_sleep *sleeps = clew_trace_sleeps(it->trace, &count);
	const struct clew_edge *edges = clew_trace_edges(it->trace, &edge_count);
	int r;

	put_names(it);
	r = put_slices(it);
	for (size_t i = 0; i < count && r >= 0; i++) {
		const struct clew_trace_task *task = clew_trace_task(it->trace, sleeps[i].task);

		if (i % PROGRESS_EVERY == 0)
			it->export->progress(it->export->progress_context,
					     (it->counting ? 0. : .5) +
						     .4 * (double)i / (double)count);
		if (!clew_export_wants(it->export, sleeps[i].task) || !task->tid ||
		    !clew_export_has(it->export, sleeps[i].start, sleeps[i].end))
			continue;
		put_wait(it, &sleeps[i], task);
		put_ready(it, &sleeps[i], task, edges, edge_count);
	}
	return r;
}

/* ---- arrows ---- */

/* An instant of the task that acted, and the flows that begin there. */
struct cause {
	const struct clew_edge *edges;
	const uint32_t *order; /* of the group */
	uint32_t count;
};

static void put_cause(struct chrome *it, const struct cause *cause, unsigned further)
{
	const struct clew_edge *first = &cause->edges[cause->order[0]];
	uint32_t serial = further ? flow_further(first, further)->task : first->from;
	uint64_t at = further ? flow_further(first, further)->at : first->from_at;
	const struct clew_trace_task *task = clew_trace_task(it->trace, serial);
	const char *type = clew_trace_type_name(it->trace, first->type);
	struct object_description object;

	if (!task || !task->tid)
		return;
	if (chrome_open(it, &(struct chrome_event){.name = type,
						   .category = "cause",
						   .start = at,
						   .end = at,
						   .pid = chrome_pid(task),
						   .tid = task->tid})) {
		clew_json_string(&it->json, "type", type);
		clew_json_string(&it->json, "evidence", clew_evidence_name(first->evidence));
		clew_json_string(&it->json, "context", clew_context_name(first->context));
		if (flow_describe(it->trace, first, &object))
			clew_json_string(&it->json, "object", object.name);
		chrome_close(it);
	}
	for (uint32_t i = 0; i < cause->count; i++)
		if (flow_is_shown(it->export, &cause->edges[cause->order[i]]))
			chrome_flow(it, flow_number(cause->order[i], further), false, type, at,
				    chrome_pid(task), task->tid);
}

/* A task that had its CPU at once, or began. */
static void put_effect(struct chrome *it, const struct clew_edge *edge, size_t index)
{
	const struct clew_sleep *sleep = flow_sleep(it->trace, edge);
	const struct clew_trace_task *task = clew_trace_task(it->trace, edge->to);
	const char *type = clew_trace_type_name(it->trace, edge->type);

	if (sleep && flow_was_ready(sleep))
		return;
	if (chrome_open(it, &(struct chrome_event){.name = type,
						   .category = "effect",
						   .start = edge->to_at,
						   .end = edge->to_at,
						   .pid = chrome_pid(task),
						   .tid = task->tid}))
		chrome_close(it);
	for (unsigned k = 0; k <= flow_further_count(edge); k++)
		if (k == 0 || clew_trace_task(it->trace, flow_further(edge, k)->task))
			chrome_flow(it, flow_number(index, k), true, type, edge->to_at,
				    chrome_pid(task), task->tid);
}

int chrome_causes(struct chrome *it)
{
	size_t count, edge_count;
	uint32_t *order, *begin;
	const struct clew_edge *edges = clew_trace_edges(it->trace, &edge_count);
	int r = clew_trace_edge_groups(it->trace, &order, &begin, &count);

	if (r < 0)
		return r;
	for (size_t g = 0; g < count; g++) {
		struct cause cause = {edges, order + begin[g], begin[g + 1] - begin[g]};
		bool shown = false;

		for (uint32_t i = 0; i < cause.count; i++)
			shown |= flow_is_shown(it->export, &edges[cause.order[i]]);
		for (unsigned k = 0; shown && k <= flow_further_count(&edges[cause.order[0]]); k++)
			put_cause(it, &cause, k);
	}
	free(order);
	free(begin);
	return 0;
}

void chrome_effects(struct chrome *it)
{
	size_t count;
	const struct clew_edge *edges = clew_trace_edges(it->trace, &count);

	for (size_t i = 0; i < count; i++)
		if (flow_is_shown(it->export, &edges[i]))
			put_effect(it, &edges[i], i);
}
