/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Kernel locks: which task holds one. In a real-time kernel all that sleep are
 * made of rt_mutex_base, and so are its spinlocks: contention of a mutex is
 * reported as that of its rt_mutex_base, which is its first field, and of a
 * reader-writer semaphore as that of its rwbase_rt, likewise.
 */
#ifndef CLEW_BPF_LOCK_H
#define CLEW_BPF_LOCK_H

#include "kernel.h"
#include "kernel_io.h"
#include "read.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <clew/kernel/records.h>
#include <linux/types.h>
#include <stdbool.h>

/* The low bits of an owner's address are flags. The lowest one of a semaphore
 * says that readers hold it, that of an rt_mutex_base that a task waits. */
#define OWNER_FLAGS  7UL
#define OWNER_READER 1UL

#define LOCK_READ_WRITE (CLEW_LOCK_READ | CLEW_LOCK_WRITE)

/* True if a contention is of the lock inside a reader-writer lock of a real-time
 * kernel for which the task contends already. */
static __always_inline bool lock_is_inside(__u64 lock, __u64 outer, __u32 outer_type)
{
	return (outer_type & CLEW_LOCK_RT) && (outer_type & LOCK_READ_WRITE) &&
	       bpf_core_type_exists(struct rwbase_rt) &&
	       lock == outer + bpf_core_field_offset(struct rwbase_rt, rtmutex);
}

/* The owner's address, with flags, of a lock of a real-time kernel; 0 unknown. */
static __always_inline __u64 rt_owner(__u64 lock, __u32 type)
{
	__u64 owner;

	if (!(type & LOCK_READ_WRITE))
		return READ_NUMBER((struct rt_mutex_base *)lock, owner);
	if (!bpf_core_type_exists(struct rwbase_rt))
		return 0;
	owner = READ_NUMBER((struct rwbase_rt *)lock, rtmutex.owner);
	/* A writer has the lock inside already when it waits for the readers to
	 * leave: it is theirs. */
	return (owner & ~OWNER_FLAGS) == (__u64)bpf_get_current_task() ? 0 : owner;
}

/* The global tid of the holder of a kernel lock, 0 if the lock keeps none. */
static __always_inline __u32 lock_owner(__u64 lock, __u32 type)
{
	struct rw_semaphore *semaphore = (void *)lock;
	struct mutex *mutex = (void *)lock;
	__u64 owner = 0;

	if (type & CLEW_LOCK_RT) {
		owner = rt_owner(lock, type);
	} else if (type & CLEW_LOCK_MUTEX) {
		if (bpf_core_field_exists(mutex->owner))
			owner = READ(mutex, owner.counter);
	} else if (type & LOCK_READ_WRITE && !(type & (CLEW_LOCK_SPIN | CLEW_LOCK_PERCPU))) {
		if (bpf_core_field_exists(semaphore->owner))
			owner = READ(semaphore, owner.counter);
		if (owner & OWNER_READER)
			return 0;
	}
	owner &= ~OWNER_FLAGS;
	return owner ? READ((struct task_struct *)owner, pid) : 0;
}

#endif
