/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the functions that may call themselves, and those that are open: lead to a call or jump
 * that this file does not decide. Functions that lead to each other are found as groups (Tarjan),
 * callees before callers, so that one pass has both answers.
 */
#include <errno.h>
#include <stdlib.h>

#include "symbol/code/function_internal.h"

/* A call to itself is no edge, but a mark. */
struct graph {
	uint32_t *first; /* of each range, and one more */
	uint32_t *to;
};

struct search {
	struct range *ranges;
	struct graph graph;
	uint32_t *order; /* in which it was met, 0: not yet */
	uint32_t *low;	 /* the earliest that it leads to */
	uint32_t *edge;	 /* the next to follow */
	uint32_t *way;	 /* the ranges from the start to the one at hand */
	uint32_t *stack; /* of those whose group is not complete */
	bool *stacked;
	size_t depth, height;
	uint32_t met;
};

static bool is_edge(const struct flow *flow)
{
	return flow->kind == FLOW_CALL || flow->kind == FLOW_JUMP || flow->kind == FLOW_CONDITIONAL;
}

/* Counts the edges (`to` NULL) or fills them in, behind what `first` says. */
static void walk_edges(struct clew_functions *functions, uint32_t *first, uint32_t *to)
{
	struct range *ranges = ranges_of(functions);
	const struct flow *flows = functions->flows.data;

	for (uint32_t i = 0; i < functions->ranges.count; i++) {
		struct range *owner = &ranges[ranges[i].owner];

		owner->open |= ranges[i].open || ranges[i].undecodable || !ranges[i].size ||
			       ranges[i].stack;
		for (uint32_t k = 0; k < ranges[i].flow_count; k++) {
			const struct flow *flow = &flows[ranges[i].flow + k];
			uint32_t target;

			if (!is_edge(flow))
				continue;
			if (flow->target == NO_RANGE) {
				owner->open = true;
				continue;
			}
			target = ranges[flow->target].owner;
			if (target == ranges[i].owner)
				/* Also a part's call of the whole. */
				owner->recursive |= flow->to_start && flow->target == target;
			else if (to)
				to[first[ranges[i].owner]++] = target;
			else
				first[ranges[i].owner]++;
		}
	}
}

static int make_graph(struct clew_functions *functions, struct graph *graph)
{
	size_t count = functions->ranges.count;
	uint32_t total = 0;

	graph->first = calloc(count + 1, sizeof(*graph->first));
	if (!graph->first)
		return -ENOMEM;
	walk_edges(functions, graph->first, NULL);
	for (size_t i = 0; i <= count; i++) {
		uint32_t own = graph->first[i];

		graph->first[i] = total;
		total += own;
	}
	graph->to = calloc((size_t)total + 1, sizeof(*graph->to));
	if (!graph->to)
		return -ENOMEM;
	walk_edges(functions, graph->first, graph->to);
	/* Each has moved to where the next one's begin. */
	for (size_t i = count; i > 0; i--)
		graph->first[i] = graph->first[i - 1];
	graph->first[0] = 0;
	return 0;
}

static void meet(struct search *search, uint32_t node)
{
	search->order[node] = search->low[node] = ++search->met;
	search->edge[node] = search->graph.first[node];
	search->stack[search->height++] = node;
	search->stacked[node] = true;
	search->way[search->depth++] = node;
}

/* All of a group are known: those above `node` on the stack. */
static void complete(struct search *search, uint32_t node)
{
	size_t base = search->height;
	bool open = false;

	do {
		uint32_t member = search->stack[--base];

		open |= search->ranges[member].open;
		for (uint32_t i = search->graph.first[member]; i < search->graph.first[member + 1];
		     i++)
			open |= search->ranges[search->graph.to[i]].open;
	} while (search->stack[base] != node);
	for (size_t i = base; i < search->height; i++) {
		struct range *range = &search->ranges[search->stack[i]];

		range->open = open;
		range->recursive |= search->height - base > 1;
		search->stacked[search->stack[i]] = false;
	}
	search->height = base;
}

static void explore(struct search *search, uint32_t start)
{
	meet(search, start);
	while (search->depth) {
		uint32_t node = search->way[search->depth - 1];

		if (search->edge[node] < search->graph.first[node + 1]) {
			uint32_t next = search->graph.to[search->edge[node]++];

			if (!search->order[next])
				meet(search, next);
			else if (search->stacked[next] && search->order[next] < search->low[node])
				search->low[node] = search->order[next];
			continue;
		}
		if (search->low[node] == search->order[node])
			complete(search, node);
		if (--search->depth) {
			uint32_t caller = search->way[search->depth - 1];

			if (search->low[node] < search->low[caller])
				search->low[caller] = search->low[node];
		}
	}
}

int functions_find_open(struct clew_functions *functions)
{
	size_t count = functions->ranges.count;
	struct search search = {.ranges = ranges_of(functions)};
	uint32_t *numbers = calloc(5 * count + 1, sizeof(*numbers));
	int r = numbers ? make_graph(functions, &search.graph) : -ENOMEM;

	search.stacked = calloc(count + 1, sizeof(*search.stacked));
	if (r >= 0 && !search.stacked)
		r = -ENOMEM;
	if (r >= 0) {
		search.order = numbers;
		search.low = numbers + count;
		search.edge = numbers + 2 * count;
		search.way = numbers + 3 * count;
		search.stack = numbers + 4 * count;
		for (uint32_t i = 0; i < count; i++)
			if (!search.order[i])
				explore(&search, i);
	}
	free(search.stacked);
	free(search.graph.first);
	free(search.graph.to);
	free(numbers);
	return r;
}
