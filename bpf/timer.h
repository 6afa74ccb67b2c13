/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Timers: whose callback makes a wake, when it was due, and which task armed it
 * if that is not the sleeper itself. Timers also refill quotas of CPU time.
 */
#ifndef CLEW_BPF_TIMER_H
#define CLEW_BPF_TIMER_H

#include "context.h"
#include "identity.h"
#include "kernel.h"
#include "kernel_io.h"
#include "read.h"
#include "record.h"
#include "state.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <clew/kernel/maps.h>
#include <clew/kernel/records.h>
#include <linux/types.h>
#include <stdbool.h>

/* Fixed at load: addresses of callbacks; 0 unknown. */
const volatile __u64 timer_timerfd;  /* of timerfd */
const volatile __u64 timer_posix;    /* of timer_settime */
const volatile __u64 timer_interval; /* of setitimer and alarm */
const volatile __u64 timer_delayed;  /* of delayed work */
const volatile __u64 timer_period;   /* a quota's new period */
const volatile __u64 timer_slack;    /* a quota's unused time on other CPUs */

struct armed {
	__u64 time;
	__u32 task;
	__u32 reserved;
};

/* The task that armed a timer, by the timer's address. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, struct armed);
} clew_armed SEC(".maps");

static __always_inline void timer_arm(__u64 timer)
{
	struct armed armed = {};
	struct context context;

	if (!context_here(&context))
		return;
	if (context.level != LEVEL_TASK) {
		bpf_map_delete_elem(&clew_armed, &timer);
		return;
	}
	armed.task = serial_of_current(context.cpu_state, context.task);
	armed.time = clock_ns();
	bpf_map_update_elem(&clew_armed, &timer, &armed, BPF_ANY);
}

/* `slack`: by how much the timer may be late, ns. */
static __always_inline void timer_expire(__u64 timer, __u64 function, __u64 due, __u64 slack,
					 bool may_be_armed)
{
	struct clew_level *here;
	struct armed *armed;
	struct context context;

	if (!context_here(&context) || context.level > LEVEL_SOFT)
		return;
	here = &context.cpu_state->levels[context.level & 1];
	context.cpu_state->interrupted = 1;
	here->inner.kind = CLEW_CAUSE_TIMER;
	here->inner.object = function;
	here->inner.expires = CLEW_CLOCK(due);
	here->inner.task = 0;
	here->inner.late = slack;
	if (!may_be_armed)
		return;
	armed = bpf_map_lookup_elem(&clew_armed, &timer);
	if (armed) {
		here->inner.task = armed->task;
		here->inner.time = armed->time;
	}
}

static __always_inline void timer_expired(void)
{
	struct context context;

	if (context_here(&context) && context.level <= LEVEL_SOFT)
		context.cpu_state->levels[context.level & 1].inner.kind = 0;
}

static __always_inline bool waits_for_quota(struct task_group *group)
{
	return READ(group, cfs_bandwidth.throttled_cfs_rq.next) !=
	       (void *)group + bpf_core_field_offset(struct task_group, cfs_bandwidth) +
		       bpf_core_field_offset(struct cfs_bandwidth, throttled_cfs_rq);
}

/* Records that a group's quota was refilled. */
static __always_inline void quota_refill(struct hrtimer *timer, bool period)
{
	struct task_group *group;
	struct clew_refill *record;
	struct cgroup *cgroup;
	__u32 cpu = bpf_get_smp_processor_id();
	struct clew_cpu_state *cpu_state = this_cpu_state(cpu);

	if (!cpu_state)
		return;
	group = (void *)timer - bpf_core_field_offset(struct task_group, cfs_bandwidth) -
		(period ? bpf_core_field_offset(struct cfs_bandwidth, period_timer)
			: bpf_core_field_offset(struct cfs_bandwidth, slack_timer));
	cgroup = READ(group, css.cgroup);
	if (!cgroup)
		return;
	record = record_reserve(cpu_state, cpu, CLEW_KIND_REFILL, clock_ns(), sizeof(*record));
	if (!record)
		return;
	record->cgroup = cgroup_id(cgroup);
	/*
	 * The callback of a new period hands out quota until none is left or no
	 * run queue waits for it; other CPUs may not have received theirs yet.
	 * The callback of unused time may not even have begun to.
	 */
	if (!waits_for_quota(group) || (period && READ(group, cfs_bandwidth.runtime) > 0))
		record->header.flags = CLEW_REFILL_ENOUGH;
	record_submit(record);
}

#endif
