/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Programs at what a task does to get memory: its waits meanwhile are waits for
 * memory.
 */
#include "identity.h"
#include "kernel.h"
#include "kernel_io.h"
#include "read.h"
#include "state.h"
#include "where.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <clew/kernel/maps.h>
#include <clew/kernel/records.h>
#include <linux/types.h>
#include <stdbool.h>

#define GROUP_DEPTH    8
#define CHARGE_AT_ONCE 512 /* pages */

/*
 * The group that has to reclaim memory: on the way up from the task's group the
 * only one that is near its limit or above memory.high. The search ends at a
 * group that has reached its limit. NULL if there are several or none: user
 * space may have asked for the reclaim.
 */
static __always_inline struct cgroup *group_over_limit(struct task_struct *task)
{
	struct mem_cgroup *group, *found = NULL;
	int i;

	if (!bpf_core_enum_value_exists(enum cgroup_subsys_id, memory_cgrp_id))
		return NULL;
	group = (void *)controller_state(
		task, bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id));
	for (i = 0; i < GROUP_DEPTH && group; i++) {
		__u64 usage = READ(group, memory.usage.counter), most = READ(group, memory.max);

		if (usage + CHARGE_AT_ONCE > most || usage > READ(group, memory.high)) {
			if (found)
				return NULL;
			found = group;
			if (usage >= most)
				break;
		}
		group = (void *)READ(group, css.parent);
	}
	return found ? (void *)READ_NUMBER(found, css.cgroup) : NULL;
}

static __always_inline void memory_reason(__u8 reason, bool begin, bool group)
{
	struct clew_task_state *state;
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 cpu = bpf_get_smp_processor_id();

	if (!enabled)
		return;
	state = task_state(task);
	if (!state)
		return;
	if (!begin && state->reason == reason)
		span_emit(cpu, clock_ns(), state->reason_since, state->reason_faults);
	state->reason = begin ? reason : CLEW_REASON_NONE;
	state->reclaim = 0;
	if (begin) {
		state->reason_since = clock_ns();
		state->reason_faults = faults_over(task);
	}
	if (begin && group) {
		struct cgroup *cgroup = group_over_limit(task);

		if (cgroup)
			state->reclaim = send_cgroup((__u64)cgroup, cpu, clock_ns());
	}
}

SEC("tp_btf/mm_vmscan_direct_reclaim_begin")
int BPF_PROG(clew_direct_reclaim_begin)
{
	memory_reason(CLEW_REASON_RECLAIM, true, false);
	return 0;
}

SEC("tp_btf/mm_vmscan_direct_reclaim_end")
int BPF_PROG(clew_direct_reclaim_end)
{
	memory_reason(CLEW_REASON_RECLAIM, false, false);
	return 0;
}

SEC("?tp_btf/mm_vmscan_memcg_reclaim_begin")
int BPF_PROG(clew_group_reclaim_begin)
{
	memory_reason(CLEW_REASON_GROUP_RECLAIM, true, true);
	return 0;
}

SEC("?tp_btf/mm_vmscan_memcg_reclaim_end")
int BPF_PROG(clew_group_reclaim_end)
{
	memory_reason(CLEW_REASON_GROUP_RECLAIM, false, false);
	return 0;
}

SEC("?tp_btf/mm_compaction_begin")
int BPF_PROG(clew_compaction_begin)
{
	memory_reason(CLEW_REASON_COMPACTION, true, false);
	return 0;
}

SEC("?tp_btf/mm_compaction_end")
int BPF_PROG(clew_compaction_end)
{
	memory_reason(CLEW_REASON_COMPACTION, false, false);
	return 0;
}
