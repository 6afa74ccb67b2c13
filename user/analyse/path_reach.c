// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The ESs on any causal path between two: what leads to the last, and of that what
 * the first leads to. Both are spread a span at a time, over neighbours in memory;
 * every ES is looked at once in each direction.
 */
#include "path_internal.h"

static const struct span_reach NOT_REACHED = {.first = CLEW_NONE, .last = CLEW_NONE, .looked = CLEW_NONE};

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

void reach_done(struct clew_path_finder *finder)
{
	const uint32_t *touched = finder->touched.data;

	for (size_t i = 0; i < finder->touched.count; i++) {
		struct span_reach *span = &finder->spans[touched[i]];

		if (span->first != CLEW_NONE)
			for (uint32_t es = span->first; es <= span->last; es++)
				finder->nodes[es] = (struct path_node){0};
		*span = NOT_REACHED;
	}
	finder->touched.count = finder->worklist.count = finder->queue.count = 0;
	finder->count = 0;
}

static int look_at(struct clew_path_finder *finder, uint32_t number)
{
	struct span_reach *span = &finder->spans[number];

	if (span->waiting)
		return 0;
	span->waiting = true;
	return list_add(&finder->worklist, number);
}

static struct span_reach *next_span(struct clew_path_finder *finder)
{
	struct span_reach *span = &finder->spans[((uint32_t *)finder->worklist.data)[--finder->worklist.count]];

	span->waiting = false;
	return span;
}

/* An ES leads to the end; so do those before it. What ends before `earliest` comes from nowhere of interest. */
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
		span->looked = clew_model_es_at(finder->model, number, earliest);
	}
	span->last = es;
	return look_at(finder, number);
}

static int spread_back(struct clew_path_finder *finder, uint32_t from, uint32_t to, bool all_origins)
{
	const struct clew_model *model = finder->model;
	clew_time earliest = model->es[from].end;
	int r = model->es[to].end < earliest ? -ENOENT : leads_on(finder, to, earliest);

	while (r == 0 && finder->worklist.count) {
		struct span_reach *span = next_span(finder);

		while (span->looked <= span->last) {
			uint32_t es = span->looked++, dependency = model->es[es].in, count;
			const uint32_t *origins;

			if (dependency == CLEW_NONE)
				continue;
			origins = model->origins + model->dependencies[dependency].origins.first;
			count = model->dependencies[dependency].origins.count;
			if (!all_origins && count > 1)
				count = 1;
			for (uint32_t i = 0; i < count && r == 0; i++) {
				clew_time end = model->es[origins[i]].end;

				if (earliest <= end && end <= model->es[es].start)
					r = leads_on(finder, origins[i], earliest);
			}
			if (r < 0)
				return r;
		}
	}
	return r;
}

/* `looked`: the first ES whose edges were counted, CLEW_NONE none yet. */
static int spread_on(struct clew_path_finder *finder, uint32_t from, bool all_origins)
{
	const struct clew_model *model = finder->model;
	int r;

	finder->spans[model->es[from].span].first = from;
	r = look_at(finder, model->es[from].span);
	while (r == 0 && finder->worklist.count) {
		struct span_reach *span = next_span(finder);
		uint32_t end = span->looked == CLEW_NONE ? span->last + 1 : span->looked;

		span->looked = span->first;
		for (uint32_t es = span->looked; es < end; es++) {
			uint32_t count;
			const uint32_t *destinations = targets(model, es, all_origins, &count);

			for (uint32_t i = 0; i < count; i++) {
				const struct clew_es *destination = &model->es[destinations[i]];
				struct span_reach *reached = &finder->spans[destination->span];

				if (destination->start < model->es[es].end || reached->last == CLEW_NONE || destinations[i] > reached->last)
					continue;
				finder->nodes[destinations[i]].edges++;
				if (reached->first <= destinations[i])
					continue;
				reached->first = destinations[i];
				r = look_at(finder, destination->span);
				if (r < 0)
					return r;
			}
		}
	}
	return r;
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
	for (size_t i = 0; i < finder->touched.count; i++)
		finder->spans[touched[i]].looked = CLEW_NONE;
	r = spread_on(finder, from, all_origins);
	for (size_t i = 0; r == 0 && i < finder->touched.count; i++) {
		const struct span_reach *span = &finder->spans[touched[i]];

		if (span->first != CLEW_NONE)
			finder->count += span->last - span->first + 1;
	}
	return r;
}
