/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds moments of threads in a causal trace, and where they are in another run of it. */
#include "compare/replay.h"

#include <errno.h>
#include <stdlib.h>

int replay_threads_find(const struct clew_model *model, struct replay_threads *ret_threads)
{
	*ret_threads = (struct replay_threads){.model = model};
	for (uint32_t root = model->first_root; root != CLEW_NONE;
	     root = model->spans[root].next_sibling) {
		const char *tid = clew_model_attribute(model, model->spans[root].attributes, "tid");
		uint64_t key = tid ? strtoull(tid, NULL, 10) : 0;
		uint32_t number = 0;

		while (map_get(&ret_threads->spans, key, number))
			number++;
		if (tid && map_set(&ret_threads->spans, key, number, root) < 0)
			return -ENOMEM;
	}
	return 0;
}

void replay_threads_done(struct replay_threads *threads)
{
	map_done(&threads->spans);
}

/* The thread's span that has an interval; CLEW_NONE: there is none. */
static uint32_t span_of(const struct replay_threads *threads, uint32_t tid, uint64_t from,
			uint64_t to)
{
	const uint64_t *known;

	for (uint32_t number = 0; (known = map_get(&threads->spans, tid, number)); number++) {
		const struct clew_span *span = &threads->model->spans[*known];

		if (span->start <= (clew_time)from && span->end >= (clew_time)to)
			return (uint32_t)*known;
	}
	return CLEW_NONE;
}

/* The last elementary span of a range that starts at a moment or before it, else the first one. */
static uint32_t es_before(const struct clew_model *model, const struct clew_range *range,
			  clew_time at)
{
	uint32_t low = range->first, high = range->first + range->count - 1;

	while (low < high) {
		uint32_t middle = low + (high - low + 1) / 2;

		if (model->es[middle].start <= at)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

bool replay_place(const struct replay_threads *threads, uint32_t tid, uint64_t from, uint64_t to,
		  struct replay_operation *ret_operation)
{
	const struct clew_model *model = threads->model;
	uint32_t span = span_of(threads, tid, from, to), first, last;
	const struct clew_range *range = span == CLEW_NONE ? NULL : &model->spans[span].elementary;
	clew_time begin = (clew_time)from, end = (clew_time)to;

	if (!range || !range->count)
		return false;
	first = es_before(model, range, begin);
	if (model->es[first].end <= begin)
		first++;
	last = es_before(model, range, end);
	if (first == range->first + range->count || first > last || model->es[first].start >= end)
		return false;
	begin = begin > model->es[first].start ? begin - model->es[first].start : 0;
	end = end < model->es[last].end ? end : model->es[last].end;
	*ret_operation =
		(struct replay_operation){.span = span,
					  .from = {.es = first, .into = begin},
					  .to = {.es = last, .into = end - model->es[last].start}};
	return true;
}

clew_time replay_length(const struct clew_model *model, const struct replay_operation *operation)
{
	return model->es[operation->to.es].start + operation->to.into -
	       model->es[operation->from.es].start - operation->from.into;
}

/* A moment in a run in which its elementary span may have another length. */
static clew_time moment_in(const struct clew_model *model, const struct clew_model *run,
			   const struct replay_moment *moment)
{
	clew_time length = model->es[moment->es].end - model->es[moment->es].start,
		  now = run->es[moment->es].end - run->es[moment->es].start;

	if (now == length || !length)
		return run->es[moment->es].start + (moment->into < now ? moment->into : now);
	return run->es[moment->es].start +
	       (clew_time)((double)moment->into * (double)now / (double)length);
}

clew_time replay_length_in(const struct clew_model *model, const struct clew_model *run,
			   const struct replay_operation *operation)
{
	return moment_in(model, run, &operation->to) - moment_in(model, run, &operation->from);
}
