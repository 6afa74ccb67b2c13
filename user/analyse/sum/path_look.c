/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Paths of operations in the windows of a long capture.
 *
 * An operation belongs to the window in which it ends. Windows leave out operations that began
 * before they know everything; these are found afterwards, in traces of all of their time.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyse/sum/path_internal.h"
#include "convert/convert.h"
#include "explain/operations.h"
#include "trace/idle.h"
#include "trace/internal.h"
#include "trace/stacks.h"

#define LEFT_BYTES (1ull << 32) /* the most that a trace's sums take */

/* The operations to find in a trace: those that end in a window, or those of a list. */
struct wanted {
	const struct clew_trace_window *window;
	const struct clew_operation *longs;
	size_t count;
	struct vector missed; /* struct clew_operation: began before the trace has everything */
};

static bool is_wanted(const struct wanted *wanted, uint32_t serial, clew_time end)
{
	if (wanted->window)
		return clew_window_counts(wanted->window, (uint64_t)end);
	for (size_t i = 0; i < wanted->count; i++)
		if (wanted->longs[i].task == serial && wanted->longs[i].to == (uint64_t)end)
			return true;
	return false;
}

/* When the last wait of a task ended before a moment that separates operations. False: there is
 * none. */
static bool begin_of(const struct clew_trace *works, uint32_t serial, uint64_t at,
		     uint64_t *ret_begin)
{
	const struct trace_task *task = trace_task_find(works, serial);

	for (uint32_t i = task ? trace_pieces_until(works, task, at - 1) : 0; i-- > 0;) {
		const struct clew_sleep *sleep =
			trace_sleep_at(works, task->pieces.data[i] & PIECE_INDEX);

		if (sleep->end > at || !wait_separates(works, sleep))
			continue;
		*ret_begin = sleep->end;
		return true;
	}
	return false;
}

/* Notes an operation that began before all is known. 0 or -ENOMEM. */
static int miss(const struct clew_path_sum *sum, struct wanted *wanted, uint32_t serial,
		clew_time end)
{
	const struct clew_trace *works = sum->windows.works;
	const uint64_t *from = map_get(&sum->windows.idle, serial, 0);
	struct vector *missed = &wanted->missed;
	uint64_t begin;

	if (works)
		from = begin_of(works, serial, (uint64_t)end, &begin) ? &begin : NULL;
	/* Without an idle wait before it, there is none. */
	if (wanted->window && !from)
		return 0;
	missed->item = sizeof(struct clew_operation);
	if (vector_reserve(missed, missed->count + 1) < 0)
		return -ENOMEM;
	((struct clew_operation *)missed->data)[missed->count++] = (struct clew_operation){
		.task = serial, .from = from ? *from : 0, .to = (uint64_t)end};
	return 0;
}

static int find_of_span(const struct clew_path_sum *sum, struct clew_path_sum *part,
			struct wanted *wanted, uint32_t span, uint32_t serial)
{
	/* Before this moment the trace has runs alone: it gives no reason for the gaps. */
	uint64_t kept = wanted->window ? wanted->window->kept : 0;
	struct clew_path_operation *operations;
	clew_time end;
	size_t count;
	int r = clew_path_operations(part->model, span, sum->asked->idle, &operations, &count);

	if (r < 0)
		return r;
	for (size_t i = 0; i < count && r == 0; i++) {
		if (!is_wanted(wanted, serial, operations[i].end.at))
			continue;
		r = (uint64_t)operations[i].from < kept
			    ? miss(sum, wanted, serial, operations[i].end.at)
			    : path_find_operation(part, span, &operations[i]);
	}
	free(operations);
	if (r == 0 && clew_path_unbegun(part->model, span, sum->asked->idle, &end) &&
	    is_wanted(wanted, serial, end))
		r = miss(sum, wanted, serial, end);
	return r;
}

/* Finds what is wanted of a trace and leaves its sums. 0 or -errno. */
static int find_in(const struct clew_path_sum *sum, const struct clew_trace *trace,
		   struct wanted *wanted, struct shared *out)
{
	struct clew_path_sum part;
	uint32_t *spans = NULL;
	struct clew_model *model;
	size_t count;
	int r = sum->windows.works
			? clew_trace_take_works((struct clew_trace *)trace, sum->windows.works)
			: 0;

	if (r == 0)
		r = clew_model_from_trace(trace, &model);
	if (r < 0)
		return r;
	clew_path_sum_begin(&part, sum->asked);
	r = clew_path_sum_model(&part, model,
				clew_trace_has_stacks(trace) ? (struct clew_trace *)trace : NULL);
	if (r == 0) {
		spans = parties_spans_of(trace, model, &sum->windows.chosen, false, &count);
		r = spans ? 0 : -ENOMEM;
	}
	for (size_t i = 0; r == 0 && i < count; i++)
		r = find_of_span(sum, &part, wanted, spans[i], clew_task_of_span(trace, spans[i]));
	if (r == 0)
		r = path_leave(&part, trace, &wanted->missed, out);
	free(spans);
	vector_done(&wanted->missed);
	clew_path_sum_done(&part);
	clew_model_free(model);
	return r;
}

static int look(void *context, const struct clew_trace *trace,
		const struct clew_trace_window *window, struct shared *out)
{
	struct wanted wanted = {.window = window};

	return find_in(context, trace, &wanted, out);
}

static int add(void *context, const struct shared *found)
{
	return path_join(context, found);
}

/* Notes when waits end that may separate operations: whether one is in an exchange is not known
 * yet. */
static int tell(void *context, const struct clew_trace *trace, const struct clew_finding *finding,
		bool here)
{
	struct clew_path_sum *sum = context;
	const struct clew_sleep *sleep = finding->sleep;
	const uint64_t *known;

	if (sum->windows.works)
		return 0;
	(void)here; /* what a window knows itself is behind the start of its part */
	if (finding->tag != CLEW_FINDING_SLEEP || sleep->end == CLEW_TIME_OPEN ||
	    sleep->end >= trace->part->from || !map_get(&sum->windows.chosen, sleep->task, 0) ||
	    !operation_is_idle(sleep->kind, sleep->call, false, sum->asked->idle))
		return 0;
	known = map_get(&sum->windows.idle, sleep->task, 0);
	return known && *known > sleep->end
		       ? 0
		       : map_set(&sum->windows.idle, sleep->task, 0, sleep->end);
}

int clew_path_sum_longs(void *context, const struct clew_trace *trace, const void *longs,
			size_t count)
{
	struct wanted wanted = {.longs = longs, .count = count};
	struct shared *out = shared_new(LEFT_BYTES);
	int r = out ? find_in(context, trace, &wanted, out) : -ENOMEM;

	if (r == 0)
		r = path_join(context, out);
	shared_free(out);
	return r;
}

int clew_path_sum_taker(struct clew_path_sum *sum, const struct clew_trace *names,
			const uint32_t *spans, size_t count, struct clew_windows_taker *ret_taker)
{
	int r = clew_path_totals_new(NULL, &sum->windows.totals);

	*ret_taker = (struct clew_windows_taker){
		.look = look, .add = add, .tell = tell, .context = sum, .models = true};
	return r < 0 ? r : parties_list(names, spans, count, &sum->windows.chosen);
}
