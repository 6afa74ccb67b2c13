/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The things whose time `clew latency` shows. */
#include "explain/latency_find.h"

#include <clew/kernel/records.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "explain/kinds.h"
#include "explain/operations.h"
#include "explain/why.h"
#include "trace/internal.h"
#include "trace/windows.h"

struct finder {
	const struct clew_trace *trace;
	struct clew_latency_asked *asked;
	int (*take)(void *context, const struct clew_latency_item *item);
	void *context;
};

/* Hands an item on, with its split. `split`: that of its task. */
static int hand_on(const struct finder *finder, const struct clew_time_split *split,
		   struct clew_latency_item *item)
{
	if (item->open)
		item->to = item->from;
	clew_time_split_add(split, item->from, item->to, item->split);
	return finder->take(finder->context, item);
}

static bool lies_in(const struct finder *finder, uint64_t from, uint64_t to)
{
	return from <= finder->asked->to && to >= finder->asked->from;
}

/* ---- functions ---- */

static bool has_no_time(const struct clew_trace_frame *frame)
{
	return frame->end == CLEW_TIME_OPEN || frame->closed == CLEW_FRAME_OPEN ||
	       frame->closed == CLEW_FRAME_LOST || frame->closed == CLEW_FRAME_UNWOUND;
}

static int find_frames(const struct finder *finder, const struct clew_trace_task *task,
		       const struct clew_time_split *split)
{
	size_t count;
	const struct clew_trace_frame *frames =
		clew_trace_frames(finder->trace, task->serial, &count);
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++) {
		struct clew_latency_item item = {.task = task,
						 .from = frames[i].start,
						 .to = frames[i].end,
						 .frame = &frames[i],
						 .open = has_no_time(&frames[i])};

		if (frames[i].closed != CLEW_FRAME_POINT &&
		    !(frames[i].flags & CLEW_FRAME_REPLACED) &&
		    lies_in(finder, frames[i].start, frames[i].end))
			r = hand_on(finder, split, &item);
	}
	return r;
}

/* ---- waits ---- */

/* True if it is not known how long a sleep lasted. */
static bool is_open(const struct clew_sleep *sleep)
{
	return sleep->open || sleep->end == CLEW_TIME_OPEN || sleep->switch_in == CLEW_TIME_OPEN;
}

static int take_sleep(const struct finder *finder, const struct clew_trace_task *task,
		      const struct clew_time_split *split, const struct clew_sleep *sleep)
{
	struct clew_latency_item item = {.task = task,
					 .from = sleep->start,
					 .to = clew_sleep_over(finder->trace, sleep),
					 .sleep = sleep,
					 .open = is_open(sleep)};

	if (!lies_in(finder, item.from, item.to) ||
	    (finder->asked->window && !clew_window_counts(finder->asked->window, sleep->end)))
		return 0;
	if (!finder->asked->idle && sleep_is_idle(finder->trace, sleep)) {
		finder->asked->idle_left_out++;
		return 0;
	}
	return hand_on(finder, split, &item);
}

static int find_waits(const struct finder *finder, const struct clew_trace_task *task,
		      const struct clew_time_split *split)
{
	const struct trace_task *of = trace_task_find(finder->trace, task->serial);
	int r = 0;

	for (uint32_t i = 0; of && i < of->pieces.count && r == 0; i++) {
		uint32_t piece = of->pieces.data[i];

		if (piece >> PIECE_SHIFT == PIECE_SLEEP)
			r = take_sleep(finder, task, split,
				       trace_sleep_at(finder->trace, piece & PIECE_INDEX));
	}
	return r;
}

/* Calls `find` for each chosen task. */
static int find_by_task(const struct finder *finder,
			int (*find)(const struct finder *finder, const struct clew_trace_task *task,
				    const struct clew_time_split *split))
{
	const struct clew_trace *tasks = finder->asked->tasks ?: finder->trace;
	size_t count = clew_trace_task_count(tasks);
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++) {
		const struct clew_trace_task *task = clew_trace_task_at(tasks, i);
		struct clew_time_split split;

		if (!clew_is_chosen(&finder->asked->chosen, tasks, task->serial))
			continue;
		r = clew_time_split_make(finder->trace, task->serial, &split);
		if (r == 0)
			r = find(finder, task, &split);
		clew_time_split_done(&split);
	}
	return r;
}

