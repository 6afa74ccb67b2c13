/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Programs at wakes. */
#include "wake.h"
#include "kernel.h"
#include "state.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <clew/kernel/records.h>
#include <linux/types.h>
#include <stdbool.h>

/* clew_waker, if it is loaded. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} clew_waker_program SEC(".maps");

SEC("tp_btf/sched_waking")
int BPF_PROG(clew_sched_waking, struct task_struct *task)
{
	struct clew_task_state *state;

	if (!enabled)
		return 0;
	state = stamp_wake(task, false);
	/* A task that was interrupted has nothing to do with the wake. */
	if (stack_threshold && state && state->wake.context == CLEW_WAKE_TASK &&
	    unlikely(slept_long(state->asleep_since, state->wake.time)))
		bpf_tail_call_static(ctx, &clew_waker_program, 0);
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(clew_sched_wakeup_new, struct task_struct *task)
{
	if (!enabled)
		return 0;
	stamp_wake(task, true);
	return 0;
}
