/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Waits added up. See wait_sums.h. An item is the index of a wait or, by holder, a task's serial.
 */
#include "cli/wait_sums.h"

#include <clew/tokens.h>

#include "words/describe.h"
#include "words/object.h"
#include "words/task.h"
#include "words/wait_key.h"

static uint64_t overlap(const struct clew_window *window, uint64_t start, uint64_t end)
{
	uint64_t from = start > window->from ? start : window->from,
		 to = end < window->to ? end : window->to;

	return to > from ? to - from : 0;
}

static int add_holders(struct clew_sums *sums, const struct clew_view *view,
		       const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	int r = 0;

	for (uint32_t i = 0; i < sleep->holder_count && r == 0; i++) {
		const struct clew_holder *holder = &sleep->holders[i];
		uint64_t to = clew_trace_until(trace, holder->to);

		r = clew_sums_add(sums, (struct clew_sum_key){{holder->task}},
				  overlap(&view->window, holder->from, to), holder->task);
	}
	return r;
}

int clew_wait_sums_add(struct clew_sums *sums, const struct clew_view *view,
		       const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	uint64_t end = clew_trace_until(trace, sleep->end);
	struct clew_sum_key key = {};

	switch (view->by) {
	case CLEW_BY_HOLDER:
		return add_holders(sums, view, trace, sleep);
	case CLEW_BY_OBJECT:
		key = clew_wait_object_key(trace, sleep);
		break;
	case CLEW_BY_KIND:
		key.parts[0] = sleep->kind;
		break;
	case CLEW_BY_TASK:
		key.parts[0] = sleep->task;
		break;
	case CLEW_BY_CALL:
		key.parts[0] = sleep->call;
		break;
	default:
		break;
	}
	return clew_sums_add_wait(sums, key, overlap(&view->window, sleep->start, end), trace,
				  sleep);
}

static const struct clew_sleep *sleep_of(const struct clew_wait_names *names, uint32_t item)
{
	size_t count;

	return clew_trace_sleeps(names->trace, &count) + item;
}

static void print_name(void *context, FILE *out, uint32_t item)
{
	const struct clew_wait_names *names = context;
	const struct clew_trace *trace = names->trace;
	const struct clew_sleep *sleep;

	if (names->view->by == CLEW_BY_HOLDER) {
		clew_print_task(out, trace, item, clew_trace_end(trace));
		return;
	}
	sleep = sleep_of(names, item);
	switch (names->view->by) {
	case CLEW_BY_TASK:
		clew_print_task(out, trace, sleep->task, sleep->start);
		break;
	case CLEW_BY_KIND:
		fputs(clew_wait_kind_name(sleep->kind), out);
		break;
	case CLEW_BY_CALL:
		fputs(clew_call_name(sleep->call) ?: "no call", out);
		break;
	default:
		if (!clew_waits_for_object(sleep) ||
		    !clew_print_object(out, trace, &sleep->object, sleep))
			fprintf(out, "no object (%s)", clew_wait_kind_name(sleep->kind));
		break;
	}
}

static void json_fields(void *context, struct clew_json *json, uint32_t item)
{
	const struct clew_wait_names *names = context;
	const struct clew_trace *trace = names->trace;
	const struct clew_sleep *sleep;

	if (names->view->by == CLEW_BY_HOLDER) {
		clew_json_task_fields(json, trace, item, clew_trace_end(trace));
		return;
	}
	sleep = sleep_of(names, item);
	if (names->view->by == CLEW_BY_TASK)
		clew_json_task_fields(json, trace, sleep->task, sleep->start);
	if (names->view->by == CLEW_BY_OBJECT)
		clew_json_object_of(json, "object", trace, &sleep->object, sleep);
}

struct clew_sums_names clew_wait_sums_names(struct clew_wait_names *names)
{
	return (struct clew_sums_names){
		.name = print_name, .fields = json_fields, .context = names};
}
