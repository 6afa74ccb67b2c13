/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The places that running tasks ran in: stays in a system call, ticks, and tallies, each in
 * order of task, then end.
 */
#include "trace/internal.h"
#include <stdlib.h>

int trace_add_stay(struct clew_trace *trace, const struct clew_stay *stay)
{
	struct vector *stays = stay->start < stay->end ? &trace->stays : &trace->ticks;
	int r = vector_reserve(stays, stays->count + 1);

	if (r < 0)
		return r;
	((struct clew_stay *)stays->data)[stays->count++] = *stay;
	return 0;
}

int trace_add_tally(struct clew_trace *trace, const struct clew_tally *tally)
{
	int r = vector_reserve(&trace->tallies, trace->tallies.count + 1);

	if (r < 0)
		return r;
	((struct clew_tally *)trace->tallies.data)[trace->tallies.count++] = *tally;
	return 0;
}

static int compare_stays(const void *left, const void *right)
{
	const struct clew_stay *a = left, *b = right;

	if (a->task != b->task)
		return a->task < b->task ? -1 : 1;
	if (a->end != b->end)
		return a->end < b->end ? -1 : 1;
	return a->start < b->start ? -1 : a->start > b->start;
}

static int compare_tallies(const void *left, const void *right)
{
	const struct clew_tally *a = left, *b = right;

	if (a->task != b->task)
		return a->task < b->task ? -1 : 1;
	if (a->end != b->end)
		return a->end < b->end ? -1 : 1;
	return a->start != b->start ? (a->start < b->start ? -1 : 1) : a->what - b->what;
}

void trace_finish_stays(struct clew_trace *trace)
{
	struct vector *const stays[] = {&trace->stays, &trace->ticks};

	for (unsigned i = 0; i < 2; i++)
		if (stays[i]->count > 1)
			qsort(stays[i]->data, stays[i]->count, sizeof(struct clew_stay),
			      compare_stays);
	if (trace->tallies.count > 1)
		qsort(trace->tallies.data, trace->tallies.count, sizeof(struct clew_tally),
		      compare_tallies);
}

/* The first stay of a task that ends after a moment, or its index's bound. */
static size_t first_stay(const struct vector *vector, uint32_t serial, uint64_t after)
{
	const struct clew_stay *stays = vector->data;
	size_t low = 0, high = vector->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (stays[middle].task < serial ||
		    (stays[middle].task == serial && stays[middle].end <= after))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static const struct clew_stay *stay_at(const struct vector *vector, uint32_t serial, uint64_t after)
{
	const struct clew_stay *stays = vector->data;
	size_t i = first_stay(vector, serial, after);

	return i < vector->count && stays[i].task == serial ? &stays[i] : NULL;
}

const struct clew_stay *clew_trace_stay(const struct clew_trace *trace, uint32_t serial,
					uint64_t after)
{
	return stay_at(&trace->stays, serial, after);
}

const struct clew_stay *clew_trace_tick(const struct clew_trace *trace, uint32_t serial,
					uint64_t after)
{
	return stay_at(&trace->ticks, serial, after);
}

const struct clew_stay *clew_trace_next_stay(const struct clew_trace *trace,
					     const struct clew_stay *stay)
{
	const struct clew_stay *const ends[] = {
		(const struct clew_stay *)trace->stays.data + trace->stays.count,
		(const struct clew_stay *)trace->ticks.data + trace->ticks.count};
	const struct clew_stay *next = stay + 1;

	return next != ends[0] && next != ends[1] && next->task == stay->task ? next : NULL;
}

const struct clew_tally *clew_trace_tally(const struct clew_trace *trace, uint32_t serial,
					  uint64_t after)
{
	const struct clew_tally *tallies = trace->tallies.data;
	size_t low = 0, high = trace->tallies.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (tallies[middle].task < serial ||
		    (tallies[middle].task == serial && tallies[middle].end <= after))
			low = middle + 1;
		else
			high = middle;
	}
	return low < trace->tallies.count && tallies[low].task == serial ? &tallies[low] : NULL;
}

const struct clew_tally *clew_trace_next_tally(const struct clew_trace *trace,
					       const struct clew_tally *tally)
{
	const struct clew_tally *end =
		(const struct clew_tally *)trace->tallies.data + trace->tallies.count;

	return tally + 1 != end && tally[1].task == tally->task ? tally + 1 : NULL;
}
