/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pairs what took and released locks, and names the holders of waits for them.
 *
 * The steps of all tasks are sorted by lock and time, and each lock is gone through once. Whoever
 * had a lock before its first recorded step is not known, so a release without a take counts for
 * nothing.
 *
 * A recorded hold is certain. It takes the place of holders that are known from system calls alone,
 * unless one of those is certain, too. Several threads may have an rwlock at once: each has a part
 * of the wait in turn, until its own release.
 */
#include "trace/taken.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/code/lock_function.h"
#include "trace/frames.h"
#include "trace/internal.h"

enum step { STEP_RELEASE, STEP_TAKE, STEP_REFUSED };

struct event {
	uint64_t address;
	uint64_t time;
	uint32_t process;
	uint32_t task;
	uint8_t step;
	bool rwlock;
	bool shared;
};

/* One that has the lock. */
struct having {
	struct clew_taken hold;
	uint32_t depth;
};

struct pairing {
	struct clew_trace *trace;
	const struct clew_lock_function **functions; /* by number, NULL: no function of locks */
	struct vector events;			     /* struct event */
	struct vector having;			     /* struct having, of one lock */
};

const struct clew_lock_function *clew_trace_lock_function(const struct clew_trace *trace,
							  uint32_t number)
{
	const struct clew_trace_function *function = clew_trace_function(trace, number);

	return function && strstr(function->arguments, CLEW_LOCK_VALUE)
		       ? clew_lock_function_named(function->name)
		       : NULL;
}

uint64_t clew_trace_taken_until(const struct clew_trace *trace)
{
	size_t count;
	const struct clew_trace_dropped *dropped = clew_trace_dropped(trace, &count);

	for (size_t i = 0; i < count; i++)
		if (clew_trace_lock_function(trace, dropped[i].function))
			return dropped[i].time;
	return CLEW_TIME_OPEN;
}

/* ---- steps ---- */

static int add(struct pairing *pairing, const struct event *event)
{
	if (vector_reserve(&pairing->events, pairing->events.count + 1) < 0)
		return -ENOMEM;
	((struct event *)pairing->events.data)[pairing->events.count++] = *event;
	return 0;
}

static uint64_t number_at(const uint8_t *bytes)
{
	uint64_t number;

	memcpy(&number, bytes, sizeof(number));
	return number;
}

/* True if a function that takes a lock has it when it returns. */
static bool has_taken(const struct clew_frame_detail *detail)
{
	int result;

	if (detail->returned_size < sizeof(uint64_t))
		return false;
	result = (int)number_at(detail->values + detail->values_size);
	return !result || result == EOWNERDEAD;
}

static int add_frame(struct pairing *pairing, struct event event,
		     const struct clew_trace_frame *frame)
{
	const struct clew_lock_function *function =
		frame->function < clew_trace_function_count(pairing->trace)
			? pairing->functions[frame->function]
			: NULL;
	const struct clew_frame_detail *detail =
		function ? clew_trace_frame_detail(pairing->trace, frame) : NULL;
	bool returned = frame->closed == CLEW_FRAME_RETURNED;
	int r = 0;

	if (!detail || detail->values_size < sizeof(event.address) || detail->unread & 1)
		return 0;
	event.address = number_at(detail->values);
	event.rwlock = function->rwlock;
	event.shared = function->shared;
	if (function->effect != CLEW_LOCK_TAKE) {
		event.time = frame->start;
		event.step = STEP_RELEASE;
		r = add(pairing, &event);
	}
	if (function->effect == CLEW_LOCK_RELEASE || !returned || r < 0)
		return r;
	event.time = frame->end;
	event.step =
		function->effect == CLEW_LOCK_WAIT || has_taken(detail) ? STEP_TAKE : STEP_REFUSED;
	return add(pairing, &event);
}

static int add_tasks(struct pairing *pairing)
{
	uint64_t until = clew_trace_taken_until(pairing->trace);
	int r = 0;

	for (size_t i = 0; i < clew_trace_task_count(pairing->trace) && r == 0; i++) {
		const struct clew_trace_task *task = clew_trace_task_at(pairing->trace, i);
		size_t count;
		const struct clew_trace_frame *frames =
			clew_trace_frames(pairing->trace, task->serial, &count);
		const struct event event = {.task = task->serial, .process = task->process};

		for (size_t k = 0; k < count && r == 0 && frames[k].start < until; k++)
			r = add_frame(pairing, event, &frames[k]);
	}
	return r;
}

static int by_lock_and_time(const void *left, const void *right)
{
	const struct event *a = left, *b = right;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->step < b->step ? -1 : a->step > b->step;
}

/* ---- holds ---- */