/* ---- locks and operations ---- */

/* An item of a task, before the tasks' splits are made. */
struct pending {
	struct clew_latency_item item;
	uint32_t task;
	size_t index; /* of the wait that it is */
	bool timed;   /* its split is known */
};

static int by_task(const void *left, const void *right)
{
	const struct pending *a = left, *b = right;

	if (a->task != b->task)
		return a->task < b->task ? -1 : 1;
	if (a->item.from != b->item.from)
		return a->item.from < b->item.from ? -1 : 1;
	return (a->item.lock > b->item.lock) - (a->item.lock < b->item.lock);
}

/* Sorts items by task and finds their splits. 0 or -ENOMEM. */
static int find_splits(const struct clew_trace *trace, struct pending *all, size_t count)
{
	struct clew_time_split split = {};
	uint32_t task = CLEW_NO_TASK;
	int r = 0;

	if (count)
		qsort(all, count, sizeof(*all), by_task);
	for (size_t i = 0; i < count && r == 0; i++) {
		struct clew_latency_item *item = &all[i].item;

		if (item->open)
			item->to = item->from;
		if (all[i].timed)
			continue;
		if (all[i].task != task) {
			clew_time_split_done(&split);
			task = all[i].task;
			r = clew_time_split_make(trace, task, &split);
		}
		if (r == 0)
			clew_time_split_add(&split, item->from, item->to, item->split);
	}
	clew_time_split_done(&split);
	return r;
}

static int hand_on_all(const struct finder *finder, struct pending *all, size_t count)
{
	int r = find_splits(finder->trace, all, count);

	for (size_t i = 0; i < count && r == 0; i++) {
		all[i].item.task =
			clew_trace_task(finder->asked->tasks ?: finder->trace, all[i].task);
		if (all[i].item.task)
			r = finder->take(finder->context, &all[i].item);
	}
	return r;
}

static struct pending pending_sleep(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	return (struct pending){.task = sleep->task,
				.item = {.from = sleep->start,
					 .to = clew_sleep_over(trace, sleep),
					 .open = is_open(sleep)}};
}

static struct pending pending_spin(const struct clew_spin *spin)
{
	return (struct pending){.task = spin->task, .item = {.from = spin->start, .to = spin->end}};
}

static struct pending pending_of(const struct finder *finder, const struct clew_contended *lock,
				 const struct clew_lock_wait *wait)
{
	const struct clew_lock_times *times = finder->asked->locks;
	const struct clew_lock_time *time = NULL;
	struct pending pending;

	if (times)
		time = wait->sleep ? &times->sleeps[wait->sleep - times->waiting.sleeps]
				   : &times->spins[wait->spin - times->waiting.spins];
	pending =
		wait->sleep ? pending_sleep(finder->trace, wait->sleep) : pending_spin(wait->spin);
	pending.item.lock = lock;
	if (time) {
		pending.timed = true;
		pending.item.to = time->to;
		pending.item.open = time->open;
		memcpy(pending.item.split, time->split, sizeof(time->split));
	}
	return pending;
}

int clew_lock_times_find(const struct clew_trace *trace, const struct clew_lock_waiting *waiting,
			 struct clew_lock_time *ret_sleeps, struct clew_lock_time *ret_spins)
{
	size_t sleeps = waiting->sleep_count, count = sleeps + waiting->spin_count;
	struct pending *all = calloc(count + 1, sizeof(*all));
	int r;

	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		all[i] = i < sleeps ? pending_sleep(trace, &waiting->sleeps[i])
				    : pending_spin(&waiting->spins[i - sleeps]);
		all[i].index = i;
	}
	r = find_splits(trace, all, count);
	for (size_t i = 0; i < count; i++) {
		size_t index = all[i].index;
		struct clew_lock_time *time =
			index < sleeps ? &ret_sleeps[index] : &ret_spins[index - sleeps];

		*time = (struct clew_lock_time){.to = all[i].item.to, .open = all[i].item.open};
		memcpy(time->split, all[i].item.split, sizeof(time->split));
	}
	free(all);
	return r;
}

