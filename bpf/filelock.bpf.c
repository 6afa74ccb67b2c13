/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Programs at attempts to lock a file by flock or fcntl. */
#include "filelock.h"
#include "call.h"
#include "kernel.h"
#include "kernel_fs.h"
#include "read.h"
#include "state.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <clew/kernel/maps.h>
#include <stdbool.h>

#define FILE_LOCK_DEFERRED 1
#define EAGAIN		   11

static __always_inline void taken_by(struct task_struct *task, __u64 inode, __u64 request)
{
	struct taken_lock taken = taken_lock(inode, request);
	__u32 taker = task->pid;

	bpf_map_update_elem(&clew_lock_takers, &taken, &taker, BPF_ANY);
}

static __always_inline void file_lock_tried(struct inode *inode, struct file_lock *request,
					    int result, bool whole)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct clew_task_state *state;
	struct call call;

	if (!enabled || !request)
		return;
	state = task_state(task);
	if (!state)
		return;
	if (likely(result != FILE_LOCK_DEFERRED)) {
		state->flags &= ~CLEW_TASK_STATE_REFUSED;
		if (!result && READ_FILE_LOCK(number_of(request), type) != F_UNLCK)
			taken_by(task, number_of(inode), number_of(request));
		if (result == -EAGAIN && state->flags & CLEW_TASK_STATE_DETAIL) {
			read_call(task, &call);
			file_lock_failed(number_of(inode), number_of(request), state->serial,
					 call.number >= 0 ? call.number : CLEW_NO_CALL, whole);
		}
		return;
	}
	state->flags |= CLEW_TASK_STATE_REFUSED;
	state->file_lock = number_of(request);
	state->file_lock_range = lock_number(number_of(inode), READ_NUMBER(request, fl_start),
					     READ_NUMBER(request, fl_end), whole,
					     READ_FILE_LOCK(state->file_lock, type) == F_RDLCK);
	find_holder(state, number_of(inode));
}

SEC("?tp_btf/posix_lock_inode")
int BPF_PROG(clew_posix_lock, struct inode *inode, struct file_lock *request, int result)
{
	file_lock_tried(inode, request, result, false);
	return 0;
}

SEC("?tp_btf/flock_lock_inode")
int BPF_PROG(clew_flock, struct inode *inode, struct file_lock *request, int result)
{
	file_lock_tried(inode, request, result, true);
	return 0;
}
