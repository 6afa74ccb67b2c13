/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The objects that tasks slept on at the start and the stop of the capture, and who had the
 * other ends of it open.
 *
 * Numbers of ends are only comparable within one pass of the recorder, so a
 * sleeper and a holder must be of the same one.
 */
#include "trace/internal.h"
#include <errno.h>
#include <stdlib.h>

static bool is_stop(const struct clew_end *end)
{
	return end->header.flags & CLEW_END_STOP;
}

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_sleeper(const void *left, const void *right)
{
	const struct clew_end *a = left, *b = right;

	return compare(a->task, b->task)
		       ?: compare(a->header.time, b->header.time)
		       ?: compare((uint64_t)a->descriptor, (uint64_t)b->descriptor);
}

/* A holder's end without the holder. */
static int by_end(const struct clew_end *a, const struct clew_end *b)
{
	return compare(is_stop(a), is_stop(b))
		       ?: compare(a->object_kind, b->object_kind)
		       ?: compare(a->device, b->device)
		       ?: compare(a->end, b->end)
		       ?: compare(a->listener, b->listener)
		       ?: compare(a->header.flags, b->header.flags);
}

static int by_holder(const void *left, const void *right)
{
	const struct clew_end *a = left, *b = right;

	return by_end(a, b) ?: compare(a->task, b->task)
				       ?: compare((uint64_t)a->descriptor, (uint64_t)b->descriptor);
}

int trace_take_end(struct clew_trace *trace, const struct clew_end *end)
{
	struct vector *ends =
		end->header.flags & CLEW_END_HOLDS ? &trace->end_holders : &trace->end_sleepers;

	if (trace_nobody(end->task))
		return 0;
	if (vector_reserve(ends, ends->count + 1) < 0)
		return -ENOMEM;
	((struct clew_end *)ends->data)[ends->count++] = *end;
	return 0;
}

/* The last pass comes after the end of recording: a process of which nothing was recorded was
 * made since, and held no end in the capture. */
static void drop_later_holders(struct clew_trace *trace)
{
	struct clew_end *holders = trace->end_holders.data;
	size_t kept = 0;

	for (size_t i = 0; i < trace->end_holders.count; i++) {
		const struct clew_trace_task *task = clew_trace_task(trace, holders[i].task);

		if (task && task->tid)
			holders[kept++] = holders[i];
	}
	trace->end_holders.count = kept;
}

/* Once tasks have their order. */
void trace_finish_ends(struct clew_trace *trace)
{
	drop_later_holders(trace);
	if (trace->end_sleepers.count)
		qsort(trace->end_sleepers.data, trace->end_sleepers.count, sizeof(struct clew_end),
		      by_sleeper);
	if (trace->end_holders.count)
		qsort(trace->end_holders.data, trace->end_holders.count, sizeof(struct clew_end),
		      by_holder);
}

/* The first of a task's records, NULL: none; `*ret_count`: how many it has. */
static const struct clew_end *of_task(const struct clew_trace *trace, uint32_t task,
				      size_t *ret_count)
{
	const struct clew_end *ends = trace->end_sleepers.data;
	size_t low = 0, high = trace->end_sleepers.count, count = 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ends[middle].task < task)
			low = middle + 1;
		else
			high = middle;
	}
	while (low + count < trace->end_sleepers.count && ends[low + count].task == task)
		count++;
	*ret_count = count;
	return count ? ends + low : NULL;
}

const struct clew_end *clew_trace_slept_on(const struct clew_trace *trace,
					   const struct clew_sleep *sleep, size_t *ret_count)
{
	size_t count, first = 0, last;
	const struct clew_end *ends = of_task(trace, sleep->task, &count);

	*ret_count = 0;
	/* The latest pass that saw this sleep: all its records have one time. */
	for (last = count; last > 0; last--) {
		const struct clew_end *end = &ends[last - 1];

		if (end->header.time >= sleep->start && end->call == sleep->call &&
		    (sleep->end == CLEW_TIME_OPEN || end->header.time < sleep->end))
			break;
	}
	if (!last)
		return NULL;
	first = last - 1;
	while (first > 0 && ends[first - 1].header.time == ends[last - 1].header.time)
		first--;
	*ret_count = last - first;
	return ends + first;
}

const struct clew_end *clew_trace_end_holders(const struct clew_trace *trace,
					      const struct clew_end *sleeper, bool listens,
					      size_t *ret_count)
{
	const uint8_t kept = CLEW_END_STOP | CLEW_END_READS | CLEW_END_WRITES;
	const struct clew_end *ends = trace->end_holders.data;
	struct clew_end key = {.object_kind = sleeper->object_kind,
			       .device = sleeper->device,
			       .end = listens ? 0 : sleeper->end,
			       .listener = listens ? sleeper->listener : 0};
	size_t low = 0, high = trace->end_holders.count, count = 0;

	*ret_count = 0;
	if (!key.end && !key.listener)
		return NULL;
	key.header.flags =
		(sleeper->header.flags & kept) | CLEW_END_HOLDS | (listens ? CLEW_END_LISTENS : 0);
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (by_end(&ends[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	while (low + count < trace->end_holders.count && !by_end(&ends[low + count], &key))
		count++;
	*ret_count = count;
	return ends + low;
}
