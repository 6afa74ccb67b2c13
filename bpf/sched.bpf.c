/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The program at every context switch, which runs with the run queue locked,
 * and the one at page faults taken in the kernel.
 */
#include "sched.h"
#include "arch.h"
#include "context.h"
#include "extent.h"
#include "filter.h"
#include "kernel.h"
#include "life.h"
#include "order.h"
#include "state.h"
#include "wait.h"
#include "where.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <clew/kernel/maps.h>
#include <clew/kernel/records.h>
#include <linux/types.h>
#include <stdbool.h>

/* Ends on this CPU what `prev` does to files. */
static __always_inline void switch_files(struct clew_cpu_state *cpu_state, __u32 cpu, __u64 now,
					 struct task_struct *prev)
{
	if (unlikely(cpu_state->open)) {
		extents_emit(cpu, now, 0);
		if (cpu_state->call.call)
			call_leave(cpu_state, task_state(prev));
	}
	if (unlikely(cpu_state->fault_task && cpu_state->fault_task == (__u32)prev->pid))
		fault_leave(cpu_state, task_state(prev));
}

/*
 * The serial of the task that leaves this CPU. `ret_state`: its state if it was
 * looked up, else NULL; a task that does not sleep need not be, as its state
 * was reset when it came on the CPU.
 */
static __always_inline __u32 switch_prev(struct clew_cpu_state *cpu_state, __u32 cpu, __u64 now,
					 struct task_struct *prev, bool sleeps,
					 struct clew_task_state **ret_state)
{
	__u32 serial = cpu_state->running;
	struct clew_task_state *state = NULL;

	if (unlikely(cpu_state->running_pid != (__u32)prev->pid)) {
		state = prev->pid ? task_state(prev) : NULL;
		if (state && cpu_state->switched &&
		    (state->slept || (state->flags & CLEW_TASK_STATE_NEW)))
			late_emit(cpu_state, cpu, now, serial, state);
		serial = state ? state->serial : prev->pid ? SERIAL_UNKNOWN : 0;
	} else if (sleeps && prev->pid) {
		state = task_state(prev);
	}
	*ret_state = state;
	return serial;
}

/* Why `prev` leaves this CPU, and what it waits for. `state` may be NULL. */
static __always_inline void switch_wait(void *context, struct clew_cpu_state *cpu_state, __u32 cpu,
					struct task_struct *prev, __u32 prev_state, bool sleeps,
					struct clew_task_state *state,
					struct clew_switch_slot *slot)
{
	struct clew_switch *change = &slot->change;

	if (state) {
		state->slept = 0;
		state->wake.wakes = 0;
		/* The request that the task completed is over. Not every kernel
		 * reports that. */
		state->completes = 0;
		if (!sleeps)
			forget_call(prev, state);
	}
	if (sleeps && state) {
		struct where where = {
			.cpu_state = cpu_state, .time = change->header.time, .cpu = cpu};
		bool detail = (state->flags & CLEW_TASK_STATE_DETAIL) &&
			      (!filter_cgroup || cgroup_wanted(prev));

		change->header.flags = CLEW_SWITCH_SLEEP | CLEW_SWITCH_WAIT;
		if (stack_threshold)
			state->asleep_since = asleep_now(where.time);
		if (unlikely(state->flags & CLEW_TASK_STATE_UNSENT))
			identity_emit_again(cpu, change->header.time);
		describe_wait(context, &where, prev, prev_state, state, detail, &slot->wait);
		slot->wait.faults = faults_over(prev);
		slot->wait.flags |= CLEW_WAIT_FLAG_COUNTED;
		/* It may be woken already, on another CPU: what the waker is to know of the sleep
		 * is complete before this is set. */
		keep_order();
		*(volatile __u8 *)&state->slept = 1;
	}
	if (unlikely(!sleeps && prev->pid && out_of_quota(prev)))
		describe_quota(prev, cpu, change, &slot->wait);
	if (unlikely(!sleeps && out_of_runtime(prev)))
		describe_runtime(prev, change, &slot->wait);
}

/* Emits the next task's priority if it has changed. */
static __always_inline void switch_priority(struct clew_cpu_state *cpu_state, __u32 cpu, __u64 now,
					    struct task_struct *next, struct clew_task_state *state)
{
	struct where where = {.cpu_state = cpu_state, .time = now, .cpu = cpu};

	priority_emit(&where, next, state);
}

/* The state of the task that comes on the CPU, NULL: it has none. Takes up the call that it left
 * unfinished. */
static __always_inline struct clew_task_state *switch_next(struct clew_cpu_state *cpu_state,
							   struct task_struct *next)
{
	struct clew_task_state *state = next->pid ? task_state(next) : NULL;

