/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Makes the tree of stacks that is asked for. */
#include "export/stacks.h"

int stacks_make(struct stacks *stacks, const struct clew_export *export)
{
	const struct stacks_asked asked = {
		.trace = export->trace,
		.chosen = {.wants = export->wanted, .context = export->context},
		.from = export->from,
		.to = export->to,
		.begun_in = export->begun_in,
		.idle = export->idle,
		.relations = export->relations,
	};
	int r = stacks_begin(stacks);

	if (r < 0)
		return r;
	switch (export->stacks) {
	case CLEW_STACKS_OFF_CPU:
		stacks_off_cpu(stacks, &asked);
		break;
	case CLEW_STACKS_ON_CPU:
		stacks_on_cpu(stacks, &asked);
		break;
	default:
		stacks_chains(stacks, export, &asked);
		break;
	}
	return stacks->error;
}
