/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Chains of a search: tasks asleep because of the next one, and the dependency
 * that led to each of them. Siblings share the part that they have in common.
 */
#include "explain/why_internal.h"
#include <errno.h>
#include <string.h>

static bool same_via(struct clew_hop_via a, struct clew_hop_via b)
{
	return a.type == b.type && a.evidence == b.evidence;
}

static struct chain_block *copy_chain(struct why_search *search, const struct chain *chain)
{
	uint32_t capacity = chain->length < 6 ? 8 : chain->length + chain->length / 2;
	struct chain_block *copy =
		arena_take(search->arena, sizeof(*copy) + capacity * (sizeof(copy->tasks[0]) +
								      sizeof(copy->vias[0])));

	if (!copy)
		return NULL;
	*copy = (struct chain_block){.used = chain->length, .capacity = capacity};
	copy->vias = (struct clew_hop_via *)(copy->tasks + capacity);
	if (chain->length) {
		memcpy(copy->tasks, chain->block->tasks, chain->length * sizeof(copy->tasks[0]));
		memcpy(copy->vias, chain->block->vias, chain->length * sizeof(copy->vias[0]));
	}
	return copy;
}

int why_chain_extend(struct why_search *search, const struct frame *frame, struct chain *ret_chain)
{
	const struct chain *chain = &frame->chain;
	struct chain_block *block = chain->block;
	const struct clew_hop_via via = {frame->via_type, frame->via_evidence};
	uint32_t task = frame->task->task.serial;

	/* A sibling's chain may already continue with this task, reached in the same way. */
	if (block && block->used > chain->length && block->tasks[chain->length] == task &&
	    same_via(block->vias[chain->length], via)) {
		*ret_chain = (struct chain){.block = block, .length = chain->length + 1};
		return 0;
	}
	if (!block || block->used != chain->length || block->used == block->capacity) {
		block = copy_chain(search, chain);
		if (!block)
			return -ENOMEM;
	}
	block->tasks[block->used] = task;
	block->vias[block->used++] = via;
	*ret_chain = (struct chain){.block = block, .length = block->used};
	return 0;
}

bool why_in_chain(const struct chain *chain, uint32_t task)
{
	for (uint32_t i = 0; i < chain->length; i++)
		if (chain->block->tasks[i] == task)
			return true;
	return false;
}

bool clew_segment_same_chain(const struct clew_segment *a, const struct clew_segment *b)
{
	if (a->chain_length != b->chain_length)
		return false;
	if (a->chain == b->chain)
		return true;
	for (uint32_t i = 0; i < a->chain_length; i++)
		if (a->chain[i] != b->chain[i] || !same_via(a->vias[i], b->vias[i]))
			return false;
	return true;
}
