/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Operations: what a thread did between two idle waits, both of which must be
 * in the capture. Successive waits within one system call are one idle wait.
 * Instances of a system call are found by its waits, too: no record shows when
 * it began or ended.
 */
#include "explain/operations.h"

#include "trace/deadlock.h"
#include "trace/internal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * A list with a limit is a heap once it is full: its first operation is the
 * shortest.
 */
struct list {
	struct clew_operation *operations;
	size_t count, capacity;
	size_t limit; /* 0: none */
	size_t total;
};

int clew_operation_compare(const struct clew_operation *a, const struct clew_operation *b)
{
	uint64_t length_a = a->to - a->from, length_b = b->to - b->from;

	if (length_a != length_b)
		return length_a > length_b ? -1 : 1;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return a->task < b->task ? -1 : a->task > b->task;
}

static int longest_first(const void *left, const void *right)
{
	return clew_operation_compare(left, right);
}

static void sort_list(struct list *list)
{
	if (list->count > 1)
		qsort(list->operations, list->count, sizeof(*list->operations), longest_first);
}

/* Restores the heap below `place` after the operation there was replaced. */
static void sink(struct list *list, size_t place, struct clew_operation operation)
{
	for (size_t child; (child = 2 * place + 1) < list->count; place = child) {
		if (child + 1 < list->count &&
		    longest_first(&list->operations[child], &list->operations[child + 1]) < 0)
			child++;
		if (longest_first(&operation, &list->operations[child]) >= 0)
			break;
		list->operations[place] = list->operations[child];
	}
	list->operations[place] = operation;
}

static int add(struct list *list, const struct clew_operation *operation)
{
	list->total++;
	if (list->limit && list->count == list->limit) {
		if (longest_first(operation, &list->operations[0]) < 0)
			sink(list, 0, *operation);
		return 0;
	}
	if (list->count == list->capacity) {
		size_t capacity = list->capacity ? list->capacity * 2 : 256;
		struct clew_operation *operations =
			realloc(list->operations, capacity * sizeof(*operations));

		if (!operations)
			return -ENOMEM;
		list->operations = operations;
		list->capacity = capacity;
	}
	list->operations[list->count++] = *operation;
	if (list->count == list->limit)
		for (size_t i = list->count / 2; i-- > 0;)
			sink(list, i, list->operations[i]);
	return 0;
}

bool wait_is_idle(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	if (clew_trace_is_stuck(trace, sleep))
		return false;
	return sleep->kind == CLEW_WAIT_IDLE || sleep->kind == CLEW_WAIT_SLEEP ||
	       sleep->kind == CLEW_WAIT_SIGNAL ||
	       operation_is_idle(sleep->kind, sleep->call, clew_trace_in_exchange(trace, sleep), 0);
}

bool wait_separates(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	/* Where a switch was hidden, a wait may have no time: a causal trace has none. */
	if (sleep->switch_in <= sleep->start)
		return false;
	return sleep->kind == CLEW_WAIT_IDLE || sleep->kind == CLEW_WAIT_SIGNAL ||
	       (sleep->open == CLEW_OPEN_BOTH && !clew_trace_question_at(trace, sleep)) ||
	       (sleep->open == CLEW_OPEN_START && sleep->kind == CLEW_WAIT_UNKNOWN) ||
	       clew_trace_rests(trace, sleep) ||
	       operation_is_idle(sleep->kind, sleep->call, clew_trace_in_exchange(trace, sleep), 0);
}

bool sleep_is_idle(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	if (clew_trace_is_stuck(trace, sleep))
		return false;
	return sleep->open == CLEW_OPEN_BOTH ||
	       (sleep->open == CLEW_OPEN_START && sleep->kind == CLEW_WAIT_UNKNOWN) ||
	       wait_is_idle(trace, sleep);
}

/* The operations between idle waits that are asked for. */
struct between {
	uint64_t idle_kinds;
	uint64_t from, to;
};

static bool is_separating(const struct clew_trace *trace, const struct clew_sleep *sleep,
			  const struct between *between)
{
	/* Where a switch was hidden, a wait may have no time: a causal trace has none. */
	return sleep->switch_in > sleep->start &&
	       operation_is_idle(sleep->kind, sleep->call, clew_trace_in_exchange(trace, sleep),
				 between->idle_kinds);
}

