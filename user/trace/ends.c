/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The objects that tasks slept on when the recorder made a pass, and who had the other ends of it
 * open.
 *
 * Numbers of ends are only comparable within one pass of the recorder, so a
 * sleeper and a holder must be of the same one. Passes do not overlap. Once finished, header.cpu of
 * a record is its place in trace->passes, as records that are not of a CPU need none.
 */
#include "trace/internal.h"
#include <errno.h>
#include <stdlib.h>

static bool is_stop(const struct clew_end *end)
{
	return end->header.flags & CLEW_END_STOP;
}

#define PASSES_MOST UINT16_MAX

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
	return compare(a->header.cpu, b->header.cpu)
		       ?: compare(is_stop(a), is_stop(b))
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

/* ---- passes ---- */

static int by_time(const void *left, const void *right)
{
	const struct clew_end *a = *(const struct clew_end *const *)left,
			      *b = *(const struct clew_end *const *)right;

	return compare(a->header.time, b->header.time);
}

static bool same_pass(const struct clew_end *a, const struct clew_end *b)
{
	return a->pass == b->pass && is_stop(a) == is_stop(b);
}

/* A record of a pass that has no number any more is in the last one, without its ends. */
static void put_in_pass(struct vector *passes, struct clew_end *end, bool same)
{
	struct trace_pass *all = passes->data;

	if (!same && passes->count < PASSES_MOST)
		all[passes->count++] =
			(struct trace_pass){.from = end->header.time, .stop = is_stop(end)};
	else if (!same)
		end->end = end->listener = 0;
	end->header.cpu = (uint16_t)(passes->count - 1);
	all[passes->count - 1].to = end->header.time;
}

static int number_passes(struct clew_trace *trace)
{
	const size_t sleepers = trace->end_sleepers.count,
		     count = sleepers + trace->end_holders.count;
	struct clew_end **all = malloc((count + 1) * sizeof(*all));
	int r = all ? vector_reserve(&trace->passes, count < PASSES_MOST ? count : PASSES_MOST)
		    : -ENOMEM;

	for (size_t i = 0; i < count && r >= 0; i++)
		all[i] = i < sleepers ? (struct clew_end *)trace->end_sleepers.data + i
				      : (struct clew_end *)trace->end_holders.data + i - sleepers;
	if (r >= 0)
		qsort(all, count, sizeof(*all), by_time);
	for (size_t i = 0; i < count && r >= 0; i++)
		put_in_pass(&trace->passes, all[i], i && same_pass(all[i - 1], all[i]));
	free(all);
	return r < 0 ? r : 0;
}

/* Once tasks have their order. */
int trace_finish_ends(struct clew_trace *trace)
{
	int r;

	drop_later_holders(trace);
	r = number_passes(trace);
	if (r < 0)
		return r;
	if (trace->end_sleepers.count)
		qsort(trace->end_sleepers.data, trace->end_sleepers.count, sizeof(struct clew_end),
		      by_sleeper);
	if (trace->end_holders.count)
		qsort(trace->end_holders.data, trace->end_holders.count, sizeof(struct clew_end),
		      by_holder);
	return 0;
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
	struct clew_end key = {.header.cpu = sleeper->header.cpu,
			       .object_kind = sleeper->object_kind,
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
