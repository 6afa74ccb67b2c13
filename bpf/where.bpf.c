/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Programs that find out what a running task runs in: a tick on each CPU, and
 * the begin of a new process's memory.
 */
#include "where.h"
#include "arch.h"
#include "call.h"
#include "kernel.h"
#include "state.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <clew/kernel/maps.h>
#include <clew/kernel/records.h>
#include <linux/types.h>

/* User space attaches it to clocks of each CPU. */
SEC("perf_event")
int clew_tick(void *context)
{
	if (enabled)
		where_emit(bpf_get_smp_processor_id(), clock_ns(), CLEW_WHERE_TICK, 0, 0);
	return 0;
}

/*
 * The kernel makes the memory of a process, for which it needs a counter for
 * each CPU. All that a fork copies follows. Other such counters of the same call
 * come later: the last one before its end counts, so the time is never too long.
 */
SEC("?tp_btf/percpu_alloc_percpu")
int BPF_PROG(clew_memory_begin)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct clew_task_state *state;
	struct call call;

	if (!enabled || (task->flags & PF_KTHREAD))
		return 0;
	read_call(task, &call);
	switch (call.number) {
	case CALL_CLONE:
	case CALL_FORK:
	case CALL_VFORK:
	case CALL_CLONE3:
	case CALL_EXECVE:
	case CALL_EXECVEAT:
		state = task_state(task);
		if (state) {
			state->memory_begin = clock_ns();
			state->memory_faults = faults_over(task);
		}
	}
	return 0;
}
