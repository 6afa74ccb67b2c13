/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Kernel locks: which task holds one. */
#ifndef CLEW_BPF_LOCK_H
#define CLEW_BPF_LOCK_H

#include "kernel.h"
#include "kernel_io.h"
#include "read.h"
#include <clew/kernel/records.h>
#include <linux/types.h>

/* The low bits of an owner's address are flags. The lowest one of a semaphore
 * says that readers hold it. */
#define OWNER_FLAGS  7UL
#define OWNER_READER 1UL

/* The global tid of the holder of a kernel lock, 0 if the lock keeps none. */
static __always_inline __u32 lock_owner(__u64 lock, __u32 type)
{
	__u64 owner = 0;

	if (type & CLEW_LOCK_MUTEX)
		owner = READ((struct mutex *)lock, owner.counter);
	else if (type & CLEW_LOCK_RT)
		owner = READ_NUMBER((struct rt_mutex_base *)lock, owner);
	else if (type & (CLEW_LOCK_READ | CLEW_LOCK_WRITE) &&
		 !(type & (CLEW_LOCK_SPIN | CLEW_LOCK_PERCPU))) {
		owner = READ((struct rw_semaphore *)lock, owner.counter);
		if (owner & OWNER_READER)
			return 0;
	}
	owner &= ~OWNER_FLAGS;
	return owner ? READ((struct task_struct *)owner, pid) : 0;
}

#endif
