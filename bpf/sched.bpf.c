/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The program at every context switch, which runs with the run queue locked, and the one at
 * page faults taken in the kernel.
 */
#include "sched.h"
#include "context.h"
#include "extent.h"
#include "filter.h"
#include "kernel.h"
#include "life.h"
#include "read.h"
#include "state.h"
#include "wait.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <clew/kernel/maps.h>
#include <clew/kernel/records.h>
#include <linux/types.h>
#include <stdbool.h>

SEC("tp_btf/sched_switch")
int BPF_PROG(clew_sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct clew_task_state *prev_task = NULL, *next_task = NULL;
	struct clew_cpu_state *cpu_state;
	struct clew_switch_slot *slot;
	struct clew_switch *change;
	__u32 before, after = 0;
	bool sleeps;
	__u64 now;

	if (!enabled)
		return 0;
	cpu_state = this_cpu_state(cpu);
	if (!cpu_state)
		return 0;

	/*
	 * One for all that is told here: times that are equal take no room in the file. Before
	 * memory that is cold is looked at: the CPU reads its clock only when all loads are done,
	 * and what comes after it would wait too.
	 */
	now = clock_ns();
	if (next->pid) {
		next_task = task_state(next);
		after = next_task ? next_task->serial : SERIAL_UNKNOWN;
	}
	if (unlikely(cpu_state->open)) {
		tell_extents(cpu, now, 0);
		if (cpu_state->call.call)
			call_leave(cpu_state, task_state(prev));
	}
	if (next_task && unlikely(next_task->flags & CLEW_TASK_STATE_CALL))
		call_return(cpu_state, next_task);
	if (unlikely(cpu_state->fault_task && cpu_state->fault_task == (__u32)prev->pid))
		fault_leave(cpu_state, task_state(prev));
	before = cpu_state->running;
	/* A state with the task still runnable: a signal kept it from sleeping. */
	sleeps = !preempt && prev_state && prev->__state && !(prev_state & TASK_DEAD);
	if (unlikely(cpu_state->running_pid != (__u32)prev->pid)) {
		prev_task = prev->pid ? task_state(prev) : NULL;
		if (prev_task && cpu_state->switched &&
		    (prev_task->slept || (prev_task->flags & CLEW_TASK_STATE_NEW)))
			tell_late(cpu_state, cpu, now, before, prev_task);
		before = prev_task ? prev_task->serial : prev->pid ? SERIAL_UNKNOWN : 0;
	} else if (sleeps && prev->pid) {
		prev_task = task_state(prev);
	}
	cpu_state->running = after;
	cpu_state->running_pid = next->pid;
	cpu_state->switched = 1;
	levels_reset(cpu_state);

	slot = slot_take(cpu_state, cpu, now, CLEW_KIND_SWITCH);
	if (unlikely(!slot)) {
		if (prev_task)
			prev_task->slept = sleeps;
		if (next_task) {
			next_task->flags &= ~CLEW_TASK_STATE_NEW;
			next_task->slept = 0;
		}
		return 0;
	}
	change = &slot->change;
	change->prev = before;
	change->next = after;
	change->prev_state = prev_state;
	if (preempt)
		change->header.flags = CLEW_SWITCH_PREEMPT;
	else if (unlikely(prev_state & TASK_DEAD))
		task_over(change, prev);
	else if (sleeps)
		change->header.flags = CLEW_SWITCH_SLEEP;
	/* It was cleared when the task came on: one that does not sleep need not be looked up. */
	if (prev_task) {
		prev_task->slept = sleeps;
		prev_task->wakes = 0;
		/* What it completed is over, also where no program is told. */
		prev_task->request = 0;
	}
	if (sleeps && prev_task) {
		struct where where = {
			.cpu_state = cpu_state, .time = change->header.time, .cpu = cpu};
		bool detail = (prev_task->flags & CLEW_TASK_STATE_DETAIL) &&
			      (!filter_cgroup || cgroup_wanted(prev));

		change->header.flags = CLEW_SWITCH_SLEEP | CLEW_SWITCH_WAIT;
		if (unlikely(prev_task->flags & CLEW_TASK_STATE_UNTOLD))
			tell_again(cpu, change->header.time);
		describe_wait(ctx, &where, prev, prev_state, prev_task, detail, &slot->wait);
	}
	if (unlikely(!sleeps && prev->pid && out_of_quota(prev)))
		describe_quota(prev, cpu, change, &slot->wait);
	if (unlikely(!sleeps && out_of_runtime(prev)))
		describe_runtime(prev, change, &slot->wait);
	if (next_task)
		take_stamp(change, next_task);
	slot_give(cpu_state, slot, next_task ? &next_task->cause : NULL);
	return 0;
}

/* Faults taken inside a system call; one in user mode shows in the registers by itself. */
SEC("tp_btf/page_fault_kernel")
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
	state->fault_ip = READ(regs, ip);
	state->fault_number = faults_over(task);
	return 0;
}
