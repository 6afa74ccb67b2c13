/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Cycles: ESs that wait for each other. An ES waits for its predecessor and for
 * every origin of its incoming dependency that does not end after it begins (a
 * negative edge is never followed), but not for itself. ESs that wait for
 * nothing are removed, then those that waited only for these, and so on. In the
 * rest each strongly connected component of more than one ES is a cycle. It is
 * unreachable if no edge leads into it from outside.
 */
#include "model/check_internal.h"
#include <stdlib.h>

struct search {
	const struct clew_model *model;
	uint8_t *is_first; /* of a span */
	uint32_t *pending; /* by ES: how many edges it still waits for; 0: removed */
	uint32_t *free;	   /* to be removed */
};

struct cycle {
	uint32_t first, size;
	bool reached;
};

static bool is_edge(const struct clew_model *model, uint32_t from, uint32_t to)
{
	return from != to && model->es[from].end <= model->es[to].start;
}

/* Follower number `n` of an ES: its successor, then the destinations that wait
 * for it. *ret_more: whether there may be further ones. */
static uint32_t follower(const struct search *search, uint32_t es, uint32_t n, bool *ret_more)
{
	const struct clew_model *model = search->model;
	uint32_t out = model->es[es].out, to;

	*ret_more = n == 0;
	if (n == 0)
		return es + 1 < model->es_count && !search->is_first[es + 1] ? es + 1 : CLEW_NONE;
	if (out == CLEW_NONE || n > model->dependencies[out].destinations.count)
		return CLEW_NONE;
	*ret_more = true;
	to = model->destinations[model->dependencies[out].destinations.first + n - 1];
	return model->es[to].in == out && is_edge(model, es, to) ? to : CLEW_NONE;
}

static uint32_t waits_for(const struct search *search, uint32_t es)
{
	const struct clew_model *model = search->model;
	uint32_t in = model->es[es].in, count = !search->is_first[es];

	if (in == CLEW_NONE)
		return count;
	for (uint32_t i = 0; i < model->dependencies[in].origins.count; i++) {
		uint32_t from = model->origins[model->dependencies[in].origins.first + i];

		count += model->es[from].out == in && is_edge(model, from, es);
	}
	return count;
}

/* Returns how many ESs remain. The one freed last is removed next: it is mostly
 * the successor, its neighbour in memory. */
static uint32_t drain(struct search *search)
{
	uint32_t count = search->model->es_count, waiting = 0, done = 0;

	for (uint32_t i = 0; i < count; i++) {
		search->pending[i] = waits_for(search, i);
		if (search->pending[i] == 0)
			search->free[waiting++] = i;
	}
	for (; waiting > 0; done++) {
		uint32_t es = search->free[--waiting];
		bool more = true;

		for (uint32_t n = 0; more; n++) {
			uint32_t to = follower(search, es, n, &more);

			if (to != CLEW_NONE && search->pending[to] > 0 &&
			    --search->pending[to] == 0)
				search->free[waiting++] = to;
		}
	}
	return count - done;
}

/* True if an edge leads to it from a removed ES. */
static bool is_reached(const struct search *search, uint32_t es)
{
	return search->pending[es] < waits_for(search, es);
}

/* ---- strongly connected components (Tarjan's algorithm, without recursion) ---- */

struct parts {
	uint32_t *number, *low; /* 0: not seen yet; low CLEW_NONE: in a component already */
	uint32_t *stack;
	uint32_t *path, *next; /* the ESs on the path, and the follower that each of them visits */
	uint32_t stacked, deep, numbered;
	struct vector cycles;
};

static void descend(struct parts *parts, uint32_t es)
{
	parts->number[es] = parts->low[es] = ++parts->numbered;
	parts->stack[parts->stacked++] = es;
	parts->path[parts->deep] = es;
	parts->next[parts->deep++] = 0;
}

