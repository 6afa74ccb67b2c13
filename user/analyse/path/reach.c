/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ESs on any causal path between two: what leads to the last, and of that what
 * the first leads to. Both are spread a span at a time, over neighbours in memory;
 * every ES is looked at once in each direction at most. Edges are counted on the way
 * back, and those that come from outside are taken off again in the end.
 */
#include "analyse/path/internal.h"

/* ESs of a span that are looked at in a row. */
enum { TURN = 128 };

static const struct span_reach NOT_REACHED = {.first = CLEW_NONE, .last = CLEW_NONE};

int clew_path_finder_new(const struct clew_model *model, struct clew_path_finder **ret_finder)
{
	struct clew_path_finder *finder = calloc(1, sizeof(*finder));

	if (!finder)
		return -ENOMEM;
	finder->model = model;
	finder->touched.item = finder->worklist.item = finder->queue.item = sizeof(uint32_t);
	finder->node_memory.item = sizeof(*finder->nodes);
	finder->spans = malloc(sizeof(*finder->spans) * (model->span_count + 1));
	if (!finder->spans || vector_grow(&finder->node_memory, (size_t)model->es_count + 1) < 0) {
		clew_path_finder_free(finder);
		return -ENOMEM;
	}
	finder->nodes = finder->node_memory.data;
	for (uint32_t i = 0; i < model->span_count; i++)
		finder->spans[i] = NOT_REACHED;
	*ret_finder = finder;
	return 0;
}

void clew_path_finder_free(struct clew_path_finder *finder)
{
	if (!finder)
		return;
	vector_done(&finder->touched);
	vector_done(&finder->worklist);
	vector_done(&finder->queue);
	vector_done(&finder->node_memory);
	free(finder->spans);
	free(finder);
}

void reach_forget(struct clew_path_finder *finder)
{
	const uint32_t *touched = finder->touched.data;

	for (size_t i = 0; i < finder->touched.count; i++) {
		struct span_reach *span = &finder->spans[touched[i]];

		memset(&finder->nodes[span->lowest], 0,
		       sizeof(*finder->nodes) * (span->last + 1 - span->lowest));
		*span = NOT_REACHED;
	}
	finder->touched.count = finder->worklist.count = finder->queue.count = 0;
	finder->count = 0;
	finder->taken = 0;
}

static int look_at(struct clew_path_finder *finder, uint32_t number)
{
	struct span_reach *span = &finder->spans[number];

	if (span->waiting)
		return 0;
	span->waiting = true;
	return list_add(&finder->worklist, number);
}

/* The spans are taken in turns, so that what lies near in time is looked at together. NULL: none is
 * left. */
static struct span_reach *next_span(struct clew_path_finder *finder, uint32_t *ret_number)
{
	if (finder->taken == finder->worklist.count)
		return NULL;
	*ret_number = ((uint32_t *)finder->worklist.data)[finder->taken++];
	list_drop(&finder->worklist, &finder->taken);
	finder->spans[*ret_number].waiting = false;
	return &finder->spans[*ret_number];
}

/* An ES leads to the end; so do those before it. An ES that ends before `earliest` is of no
 * interest. */
static int leads_on(struct clew_path_finder *finder, uint32_t es, clew_time earliest)
{
	uint32_t number = finder->model->es[es].span;
	struct span_reach *span = &finder->spans[number];
	int r;

	if (span->last != CLEW_NONE && es <= span->last)
		return 0;
	if (span->last == CLEW_NONE) {
		r = list_add(&finder->touched, number);
		if (r < 0)
			return r;
		span->lowest = clew_model_es_at(finder->model, number, earliest);
		span->low = span->high = es + 1;
	}
	span->last = es;
	return look_at(finder, number);
}

