/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The tree of stacks: each node is a place below another, with the time that was spent there. */
#include "stacks/tree.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"

int stacks_begin(struct stacks *stacks)
{
	*stacks = (struct stacks){.nodes.item = sizeof(struct stack_node),
				  .places.item = sizeof(struct stack_place)};
	/* The root. */
	if (vector_reserve(&stacks->nodes, 1) < 0)
		return -ENOMEM;
	((struct stack_node *)stacks->nodes.data)[0] = (struct stack_node){};
	stacks->nodes.count = 1;
	return 0;
}

void stacks_done(struct stacks *stacks)
{
	vector_done(&stacks->nodes);
	vector_done(&stacks->places);
	arena_done(&stacks->arena);
	map_done(&stacks->numbers);
	map_done(&stacks->children);
}

uint32_t stacks_number(struct stacks *stacks, const struct stack_place *place)
{
	size_t size = strlen(place->name), file_size = place->file ? strlen(place->file) : 0;
	uint64_t hash = hash_bytes(HASH_SEED, place->name, size), *known;
	struct stack_place copy = *place;

	hash = hash_bytes(hash, place->file ?: "", file_size);
	hash = hash_mix(hash, (uint64_t)place->outer << 32 | place->line);
	known = map_get(&stacks->numbers, hash, (uint32_t)size);
	if (known)
		return (uint32_t)*known;
	copy.name = arena_copy(&stacks->arena, place->name, size);
	if (place->file)
		copy.file = arena_copy(&stacks->arena, place->file, file_size);
	if (!copy.name || (place->file && !copy.file) ||
	    vector_reserve(&stacks->places, stacks->places.count + 1) < 0 ||
	    map_set(&stacks->numbers, hash, (uint32_t)size, stacks->places.count) < 0) {
		stacks->error = -ENOMEM;
		return 0;
	}
	((struct stack_place *)stacks->places.data)[stacks->places.count] = copy;
	return (uint32_t)stacks->places.count++;
}

uint32_t stacks_push(struct stacks *stacks, uint32_t parent, const char *name)
{
	const struct stack_place place = {.name = name};

	return stacks_push_number(stacks, parent, stacks_number(stacks, &place));
}

uint32_t stacks_push_number(struct stacks *stacks, uint32_t parent, uint32_t number)
{
	uint64_t *known = map_get(&stacks->children, parent, number);

	if (known)
		return (uint32_t)*known;
	if (stacks->error || vector_reserve(&stacks->nodes, stacks->nodes.count + 1) < 0 ||
	    map_set(&stacks->children, parent, number, stacks->nodes.count) < 0) {
		stacks->error = -ENOMEM;
		return parent;
	}
	((struct stack_node *)stacks->nodes.data)[stacks->nodes.count] =
		(struct stack_node){.parent = parent, .place = number};
	return (uint32_t)stacks->nodes.count++;
}

void stacks_add(struct stacks *stacks, uint32_t node, unsigned kind, uint64_t ns)
{
	struct stack_node *to = (struct stack_node *)stacks->nodes.data + node;

	if (stacks->error)
		return;
	to->count++;
	to->ns += ns;
	to->running_ns += kind == CLEW_SEGMENT_RUNNING ? ns : 0;
	to->kind = (uint8_t)kind;
}
