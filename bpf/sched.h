/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Helpers of the switch record: its slot, the stamp of the last wake, and waits
 * for a quota or for runtime. They run with the run queue locked.
 */
#ifndef CLEW_BPF_SCHED_H
#define CLEW_BPF_SCHED_H

#include "arch.h"
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

/* Serial of a task that has no state: it runs, but nothing refers to it. */
#define SERIAL_UNKNOWN 0xffffffffu

static __always_inline void copy_stamp(struct clew_switch *change,
				       const struct clew_wake_stamp *stamp)
{
	change->wake_time = stamp->time;
	change->wake_object = stamp->object;
	change->waker = stamp->waker;
	change->wake_device = stamp->device;
	change->wake_descriptor = stamp->descriptor;
	change->wake_call = stamp->call;
	change->wake_context = stamp->context;
	change->wake_flags = stamp->flags;
	change->wake_operation = stamp->operation;
	change->wake_object_kind = stamp->object_kind;
}

/* Copies the stamp of the last wake of the task that comes on the CPU, if it
 * slept or is new. */
static __always_inline void take_stamp(struct clew_switch *change, struct clew_task_state *state)
{
	if (unlikely(state->flags & CLEW_TASK_STATE_NEW)) {
		state->flags &= ~CLEW_TASK_STATE_NEW;
		change->header.flags |= CLEW_SWITCH_NEXT_NEW;
		copy_stamp(change, &state->wake);
	} else if (state->slept) {
		change->header.flags |= CLEW_SWITCH_NEXT_SLEPT;
		copy_stamp(change, &state->wake);
		if (unlikely(state->wake.has_cause))
			change->header.flags |= CLEW_SWITCH_CAUSE;
	}
	state->slept = 0;
}

/* Reserves the CPU's next slot and fills in the header. NULL if there is none;
 * the loss is counted. */
static __always_inline struct clew_switch_slot *slot_reserve(struct clew_cpu_state *cpu_state,
							     __u32 cpu, __u64 now, __u8 kind)
{
	struct clew_switch_slot *slot = slot_next(cpu_state, cpu);

	cpu_state->counts[kind].seen++;
	if (unlikely(!slot)) {
		cpu_state->counts[kind].lost++;
		__sync_fetch_and_add(&cpu_state->lost, 1);
		return NULL;
	}
	__builtin_memset(&slot->change, 0, sizeof(slot->change));
	slot->change.header.time = now;
	slot->change.header.cpu = cpu;
	slot->change.header.kind = kind;
	return slot;
}

/* `cause`: that of the wake, if the record's flags say that there is one. */
static __always_inline void slot_publish(struct clew_cpu_state *cpu_state,
					 struct clew_switch_slot *slot,
					 const struct clew_cause *cause)
{
	__u32 used = 1;

	if (unlikely(slot->change.header.flags & CLEW_SWITCH_CAUSE) && cause) {
		__u32 after = cpu_state->position + 1 == switch_slots ? 0 : cpu_state->position + 1;
		__u32 index = slot->change.header.cpu * switch_slots + after;
		struct clew_switch_slot *next = bpf_map_lookup_elem(&clew_switches, &index);

		if (next) {
			next->cause = *cause;
			used = 2;
		}
	}
	/* Records that were sent meanwhile may have been lost. */
	slot->change.header.lost = cpu_state->lost;
	cpu_state
		->counts[slot->change.header.kind == CLEW_KIND_SWITCH ? CLEW_KIND_SWITCH
								      : CLEW_KIND_STATE]
		.reserved++;
	slots_publish(cpu_state, used);
}

/* A task leaves the CPU that no program saw come on it after a sleep: records
 * now the wake that ended the sleep. */
static __always_inline void late_emit(struct clew_cpu_state *cpu_state, __u32 cpu, __u64 now,
				      __u32 before, struct clew_task_state *state)
{
	struct clew_switch_slot *slot = slot_reserve(cpu_state, cpu, now, CLEW_KIND_STATE);

	if (slot) {
		slot->change.header.flags = CLEW_STATE_LATE;
		slot->change.prev = before;
		slot->change.next = state->serial;
		take_stamp(&slot->change, state);
		slot->change.header.flags &= ~CLEW_SWITCH_CAUSE;
		/* It slept and was woken again unseen: the stamp is not that of
		 * the sleep that was seen. */
		if (state->wake.wakes > 1)
			slot->change.wake_time = 0;
		slot_publish(cpu_state, slot, &state->cause);
	}
	state->slept = 0;
}

