/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Programs at wakes. */
#include "wake.h"
#include "kernel.h"
#include "state.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <stdbool.h>

SEC("tp_btf/sched_waking")
int BPF_PROG(clew_sched_waking, struct task_struct *task)
{
	if (!enabled)
		return 0;
	stamp_wake(task, false);
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
