/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Most and least work: the ESs between both ends are visited in causal order, first
 * ready first; each takes the best of what leads to it, the first one among equals.
 *
 * Where nothing is ready, ESs without length depend on each other in a cycle. They
 * all lie at one moment and add nothing, so taking the one with the best work first
 * is exact there.
 */
#include "base/sort.h"

#include "analyse/path/internal.h"

/* So many ESs further on, and so many nodes, memory is fetched. */
enum { AHEAD = 6, AHEAD_NODES = 12 };

struct heap_item {
	clew_time work;
	uint32_t es;
};

struct work {
	struct clew_path_finder *finder;
	struct clew_paths *paths;
	bool least;
	bool all_origins;
	uint32_t visited;
	uint32_t *order; /* of visits, for further paths; else NULL */
	/* The ESs not visited when the search first got stuck, in order of start. */
	struct sort_key *rest;
	size_t rest_count;
	size_t rest_at;
	/* A heap of ESs of the moment that is stuck, the best work first. */
	struct heap_item *heap;
	uint32_t heap_count;
	uint32_t heap_capacity;
	bool stuck;
	clew_time moment;
};

static bool better(const struct work *work, clew_time a, clew_time b)
{
	return work->least ? a < b : a > b;
}

/* ---- a cycle ---- */

static bool heap_before(const struct work *work, const struct heap_item *a,
			const struct heap_item *b)
{
	return better(work, a->work, b->work) || (a->work == b->work && a->es < b->es);
}