static int operations_of(const struct clew_trace *trace, const struct trace_task *task,
			 const struct between *between, struct list *list)
{
	const struct clew_sleep *last = NULL;
	int r = 0;

	for (uint32_t i = 0; i < task->pieces.count && r >= 0; i++) {
		uint32_t piece = task->pieces.data[i];
		const struct clew_sleep *sleep = trace_sleep_at(trace, piece & PIECE_INDEX);

		if (piece >> PIECE_SHIFT != PIECE_SLEEP || !is_separating(trace, sleep, between))
			continue;
		if (last && last->call_id != sleep->call_id && last->end >= between->from &&
		    sleep->start <= between->to && last->end < sleep->start &&
		    !(sleep->open & CLEW_OPEN_START))
			r = add(list, &(struct clew_operation){.from = last->end,
							       .to = sleep->start,
							       .task = task->task.serial});
		last = sleep;
	}
	return r;
}

int clew_operations(const struct clew_trace *trace,
		    bool (*wanted)(void *context, const struct clew_trace_task *task),
		    void *context, uint64_t idle_kinds, uint64_t from, uint64_t to, size_t limit,
		    struct clew_operation **ret_operations, size_t *ret_count, size_t *ret_total)
{
	const struct between between = {.idle_kinds = idle_kinds, .from = from, .to = to};
	struct list list = {.limit = limit};
	int r = 0;

	for (size_t i = 0; i < trace->tasks.count && r >= 0; i++) {
		const struct trace_task *task = trace_task_at(trace, i);

		if (!wanted || wanted(context, &task->task))
			r = operations_of(trace, task, &between, &list);
	}
	if (r < 0) {
		free(list.operations);
		return r;
	}
	sort_list(&list);
	if (ret_total)
		*ret_total = list.total;
	*ret_operations = list.operations;
	*ret_count = list.count;
	return 0;
}

int clew_operations_slowest(const struct clew_trace *trace,
			    bool (*wanted)(void *context, const struct clew_trace_task *task),
			    void *context, uint64_t idle_kinds, uint64_t from, uint64_t to,
			    size_t limit, struct clew_operation **ret_operations, size_t *ret_count,
			    size_t *ret_total, bool *ret_between_sleeps)
{
	int r = clew_operations(trace, wanted, context, idle_kinds, from, to, limit, ret_operations,
				ret_count, ret_total);

	*ret_between_sleeps = false;
	if (r < 0 || idle_kinds || *ret_count)
		return r;
	free(*ret_operations);
	*ret_operations = NULL;
	r = clew_operations(trace, wanted, context, 1ull << CLEW_WAIT_SLEEP, from, to, limit,
			    ret_operations, ret_count, ret_total);
	*ret_between_sleeps = r >= 0 && *ret_count;
	return r;
}

/* ---- what is asked for ---- */

uint64_t clew_sleep_over(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	if (sleep->switch_in != CLEW_TIME_OPEN)
		return sleep->switch_in;
	return sleep->end == CLEW_TIME_OPEN || sleep->end < clew_trace_end(trace)
		       ? clew_trace_end(trace)
		       : sleep->end;
}

static bool lies_in(const struct clew_asked *asked, uint64_t from, uint64_t to)
{
	return from < to && from <= asked->to && to >= asked->from;
}

static int end_call(const struct clew_asked *asked, struct list *list, struct clew_operation *call)
{
	int r = 0;

	if (call->wait && lies_in(asked, call->from, call->to))
		r = add(list, call);
	*call = (struct clew_operation){};
	return r;
}

/* Adds a wait to the call that it is a part of. */
static void add_wait(const struct clew_trace *trace, const struct clew_asked *asked,
		     struct clew_operation *call, const struct clew_sleep *sleep)
{
	bool fits = asked->fits(asked->context, sleep);
	uint64_t over = clew_sleep_over(trace, sleep);

	if (!fits && asked->waits_alone)
		return;
	if (call->to < over) {
		if (!call->to)
			call->from = sleep->start;
		call->to = over;
		call->task = sleep->task;
	}
	if (!fits)
		return;
	call->waits++;
	if (!call->wait ||
	    over - sleep->start > clew_sleep_over(trace, call->wait) - call->wait->start)
		call->wait = sleep;
}

