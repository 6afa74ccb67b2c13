/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Takes the stacks of a task that has the CPU again after a long sleep. Only now
 * is it known how long the sleep was, and its stacks are still those that it
 * slept with. A task that wakes a long sleeper has its own stacks taken then.
 *
 * The programs are loaded on request. A switch or a wake goes on into them by a
 * tail call, so that one that ends a short sleep pays nothing.
 */
#include "waited.h"
#include "foreign.h"
#include "kernel.h"
#include "kernel_mm.h"
#include "mapping.h"
#include "read.h"
#include "state.h"
#include "unwind_walk.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <clew/kernel/maps.h>
#include <clew/kernel/records.h>
#include <linux/types.h>
#include <stdbool.h>

/* After clew_sched_switch, with the run queue locked; `next` slept for long. */
SEC("?tp_btf/sched_switch")
int BPF_PROG(clew_waited, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	__u32 cpu = bpf_get_smp_processor_id(), zero = 0, level = WALK_SWITCH;
	struct clew_cpu_state *cpu_state;
	struct clew_task_state *state;
	struct clew_task_stacks taken = {};
	struct walk_room *room;
	struct budget *budget;
	__u64 now, begun;

	cpu_state = this_cpu_state(cpu);
	state = task_state(next);
	budget = bpf_map_lookup_elem(&clew_stack_budgets, &zero);
	room = bpf_map_lookup_elem(&clew_walks, &level);
	if (!cpu_state || !state || !budget || !room || !stack_wanted(next, state))
		return 0;
	now = cpu_state->run_since; /* the time of the switch's record */
	begun = bpf_ktime_get_ns();
	if (!budget_allows(budget, begun)) {
		count_atomic(&cpu_state->counts[CLEW_KIND_WAITED].seen);
		count_atomic(&cpu_state->counts[CLEW_KIND_WAITED].filtered);
		return 0;
	}
	stacks_take(next, WALK_SWITCH, room, &taken);
	stacks_emit(cpu_state, cpu, CLEW_KIND_WAITED, now, state->serial, &taken);
	budget_pay(budget, bpf_ktime_get_ns() - begun);
	return 0;
}

/* Fixed at load: address range [start, end) of the kernel's function for wakes; 0 unknown. */
const volatile __u64 wake_entry;
const volatile __u64 wake_entry_end;

/* The number of frames of a kernel stack that are this program's own and those of its hook. */
static __u64 hook_depth;

#define HOOK_DEPTH_MOST 16

static __always_inline bool is_wake_entry(__u64 address)
{
	return address >= wake_entry && address < wake_entry_end;
}

/* The waker's kernel stack from the function for wakes on. Bytes; 0: it is not found. */
static __always_inline long waker_kernel_stack(void *context, struct walk_room *room)
{
	long size;

	if (!wake_entry_end)
		return 0;
	size = bpf_get_stack(context, room->kernel, sizeof(room->kernel),
			     hook_depth & BPF_F_SKIP_FIELD_MASK);
	if (size > 0 && is_wake_entry(room->kernel[0]))
		return size;
	/* The first one, or another hook came or went. */
	size = bpf_get_stack(context, room->kernel, sizeof(room->kernel), 0);
	for (__u32 i = 0; i < HOOK_DEPTH_MOST; i++) {
		if (!is_wake_entry(room->kernel[i]))
			continue;
		hook_depth = i;
		size = bpf_get_stack(context, room->kernel, sizeof(room->kernel), i);
		return size;
	}
	return 0;
}

/* After clew_sched_waking, which made the stamp; the sleeper slept for long. */
SEC("?tp_btf/sched_waking")
int BPF_PROG(clew_waker, struct task_struct *sleeper)
{
	struct task_struct *waker = bpf_get_current_task_btf();
	struct stack_walk walk = {.window.level = WALK_WAKE, .hash = 2};
	__u32 cpu = bpf_get_smp_processor_id(), zero = 0, level = WALK_WAKE;
	struct clew_task_stacks taken = {};
	struct clew_cpu_state *cpu_state;
	struct clew_task_state *state;
	struct budget *budget;
	__u64 begun;

	cpu_state = this_cpu_state(cpu);
	state = task_state(sleeper);
	budget = bpf_map_lookup_elem(&clew_stack_budgets, &zero);
	walk.room = bpf_map_lookup_elem(&clew_walks, &level);
	if (!cpu_state || !state || !budget || !walk.room || !waker->pid ||
	    !stack_wanted(sleeper, state))
		return 0;
	begun = bpf_ktime_get_ns();
	if (!budget_allows(budget, begun)) {
		count_atomic(&cpu_state->counts[CLEW_KIND_WAKER].seen);
		count_atomic(&cpu_state->counts[CLEW_KIND_WAKER].filtered);
		return 0;
	}
	taken.user = user_stack(&walk, waker);
	taken.end = walk.end;
	taken.kernel = kernel_stack(walk.room, waker_kernel_stack(ctx, walk.room));
	stacks_emit(cpu_state, cpu, CLEW_KIND_WAKER, state->wake.time, state->wake.waker, &taken);
	budget_pay(budget, bpf_ktime_get_ns() - begun);
	return 0;
}

/* Tasks that still sleep as the recording ends. */
SEC("?iter/task")
int clew_waiting(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	__u32 level = WALK_ITERATE;
	struct clew_task_stacks record = {.header.kind = CLEW_KIND_WAITED,
					  .header.flags = CLEW_WAITED_STILL};
	struct clew_task_state *state;
	struct walk_room *room;

	if (!task)
		return 0;
	state = task_state(task);
	room = bpf_map_lookup_elem(&clew_walks, &level);
	if (!state || !room || !slept_long(state->asleep_since, clock_ns()) ||
	    !stack_wanted(task, state))
		return 0;
	stacks_take(task, WALK_ITERATE, room, &record);
	/* If it ran meanwhile, these may be parts of two stacks. */
	if (!state->asleep_since)
		return 0;
	record.task = state->serial;
	bpf_seq_write(context->meta->seq, &record, sizeof(record));
	return 0;
}

/* Fixed at load: a page of the recorder holds this word, and its address. */
const volatile __u64 page_word;
const volatile __u64 page_address;

static bool searched;

struct search {
	__u64 base;
	__u64 table;
};

static long search_step(__u32 turn, struct search *search)
{
	__u64 word = 0, at;

	direct_map = search->base - ((__u64)turn << 30);
	at = foreign_address(search->table, page_address);
	if (at && !bpf_probe_read_kernel(&word, sizeof(word), (void *)at) && word == page_word)
		return 1;
	direct_map = 0;
	return 0;
}

/* Finds the kernel's map of all memory: in how many steps of 1 GiB below this
 * process's page tables, which lie in it, they lead to a known page. Run once by
 * the recorder, which reads the iterator. */
SEC("?iter/task")
int clew_find_direct_map(struct bpf_iter__task *context)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct mm_struct___tree *mm = (void *)READ_TRUSTED(task, mm);
	struct search search;

	if (searched || !page_address || !mm)
		return 0;
	searched = true;
	search.table = (__u64)BPF_CORE_READ(mm, pgd);
	search.base = search.table & ~((1ull << 30) - 1);
	bpf_loop(1 << 14, search_step, &search, 0);
	return 0;
}