static int take_part(const struct search *search, struct parts *parts, uint32_t root)
{
	struct cycle cycle = {.first = root};
	uint32_t es;

	do {
		es = parts->stack[--parts->stacked];
		parts->low[es] = CLEW_NONE;
		cycle.first = es < cycle.first ? es : cycle.first;
		cycle.reached = cycle.reached || is_reached(search, es);
		cycle.size++;
	} while (es != root);
	return cycle.size > 1 ? model_add(&parts->cycles, &cycle) : 0;
}

static int find_parts(const struct search *search, struct parts *parts, uint32_t start)
{
	descend(parts, start);
	while (parts->deep > 0) {
		uint32_t es = parts->path[parts->deep - 1];
		bool more;
		uint32_t to = follower(search, es, parts->next[parts->deep - 1]++, &more);

		if (to != CLEW_NONE && search->pending[to] > 0) {
			if (parts->number[to] == 0)
				descend(parts, to);
			else if (parts->low[to] != CLEW_NONE && parts->number[to] < parts->low[es])
				parts->low[es] = parts->number[to];
			continue;
		}
		if (more)
			continue;
		if (parts->low[es] == parts->number[es]) {
			int r = take_part(search, parts, es);

			if (r < 0)
				return r;
		}
		parts->deep--;
		if (parts->deep > 0 && parts->low[es] != CLEW_NONE) {
			uint32_t from = parts->path[parts->deep - 1];

			parts->low[from] = parts->low[es] < parts->low[from] ? parts->low[es]
									     : parts->low[from];
		}
	}
	return 0;
}

static int compare_cycles(const void *one, const void *other)
{
	const struct cycle *a = one, *b = other;

	if (a->reached != b->reached)
		return a->reached ? -1 : 1;
	return a->first < b->first ? -1 : a->first > b->first;
}

static int find_cycles(struct check *check, const struct search *search)
{
	uint32_t count = search->model->es_count;
	struct parts parts = {.number = calloc(count, sizeof(uint32_t)),
			      .low = calloc(count, sizeof(uint32_t)),
			      .stack = calloc(count, sizeof(uint32_t)),
			      .path = calloc(count, sizeof(uint32_t)),
			      .next = calloc(count, sizeof(uint32_t)),
			      .cycles.item = sizeof(struct cycle)};
	const struct cycle *cycles;
	int r = parts.number && parts.low && parts.stack && parts.path && parts.next ? 0 : -ENOMEM;

	for (uint32_t i = 0; r == 0 && i < count; i++)
		if (search->pending[i] > 0 && parts.number[i] == 0)
			r = find_parts(search, &parts, i);
	if (r == 0 && parts.cycles.count > 1)
		qsort(parts.cycles.data, parts.cycles.count, sizeof(struct cycle), compare_cycles);
	cycles = parts.cycles.data;
	for (size_t i = 0; r == 0 && i < parts.cycles.count; i++)
		check_add(check, cycles[i].reached ? "cycle" : "unreachable", false,
			  cycles[i].first,
			  "%u elementary spans wait for each other%s, one of them in '%.60s'",
			  cycles[i].size, cycles[i].reached ? "" : ", and nothing leads to them",
			  check_name(check, cycles[i].first));
	free(parts.number);
	free(parts.low);
	free(parts.stack);
	free(parts.path);
	free(parts.next);
	vector_done(&parts.cycles);
	return r;
}

void check_cycles(struct check *check)
{
	const struct clew_model *model = check->model;
	size_t count = model->es_count ? model->es_count : 1;
	struct search search = {.model = model,
				.is_first = calloc(count, 1),
				.pending = calloc(count, sizeof(uint32_t)),
				.free = calloc(count, sizeof(uint32_t))};
	int r = search.is_first && search.pending && search.free ? 0 : -ENOMEM;

	for (uint32_t i = 0; r == 0 && i < model->span_count; i++)
		search.is_first[model->spans[i].elementary.first] = 1;
	if (r == 0 && drain(&search) > 0)
		r = find_cycles(check, &search);
	if (r < 0)
		check->r = r;
	free(search.is_first);
	free(search.pending);
	free(search.free);
}
