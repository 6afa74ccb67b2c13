/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Locks on files, by flock and fcntl: who is refused one waits in its call for another
 * to let go. The kernel tells each attempt; where it was refused, the request
 * says which lock is in the way.
 */
#ifndef CLEW_FILELOCK_H
#define CLEW_FILELOCK_H

#include "wake.h"

#define FILE_LOCK_DEFERRED 1
#define F_RDLCK		   0
#define BLOCKERS_MOST	   16 /* requests queue behind each other */
#define OFFSET_MAX	   0x7fffffffffffffffLL
#define LOCK_SH		   1

/* Of a lock on a file: the global tgid of who asked for it. */
static __always_inline __u32 asked_by(__u64 lock)
{
	if (bpf_core_type_exists(struct file_lock_core))
		return READ((struct file_lock_core *)lock, flc_pid);
	return READ((struct file_lock___whole *)lock, fl_pid);
}

/* Who had the lock that a refused request is behind, 0 unknown: it may be free by now, and its memory another's. */
static __always_inline __u32 holder_of(__u64 request)
{
	__u64 lock = blocker_of(request), next;
	int i;

	for (i = 0; i < BLOCKERS_MOST && lock && (next = blocker_of(lock)); i++)
		lock = next;
	return lock && i < BLOCKERS_MOST ? asked_by(lock) : 0;
}

static __always_inline bool is_shared(__u64 request)
{
	if (bpf_core_type_exists(struct file_lock_core))
		return READ((struct file_lock_core *)request, flc_type) == F_RDLCK;
	return READ((struct file_lock___whole *)request, fl_type) == F_RDLCK;
}

/* The argument of CLEW_REASON_FILE_LOCK. */
static __always_inline __u64 lock_number(__u64 inode, __u64 start, __u64 end, bool whole, bool shared)
{
	__u64 number = (inode ^ start * 0x9e3779b97f4a7c15ULL) * 0xbf58476d1ce4e5b9ULL;

	number = (number ^ number >> 29 ^ end ^ whole) * 0x94d049bb133111ebULL;
	return (number & ~CLEW_FILE_LOCK_SHARED) | (shared ? CLEW_FILE_LOCK_SHARED : 0);
}

static __always_inline void file_lock_tried(struct inode *inode, struct file_lock *request, int result, bool whole)
{
	struct clew_task_state *state;

	if (!enabled || !request)
		return;
	state = task_state(bpf_get_current_task_btf());
	if (!state)
		return;
	if (likely(result != FILE_LOCK_DEFERRED)) {
		state->flags &= ~CLEW_TASK_STATE_REFUSED;
		return;
	}
	state->flags |= CLEW_TASK_STATE_REFUSED;
	state->file_lock = number_of(request);
	state->file_lock_range = lock_number(number_of(inode), READ_NUMBER(request, fl_start), READ_NUMBER(request, fl_end), whole,
					     is_shared(state->file_lock));
	state->file_lock_holder = holder_of(state->file_lock);
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

/* `task` waits in flock() since before the gate opened: the locks that are held say for whom. */
static __always_inline void flock_from_before(struct file *file, const struct call *call, struct clew_task_state *state,
					      struct clew_wait *wait)
{
	struct inode *inode = (void *)READ_NUMBER(file, f_inode);
	struct file_lock_context *locks = (void *)READ_NUMBER(inode, i_flctx);
	__u64 held = READ_NUMBER(locks, flc_flock.next);

	if (!locks || !held || held == (__u64)locks + bpf_core_field_offset(struct file_lock_context, flc_flock))
		return;
	if (bpf_core_type_exists(struct file_lock_core))
		held -= bpf_core_field_offset(struct file_lock_core, flc_list);
	else
		held -= bpf_core_field_offset(struct file_lock___whole, fl_list);
	wait->reason = CLEW_REASON_FILE_LOCK;
	wait->argument = lock_number((__u64)inode, 0, OFFSET_MAX, true, call->argument[1] & LOCK_SH);
	wait->owner = asked_by(held);
	state->flags |= CLEW_TASK_STATE_REFUSED;
	state->file_lock = 0;
	state->file_lock_range = wait->argument;
	state->file_lock_holder = wait->owner;
}

#endif