static int keep(struct pairing *pairing, struct clew_taken hold, uint64_t to)
{
	struct vector *all = &pairing->trace->taken;

	if (vector_reserve(all, all->count + 1) < 0)
		return -ENOMEM;
	hold.to = to;
	((struct clew_taken *)all->data)[all->count++] = hold;
	return 0;
}

/* The entry of a task, or of whoever has it where the lock is one's alone; SIZE_MAX: none. */
static size_t find_having(const struct pairing *pairing, const struct event *event)
{
	const struct having *all = pairing->having.data;

	for (size_t i = 0; i < pairing->having.count; i++)
		if (all[i].hold.task == event->task)
			return i;
	return pairing->having.count == 1 && !event->rwlock ? 0 : SIZE_MAX;
}

static int end_hold(struct pairing *pairing, size_t index, uint64_t time)
{
	struct having *all = pairing->having.data;
	int r = keep(pairing, all[index].hold, time);

	all[index] = all[--pairing->having.count];
	return r;
}

static struct clew_taken hold_of(const struct event *event)
{
	return (struct clew_taken){.address = event->address,
				   .from = event->time,
				   .process = event->process,
				   .task = event->task,
				   .rwlock = event->rwlock,
				   .shared = event->shared,
				   .refused = event->step == STEP_REFUSED};
}

static int begin_hold(struct pairing *pairing, const struct event *event)
{
	if (vector_reserve(&pairing->having, pairing->having.count + 1) < 0)
		return -ENOMEM;
	((struct having *)pairing->having.data)[pairing->having.count++] =
		(struct having){.hold = hold_of(event), .depth = 1};
	return 0;
}

static int take_step(struct pairing *pairing, const struct event *event)
{
	size_t index = find_having(pairing, event);
	struct having *having =
		index == SIZE_MAX ? NULL : (struct having *)pairing->having.data + index;
	int r = 0;

	if (event->step == STEP_REFUSED)
		return keep(pairing, hold_of(event), event->time);
	if (event->step == STEP_RELEASE)
		return having && --having->depth == 0 ? end_hold(pairing, index, event->time) : 0;
	if (having && having->hold.task == event->task) {
		having->depth++;
		return 0;
	}
	/* The release by the one before was not recorded, and came before this. */
	if (having)
		r = end_hold(pairing, index, having->hold.from);
	return r == 0 ? begin_hold(pairing, event) : r;
}

static int by_begin(const void *left, const void *right)
{
	const struct clew_taken *a = left, *b = right;

	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return a->task < b->task ? -1 : a->task > b->task;
}

/* Events first..last are all steps with one lock. */
static int pair_lock(struct pairing *pairing, const struct event *first, const struct event *last)
{
	struct vector *taken = &pairing->trace->taken;
	size_t begin = taken->count;
	struct clew_taken *all;
	int r = 0;

	for (const struct event *event = first; event < last && r == 0; event++)
		r = take_step(pairing, event);
	while (pairing->having.count && r == 0)
		r = end_hold(pairing, 0, CLEW_TIME_OPEN);
	pairing->having.count = 0;
	all = (struct clew_taken *)taken->data + begin;
	if (taken->count > begin)
		qsort(all, taken->count - begin, sizeof(*all), by_begin);
	for (size_t i = 0; i < taken->count - begin; i++)
		all[i].latest = i && all[i - 1].latest > all[i].to ? all[i - 1].latest : all[i].to;
	return r;
}

static int pair_all(struct pairing *pairing)
{
	struct event *all = pairing->events.data;
	size_t count = pairing->events.count;
	int r = 0;

	if (count)
		qsort(all, count, sizeof(*all), by_lock_and_time);
	for (size_t first = 0, last; first < count && r == 0; first = last) {
		for (last = first + 1; last < count && all[last].process == all[first].process &&
				       all[last].address == all[first].address;)
			last++;
		r = pair_lock(pairing, all + first, all + last);
	}
	return r;
}

const struct clew_taken *clew_trace_taken(const struct clew_trace *trace, size_t *ret_count)
{
	*ret_count = trace->taken.count;
	return trace->taken.data;
}

/* ---- holders of waits ---- */