static int calls_of(const struct clew_trace *trace, const struct trace_task *task,
		    const struct clew_asked *asked, struct list *list)
{
	struct clew_operation call = {};
	const struct clew_sleep *last = NULL;
	int r = 0;

	for (uint32_t i = 0; i < task->pieces.count && r >= 0; i++) {
		uint32_t piece = task->pieces.data[i];
		const struct clew_sleep *sleep;

		if (piece >> PIECE_SHIFT != PIECE_SLEEP)
			continue;
		sleep = (const struct clew_sleep *)trace->sleeps.data + (piece & PIECE_INDEX);
		if (last && last->call_id != sleep->call_id)
			r = end_call(asked, list, &call);
		add_wait(trace, asked, &call, sleep);
		last = sleep;
	}
	return r < 0 ? r : end_call(asked, list, &call);
}

static int spins_of(const struct clew_trace *trace, const struct trace_task *task,
		    const struct clew_asked *asked, struct list *list)
{
	const struct clew_spin *spin = clew_trace_spin(trace, task->task.serial, 0),
			       *end = (const struct clew_spin *)trace->spins.data +
				      trace->spins.count;
	int r = 0;

	for (; spin && spin < end && spin->task == task->task.serial && r >= 0; spin++)
		if (lies_in(asked, spin->start, spin->end) && asked->spins(asked->context, spin))
			r = add(list, &(struct clew_operation){.from = spin->start,
							       .to = spin->end,
							       .task = spin->task,
							       .waits = 1,
							       .spin = spin});
	return r;
}

/* An activation that did not end lasts as long as its thread, at most. */
static int frames_of(const struct clew_trace *trace, const struct trace_task *task,
		     const struct clew_asked *asked, struct list *list)
{
	size_t count;
	const struct clew_trace_frame *frames = clew_trace_frames(trace, task->task.serial, &count);
	int r = 0;

	for (size_t i = 0; i < count && r >= 0; i++) {
		uint64_t end = frames[i].end < task->end ? frames[i].end : task->end;

		if (lies_in(asked, frames[i].start, end) &&
		    !(frames[i].flags & CLEW_FRAME_REPLACED) &&
		    asked->activated(asked->context, &frames[i]))
			r = add(list, &(struct clew_operation){.from = frames[i].start,
							       .to = end,
							       .task = task->task.serial,
							       .frame = &frames[i]});
	}
	return r;
}

static int announced_calls(const struct clew_trace *trace, const struct clew_relations *relations,
			   const struct clew_asked *asked, struct list *list)
{
	size_t count;
	const struct clew_activity *activities = clew_relations_activities(relations, &count);
	int r = 0;

	for (size_t i = 0; i < count && r >= 0; i++) {
		const struct clew_activity *activity = &activities[i];
		const struct clew_trace_task *task = clew_trace_task(trace, activity->task);
		uint64_t end = clew_trace_until(trace, activity->end);

		if (task && lies_in(asked, activity->begin, end) &&
		    asked->wanted(asked->context, task) &&
		    asked->announced(asked->context, activity))
			r = add(list, &(struct clew_operation){.from = activity->begin,
							       .to = end,
							       .task = activity->task,
							       .activity = activity});
	}
	return r;
}

int clew_operations_asked(const struct clew_trace *trace, const struct clew_relations *relations,
			  const struct clew_asked *asked, struct clew_operation **ret_operations,
			  size_t *ret_count)
{
	struct list list = {};
	int r = 0;

	for (size_t i = 0; i < trace->tasks.count && r >= 0; i++) {
		const struct trace_task *task = trace_task_at(trace, i);

		if (!asked->wanted(asked->context, &task->task))
			continue;
		if (asked->fits)
			r = calls_of(trace, task, asked, &list);
		if (r >= 0 && asked->spins)
			r = spins_of(trace, task, asked, &list);
		if (r >= 0 && asked->activated)
			r = frames_of(trace, task, asked, &list);
	}
	if (r >= 0 && relations && asked->announced)
		r = announced_calls(trace, relations, asked, &list);
	if (r < 0) {
		free(list.operations);
		return r;
	}
	sort_list(&list);
	*ret_operations = list.operations;
	*ret_count = list.count;
	return 0;
}