static int heap_add(struct work *work, uint32_t es)
{
	struct heap_item item = {.work = work->finder->nodes[es].work, .es = es};
	uint32_t at = work->heap_count;

	if (at == work->heap_capacity) {
		uint32_t capacity = at ? 2 * at : 16;
		struct heap_item *grown = reallocarray(work->heap, capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		work->heap = grown;
		work->heap_capacity = capacity;
	}
	work->heap_count++;
	for (; at && heap_before(work, &item, &work->heap[(at - 1) / 2]); at = (at - 1) / 2)
		work->heap[at] = work->heap[(at - 1) / 2];
	work->heap[at] = item;
	return 0;
}

static uint32_t heap_take(struct work *work)
{
	struct heap_item *heap = work->heap, item = heap[work->heap_count - 1];
	uint32_t top = heap[0].es, at = 0, child;

	work->heap_count--;
	while ((child = 2 * at + 1) < work->heap_count) {
		if (child + 1 < work->heap_count &&
		    heap_before(work, &heap[child + 1], &heap[child]))
			child++;
		if (!heap_before(work, &heap[child], &item))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = item;
	return top;
}

static bool in_cycle(const struct work *work, uint32_t es)
{
	const struct clew_es *e = &work->finder->model->es[es];

	return work->stuck && e->start == work->moment && e->end == work->moment;
}

/* ---- visiting ---- */

/* An ES leads to another one: `others`, whether that has a predecessor to wait for. */
static inline int propose(struct work *work, uint32_t from, uint32_t to, bool others)
{
	struct clew_path_finder *finder = work->finder;
	struct path_node *node = &finder->nodes[to];
	clew_time total = finder->nodes[from].work + es_length(finder->model, to);
	bool cycle = in_cycle(work, to);

	if (!node->from || better(work, total, node->work)) {
		node->work = total;
		node->from = from + 1;
		if (cycle)
			return heap_add(work, to);
	}
	if (cycle || node->edges || others)
		return 0;
	return list_add(&finder->queue, to);
}

static int visit(struct work *work, uint32_t es)
{
	struct clew_path_finder *finder = work->finder;
	const struct clew_model *model = finder->model;
	struct path_node *nodes = finder->nodes;
	const struct clew_es *all = model->es;
	const struct span_reach *span = &finder->spans[all[es].span];
	uint32_t count;
	const uint32_t *destinations = targets(model, es, work->all_origins, &count);
	clew_time end = all[es].end;
	int r = 0;

	/* Spans take turns, and there are more of them than the processor sees coming. */
	if (span->last - es > AHEAD_NODES) {
		__builtin_prefetch(&all[es + AHEAD]);
		__builtin_prefetch(&nodes[es + AHEAD_NODES], 1);
	}
	nodes[es].edges = NODE_DONE;
	if (work->order)
		work->order[es] = work->visited;
	work->visited++;
	if (es < span->last && nodes[es + 1].edges != NODE_DONE)
		r = propose(work, es, es + 1, false);
	for (uint32_t i = 0; i < count && r == 0; i++) {
		uint32_t to = destinations[i];
		const struct span_reach *reached = &finder->spans[all[to].span];

		if (all[to].start < end || reached->first == CLEW_NONE || to > reached->last ||
		    nodes[to].edges == NODE_DONE)
			continue;
		nodes[to].edges--;
		r = propose(work, es, to, to > reached->first && nodes[to - 1].edges != NODE_DONE);
	}
	return r;
}

static int collect_rest(struct work *work)
{
	const struct clew_path_finder *finder = work->finder;
	const uint32_t *touched = finder->touched.data;
	size_t left = finder->count - work->visited;
	struct sort_key *spare;

	work->rest = malloc(sizeof(*work->rest) * left);
	spare = malloc(sizeof(*spare) * left);
	if (!work->rest || !spare) {
		free(spare);
		return -ENOMEM;
	}
	for (size_t i = 0; i < finder->touched.count; i++) {
		const struct span_reach *span = &finder->spans[touched[i]];

		for (uint32_t es = span->first; span->first != CLEW_NONE && es <= span->last; es++)
			if (finder->nodes[es].edges != NODE_DONE)
				work->rest[work->rest_count++] = (struct sort_key){
					.key = (uint64_t)finder->model->es[es].start ^ 1ull << 63,
					.index = es};
	}
	sort_keys(work->rest, spare, work->rest_count);
	free(spare);
	return 0;
}

/* Visits what depends on itself at the earliest moment. */
static int break_cycle(struct work *work)
{
	struct clew_path_finder *finder = work->finder;
	uint32_t before = work->visited;
	int r = work->rest ? 0 : collect_rest(work);

	if (r < 0)
		return r;
	while (work->rest_at < work->rest_count &&
	       finder->nodes[work->rest[work->rest_at].index].edges == NODE_DONE)
		work->rest_at++;
	if (work->rest_at == work->rest_count)
		return -EINVAL;
	work->moment = finder->model->es[work->rest[work->rest_at].index].start;
	work->stuck = true;
	for (size_t i = work->rest_at; i < work->rest_count && r == 0; i++) {
		uint32_t es = work->rest[i].index;

		if (finder->model->es[es].start != work->moment)
			break;
		if (in_cycle(work, es) && finder->nodes[es].edges != NODE_DONE &&
		    finder->nodes[es].from)
			r = heap_add(work, es);
	}
	while (r == 0 && work->heap_count) {
		uint32_t es = heap_take(work);

		if (finder->nodes[es].edges != NODE_DONE)
			r = visit(work, es);
	}
	work->stuck = false;
	/* Only a model that overlaps with itself has other cycles. */
	return r < 0 ? r : work->visited == before ? -EINVAL : 0;
}

static int visit_all(struct work *work, uint32_t from)
{
	struct clew_path_finder *finder = work->finder;
	struct vector *queue = &finder->queue;
	size_t next = 0;
	int r;

	finder->nodes[from].work = es_length(finder->model, from);
	r = visit(work, from);
	while (r == 0 && work->visited < finder->count) {
		if (next < queue->count)
			r = visit(work, ((uint32_t *)queue->data)[next++]);
		else
			r = break_cycle(work);
		list_drop(queue, &next);
	}
	return r;
}

/* ---- paths ---- */

static clew_time top_length(void *context, uint32_t node)
{
	return es_length(((struct work *)context)->finder->model, node);
}

static clew_time top_best(void *context, uint32_t node)
{
	return ((struct work *)context)->finder->nodes[node].work;
}

static uint32_t top_best_next(void *context, uint32_t node)
{
	return ((struct work *)context)->finder->nodes[node].from - 1;
}

static bool top_next(void *context, uint32_t node, uint32_t i, uint32_t *ret_node)
{
	const struct work *work = context;
	const struct clew_model *model = work->finder->model;
	uint32_t dependency = model->es[node].in, predecessor = clew_model_predecessor(model, node),
		 count = 0, from;
	const uint32_t *origins = NULL;

	if (dependency != CLEW_NONE) {
		origins = model->origins + model->dependencies[dependency].origins.first;
		count = model->dependencies[dependency].origins.count;
		if (!work->all_origins && count > 1)
			count = 1;
	}
	if (i > count)
		return false;
	from = i ? origins[i - 1] : predecessor;
	*ret_node = CLEW_NONE;
	if (i && from == predecessor)
		return true;
	if (from != CLEW_NONE && reach_has(work->finder, from) &&
	    (!i || model->es[from].end <= model->es[node].start) &&
	    work->order[from] < work->order[node])
		*ret_node = from;
	return true;
}

static int top_found(void *context, const uint32_t *nodes, uint32_t count)
{
	const struct work *work = context;

	return paths_add(work->paths, work->finder->model, nodes, count, true);
}

static int add_best(struct work *work, uint32_t from, uint32_t to)
{
	const struct path_node *nodes = work->finder->nodes;
	uint32_t count = 1, *es;
	int r;

	for (uint32_t at = to; at != from; at = nodes[at].from - 1)
		count++;
	es = malloc(sizeof(*es) * count);
	if (!es)
		return -ENOMEM;
	for (uint32_t i = 0, at = to; i < count; at = nodes[at].from - 1)
		es[i++] = at;
	r = paths_add(work->paths, work->finder->model, es, count, true);
	free(es);
	return r;
}

int path_work(struct clew_path_finder *finder, uint32_t from, uint32_t to,
	      const struct clew_path_options *options, struct clew_paths *paths)
{
	struct work work = {.finder = finder,
			    .paths = paths,
			    .least = options->strategy == CLEW_STRATEGY_LEAST_WORK,
			    .all_origins = options->all_origins};
	int r;

	r = reach_between(finder, from, to, options->all_origins);
	if (r == 0 && options->top > 1) {
		work.order = calloc(finder->model->es_count, sizeof(*work.order));
		r = work.order ? 0 : -ENOMEM;
	}
	if (r == 0)
		r = visit_all(&work, from);
	if (r == 0 && options->top > 1) {
		const struct top_graph graph = {
			.context = &work,
			.end = from,
			.least = work.least,
			.length = top_length,
			.best = top_best,
			.best_next = top_best_next,
			.next = top_next,
		};

		r = top_paths(&graph, to, options->top, top_found, &work);
	} else if (r == 0) {
		r = add_best(&work, from, to);
	}
	free(work.order);
	free(work.rest);
	free(work.heap);
	return r;
}
