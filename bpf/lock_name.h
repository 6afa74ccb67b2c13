/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the owner of a kernel lock: the memory of a process, a file, a file
 * system.
 *
 * Invariant: a name is never a guess. Either the call leads to the structure
 * that the lock lies in, or the structure around the lock points back to itself
 * through another one, as an inode does through the mapping in it. Memory that
 * is something else does not do that.
 */
#ifndef CLEW_BPF_LOCK_NAME_H
#define CLEW_BPF_LOCK_NAME_H

#include "call.h"
#include "identity.h"
#include "kernel.h"
#include "kernel_fs.h"
#include "kernel_io.h"
#include "lock.h"
#include "object.h"
#include "read.h"
#include "record.h"
#include "state.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <clew/kernel/maps.h>
#include <clew/kernel/records.h>
#include <linux/types.h>
#include <stdbool.h>

/* The address of the structure of which the lock would be that member. */
#define AROUND(lock, type, member) ((lock)-bpf_core_field_offset(type, member))
#define FREEZE_LEVELS		   3
#define DESCRIPTORS_MOST	   3 /* of a call: splice has its second one there */

struct lock_parent {
	__u64 inode; /* addresses */
	__u64 file;
	__u32 process; /* global tgid */
	__u8 member;   /* enum clew_lock_member */
};

/* True if `mm` is the memory of a process. */
static __always_inline bool is_memory(__u64 mm, struct lock_parent *ret_parent)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct mm_struct___locks *memory = (void *)mm;
	__u64 owner = 0;

	if (bpf_core_field_exists(memory->owner)) {
		owner = READ_NUMBER(memory, owner);
		if (owner && READ_NUMBER((struct task_struct *)owner, mm) != mm)
			owner = 0;
	}
	if (owner)
		ret_parent->process = READ((struct task_struct *)owner, tgid);
	else if (READ_NUMBER(task, mm) == mm)
		ret_parent->process = task->tgid;
	else
		return false;
	ret_parent->member = CLEW_LOCK_MEMBER_MMAP;
	return true;
}

/* True if that is a mapping; `ret_parent` gets its file. */
static __always_inline bool is_mapping(__u64 address, struct lock_parent *ret_parent)
{
	__u64 host = READ_NUMBER((struct address_space *)address, host);

	if (!host || READ_NUMBER((struct inode *)host, i_mapping) != address)
		return false;
	ret_parent->inode = host;
	return true;
}

/* True if that is a mounted file system; `ret_parent` gets its root. */
static __always_inline bool is_file_system(__u64 address, struct lock_parent *ret_parent)
{
	__u64 root = READ_NUMBER((struct super_block *)address, s_root);

	if (!root || READ_NUMBER((struct dentry___super *)root, d_sb) != address)
		return false;
	ret_parent->inode = READ_NUMBER((struct dentry *)root, d_inode);
	return ret_parent->inode != 0;
}

static __always_inline bool is_inode(__u64 address, struct lock_parent *ret_parent)
{
	if (READ_NUMBER((struct inode___locks *)address, i_data.host) != address)
		return false;
	ret_parent->inode = address;
	return true;
}

static __always_inline void find_semaphore(__u64 lock, struct lock_parent *ret_parent)
{
	if (is_memory(AROUND(lock, struct mm_struct___locks, mmap_lock), ret_parent))
		return;
	if (is_inode(AROUND(lock, struct inode___locks, i_rwsem), ret_parent))
		ret_parent->member = CLEW_LOCK_MEMBER_INODE;
	else if (is_mapping(AROUND(lock, struct address_space___locks, invalidate_lock),
			    ret_parent))
		ret_parent->member = CLEW_LOCK_MEMBER_INVALIDATE;
	else if (is_mapping(AROUND(lock, struct address_space___locks, i_mmap_rwsem), ret_parent))
		ret_parent->member = CLEW_LOCK_MEMBER_MAPPINGS;
	else if (is_file_system(AROUND(lock, struct super_block___locks, s_umount), ret_parent))
		ret_parent->member = CLEW_LOCK_MEMBER_UNMOUNT;
}

