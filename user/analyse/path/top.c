/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The best paths of a graph, one after the other (Jiménez and Marzal's recursive
 * enumeration). The k-th best path of a node continues as some path of a next
 * node: which ones are left to try is kept only for nodes that found paths go
 * through, so that each further path costs about its own length.
 */
#include "base/map.h"

#include "analyse/path/internal.h"

/* A path of a node: on to `next`, then as the path number `rank` of that. */
struct way {
	clew_time length;
	uint32_t next;
	uint32_t rank;
	uint32_t turn; /* order among equals */
};

struct ways {
	struct way *items;
	uint32_t count;
	uint32_t capacity;
};

struct node {
	uint32_t number;
	bool opened;   /* the others are filled in */
	bool finished; /* there are no more */
	uint32_t turns;
	struct ways paths;
	struct ways others; /* a heap */
};

struct top {
	const struct top_graph *graph;
	struct map index; /* node number -> place in nodes */
	struct node *nodes;
	size_t node_count, node_capacity;
};

static int ways_add(struct ways *ways, struct way way)
{
	if (ways->count == ways->capacity) {
		uint32_t capacity = ways->capacity ? 2 * ways->capacity : 2;
		struct way *grown = reallocarray(ways->items, capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		ways->items = grown;
		ways->capacity = capacity;
	}
	ways->items[ways->count++] = way;
	return 0;
}

static bool before(const struct top *top, const struct way *a, const struct way *b)
{
	if (a->length != b->length)
		return top->graph->least ? a->length < b->length : a->length > b->length;
	return a->turn < b->turn;
}

static int heap_add(const struct top *top, struct ways *heap, struct way way)
{
	uint32_t at = heap->count;
	int r = ways_add(heap, way);

	if (r < 0)
		return r;
	for (; at && before(top, &way, &heap->items[(at - 1) / 2]); at = (at - 1) / 2)
		heap->items[at] = heap->items[(at - 1) / 2];
	heap->items[at] = way;
	return 0;
}

static struct way heap_take(const struct top *top, struct ways *heap)
{
	struct way *items = heap->items, first = items[0], way = items[--heap->count];
	uint32_t at = 0, child;

	while ((child = 2 * at + 1) < heap->count) {
		if (child + 1 < heap->count && before(top, &items[child + 1], &items[child]))
			child++;
		if (!before(top, &items[child], &way))
			break;
		items[at] = items[child];
		at = child;
	}
	items[at] = way;
	return first;
}

/* The place of a node, made with its best path when it is new. -ENOMEM. */
static int64_t place_of(struct top *top, uint32_t number)
{
	const struct top_graph *graph = top->graph;
	const uint64_t *known = map_get(&top->index, number, 0);
	struct node *node;

	if (known)
		return (int64_t)*known;
	if (top->node_count == top->node_capacity) {
		size_t capacity = top->node_capacity ? 2 * top->node_capacity : 64;
		struct node *grown = reallocarray(top->nodes, capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		top->nodes = grown;
		top->node_capacity = capacity;
	}
	if (map_set(&top->index, number, 0, top->node_count) < 0)
		return -ENOMEM;
	node = &top->nodes[top->node_count++];
	*node = (struct node){.number = number, .finished = number == graph->end};
	if (ways_add(&node->paths,
		     (struct way){.length = graph->best(graph->context, number),
				  .next = number == graph->end
						  ? CLEW_NONE
						  : graph->best_next(graph->context, number)}) < 0)
		return -ENOMEM;
	return (int64_t)top->node_count - 1;
}

/* Fills in every continuation but the best one, each with its own best path. */
static int open_node(const struct top *top, struct node *node)
{
	const struct top_graph *graph = top->graph;
	clew_time length = graph->length(graph->context, node->number);
	uint32_t next;

	node->opened = true;
	for (uint32_t i = 0; graph->next(graph->context, node->number, i, &next); i++) {
		struct way way = {.next = next, .turn = node->turns};

		if (next == CLEW_NONE || next == node->paths.items[0].next)
			continue;
		node->turns++;
		way.length = length + graph->best(graph->context, next);
		if (heap_add(top, &node->others, way) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Finds one more path of a node, unless it is finished. `stack`: room for any number of nodes. */
static int one_more(struct top *top, size_t place, struct vector *stack)
{
	stack->count = 0;
	/* Down: a node's last path makes room for the next one of where it went on. */
	for (;;) {
		struct node *node = &top->nodes[place];
		const struct way *last = &node->paths.items[node->paths.count - 1];
		uint32_t rank = last->rank + 1;
		int64_t next;
		int r;

		if (node->finished)
			break;
		if (!node->opened) {
			r = open_node(top, node);
			if (r < 0)
				return r;
		}
		r = list_add(stack, (uint32_t)place);
		if (r < 0)
			return r;
		next = place_of(top, last->next);
		if (next < 0)
			return -ENOMEM;
		if (top->nodes[next].paths.count > rank)
			break;
		place = (size_t)next;
	}
	/* And up again. */
	while (stack->count) {
		struct node *node = &top->nodes[((uint32_t *)stack->data)[--stack->count]];
		const struct way *last = &node->paths.items[node->paths.count - 1];
		struct way way = {.next = last->next, .rank = last->rank + 1};
		const struct node *next = &top->nodes[place_of(top, last->next)];
		int r = 0;

		if (next->paths.count > way.rank) {
			way.turn = node->turns++;
			way.length = top->graph->length(top->graph->context, node->number) +
				     next->paths.items[way.rank].length;
			r = heap_add(top, &node->others, way);
		}
		if (r == 0 && node->others.count)
			r = ways_add(&node->paths, heap_take(top, &node->others));
		else
			node->finished = true;
		if (r < 0)
			return r;
	}
	return 0;
}

/* Lists the nodes of the path number `rank` of a node. */
static int spell(struct top *top, size_t place, uint32_t rank, struct vector *list)
{
	list->count = 0;
	for (;;) {
		const struct node *node = &top->nodes[place];
		struct way way = node->paths.items[rank];
		int64_t next;
		int r = list_add(list, node->number);

		if (r < 0 || node->number == top->graph->end)
			return r;
		next = place_of(top, way.next);
		if (next < 0)
			return -ENOMEM;
		place = (size_t)next;
		rank = way.rank;
	}
}

int top_paths(const struct top_graph *graph, uint32_t start, uint32_t limit,
	      int (*found)(void *context, const uint32_t *nodes, uint32_t count),
	      void *found_context)
{
	struct top top = {.graph = graph};
	struct vector list = {.item = sizeof(uint32_t)};
	int64_t place = place_of(&top, start);
	int r = place < 0 ? (int)place : 0;

	for (uint32_t rank = 0; r == 0 && rank < limit; rank++) {
		if (rank)
			r = one_more(&top, (size_t)place, &list);
		if (r < 0 || top.nodes[place].paths.count <= rank)
			break;
		r = spell(&top, (size_t)place, rank, &list);
		if (r == 0)
			r = found(found_context, list.data, (uint32_t)list.count);
	}
	for (size_t i = 0; i < top.node_count; i++) {
		free(top.nodes[i].paths.items);
		free(top.nodes[i].others.items);
	}
	free(top.nodes);
	map_done(&top.index);
	vector_done(&list);
	return r;
}