/* True if a runnable task may not run because the quota of its group is used
 * up. */
static __always_inline bool out_of_quota(struct task_struct *task)
{
	struct task_struct___throttled *since = (void *)task;

	if (bpf_core_field_exists(since->throttled))
		return since->throttled;
	return task->se.cfs_rq->throttle_count > 0;
}

static __always_inline bool is_throttled(struct cfs_rq *queue)
{
	struct cfs_rq___bit *bit = (void *)queue;
	struct cfs_rq___int *number = (void *)queue;

	return bpf_core_field_size(number->throttled) == sizeof(int) &&
			       !bpf_core_type_exists(struct task_struct___throttled)
		       ? READ(number, throttled) != 0
		       : BPF_CORE_READ_BITFIELD_PROBED(bit, throttled) != 0;
}

#define GROUP_LEVELS 64

struct quota_walk {
	__u64 entity; /* address of the task's struct sched_entity, or of a group's */
	__u64 cgroup; /* 0: not found yet */
};

static long quota_step(__u32 turn, struct quota_walk *walk)
{
	struct sched_entity *entity = (void *)walk->entity;
	struct cfs_rq *queue = (void *)READ_NUMBER(entity, cfs_rq);

	if (!entity || !queue)
		return 1;
	if (is_throttled(queue)) {
		struct task_group *group = READ(queue, tg);

		walk->cgroup = READ_NUMBER(group, css.cgroup);
		return 1;
	}
	walk->entity = READ_NUMBER(entity, parent);
	return 0;
}

/* The cgroup whose quota is used up: the first on a task's way up that is
 * throttled on this CPU. 0: it is deeper than that, and none of these is. */
__noinline __u64 cgroup_out_of_quota(__u64 task)
{
	struct quota_walk walk = {
		.entity = task + bpf_core_field_offset(struct task_struct, se),
	};

	bpf_loop(GROUP_LEVELS, quota_step, &walk, 0);
	return walk.cgroup;
}

static __always_inline void describe_quota(struct task_struct *task, __u32 cpu,
					   struct clew_switch *change, struct clew_wait *wait)
{
	__u64 cgroup = cgroup_out_of_quota(number_of(task));

	__builtin_memset(wait, 0, sizeof(*wait));
	wait->call = CLEW_NO_CALL;
	wait->descriptor = -1;
	wait->reason = CLEW_REASON_QUOTA;
	wait->object_kind = CLEW_OBJECT_CGROUP;
	wait->object = cgroup ? send_cgroup(cgroup, cpu, change->header.time) : 0;
	change->header.flags |= CLEW_SWITCH_THROTTLED | CLEW_SWITCH_WAIT;
}

/* True if a task of SCHED_DEADLINE has used up its runtime or given it up. No
 * other class has negative priorities. */
static __always_inline bool out_of_runtime(struct task_struct *task)
{
	return task->prio < 0 && BPF_CORE_READ_BITFIELD_PROBED(task, dl.dl_throttled);
}

static __always_inline void describe_runtime(struct task_struct *task, struct clew_switch *change,
					     struct clew_wait *wait)
{
	__builtin_memset(wait, 0, sizeof(*wait));
	wait->call = BPF_CORE_READ_BITFIELD_PROBED(task, dl.dl_yielded) ? CALL_SCHED_YIELD
									: CLEW_NO_CALL;
	wait->descriptor = -1;
	wait->reason = CLEW_REASON_RUNTIME;
	wait->object_kind = CLEW_OBJECT_TIMER;
	wait->object = READ_NUMBER(task, dl.dl_timer.function);
	wait->refilled = READ(task, dl.dl_timer.node.expires);
	change->header.flags |= CLEW_SWITCH_THROTTLED | CLEW_SWITCH_WAIT;
}

/* The task takes the address of its last faulting store along: it may continue
 * on another CPU. */
static __always_inline void fault_leave(struct clew_cpu_state *cpu_state,
					struct clew_task_state *state)
{
	if (state)
		state->stored_at = cpu_state->fault_address;
	cpu_state->fault_task = 0;
}

/* A process may outlive its first thread. The state of that thread is kept, as
 * new threads ask for its serial. */
static __always_inline void task_over(struct clew_switch *change, struct task_struct *task)
{
	change->header.flags = CLEW_SWITCH_DEAD;
	if (task->pid != task->tgid || !READ(task, signal, live.counter))
		task_state_drop(task);
}

#endif
