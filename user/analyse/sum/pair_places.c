/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The calls that antagonists ran in.
 *
 * An antagonist that had a CPU ran all the time. One that had a lock ran where its span has
 * elementary spans.
 */
#include "analyse/sum/pair_places.h"

#include <clew/tokens.h>
#include <errno.h>

#include "base/shared.h"
#include "convert/convert.h"
#include "convert/stays.h"

int clew_pair_places_init(struct clew_pair_places *pairs, const struct clew_model *model,
			  const struct clew_trace *stacks)
{
	*pairs = (struct clew_pair_places){.model = model,
					   .stacks = stacks,
					   .sums.item = sizeof(struct clew_place_sums),
					   .samples.item = sizeof(struct clew_samples)};
	return model ? clew_stays_of_model(model, &pairs->places) : 0;
}

void clew_pair_places_done(struct clew_pair_places *pairs)
{
	struct clew_place_sums *sums = pairs->sums.data;
	struct clew_samples *samples = pairs->samples.data;

	for (size_t i = 0; i < pairs->sums.count; i++)
		clew_place_sums_done(&sums[i]);
	for (size_t i = 0; i < pairs->samples.count; i++)
		clew_samples_done(&samples[i]);
	vector_done(&pairs->sums);
	vector_done(&pairs->samples);
	clew_trace_free(pairs->places);
}

/* Makes room for what the pair of a number has; the memory is zero. 0 or -ENOMEM. */
static int make_room(struct vector *vector, uint32_t number)
{
	int r = vector_reserve(vector, number + 1ul);

	if (r == 0 && vector->count <= number)
		vector->count = number + 1ul;
	return r;
}

int clew_pair_places_export(struct clew_pair_places *pairs, const struct clew_blame_pair *pair,
			    struct shared *shared, struct clew_pair_found *ret_found)
{
	*ret_found = (struct clew_pair_found){};
	if (pair->number < pairs->sums.count) {
		ret_found->sums = clew_place_sums_list((struct clew_place_sums *)pairs->sums.data +
							       pair->number,
						       &ret_found->sum_count);
		ret_found->sums = shared_copy(shared, ret_found->sums,
					      ret_found->sum_count * sizeof(*ret_found->sums));
		if (!ret_found->sums)
			return -ENOMEM;
	}
	if (pair->number >= pairs->samples.count)
		return 0;
	return clew_samples_export((struct clew_samples *)pairs->samples.data + pair->number,
				   shared, &ret_found->samples);
}

int clew_pair_places_import(struct clew_pair_places *pairs, uint32_t number, struct arena *arena,
			    const struct clew_pair_found *found)
{
	int r = 0;

	if (found->sum_count)
		r = make_room(&pairs->sums, number);
	for (size_t i = 0; i < found->sum_count && r == 0; i++)
		r = clew_place_sums_merge((struct clew_place_sums *)pairs->sums.data + number,
					  &found->sums[i]);
	if (found->samples.count && r == 0)
		r = make_room(&pairs->samples, number);
	return r == 0 && found->samples.count
		       ? clew_samples_import((struct clew_samples *)pairs->samples.data + number,
					     arena, &found->samples)
		       : r;
}

/* ns of a thread's running in an interval. */
static uint64_t time_run(const struct clew_model *model, uint32_t span, clew_time from,
			 clew_time to)
{
	const struct clew_range *range = &model->spans[span].elementary;
	uint32_t low = range->first, end = range->first + range->count, high = end;
	uint64_t ns = 0;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (model->es[middle].end <= from)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < end && model->es[low].start < to; low++) {
		clew_time start = model->es[low].start > from ? model->es[low].start : from;
		clew_time until = model->es[low].end < to ? model->es[low].end : to;

		ns += until > start ? (uint64_t)(until - start) : 0;
	}
	return ns;
}

/* A limit has none. */
static int add_samples(struct clew_pair_places *pairs, const struct clew_blame_pair *pair,
		       uint32_t root, clew_time from, clew_time to)
{
	uint32_t task = pairs->stacks ? clew_task_of_span(pairs->stacks, root) : CLEW_NO_TASK;
	int r;

	if (task == CLEW_NO_TASK || from < 0)
		return 0;
	r = make_room(&pairs->samples, pair->number);
	if (r < 0)
		return r;
	return clew_samples_add((struct clew_samples *)pairs->samples.data + pair->number,
				pairs->stacks, task, (uint64_t)from, (uint64_t)to);
}

int clew_pair_places_charge(void *context, const struct clew_blame_pair *pair, clew_time from,
			    clew_time to)
{
	struct clew_pair_places *pairs = context;
	uint32_t span = clew_span_root(pairs->model, pair->antagonist);
	int r = make_room(&pairs->sums, pair->number);

	if (r == 0)
		r = add_samples(pairs, pair, span, from, to);
	while (from < to && r == 0) {
		struct clew_segment place =
			clew_place_at(pairs->places, pairs->model, span, from, to);
		uint64_t ns = clew_segment_length(&place);

		if (place.stay && pair->kind != CLEW_SEGMENT_RUNQUEUE)
			ns = time_run(pairs->model, span, from, (clew_time)place.end);
		if (ns)
			r = clew_place_sums_add((struct clew_place_sums *)pairs->sums.data +
							pair->number,
						pairs->places, &place, place.stay ? ns : 0);
		from = (clew_time)place.end;
	}
	return r;
}
