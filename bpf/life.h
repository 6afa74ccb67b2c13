/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Lives of tasks, and the identity of each task.
 *
 * A serial stands for one (task, tid): a thread that takes its leader's tid at
 * an exec gets a new one.
 */
#ifndef CLEW_BPF_LIFE_H
#define CLEW_BPF_LIFE_H

#include "identity.h"
#include "kernel.h"
#include "read.h"
#include "record.h"
#include "state.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <clew/kernel/maps.h>
#include <clew/kernel/records.h>
#include <linux/types.h>

struct task_record {
	struct clew_task_record task;
	char command_line[CLEW_COMMAND_LINE_SIZE];
};

static __always_inline __u32 new_serial(void)
{
	return __sync_fetch_and_add(&last_serial, 1) + 1;
}

/* Serials of the leader and the parent. */
static __always_inline void describe_kin(struct task_struct *task, struct clew_task_state *state,
					 struct clew_task_record *record)
{
	struct task_struct *leader = task->group_leader, *parent = task->real_parent;
	struct clew_task_state *other;

	record->process = state->serial;
	if (leader && leader != task) {
		/* A task that is on its way out may outlive its leader. */
		other = leader->pid == task->tgid ? task_state(leader) : NULL;
		record->process = other ? other->serial : 0;
	}
	record->parent = 0;
	if (parent) {
		other = task_state(parent);
		record->parent = other ? other->serial : 0;
	}
}

/* The kernel aligns these structs to 64 bytes at least. */
static __always_inline __u32 memory_of(const struct mm_struct *mm)
{
	return number_of(mm) >> 6;
}

/* Everything except the header, the leader, the parent and the command line. */
static __always_inline void describe_task(struct where *where, struct task_struct *task,
					  struct clew_task_state *state,
					  struct clew_task_record *record)
{
	struct pid *pid = READ(task, thread_pid);
	struct file *executable = NULL;
	struct mm_struct *mm = READ_TRUSTED(task, mm);
	struct inode *inode;
	__u32 i, level;

	record->start_time = CLEW_CLOCK(task->start_time);
	record->task = state->serial;
	record->tid = task->pid;
	record->pid = task->tgid;
	record->user = READ(task, real_cred, uid.val);
	record->task_flags = 0;
	if (task->flags & PF_KTHREAD)
		record->task_flags |= CLEW_TASK_KTHREAD;
	if (task->flags & PF_WQ_WORKER)
		record->task_flags |= CLEW_TASK_KWORKER;
	if (state->flags & CLEW_TASK_STATE_SELF)
		record->task_flags |= CLEW_TASK_SELF;
	if (state->flags & CLEW_TASK_STATE_DETAIL)
		record->task_flags |= CLEW_TASK_DETAIL;
	level = READ(pid, level);
	record->nspid_count = 0;
	__builtin_memset(record->nspid, 0, sizeof(record->nspid));
	for (i = 0; i < CLEW_NSPID_LEVELS; i++) {
		struct upid upid = {};

		if (i > level)
			break;
		bpf_core_read(&upid, bpf_core_type_size(struct upid),
			      (void *)pid + bpf_core_field_offset(struct pid, numbers) +
				      i * bpf_core_type_size(struct upid));
		record->nspid[i] = upid.nr;
		record->nspid_count = i + 1;
		record->pid_namespace = READ(upid.ns, ns.inum);
	}
	record->mount_namespace = mount_namespace_of(task);
	record->cgroup = send_cgroup((__u64)cgroup_of(task), where->cpu, where->time);
	record->executable = 0;
	record->executable_device = 0;
	if (mm)
		executable = (void *)READ_NUMBER(mm, exe_file);
	if (executable) {
		inode = READ(executable, f_inode);
		record->executable = READ(inode, i_ino);
		record->executable_device = READ(inode, i_sb, s_dev);
		send_file((__u64)executable, where->cpu, where->time, record->mount_namespace);
	}
	record->command_line_size = 0;
	record->memory = memory_of(mm);
	bpf_probe_read_kernel(record->comm, sizeof(record->comm), task->comm);
}

/* The values of the task's EXEC or EXIT record. */
static __always_inline __u8 life_flags(struct clew_task_state *state)
{
	return state->functions_lost ? CLEW_LIFE_LOST : 0;
}

/* False: the record is lost. */
static __always_inline bool send_life(struct where *where, __u8 kind, __u8 flags, __u32 task,
				      __u32 other, __u64 value)
{
	struct clew_life *life =
		record_reserve(where->cpu_state, where->cpu, kind, where->time, sizeof(*life));

	if (!life)
		return false;
	life->header.flags = flags;
	life->task = task;
	life->other = other;
	life->value = value;
	record_submit(life);
	return true;
}

#define PRIO_USUAL 120 /* task->prio of nice 0 */

/*
 * Emits the policy and priority of the task if they differ from those of its
 * last record. Priority inheritance changes task->prio alone, and is left out.
 */
static __always_inline void priority_emit(struct where *where, struct task_struct *task,
					  struct clew_task_state *state)
{
	__u8 policy = READ(task, policy);
	struct clew_priority *record;
	__u8 value = 0;

	if (policy == SCHED_FIFO || policy == SCHED_RR)
		value = READ(task, rt_priority);
	else if (policy != SCHED_DEADLINE)
		value = READ(task, static_prio) - PRIO_USUAL;
	if (state->policy == policy && state->priority == value)
		return;
	record = record_reserve(where->cpu_state, where->cpu, CLEW_KIND_PRIORITY, where->time,
				sizeof(*record));
	if (!record)
		return;
	record->task = state->serial;
	record->policy = policy;
	record->value = value;
	record->reserved = 0;
	record_submit(record);
	state->policy = policy;
	state->priority = value;
	if (policy || value)
		state->flags |= CLEW_TASK_STATE_PRIORITY;
	else
		state->flags &= ~CLEW_TASK_STATE_PRIORITY;
}

/*
 * Reserves a record of that size and fills in the task's identity without its
 * command line. NULL: the record is lost, and a flag of the task's state says
 * so.
 */
static __always_inline struct clew_task_record *begin_identity(struct where *where,
							       struct task_struct *task,
							       struct clew_task_state *state,
							       __u64 size)
{
	struct clew_task_record *record =
		record_reserve(where->cpu_state, where->cpu, CLEW_KIND_TASK, where->time, size);

	if (!record) {
		state->flags |= CLEW_TASK_STATE_UNSENT;
		return NULL;
	}
	describe_kin(task, state, record);
	describe_task(where, task, state, record);
	state->flags &= ~CLEW_TASK_STATE_UNSENT;
	state->identified = where->time;
	state->identified_tid = task->pid;
	return record;
}

static __always_inline void identity_emit(struct where *where, struct task_struct *task,
					  struct clew_task_state *state)
{
	struct clew_task_record *record = begin_identity(where, task, state, sizeof(*record));

	if (record)
		record_submit(record);
}

/*
 * Sends the identity of the current task again if it was lost, or if its last one
 * is in an earlier file of the recording, as it is for a task that ends before the
 * passes over all tasks find it. The command line is no longer where it was read.
 */
__noinline int identity_emit_again(__u32 cpu, __u64 time)
{
	struct where where = {.cpu_state = this_cpu_state(cpu), .time = time, .cpu = cpu};
	struct task_struct *task = bpf_get_current_task_btf();
	struct clew_task_state *state = task_state(task);

	if (state && where.cpu_state &&
	    ((state->flags & CLEW_TASK_STATE_UNSENT) ||
	     file_at(state->identified) != file_at(time)))
		identity_emit(&where, task, state);
	return 0;
}

#endif
