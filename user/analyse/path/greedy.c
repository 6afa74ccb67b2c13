/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The greedy strategies: from the end back to the start, at each ES first to the one
 * of its predecessor and its dependency's origin that the strategy prefers. The
 * other one is tried when that leads nowhere, and for further paths.
 */
#include "analyse/path/internal.h"

struct greedy {
	struct clew_path_finder *finder;
	enum clew_strategy strategy;
	bool all_origins;
	uint32_t from, to;
};

/* The origin of an ES's dependency that the strategy looks at; CLEW_NONE none that ends in time. */
static uint32_t origin_of(const struct greedy *greedy, uint32_t es)
{
	const struct clew_model *model = greedy->finder->model;
	uint32_t dependency = model->es[es].in, chosen = CLEW_NONE;
	const struct clew_range *origins;

	if (!greedy->all_origins || dependency == CLEW_NONE)
		return usable_trigger(model, es);
	origins = &model->dependencies[dependency].origins;
	for (uint32_t i = 0; i < origins->count; i++) {
		uint32_t origin = model->origins[origins->first + i];
		clew_time end = model->es[origin].end;

		if (end > model->es[es].start)
			continue;
		if (chosen == CLEW_NONE ||
		    (greedy->strategy == CLEW_STRATEGY_LEAST_PROX ? end < model->es[chosen].end
								  : end >= model->es[chosen].end))
			chosen = origin;
	}
	return chosen;
}

/* The predecessors of an ES, the preferred one first. Returns how many there are. */
static unsigned candidates(const struct greedy *greedy, uint32_t es, uint32_t ret[2])
{
	const struct clew_model *model = greedy->finder->model;
	uint32_t predecessor = clew_model_predecessor(model, es), origin = origin_of(greedy, es);
	clew_time earliest = model->es[greedy->from].end;
	bool origin_first;
	unsigned count = 0;

	/* An ES that ends before the start cannot come from it. */
	if (predecessor != CLEW_NONE && (model->es[predecessor].end > model->es[es].start ||
					 model->es[predecessor].end < earliest))
		predecessor = CLEW_NONE;
	if (origin != CLEW_NONE && model->es[origin].end < earliest)
		origin = CLEW_NONE;
	if (predecessor == CLEW_NONE || origin == CLEW_NONE || predecessor == origin) {
		if (predecessor != CLEW_NONE)
			ret[count++] = predecessor;
		else if (origin != CLEW_NONE)
			ret[count++] = origin;
		return count;
	}
	switch (greedy->strategy) {
	case CLEW_STRATEGY_CAUSAL:
		origin_first = true;
		break;
	case CLEW_STRATEGY_MOST_PROX:
		origin_first = model->es[origin].end >= model->es[predecessor].end;
		break;
	case CLEW_STRATEGY_LEAST_PROX:
		origin_first = model->es[origin].end < model->es[predecessor].end;
		break;
	default:
		origin_first = false;
	}
	ret[0] = origin_first ? origin : predecessor;
	ret[1] = origin_first ? predecessor : origin;
	return 2;
}

static int push(struct vector *stack, uint32_t es, uint32_t next)
{
	int r = list_add(stack, es);

	return r < 0 ? r : list_add(stack, next);
}

/*
 * Searches backwards; the queue gets every ES visited, their nodes where they go on
 * to. Stops at the start unless all of it is wanted. -ENOENT: not found.
 */
static int search(const struct greedy *greedy, bool whole)
{
	struct clew_path_finder *finder = greedy->finder;
	struct vector *stack = &finder->worklist;
	int r = push(stack, greedy->to, CLEW_NONE);
	bool found = false;

	while (r == 0 && stack->count) {
		const uint32_t *top = (const uint32_t *)stack->data + stack->count - 2;
		uint32_t es = top[0], next = top[1], from[2];
		struct path_node *node = &finder->nodes[es];

		stack->count -= 2;
		if (node->edges == NODE_DONE)
			continue;
		node->edges = NODE_DONE;
		node->from = next + 1;
		r = list_add(&finder->queue, es);
		if (es == greedy->from) {
			found = true;
			if (!whole)
				break;
			continue;
		}
		for (unsigned i = candidates(greedy, es, from); i-- && r == 0;)
			r = push(stack, from[i], es);
	}
	return r < 0 ? r : found ? 0 : -ENOENT;
}

