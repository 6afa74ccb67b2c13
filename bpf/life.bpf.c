/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Programs at fork, exec, exit, and changes of a task's name. */
#include "life.h"
#include "environment.h"
#include "filter.h"
#include "kernel.h"
#include "read.h"
#include "record.h"
#include "state.h"
#include "unseen.h"
#include "where.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <clew/kernel/maps.h>
#include <clew/kernel/records.h>
#include <linux/types.h>

/* task_newtask, not sched_process_fork: the latter leaves out the threads of
 * io_uring. */
SEC("tp_btf/task_newtask")
int BPF_PROG(clew_task_newtask, struct task_struct *child)
{
	struct task_struct *parent = bpf_get_current_task_btf();
	struct clew_task_state *state, *parent_state;
	struct where where;

	if (!where_here(&where))
		return 0;
	if (enabled) {
		state = task_state_make(child);
	} else {
		/*
		 * The iterator may have passed already, so a state is made even
		 * while nothing is recorded. It goes to task storage, where
		 * user space finds it when it looks for hidden tasks. A slot
		 * with the task's address belonged to a dead task.
		 */
		task_state_drop(child);
		state = bpf_task_storage_get(&clew_tasks, child, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	}
	if (!state) {
		if (enabled) {
			count_atomic(&where.cpu_state->counts[CLEW_KIND_TASK].seen);
			count_atomic(&where.cpu_state->counts[CLEW_KIND_TASK].missed);
		}
		return 0;
	}
	parent_state = task_state(parent);
	if (parent_state) {
		memory_made(&where, parent_state);
		state->functions = parent_state->functions;
		state->flags |= parent_state->flags & CLEW_TASK_STATE_MESSAGES;
	}
	state->serial = new_serial();
	state->flags |= CLEW_TASK_STATE_NEW;
	/* A process that clew starts meanwhile begins in its memory, and opens files. */
	if (parent->tgid == (int)self_pid && READ(child, mm) == READ(parent, mm))
		state->flags |= CLEW_TASK_STATE_SELF;
	update_filter(child, state, parent_state && (parent_state->flags & CLEW_TASK_STATE_PID));
	if (!identifying)
		return 0;
	identity_emit(&where, child, state);
	priority_emit(&where, child, state);
	if (enabled)
		send_life(&where, CLEW_KIND_FORK, 0, parent_state ? parent_state->serial : 0,
			  state->serial, 0);
	return 0;
}

/* A program begins in the task, whose tid may have been another before. Returns false if no more
 * is recorded of it. */
static __always_inline bool exec_begin(struct where *where, struct task_struct *task,
				       struct clew_task_state *state, bool same_tid)
{
	__u32 before = state->serial;

	if (same_tid) {
		memory_made(where, state);
	} else {
		state->serial = new_serial();
		state->policy = 0;
		state->priority = 0;
		where->cpu_state->running = state->serial;
		where->cpu_state->running_pid = task->pid;
	}
	state->call_after = 0;
	state->fault_frame = 0;
	update_filter(task, state, state->flags & CLEW_TASK_STATE_PID);
	if (!identifying)
		return false;
	/* The task's next record has to say that its functions are not open any more. */
	if (enabled &&
	    !send_life(where, CLEW_KIND_EXEC, life_flags(state), before, state->serial, 0))
		state->functions_lost = true;
	return true;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(clew_sched_process_exec, struct task_struct *task, int old_pid)
{
	struct clew_task_state *state;
	struct task_record *record;
	struct where where;
	__u64 start, size;
	long got;

	state = task_state(task);
	if (!where_here(&where) || !state || !exec_begin(&where, task, state, task->pid == old_pid))
		return 0;
	record = (struct task_record *)begin_identity(&where, task, state, sizeof(*record));
	if (!record)
		return 0;
	start = READ(task, mm, arg_start);
	size = READ(task, mm, arg_end) - start;
	if (size > CLEW_COMMAND_LINE_SIZE)
		size = CLEW_COMMAND_LINE_SIZE;
	got = bpf_probe_read_user(record->command_line, size, (void *)start);
	record->task.command_line_size = got ? 0 : size;
	record_submit(record);
	send_environment(task, state->serial, where.cpu, where.time);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(clew_sched_process_exit, struct task_struct *task)
{
	struct clew_task_state *state;
	struct where where;

	if (!enabled || !where_here(&where))
		return 0;
	state = task_state(task);
	identity_emit_again(where.cpu, where.time);
	if (state)
		send_life(&where, CLEW_KIND_EXIT, life_flags(state), state->serial, 0,
			  (__u32)task->exit_code);
	return 0;
}

SEC("tp_btf/task_rename")
int BPF_PROG(clew_task_rename, struct task_struct *task, const char *name)
{
	struct clew_rename *record;
	struct clew_task_state *state;
	struct where where;

	bool execs = BPF_CORE_READ_BITFIELD(task, in_execve);

	/* An exec records the new name with the new identity. */
	if ((execs && !is_unseen(CLEW_UNSEEN_EXECS)) || !where_here(&where))
		return 0;
	state = task_state(task);
	if (!state)
		return 0;
	/* Else this is as far as an exec is seen: its arguments are not in place yet. */
	if (execs && exec_begin(&where, task, state, state->identified_tid == (__u32)task->pid))
		identity_emit(&where, task, state);
	/* Threads get names of their own only after they were made. The task
	 * still has the old name here. */
	if (filter_comm)
		update_detail(state, name);
	if (!identifying)
		return 0;
	record = record_reserve(where.cpu_state, where.cpu, CLEW_KIND_RENAME, where.time,
				sizeof(*record));
	if (!record)
		return 0;
	record->task = state->serial;
	record->reserved = 0;
	__builtin_memset(record->comm, 0, sizeof(record->comm));
	bpf_probe_read_kernel_str(record->comm, sizeof(record->comm), name);
	record_submit(record);
	return 0;
}
