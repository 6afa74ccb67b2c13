/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The place that a running task runs in: the system call in its saved registers, and what
 * it does there to get memory. No system call is traced for this.
 */
#ifndef CLEW_BPF_WHERE_H
#define CLEW_BPF_WHERE_H

#include "arch.h"
#include "call.h"
#include "filter.h"
#include "kernel.h"
#include "mix.h"
#include "record.h"
#include "state.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <clew/kernel/maps.h>
#include <clew/kernel/records.h>
#include <linux/types.h>
#include <stdbool.h>

/* ns: no shorter run, and no shorter stay in one place, is recorded: the record
 * would cost more than the time it explains is worth. */
#define RUN_WORTH  1000000
#define SPAN_WORTH 100000

/* True if the task was not in user mode since it last came on a CPU. */
static __always_inline bool stayed_in_kernel(struct task_struct *task)
{
	return (task->thread_info.flags & return_flag) && flagged_at_switch(task);
}

/* See clew_where.identity. */
static __always_inline __u32 identity_of_call(struct task_struct *task)
{
	struct pt_regs *registers = saved_registers(task);
	__u64 sum = mix(0, register_call(registers));

	sum = mix(sum, register_ip(registers));
	sum = mix(sum, register_sp(registers));
	for (int i = 0; i < 4; i++)
		sum = mix(sum, register_argument(registers, i));
	sum = mix(sum, task->utime);
	if (bpf_core_field_exists(task->ioac.syscr))
		sum = mix(sum, task->ioac.syscr + task->ioac.syscw);
	return (__u32)(sum >> 32);
}

/*
 * Emits where the current task is, unless it is none that is recorded in
 * detail. `begin` and `faults_before` are those of a SPAN. A global function, as
 * a switch seldom needs it.
 */
__noinline int where_emit(__u32 cpu, __u64 time, __u32 event, __u64 begin, __u32 faults_before)
{
	struct clew_cpu_state *cpu_state = this_cpu_state(cpu);
	struct task_struct *task = bpf_get_current_task_btf();
	struct clew_task_state *state;
	struct clew_where *record;
	struct call call;

	if (!cpu_state || !task->pid ||
	    task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER | PF_EXITING))
		return 0;
	state = task_state(task);
	if (!state || !(state->flags & CLEW_TASK_STATE_DETAIL) ||
	    (filter_cgroup && !cgroup_wanted(task)))
		return 0;
	record = record_reserve(cpu_state, cpu, CLEW_KIND_WHERE, time, sizeof(*record));
	if (!record)
		return 0;
	read_call(task, &call);
	record->header.flags = event | (stayed_in_kernel(task) ? CLEW_WHERE_STAYED : 0);
	record->begin = begin;
	record->task = state->serial;
	record->identity = identity_of_call(task);
	record->faults = faults_over(task);
	record->faults_before = faults_before;
	record->call = call.number >= 0 ? call.number : CLEW_NO_CALL;
	record->reason = state->reason;
	__builtin_memset(record->reserved, 0, sizeof(record->reserved));
	record_submit(record);
	return 0;
}

/* The current task did one thing from `begin` (0: unknown) until now. */
static __always_inline void span_emit(__u32 cpu, __u64 now, __u64 begin, __u32 faults_before)
{
	if (begin && now - begin >= SPAN_WORTH)
		where_emit(cpu, now, CLEW_WHERE_SPAN, begin, faults_before);
}

/* The current task has made the memory of a process. */
static __always_inline void memory_made(const struct where *where, struct clew_task_state *state)
{
	if (enabled)
		span_emit(where->cpu, where->time, state->memory_begin, state->memory_faults);
	state->memory_begin = 0;
}

/* The current task is about to leave its CPU, still runnable. */
static __always_inline void run_over(struct clew_cpu_state *cpu_state, __u32 cpu, __u64 now)
{
	if (unlikely(cpu_state->run_since && now - cpu_state->run_since >= RUN_WORTH))
		where_emit(cpu, now, CLEW_WHERE_LEAVE, 0, 0);
}

/* True if `task`, which is runnable and leaves its CPU without being preempted
 * in the kernel, asked for that. */
static __always_inline bool yields(struct task_struct *task)
{
	struct call call;

	if (task->flags & PF_KTHREAD)
		return false;
	read_call(task, &call);
	return call.number == CALL_SCHED_YIELD;
}

#endif