/* The number of holds of processes and addresses before this one, or up to it. */
static size_t count_before(const struct clew_trace *trace, uint32_t process, uint64_t address,
			   bool up_to)
{
	const struct clew_taken *all = trace->taken.data;
	size_t low = 0, high = trace->taken.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct clew_taken *one = &all[middle];

		if (one->process < process ||
		    (one->process == process &&
		     (one->address < address || (up_to && one->address == address))))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The holds of the lock that a futex belongs to: *ret_end is behind the last one. NULL: none. */
static const struct clew_taken *holds_of(const struct clew_trace *trace,
					 const struct clew_sleep *sleep,
					 const struct clew_taken **ret_end)
{
	const struct clew_taken *all = trace->taken.data, *last;
	uint32_t process = clew_trace_process(trace, sleep->task);
	uint64_t address = sleep->object.number;
	size_t count = count_before(trace, process, address, true);

	last = count ? &all[count - 1] : NULL;
	if (!last || last->process != process ||
	    address - last->address >= (last->rwlock ? CLEW_RWLOCK_SIZE : 1))
		return NULL;
	*ret_end = last + 1;
	return &all[count_before(trace, process, last->address, false)];
}

/* The first one that may reach beyond a moment. */
static const struct clew_taken *first_beyond(const struct clew_taken *first,
					     const struct clew_taken *end, uint64_t at)
{
	while (first < end) {
		const struct clew_taken *middle = first + (end - first) / 2;

		if (middle->latest <= at)
			first = middle + 1;
		else
			end = middle;
	}
	return first;
}

static int add_holder(struct vector *holders, const struct clew_taken *hold, uint64_t from,
		      uint64_t to)
{
	if (vector_reserve(holders, holders->count + 1) < 0)
		return -ENOMEM;
	((struct clew_holder *)holders->data)[holders->count++] = (struct clew_holder){
		.task = hold->task, .evidence = CLEW_EVIDENCE_EXACT, .from = from, .to = to};
	return 0;
}

/* Finds who had the lock in from..to: at each moment the one that has it longest. */
static int find_holders(const struct clew_taken *hold, const struct clew_taken *end,
			uint32_t waiter, uint64_t from, uint64_t to, struct vector *holders)
{
	const struct clew_taken *best = NULL;
	int r = 0;

	holders->count = 0;
	for (hold = first_beyond(hold, end, from); from < to && r == 0;) {
		for (; hold < end && hold->from <= from; hold++)
			if (hold->task != waiter && !hold->refused && hold->to > from &&
			    (!best || hold->to > best->to))
				best = hold;
		if (best && best->to > from) {
			uint64_t until = best->to < to ? best->to : to;

			r = add_holder(holders, best, from, until);
			from = until;
		} else if (hold < end) {
			from = hold->from;
		} else {
			break;
		}
	}
	return r;
}

/* True if holders that the builder found stay. */
static bool is_certain(const struct clew_sleep *sleep, bool rwlock)
{
	for (uint32_t i = 0; i < sleep->holder_count && !rwlock; i++)
		if (sleep->holders[i].evidence == CLEW_EVIDENCE_EXACT)
			return true;
	return false;
}

static int name_holders(struct clew_trace *trace, struct clew_sleep *sleep, struct vector *holders)
{
	uint64_t to = sleep->end == CLEW_TIME_OPEN ? trace->end : sleep->end;
	const struct clew_taken *end, *first = holds_of(trace, sleep, &end);
	size_t bytes;
	int r;

	if (!first || is_certain(sleep, first->rwlock))
		return 0;
	r = find_holders(first, end, sleep->task, sleep->start, to, holders);
	if (r < 0 || !holders->count)
		return r;
	bytes = holders->count * sizeof(struct clew_holder);
	sleep->holders = arena_take(&trace->arena, bytes);
	if (!sleep->holders)
		return -ENOMEM;
	memcpy((void *)(uintptr_t)sleep->holders, holders->data, bytes);
	sleep->holder_count = (uint32_t)holders->count;
	return 0;
}

int trace_find_taken(struct clew_trace *trace)
{
	uint32_t count = clew_trace_function_count(trace);
	struct pairing pairing = {.trace = trace,
				  .functions = calloc(count + 1u, sizeof(*pairing.functions)),
				  .events.item = sizeof(struct event),
				  .having.item = sizeof(struct having)};
	struct vector holders = {.item = sizeof(struct clew_holder)};
	bool recorded = false;
	int r = pairing.functions ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < count && r == 0; i++) {
		pairing.functions[i] = clew_trace_lock_function(trace, i);
		recorded |= pairing.functions[i] != NULL;
	}
	if (r == 0 && recorded)
		r = add_tasks(&pairing);
	if (r == 0)
		r = pair_all(&pairing);
	for (size_t i = trace->first_sleep; i < trace->sleeps.count && r == 0 && trace->taken.count;
	     i++) {
		struct clew_sleep *sleep = (struct clew_sleep *)trace->sleeps.data + i;

		if (sleep->object.kind == CLEW_OBJECT_FUTEX && !sleep->blind)
			r = name_holders(trace, sleep, &holders);
	}
	vector_done(&holders);
	vector_done(&pairing.events);
	vector_done(&pairing.having);
	free(pairing.functions);
	return r;
}
