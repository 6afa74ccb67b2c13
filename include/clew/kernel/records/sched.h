/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Records of the CPUs: context switches and what an iterator found of tasks at the start and the
 * stop, kernel locks that were waited for without a switch, CPU quotas. See records.h.
 */
#ifndef CLEW_KERNEL_RECORDS_SCHED_H
#define CLEW_KERNEL_RECORDS_SCHED_H

#include <clew/kernel/records/wait.h>
#include <clew/kernel/records/wake.h>

/* clew_header.flags of SWITCH and STATE. All eight bits are taken: further ones
 * are in clew_switch.flags_high. */
#define CLEW_SWITCH_PREEMPT 0x01 /* prev was preempted: it stays runnable */
#define CLEW_SWITCH_SLEEP   0x02 /* prev sleeps: a wait begins here */
#define CLEW_SWITCH_WAIT    0x04 /* a struct clew_wait follows */
#define CLEW_SWITCH_DEAD    0x08 /* prev will never run again */
/* next's last switch-out was a sleep: the wake fields are its last wake's */
#define CLEW_SWITCH_NEXT_SLEPT 0x10
/* next never ran before: the wake fields are those of its first wake, by its creator */
#define CLEW_SWITCH_NEXT_NEW 0x20
/* a struct clew_cause of the wake follows, after the clew_wait if there is one */
#define CLEW_SWITCH_CAUSE 0x40
/* prev is runnable but may not run: its group's CPU quota is used up, or its own runtime */
#define CLEW_SWITCH_THROTTLED 0x80
/* in flags_high: prev is runnable and gave up the CPU by sched_yield */
#define CLEW_SWITCH_HIGH_YIELD 0x01

/* clew_switch.wake_device of a socket */
#define CLEW_ASKED_UNKNOWN 0xffffffffU

/* STATE: the task has ended, and nobody has asked for its status yet */
#define CLEW_STATE_DEAD 0x01
/* STATE: `next` came on this CPU unseen, some time since its last record; the wake fields are its
 * last wake's */
#define CLEW_STATE_LATE 0x08
/* STATE of a keyframe: the sleep began at wake_time, and the wait is as it was then */
#define CLEW_STATE_SINCE 0x10
/* STATE of a keyframe: the same, but the sleep was found when the recording began, at wake_time */
#define CLEW_STATE_FOUND 0x20
/* STATE: found by the pass at the stop; else by the one at the start */
#define CLEW_STATE_STOP	    0x40
#define CLEW_STATE_RUNNABLE 0x80 /* STATE: the task was runnable or running */

/*
 * SWITCH: prev left the CPU, next came on it. The wake fields describe the last wake of `next`.
 * STATE: prev = next = the task; the wait (start) or the wake fields (stop) are the task's own.
 */
struct clew_switch {
	struct clew_header header;
	__u64 wake_time;
	/* By wake_object_kind: what made a poller ready; FUTEX: the waker's address of a shared
	 * futex. */
	__u64 wake_object;
	__u32 prev;
	__u32 next;
	__u32 waker; /* serial of the task that ran the wake; a bystander if not in context task */
	/* SOCKET: how long before the wake the question left that was open there, in us;
	   CLEW_ASKED_UNKNOWN: it is not known when; 0: none is known */
	__u32 wake_device;
	__s32 wake_descriptor; /* of the poller, -1 unknown */
	__u16 prev_state;      /* as the scheduler passed it */
	__u16 wake_call;       /* the waker's system call, CLEW_NO_CALL none */
	__u8 wake_context;     /* enum clew_wake_context */
	__u8 wake_flags;
	__u8 wake_operation; /* enum clew_wake_operation */
	__u8 wake_object_kind;
	__u8 flags_high; /* bits 8 to 15 of the flags; header.flags are the lower ones */
	__u8 reserved[3];
};

/* LOCK: from `begin` to header.time `task` waited for a kernel lock without leaving the CPU. */
struct clew_lock {
	struct clew_header header;
	__u64 begin;
	__u64 lock;
	__u32 task;
	__u32 owner; /* global tid, 0 unknown */
	__u32 type;  /* CLEW_LOCK_* */
	__u32 reserved;
};

/* clew_header.flags of REFILL */
#define CLEW_REFILL_ENOUGH 0x01 /* something was left over: all that waited for it may run */

/* REFILL: the period timer of a group's CPU quota ran. */
struct clew_refill {
	struct clew_header header;
	__u64 cgroup;
};

CLEW_ASSERT_SIZE(struct clew_switch, 64);
CLEW_ASSERT_LAYOUT(struct clew_switch, prev_state, 52);
CLEW_ASSERT_LAYOUT(struct clew_switch, flags_high, 60);
CLEW_ASSERT_SIZE(struct clew_lock, 48);
CLEW_ASSERT_LAYOUT(struct clew_lock, task, 32);
CLEW_ASSERT_SIZE(struct clew_refill, 24);

#endif
