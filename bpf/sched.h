/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One record a context switch: who goes and what it waits for, who comes and
 * the stamp its last waker left. Runs with the run queue locked.
 */
#ifndef CLEW_SCHED_H
#define CLEW_SCHED_H

#include "wake.h"

/* Serial of a task whose storage could not be had: it runs, but nothing joins it. */
#define SERIAL_UNKNOWN 0xffffffffu

static __always_inline bool cgroup_wanted(struct task_struct *task)
{
	struct cgroup *cgroup, *ancestor = NULL;
	__u32 level = filter_cgroup_level;

	cgroup = filter_cgroup_subsystem == ~0u ? READ(task, cgroups, dfl_cgrp)
						: controller_cgroup(task, filter_cgroup_subsystem);
	if (!cgroup || READ(cgroup, level) < (int)level)
		return false;
	bpf_probe_read_kernel(&ancestor, sizeof(ancestor),
			      (void *)cgroup + bpf_core_field_offset(struct cgroup, ancestors) +
				      level * sizeof(ancestor));
	return ancestor && READ(ancestor, kn, id) == filter_cgroup_id;
}

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

/* The stamp of the task that comes on the CPU, if this ends a sleep or is its first time. */
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

/* The CPU's next free slot, its header filled in; NULL and accounted for if there is none. */
static __always_inline struct clew_switch_slot *slot_take(struct clew_cpu_state *cpu_state,
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

/* `cause`: of the record's wake, if its flags say that there is one. */
static __always_inline void slot_give(struct clew_cpu_state *cpu_state,
				      struct clew_switch_slot *slot, const struct clew_cause *cause)
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
	/* Identities sent meanwhile may have been lost on the way. */
	slot->change.header.lost = cpu_state->lost;
	cpu_state
		->counts[slot->change.header.kind == CLEW_KIND_SWITCH ? CLEW_KIND_SWITCH
								      : CLEW_KIND_STATE]
		.reserved++;
	slots_give(cpu_state, used);
}

/*
 * A task leaves the CPU that no program saw come on it, after a sleep: the wake
 * that ended the sleep is told now.
 */
static __always_inline void tell_late(struct clew_cpu_state *cpu_state, __u32 cpu, __u64 now,
				      __u32 before, struct clew_task_state *state)
{
	struct clew_switch_slot *slot = slot_take(cpu_state, cpu, now, CLEW_KIND_STATE);

	if (slot) {
		slot->change.header.flags = CLEW_STATE_LATE;
		slot->change.prev = before;
		slot->change.next = state->serial;
		take_stamp(&slot->change, state);
		slot->change.header.flags &= ~CLEW_SWITCH_CAUSE;
		/* It slept and was woken again unseen: the stamp is not the one that ended the
		 * sleep that was seen. */
		if (state->wakes > 1)
			slot->change.wake_time = 0;
		slot_give(cpu_state, slot, &state->cause);
	}
	state->slept = 0;
}

/* Whether a task that could run may not, as its group has used up its quota. */
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

#define GROUP_LEVELS 10

/* The group whose quota it is: the first on the way up that is stopped here. */
static __always_inline void describe_quota(struct task_struct *task, __u32 cpu,
					   struct clew_switch *change, struct clew_wait *wait)
{
	struct sched_entity *entity = &task->se;
	struct cfs_rq *queue = NULL;
	struct cgroup *cgroup;
	int i;

	for (i = 0; i < GROUP_LEVELS && entity; i++) {
		queue = READ(entity, cfs_rq);
		if (!queue || is_throttled(queue))
			break;
		entity = READ(entity, parent);
	}
	if (!queue)
		return;
	cgroup = (void *)READ_NUMBER(READ(queue, tg), css.cgroup);
	__builtin_memset(wait, 0, sizeof(*wait));
	wait->call = CLEW_NO_CALL;
	wait->descriptor = -1;
	wait->reason = CLEW_REASON_QUOTA;
	wait->object_kind = CLEW_OBJECT_CGROUP;
	wait->object = cgroup ? send_cgroup((__u64)cgroup, cpu, change->header.time) : 0;
	change->header.flags |= CLEW_SWITCH_THROTTLED | CLEW_SWITCH_WAIT;
}

/* Whether a task of SCHED_DEADLINE, which alone has such a priority, has used up its runtime, or
 * given it up. */
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
	wait->argument = READ(task, dl.dl_timer.node.expires);
	change->header.flags |= CLEW_SWITCH_THROTTLED | CLEW_SWITCH_WAIT;
}

/* Where it stores goes with a task: it may come on at another CPU, where another address of its is
 * the last. */
static __always_inline void fault_leave(struct clew_cpu_state *cpu_state,
					struct clew_task_state *state)
{
	if (state)
		state->stored_at = cpu_state->fault_address;
	cpu_state->fault_task = 0;
}

/* Of a process that outlives its first thread new threads still ask for that one's serial. */
static __always_inline void task_over(struct clew_switch *change, struct task_struct *task)
{
	change->header.flags = CLEW_SWITCH_DEAD;
	if (task->pid != task->tgid || !READ(task, signal, live.counter))
		task_state_drop(task);
}

__noinline int tell_again(__u32 cpu, __u64 time);

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

#endif