	cpu_state->running = state ? state->serial : next->pid ? SERIAL_UNKNOWN : 0;
	cpu_state->running_pid = next->pid;
	cpu_state->switched = 1;
	if (state && unlikely(state->flags & CLEW_TASK_STATE_CALL))
		call_return(cpu_state, state);
	return state;
}

/* The record is lost: updates the states of both tasks as if it had been
 * written. */
static __always_inline void switch_lost(struct clew_cpu_state *cpu_state, __u64 now,
					struct clew_task_state *prev, bool sleeps,
					struct task_struct *next)
{
	struct clew_task_state *state;

	if (prev) {
		prev->asleep_since = sleeps && stack_threshold ? asleep_now(now) : 0;
		prev->slept = sleeps;
	}
	state = switch_next(cpu_state, next);
	if (state) {
		state->flags &= ~CLEW_TASK_STATE_NEW;
		state->slept = 0;
		state->asleep_since = 0;
	}
}

/* The task has the CPU again. True if it slept for so long that its stacks are wanted. */
static __always_inline bool sleep_over(struct clew_task_state *state, __u64 now)
{
	__u32 since = state->asleep_since;

	if (!stack_threshold || !since)
		return false;
	state->asleep_since = 0;
	return slept_long(since, now);
}

/* clew_waited, if it is loaded. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} clew_waited_program SEC(".maps");

SEC("tp_btf/sched_switch")
int BPF_PROG(clew_sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct clew_task_state *prev_task, *next_task;
	struct clew_cpu_state *cpu_state;
	struct clew_switch_slot *slot;
	struct clew_switch *change;
	__u32 before;
	bool sleeps;
	__u64 now;

	if (!enabled)
		return 0;
	cpu_state = this_cpu_state(cpu);
	if (!cpu_state)
		return 0;

	/*
	 * One time for all records of this switch: equal times take no room in
	 * the file. The clock is read before cold memory: the CPU reads it only
	 * when all earlier loads are done, and what follows would wait too.
	 */
	now = clock_ns();
	task_state_fetch(next);
	switch_files(cpu_state, cpu, now, prev);
	/* A state, but the task is still runnable: a signal kept it from
	 * sleeping. */
	sleeps = !preempt && prev_state && prev->__state && !(prev_state & TASK_DEAD);
	if (!sleeps)
		run_over(cpu_state, cpu, now);
	cpu_state->run_since = now;
	before = switch_prev(cpu_state, cpu, now, prev, sleeps, &prev_task);
	levels_switch(cpu_state, prev, next);

	slot = slot_reserve(cpu_state, cpu, now, CLEW_KIND_SWITCH);
	if (unlikely(!slot)) {
		switch_lost(cpu_state, now, prev_task, sleeps, next);
		return 0;
	}
	change = &slot->change;
	change->prev = before;
	change->prev_state = prev_state;
	if (preempt)
		change->header.flags = CLEW_SWITCH_PREEMPT;
	else if (unlikely(prev_state & TASK_DEAD)) {
		identity_emit_again(cpu, now);
		task_over(change, prev);
	} else if (sleeps)
		change->header.flags = CLEW_SWITCH_SLEEP;
	else if (prev->pid && yields(prev))
		change->flags_high = CLEW_SWITCH_HIGH_YIELD;
	switch_wait(ctx, cpu_state, cpu, prev, prev_state, sleeps, prev_task, slot);
	/* Only now: the verifier follows the kinds of both tasks' states one after the other, not
	 * each with each. */
	next_task = switch_next(cpu_state, next);
	change->next = cpu_state->running;
	if (next_task) {
		take_stamp(change, next_task);
		if (unlikely(next->prio != PRIO_USUAL || next->policy ||
			     next_task->flags & CLEW_TASK_STATE_PRIORITY))
			switch_priority(cpu_state, cpu, now, next, next_task);
	}
	slot_publish(cpu_state, slot, next_task ? &next_task->cause : NULL);
	if (next_task && unlikely(sleep_over(next_task, now)))
		bpf_tail_call_static(ctx, &clew_waited_program, 0);
	return 0;
}

/* Faults taken inside a system call. A fault in user mode shows in the saved
 * registers. */
SEC("?tp_btf/page_fault_kernel")
int BPF_PROG(clew_page_fault_kernel, unsigned long address, struct pt_regs *regs)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct clew_task_state *state;

	if (!enabled || (task->flags & PF_KTHREAD))
		return 0;
	state = task_state(task);
	if (!state)
		return 0;
	state->fault_frame = (__u64)regs;
	state->fault_ip = read_register_ip(regs);
	state->fault_number = faults_over(task);
	return 0;
}