/* Looks at what leads to the ESs first..last, the last one first. */
static int look_back(struct clew_path_finder *finder, uint32_t first, uint32_t last,
		     clew_time earliest, bool all_origins)
{
	const struct clew_model *model = finder->model;

	for (uint32_t es = last + 1; es-- > first;) {
		uint32_t dependency = model->es[es].in, count;
		const uint32_t *origins;

		if (dependency == CLEW_NONE)
			continue;
		origins = model->origins + model->dependencies[dependency].origins.first;
		count = model->dependencies[dependency].origins.count;
		if (!all_origins && count > 1)
			count = 1;
		for (uint32_t i = 0; i < count; i++) {
			clew_time end = model->es[origins[i]].end;
			int r;

			if (end < earliest || end > model->es[es].start)
				continue;
			finder->nodes[es].edges++;
			r = leads_on(finder, origins[i], earliest);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

/* low..high-1 of a span were looked at. */
static int spread_back(struct clew_path_finder *finder, uint32_t from, uint32_t to,
		       bool all_origins)
{
	const struct clew_model *model = finder->model;
	clew_time earliest = model->es[from].end;
	int r = model->es[to].end < earliest ? -ENOENT : leads_on(finder, to, earliest);
	struct span_reach *span;
	uint32_t number;

	while (r == 0 && (span = next_span(finder, &number))) {
		uint32_t high = span->high, last = span->last, low = span->low;

		span->high = last + 1;
		if (last >= high)
			r = look_back(finder, high, last, earliest, all_origins);
		span->low = low - span->lowest > TURN ? low - TURN : span->lowest;
		if (r == 0 && low > span->low)
			r = look_back(finder, span->low, low - 1, earliest, all_origins);
		if (r == 0 && span->low > span->lowest)
			r = look_at(finder, number);
	}
	return r;
}

static bool leads_to(const struct clew_path_finder *finder, uint32_t es, uint32_t target)
{
	const struct clew_es *destination = &finder->model->es[target];
	const struct span_reach *span = &finder->spans[destination->span];

	return destination->start >= finder->model->es[es].end && span->last != CLEW_NONE &&
	       target <= span->last;
}

/* Notes where the ESs first..last lead to, as far as they end at `latest`. */
static int look_on(struct clew_path_finder *finder, uint32_t first, uint32_t last, bool all_origins,
		   clew_time latest)
{
	const struct clew_model *model = finder->model;

	for (uint32_t es = first; es <= last && model->es[es].end <= latest; es++) {
		uint32_t count;
		const uint32_t *destinations = targets(model, es, all_origins, &count);

		for (uint32_t i = 0; i < count; i++) {
			struct span_reach *reached =
				&finder->spans[model->es[destinations[i]].span];
			int r;

			if (reached->first <= destinations[i] ||
			    !leads_to(finder, es, destinations[i]))
				continue;
			if (reached->first == CLEW_NONE)
				reached->low = reached->high = destinations[i];
			reached->first = destinations[i];
			r = look_at(finder, model->es[destinations[i]].span);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

/* The last moment from which an edge can still make a span's first ES an earlier one. */
static clew_time latest_use(const struct clew_path_finder *finder)
{
	const uint32_t *touched = finder->touched.data;
	clew_time latest = INT64_MIN;

	for (size_t i = 0; i < finder->touched.count; i++) {
		const struct span_reach *span = &finder->spans[touched[i]];
		clew_time start =
			finder->model->es[span->first == CLEW_NONE ? span->last : span->first]
				.start;

		latest = start > latest ? start : latest;
	}
	return latest;
}

static int spread_on(struct clew_path_finder *finder, uint32_t from, bool all_origins)
{
	struct span_reach *span = &finder->spans[finder->model->es[from].span];
	clew_time latest = INT64_MAX;
	uint32_t number;
	size_t turns = 0;
	int r;

	span->first = span->low = span->high = from;
	r = look_at(finder, finder->model->es[from].span);
	while (r == 0 && (span = next_span(finder, &number))) {
		uint32_t low = span->low, high = span->high;

		if (++turns > finder->touched.count) {
			latest = latest_use(finder);
			turns = 0;
		}
		span->low = span->first;
		if (low > span->low)
			r = look_on(finder, span->low, low - 1, all_origins, latest);
		span->high = span->last + 1 - high > TURN ? high + TURN : span->last + 1;
		if (r == 0 && span->high > high)
			r = look_on(finder, high, span->high - 1, all_origins, latest);
		if (r == 0 && span->high <= span->last &&
		    finder->model->es[span->high].end <= latest)
			r = look_at(finder, number);
	}
	return r;
}

/* Takes off the edges from the ESs of a span that lead to the end, but that the start does not lead
 * to. */
static void forget_others(struct clew_path_finder *finder, const struct span_reach *span,
			  bool all_origins)
{
	uint32_t end = span->first == CLEW_NONE ? span->last + 1 : span->first;

	for (uint32_t es = span->lowest; es < end; es++) {
		uint32_t count;
		const uint32_t *destinations = targets(finder->model, es, all_origins, &count);

		for (uint32_t i = 0; i < count; i++)
			if (leads_to(finder, es, destinations[i]))
				finder->nodes[destinations[i]].edges--;
	}
}

int reach_between(struct clew_path_finder *finder, uint32_t from, uint32_t to, bool all_origins)
{
	const struct span_reach *origin = &finder->spans[finder->model->es[from].span];
	const uint32_t *touched;
	int r;

	r = spread_back(finder, from, to, all_origins);
	if (r < 0)
		return r;
	if (origin->last == CLEW_NONE || origin->last < from)
		return -ENOENT;
	touched = finder->touched.data;
	r = spread_on(finder, from, all_origins);
	for (size_t i = 0; r == 0 && i < finder->touched.count; i++) {
		const struct span_reach *span = &finder->spans[touched[i]];

		forget_others(finder, span, all_origins);
		if (span->first != CLEW_NONE)
			finder->count += span->last - span->first + 1;
	}
	return r;
}
