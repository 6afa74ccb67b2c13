/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Makes the tree of stacks that is asked for. */
#include "export/stacks.h"

#include <errno.h>

int stacks_make(struct stacks *stacks, const struct clew_export *export)
{
	*stacks = (struct stacks){.nodes.item = sizeof(struct stack_node),
				  .places.item = sizeof(struct stack_place)};
	/* The root. */
	if (vector_reserve(&stacks->nodes, 1) < 0)
		return -ENOMEM;
	stacks->nodes.count = 1;
	switch (export->stacks) {
	case CLEW_STACKS_OFF_CPU:
		stacks_off_cpu(stacks, export);
		break;
	case CLEW_STACKS_ON_CPU:
		stacks_on_cpu(stacks, export);
		break;
	default:
		stacks_chains(stacks, export);
		break;
	}
	return stacks->error;
}

void stacks_done(struct stacks *stacks)
{
	vector_done(&stacks->nodes);
	vector_done(&stacks->places);
	arena_done(&stacks->arena);
	map_done(&stacks->numbers);
	map_done(&stacks->children);
}
