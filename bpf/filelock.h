/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Locks on files, by flock and fcntl. A task that is refused one waits in its
 * call until another task unlocks the file. The kernel reports each attempt; a
 * refused request points to the lock that blocks it.
 */
#ifndef CLEW_BPF_FILELOCK_H
#define CLEW_BPF_FILELOCK_H

#include "arch.h"
#include "call.h"
#include "failed.h"
#include "identity.h"
#include "kernel.h"
#include "kernel_fs.h"
#include "read.h"
#include "state.h"
#include <bpf/bpf_core_read.h>
#include <clew/kernel/maps.h>
#include <clew/kernel/records.h>
#include <linux/types.h>
#include <stdbool.h>

#define F_RDLCK	      0
#define F_UNLCK	      2
#define BLOCKERS_MOST 16 /* requests that wait for each other */
#define OFFSET_MAX    0x7fffffffffffffffLL
#define LOCK_SH	      1
#define HELD_MOST     16 /* locks of one file that are examined */

#define READ_FILE_LOCK(lock, field)                                                                \
	(bpf_core_type_exists(struct file_lock_core)                                               \
		 ? READ((struct file_lock_core *)(lock), flc_##field)                              \
		 : (__typeof__(((struct file_lock_core *)0)->flc_##field))READ(                    \
			   (struct file_lock___whole *)(lock), fl_##field))

/* The lock, or the refused request, that blocks a request; 0 none. */
static __always_inline __u64 blocker_of(__u64 request)
{
	return (__u64)READ_FILE_LOCK(request, blocker);
}

/* A lock, as far as it says who may release it: the open file, or for fcntl's
 * plain locks the process's files. */
struct taken_lock {
	__u64 owner;
	__u64 inode;
	__u64 start;
};

/* The thread that took a lock last, by global tid. The kernel itself keeps only its process. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct taken_lock);
	__type(value, __u32);
} clew_lock_takers SEC(".maps");

static __always_inline struct taken_lock taken_lock(__u64 inode, __u64 lock)
{
	return (struct taken_lock){
		.owner = (__u64)READ_FILE_LOCK(lock, owner),
		.inode = inode,
		.start = READ_NUMBER((struct file_lock *)lock, fl_start),
	};
}

/* Notes who holds the lock that blocks a refused request. The lock may be free by
 * now and its memory reused. */
static __always_inline void find_holder(struct clew_task_state *state, __u64 inode)
{
	__u64 lock = blocker_of(state->file_lock), next;
	struct taken_lock taken;
	__u32 *taker;
	int i;

	for (i = 0; i < BLOCKERS_MOST && lock && (next = blocker_of(lock)); i++)
		lock = next;
	state->flags &= ~CLEW_TASK_STATE_TAKER;
	state->file_lock_holder = 0;
	if (!lock || i >= BLOCKERS_MOST)
		return;
	taken = taken_lock(inode, lock);
	taker = bpf_map_lookup_elem(&clew_lock_takers, &taken);
	if (taker)
		state->flags |= CLEW_TASK_STATE_TAKER;
	state->file_lock_holder = taker ? *taker : (__u32)READ_FILE_LOCK(lock, pid);
}

/* The argument of CLEW_REASON_FILE_LOCK. */
static __always_inline __u64 lock_number(__u64 inode, __u64 start, __u64 end, bool whole,
					 bool shared)
{
	__u64 number = (inode ^ start * 0x9e3779b97f4a7c15ULL) * 0xbf58476d1ce4e5b9ULL;

	number = (number ^ number >> 29 ^ end ^ whole) * 0x94d049bb133111ebULL;
	return (number & ~CLEW_FILE_LOCK_SHARED) | (shared ? CLEW_FILE_LOCK_SHARED : 0);
}

/* True if a wake is made by unlocking a file. A task that gives up waiting also
 * wakes those behind it, but never held the lock. */
static __always_inline bool file_lock_released(struct task_struct *waker,
					       const struct clew_task_state *sleeper)
{
	struct clew_task_state *state;

	if (!sleeper->slept || !locks_files((__s64)sleeper->call_after - 1))
		return false;
	state = task_state(waker);
	return !state || !(state->flags & CLEW_TASK_STATE_REFUSED) ||
	       state->file_lock != blocker_of(sleeper->file_lock);
}

/* The holder of all locks of a list, 0 if there are several holders or no
 * locks. A global function, which is verified once. */
__noinline __u32 holder_of_all(__u64 list)
{
	__u32 in_lock = bpf_core_type_exists(struct file_lock_core)
				? bpf_core_field_offset(struct file_lock_core, flc_list)
				: bpf_core_field_offset(struct file_lock___whole, fl_list);
	__u64 at = READ_NUMBER((struct list_head *)list, next);
	__u32 holder = 0;
	int i;

	for (i = 0; i < HELD_MOST && at && at != list; i++) {
		__u32 other = READ_FILE_LOCK(at - in_lock, pid);

		if (holder && holder != other)
			return 0;
		holder = other;
		at = READ_NUMBER((struct list_head *)at, next);
	}
	return at == list ? holder : 0;
}

/* `task` has waited in flock or fcntl since before the recording. Its request
 * is unknown, but the locks of the file are known. */
static __always_inline void file_lock_from_before(struct task_struct *task, struct file *file,
						  const struct call *call,
						  struct clew_task_state *state)
{
	struct inode *inode = (void *)READ_NUMBER(file, f_inode);
	__u64 locks = READ_NUMBER(inode, i_flctx), list;
	bool whole = call->number == CALL_FLOCK;

	list = locks + (whole ? bpf_core_field_offset(struct file_lock_context, flc_flock)
			      : bpf_core_field_offset(struct file_lock_context, flc_posix));
	if (!locks || READ_NUMBER((struct list_head *)list, next) == list)
		return;
	state->flags |= CLEW_TASK_STATE_REFUSED;
	state->file_lock = 0;
	/* For fcntl the part of the file is unknown: the lock gets a number of
	 * its own. */
	state->file_lock_range =
		whole ? lock_number((__u64)inode, 0, OFFSET_MAX, true, call->argument[1] & LOCK_SH)
		      : lock_number((__u64)inode, task->pid, 0, false, false);
	state->flags &= ~CLEW_TASK_STATE_TAKER;
	state->file_lock_holder = holder_of_all(list);
}

/* The first lock of a list that a request conflicts with, 0 none. Global, see
 * identity.h. */
__noinline __u64 conflict_in(__u64 list, __u64 request)
{
	__u32 in_lock = bpf_core_type_exists(struct file_lock_core)
				? bpf_core_field_offset(struct file_lock_core, flc_list)
				: bpf_core_field_offset(struct file_lock___whole, fl_list);
	__u64 at = READ_NUMBER((struct list_head *)list, next);
	struct file_lock *wanted = (struct file_lock *)request, *lock;
	/* Read before the loop: the compiler takes the fields' places out of it, also those that
	 * this kernel does not have. */
	bool reads = READ_FILE_LOCK(wanted, type) == F_RDLCK;
	__u64 owner = (__u64)READ_FILE_LOCK(wanted, owner);
	__s64 start = READ(wanted, fl_start), end = READ(wanted, fl_end);
	int i;

	for (i = 0; i < HELD_MOST && at && at != list; i++) {
		lock = (struct file_lock *)(at - in_lock);
		if (!(reads && READ_FILE_LOCK(lock, type) == F_RDLCK) &&
		    (__u64)READ_FILE_LOCK(lock, owner) != owner && READ(lock, fl_start) <= end &&
		    start <= READ(lock, fl_end))
			return (__u64)lock;
		at = READ_NUMBER((struct list_head *)at, next);
	}
	return 0;
}

/* Sends that a task did not get a lock for which it would not wait. Global, see
 * identity.h. */
__noinline int file_lock_failed(__u64 inode_address, __u64 request, __u32 task, __u16 call,
				bool whole)
{
	struct inode *inode = (struct inode *)inode_address;
	__u64 locks = READ_NUMBER(inode, i_flctx), lock, file;
	struct clew_failed tried = {.task = task, .call = call};
	struct taken_lock taken;
	__u32 *taker;

	tried.object = READ(inode, i_ino);
	tried.device = READ(inode, i_sb, s_dev);
	file = bpf_core_type_exists(struct file_lock_core)
		       ? READ_NUMBER((struct file_lock_core *)request, flc_file)
		       : READ_NUMBER((struct file_lock___whole *)request, fl_file);
	if (file)
		send_file(file, bpf_get_smp_processor_id(), clock_ns(),
			  mount_namespace_of(bpf_get_current_task_btf()));
	lock = locks ? conflict_in(locks + (whole ? bpf_core_field_offset(struct file_lock_context,
									  flc_flock)
						  : bpf_core_field_offset(struct file_lock_context,
									  flc_posix)),
				   request)
		     : 0;
	if (lock) {
		taken = taken_lock(inode_address, lock);
		taker = bpf_map_lookup_elem(&clew_lock_takers, &taken);
		tried.owner = taker ? *taker : (__u32)READ_FILE_LOCK(lock, pid);
	}
	failed_emit(CLEW_FAILED_LOCK, &tried);
	return 0;
}

#endif
