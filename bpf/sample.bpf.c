/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Takes the stacks of what a tick finds on its CPU. Loaded on request, in place
 * of the program that notes the call alone.
 */
#include "kernel.h"
#include "mapping.h"
#include "record.h"
#include "state.h"
#include "unwind.h"
#include "waited.h"
#include "where.h"
#include <bpf/bpf_helpers.h>
#include <clew/kernel/records.h>
#include <linux/types.h>

static __always_inline void sample_emit(void *context, struct task_struct *task,
					struct clew_cpu_state *cpu_state, __u32 cpu, __u64 now)
{
	struct stack_walk walk = {.window.level = WALK_SAMPLE, .hash = 2};
	struct clew_task_state *state = task->pid ? task_state(task) : NULL;
	__u32 level = WALK_SAMPLE;
	struct walk_room *room = bpf_map_lookup_elem(&clew_walks, &level);
	struct clew_sample *record;
	__u64 user, kernel;
	long size;

	if (!state || !room || !stack_wanted(task, state))
		return;
	walk.room = room;
	user = user_stack(&walk, task);
	size = bpf_get_stack(context, room->kernel, sizeof(room->kernel), 0);
	/* It is not an address to return to, as all others are. */
	room->kernel[0]++;
	kernel = kernel_stack(room, size);
	record = record_reserve(cpu_state, cpu, CLEW_KIND_SAMPLE, now, sizeof(*record));
	if (!record)
		return;
	record->user = user;
	record->kernel = kernel;
	record->task = state->serial;
	record->end = walk.end;
	__builtin_memset(record->reserved, 0, sizeof(record->reserved));
	record_submit(record);
}

/* User space attaches it to clocks of each CPU. */
SEC("?perf_event")
int clew_sample(void *context)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct clew_cpu_state *cpu_state;
	__u64 now;

	if (!enabled)
		return 0;
	cpu_state = this_cpu_state(cpu);
	if (!cpu_state)
		return 0;
	now = clock_ns();
	where_emit(cpu, now, CLEW_WHERE_TICK, 0, 0);
	sample_emit(context, bpf_get_current_task_btf(), cpu_state, cpu, now);
	return 0;
}
