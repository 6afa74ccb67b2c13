/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Most work without causality: any ES may follow one that ends before it starts.
 * The ESs between both ends are sorted by start and end; from the last one back,
 * each gets the most work from it to the end, and the first in order of those that
 * give it.
 *
 * An ES that starts when another one that could come before it has ended is never
 * the best continuation: those that are left follow each other in the order.
 */
#include "base/sort.h"

#include "analyse/path/internal.h"

struct temporal {
	const struct clew_model *model;
	struct clew_paths *paths;
	uint32_t *es; /* in order: the start, what lies between, the end */
	uint32_t count;
	clew_time *work;       /* from each to the end */
	uint32_t *next;	       /* of each: the continuation */
	clew_time *ends_first; /* of each: the earliest end from it on */
};

static const struct clew_es *es_of(const struct temporal *t, uint32_t i)
{
	return &t->model->es[t->es[i]];
}

/* The ESs between both ends, a span after the other, with their ends as keys; how many. `keys`
 * NULL: only that. */
static uint32_t between(const struct clew_model *model, clew_time begin, clew_time end,
			struct sort_key *keys)
{
	uint32_t count = 0;

	for (uint32_t span = 0; span < model->span_count; span++) {
		const struct clew_range *range = &model->spans[span].elementary;
		uint32_t es;

		if (model->spans[span].start > end || model->spans[span].end < begin)
			continue;
		es = clew_model_es_at(model, span, begin);
		for (; es != CLEW_NONE && es < range->first + range->count &&
		       model->es[es].end <= end;
		     es++) {
			if (model->es[es].start < begin || es_length(model, es) <= 0)
				continue;
			if (keys)
				keys[count] = (struct sort_key){.key = (uint64_t)model->es[es].end ^
								       1ull << 63,
								.index = es};
			count++;
		}
	}
	return count;
}

/* Sorts by start, then end, then as in the model. */
static int collect(struct temporal *t, uint32_t from, uint32_t to)
{
	const struct clew_model *model = t->model;
	clew_time begin = model->es[from].end, end = model->es[to].start;
	uint32_t count = between(model, begin, end, NULL);
	struct sort_key *keys, *spare;

	t->count = count + 2;
	keys = malloc(sizeof(*keys) * (count + 1));
	spare = malloc(sizeof(*spare) * (count + 1));
	t->es = malloc(sizeof(*t->es) * t->count);
	t->work = malloc(sizeof(*t->work) * t->count);
	t->next = malloc(sizeof(*t->next) * t->count);
	t->ends_first = malloc(sizeof(*t->ends_first) * t->count);
	if (!keys || !spare || !t->es || !t->work || !t->next || !t->ends_first) {
		free(keys);
		free(spare);
		return -ENOMEM;
	}
	between(model, begin, end, keys);
	sort_keys(keys, spare, count);
	for (uint32_t i = 0; i < count; i++)
		keys[i].key = (uint64_t)model->es[keys[i].index].start ^ 1ull << 63;
	sort_keys(keys, spare, count);
	for (uint32_t i = 0; i < count; i++)
		t->es[i + 1] = keys[i].index;
	t->es[0] = from;
	t->es[count + 1] = to;
	free(keys);
	free(spare);
	return 0;
}

/* The first from `low` on that starts at `at` or later; the end always does. */
static uint32_t first_from(const struct temporal *t, uint32_t low, clew_time at)
{
	uint32_t high = t->count - 1;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (es_of(t, middle)->start < at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int solve(struct temporal *t)
{
	uint32_t last = t->count - 1, *best = malloc(sizeof(*best) * t->count);

	if (!best)
		return -ENOMEM;
	for (uint32_t i = last + 1; i--;) {
		clew_time length = es_length(t->model, t->es[i]);

		t->next[i] = i == last ? CLEW_NONE : best[first_from(t, i + 1, es_of(t, i)->end)];
		t->work[i] = length + (i == last ? 0 : t->work[t->next[i]]);
		/* The first among equals. */
		best[i] = i == last || t->work[i] >= t->work[best[i + 1]] ? i : best[i + 1];
		t->ends_first[i] = i == last || es_of(t, i)->end < t->ends_first[i + 1]
					   ? es_of(t, i)->end
					   : t->ends_first[i + 1];
	}
	free(best);
	return 0;
}

/* ---- paths ---- */

static clew_time length_of(void *context, uint32_t node)
{
	const struct temporal *t = context;

	return es_length(t->model, t->es[node]);
}

static clew_time best_of(void *context, uint32_t node)
{
	return ((struct temporal *)context)->work[node];
}

static uint32_t best_next_of(void *context, uint32_t node)
{
	return ((struct temporal *)context)->next[node];
}

static bool next_of(void *context, uint32_t node, uint32_t i, uint32_t *ret_node)
{
	const struct temporal *t = context;
	uint32_t first = first_from(t, node + 1, es_of(t, node)->end);

	*ret_node = first + i;
	return i == 0 ? first < t->count
		      : first + i < t->count && es_of(t, first + i)->start < t->ends_first[first];
}

static int found(void *context, const uint32_t *nodes, uint32_t count)
{
	const struct temporal *t = context;
	uint32_t *es = malloc(sizeof(*es) * count);
	int r;

	if (!es)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		es[i] = t->es[nodes[i]];
	r = paths_add(t->paths, t->model, es, count, false);
	free(es);
	return r;
}

int path_temporal(struct clew_path_finder *finder, uint32_t from, uint32_t to,
		  const struct clew_path_options *options, struct clew_paths *paths)
{
	struct temporal t = {.model = finder->model, .paths = paths};
	int r;

	if (from == to || t.model->es[from].end > t.model->es[to].start)
		return -ENOENT;
	r = collect(&t, from, to);
	if (r == 0)
		r = solve(&t);
	if (r == 0) {
		const struct top_graph graph = {
			.context = &t,
			.end = t.count - 1,
			.length = length_of,
			.best = best_of,
			.best_next = best_next_of,
			.next = next_of,
		};

		r = top_paths(&graph, 0, options->top, found, &t);
	}
	free(t.es);
	free(t.work);
	free(t.next);
	free(t.ends_first);
	return r;
}