static int make_locks(const struct finder *finder, struct clew_locks *ret_locks)
{
	const struct clew_latency_asked *asked = finder->asked;

	if (!asked->locks)
		return clew_locks_make(finder->trace, &asked->chosen, asked->from, asked->to,
				       ret_locks);
	return clew_locks_make_of(finder->trace, &asked->locks->waiting, &asked->chosen,
				  asked->from, asked->to, ret_locks);
}

static int find_locks(const struct finder *finder)
{
	struct clew_locks locks;
	struct pending *all;
	size_t count = 0, made = 0;
	int r = make_locks(finder, &locks);

	if (r < 0)
		return r;
	for (size_t i = 0; i < locks.count; i++)
		count += locks.locks[i].wait_count;
	all = calloc(count + 1, sizeof(*all));
	for (size_t i = 0; all && i < locks.count; i++)
		for (size_t k = 0; k < locks.locks[i].wait_count; k++)
			all[made++] = pending_of(finder, &locks.locks[i], &locks.locks[i].waits[k]);
	r = all ? hand_on_all(finder, all, count) : -ENOMEM;
	free(all);
	clew_locks_done(&locks);
	return r;
}

/* One whose begin or end the capture does not show has no known length. */
static struct pending pending_operation(const struct clew_kind_operation *operation)
{
	return (struct pending){.task = operation->operation.task,
				.item = {.from = operation->operation.from,
					 .to = operation->operation.to,
					 .operation = operation,
					 .open = operation->begun_before || operation->goes_on}};
}

/* True if an operation is to be handed on: in a window, if that knows all of it. *ret_long: it
 * began before that. */
static bool is_in_window(const struct clew_latency_asked *asked,
			 const struct clew_kind_operation *operation, bool *ret_long)
{
	bool open = operation->begun_before || operation->goes_on;

	*ret_long = false;
	if (!asked->window)
		return true;
	if (!clew_window_counts(asked->window, operation->operation.to))
		return false;
	*ret_long = !open && operation->operation.from < asked->window->kept;
	return !*ret_long;
}

static int hand_on_operations(const struct finder *finder,
			      const struct clew_kind_operation *operations, size_t count)
{
	const struct clew_latency_asked *asked = finder->asked;
	struct pending *all = calloc(count + 1, sizeof(*all));
	size_t found = 0;
	int r = all ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && r == 0; i++) {
		bool is_long;

		if (is_in_window(asked, &operations[i], &is_long))
			all[found++] = pending_operation(&operations[i]);
		if (!is_long)
			continue;
		r = vector_reserve(asked->longs, asked->longs->count + 1);
		if (r == 0)
			((struct clew_kind_operation *)asked->longs->data)[asked->longs->count++] =
				operations[i];
	}
	if (r == 0)
		r = hand_on_all(finder, all, found);
	free(all);
	return r;
}

static int find_operations(const struct finder *finder)
{
	const struct clew_latency_asked *asked = finder->asked;
	struct vector operations = {.item = sizeof(struct clew_kind_operation)};
	uint64_t busy = 0;
	int r;

	if (asked->operations)
		return hand_on_operations(finder, asked->operations, asked->operation_count);
	r = kinds_find(finder->trace, &asked->chosen, asked->from, asked->to, &operations, &busy);
	if (r == 0)
		r = hand_on_operations(finder, operations.data, operations.count);
	vector_done(&operations);
	return r;
}

int clew_latency_find(const struct clew_trace *trace, struct clew_latency_asked *asked,
		      int (*take)(void *context, const struct clew_latency_item *item),
		      void *context)
{
	const struct finder finder = {
		.trace = trace, .asked = asked, .take = take, .context = context};

	asked->idle_left_out = 0;
	switch (asked->of) {
	case CLEW_LATENCY_OF_FRAMES:
		return find_by_task(&finder, find_frames);
	case CLEW_LATENCY_OF_WAITS:
		return find_by_task(&finder, find_waits);
	case CLEW_LATENCY_OF_LOCKS:
		return find_locks(&finder);
	default:
		return find_operations(&finder);
	}
}
