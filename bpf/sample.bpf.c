/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Takes the stacks of what a tick finds on its CPU. Loaded on request, in place
 * of the program that notes the call alone.
 */
#include "kernel.h"
#include "mapping.h"
#include "state.h"
#include "unwind_walk.h"
#include "waited.h"
#include "where.h"
#include <bpf/bpf_helpers.h>
#include <clew/kernel/records.h>
#include <linux/types.h>

static __always_inline void sample_emit(void *context, const struct where *where,
					struct task_struct *task)
{
	struct stack_walk walk = {.window.level = WALK_SAMPLE, .hash = 2};
	struct clew_task_state *state = task->pid ? task_state(task) : NULL;
	__u32 level = WALK_SAMPLE;
	struct walk_room *room = bpf_map_lookup_elem(&clew_walks, &level);
	struct clew_task_stacks taken = {};
	long size;

	if (!state || !room || !stack_wanted(task, state))
		return;
	walk.room = room;
	taken.user = user_stack(&walk, task);
	taken.end = walk.end;
	size = bpf_get_stack(context, room->kernel, sizeof(room->kernel), 0);
	/* It is not an address to return to, as all others are. */
	room->kernel[0]++;
	taken.kernel = kernel_stack(room, size);
	stacks_emit(where->cpu_state, where->cpu, CLEW_KIND_SAMPLE, where->time, state->serial,
		    &taken);
}

/* User space attaches it to clocks of each CPU. */
SEC("?perf_event")
int clew_sample(void *context)
{
	struct where where;

	if (!enabled || !where_here(&where))
		return 0;
	where_emit(where.cpu, where.time, CLEW_WHERE_TICK, 0, 0);
	sample_emit(context, &where, bpf_get_current_task_btf());
	return 0;
}