static __always_inline void find_freeze(__u64 lock, struct lock_parent *ret_parent)
{
	__u64 first = AROUND(lock, struct super_block___locks, s_writers.rw_sem);
	__u32 level;

	for (level = 0; level < FREEZE_LEVELS; level++)
		if (is_file_system(first - level * bpf_core_type_size(struct percpu_rw_semaphore),
				   ret_parent)) {
			ret_parent->member = CLEW_LOCK_MEMBER_FREEZE;
			return;
		}
}

/* A mutex of a file or a pipe that the current task's call names. */
static __always_inline void find_mutex(__u64 lock, struct lock_parent *ret_parent)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct call call;
	__u32 i;

	if (task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER))
		return;
	read_call(task, &call);
	for (i = 0; i < DESCRIPTORS_MOST; i++) {
		__u64 file = find_file(number_of(task), call.argument[i]), pipe;

		if (!file)
			continue;
		ret_parent->inode = READ_NUMBER((struct file *)file, f_inode);
		ret_parent->file = file;
		if (lock == file + bpf_core_field_offset(struct file___locks, f_pos_lock)) {
			ret_parent->member = CLEW_LOCK_MEMBER_POSITION;
			return;
		}
		pipe = READ_NUMBER((struct file *)file, private_data);
		if ((READ((struct inode *)ret_parent->inode, i_mode) & S_IFMT) == S_IFIFO &&
		    lock == pipe + bpf_core_field_offset(struct pipe_inode_info___locks, mutex)) {
			ret_parent->member = CLEW_LOCK_MEMBER_PIPE;
			return;
		}
	}
	ret_parent->inode = 0;
}

/* A writer of a real-time kernel contends for the lock inside the semaphore. */
static __always_inline void find_outer(__u64 lock, struct lock_parent *ret_parent)
{
	if (bpf_core_type_exists(struct rwbase_rt))
		find_semaphore(AROUND(lock, struct rwbase_rt, rtmutex), ret_parent);
}

/*
 * Sends what a lock for which the current task contends belongs to, unless it
 * was sent. An unknown one is sent too: something else may have had its address
 * before.
 */
__noinline int lock_name_send(__u64 lock, __u32 type, __u32 cpu, __u64 time)
{
	struct clew_cpu_state *cpu_state = this_cpu_state(cpu);
	struct lock_parent parent = {};
	struct clew_lock_name *record;
	struct inode *inode;
	__u32 device = 0;
	__u64 number = 0, version;
	struct sent *slot;

	if (!cpu_state)
		return 0;
	if (type & CLEW_LOCK_PERCPU)
		find_freeze(lock, &parent);
	else if (type & LOCK_READ_WRITE)
		find_semaphore(lock, &parent);
	else if (type & (CLEW_LOCK_MUTEX | CLEW_LOCK_RT))
		find_mutex(lock, &parent);
	if (!parent.member && type & CLEW_LOCK_RT && !(type & LOCK_READ_WRITE))
		find_outer(lock, &parent);
	inode = (struct inode *)parent.inode;
	if (inode) {
		number = READ(inode, i_ino);
		device = READ(inode, i_sb, s_dev);
	}
	version = (number << 8 | parent.member) ^ (__u64)(device ^ parent.process) << 32;
	if (parent.file && inode && parent.member == CLEW_LOCK_MEMBER_POSITION)
		send_file(parent.file, cpu, time, mount_namespace_of(bpf_get_current_task_btf()));
	else if (inode && parent.member != CLEW_LOCK_MEMBER_PIPE)
		send_inode(parent.inode, cpu, time);
	slot = sent_slot(lock, version, time);
	if (!slot)
		return 0;
	record = record_reserve(cpu_state, cpu, CLEW_KIND_LOCK_NAME, time, sizeof(*record));
	if (!record)
		return 0;
	record->header.flags = parent.member;
	record->lock = lock;
	record->inode = number;
	record->device = device;
	record->owner = parent.process;
	record->process = 0;
	record->reserved = 0;
	record_submit(record);
	sent_mark(slot, lock, version, time);
	return 0;
}

#endif