static int add_first(const struct greedy *greedy, struct clew_paths *paths)
{
	const struct path_node *nodes = greedy->finder->nodes;
	uint32_t count = 1, *es;
	int r;

	for (uint32_t at = greedy->from; at != greedy->to; at = nodes[at].from - 1)
		count++;
	es = malloc(sizeof(*es) * count);
	if (!es)
		return -ENOMEM;
	for (uint32_t i = 0, at = greedy->from; i < count; at = nodes[at].from - 1)
		es[i++] = at;
	r = paths_add(paths, greedy->finder->model, es, count, false);
	free(es);
	return r;
}

/* ---- further paths ---- */

enum {
	COMES_FROM_START = 1,
	ON_PATH = 2
}; /* in the `work` of a node, which a greedy strategy has no other use for */

/* Marks what the start leads to among what was visited. */
static int mark_useful(const struct greedy *greedy)
{
	struct clew_path_finder *finder = greedy->finder;
	const struct clew_model *model = finder->model;
	struct vector *stack = &finder->worklist;
	int r;

	stack->count = 0;
	finder->nodes[greedy->from].work = COMES_FROM_START;
	r = list_add(stack, greedy->from);
	while (r == 0 && stack->count) {
		uint32_t es = ((uint32_t *)stack->data)[--stack->count], count, from[2];
		const uint32_t *destinations = targets(model, es, greedy->all_origins, &count);
		uint32_t successor = clew_model_successor(model, es);

		for (uint32_t i = 0; i <= count && r == 0; i++) {
			uint32_t next = i < count ? destinations[i] : successor;
			bool leads = false;

			if (next == CLEW_NONE || finder->nodes[next].edges != NODE_DONE ||
			    finder->nodes[next].work)
				continue;
			for (unsigned j = candidates(greedy, next, from); j--;)
				leads = leads || from[j] == es;
			if (!leads)
				continue;
			finder->nodes[next].work = COMES_FROM_START;
			r = list_add(stack, next);
		}
	}
	return r;
}

/* Goes through all paths in order of preference. The stack holds pairs of an ES and how many of its
 * candidates were tried. */
static int enumerate(const struct greedy *greedy, uint32_t limit, struct clew_paths *paths)
{
	struct clew_path_finder *finder = greedy->finder;
	struct vector *stack = &finder->worklist, path = {.item = sizeof(uint32_t)};
	int r;

	stack->count = 0;
	r = push(stack, greedy->to, 0);
	while (r == 0 && stack->count && paths->count < limit) {
		uint32_t *top = (uint32_t *)stack->data + stack->count - 2;
		uint32_t es = top[0], tried = top[1]++, from[2];

		if (!tried) {
			r = list_add(&path, es);
			if (r < 0)
				break;
			finder->nodes[es].work |= ON_PATH;
			if (es == greedy->from)
				r = paths_add(paths, finder->model, path.data, (uint32_t)path.count,
					      true);
		}
		if (es != greedy->from && tried < candidates(greedy, es, from)) {
			if (finder->nodes[from[tried]].work == COMES_FROM_START)
				r = push(stack, from[tried], 0);
			continue;
		}
		finder->nodes[es].work &= ~ON_PATH;
		path.count--;
		stack->count -= 2;
	}
	vector_done(&path);
	return r;
}

int path_greedy(struct clew_path_finder *finder, uint32_t from, uint32_t to,
		const struct clew_path_options *options, struct clew_paths *paths)
{
	const struct greedy greedy = {
		.finder = finder,
		.strategy = options->strategy,
		.all_origins = options->all_origins,
		.from = from,
		.to = to,
	};
	const uint32_t *visited;
	int r;

	r = search(&greedy, options->top > 1);
	if (r == 0 && options->top == 1)
		r = add_first(&greedy, paths);
	if (r == 0 && options->top > 1)
		r = mark_useful(&greedy);
	if (r == 0 && options->top > 1)
		r = enumerate(&greedy, options->top, paths);
	visited = finder->queue.data;
	for (size_t i = 0; i < finder->queue.count; i++)
		finder->nodes[visited[i]] = (struct path_node){0};
	finder->queue.count = finder->worklist.count = 0;
	return r;
}
