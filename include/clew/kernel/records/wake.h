/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A wake: its context, the waker's act, and the cause of a wake from an interrupt.
 * See records.h.
 */
#ifndef CLEW_KERNEL_RECORDS_WAKE_H
#define CLEW_KERNEL_RECORDS_WAKE_H

#include <clew/kernel/records/header.h>

/* clew_switch.wake_context and others, in the order of the tokens */
enum clew_wake_context {
	CLEW_WAKE_UNKNOWN = 0,
	CLEW_WAKE_TASK = 1,
	CLEW_WAKE_IRQ = 2,
	CLEW_WAKE_SOFTIRQ = 3,
	CLEW_WAKE_TIMER = 4,
	CLEW_WAKE_IPI = 5,
	CLEW_WAKE_WORK = 6,
};

/* clew_switch.wake_flags */
#define CLEW_WAKE_SIGNAL  0x01 /* a signal, or the freezer, interrupts the sleep */
#define CLEW_WAKE_EXITING 0x02 /* the waker was exiting */
#define CLEW_WAKE_COMPAT  0x04 /* the waker was in a 32-bit call */
#define CLEW_WAKE_PRIVATE 0x08 /* wake_operation is on a private futex */
#define CLEW_WAKE_STOPPED 0x10 /* the sleeper was stopped or traced: this continues it */
#define CLEW_WAKE_FROZEN  0x40 /* the sleeper's group was frozen, and was thawed */
#define CLEW_WAKE_ENDED	  0x20 /* the waker had ended and notified those who waited for that */
#define CLEW_WAKE_AWAY                                                                             \
	0x80 /* SOCKET that made a poller ready: its other end is on another host                  \
	      */

/* clew_switch.wake_operation: what the waker did, if it was in futex(2) */
enum clew_wake_operation {
	CLEW_FUTEX_NOT = 0,
	CLEW_FUTEX_WAKE_ONE = 1,  /* FUTEX_WAKE of one waiter */
	CLEW_FUTEX_WAKE_MANY = 2, /* FUTEX_WAKE of more than one */
	CLEW_FUTEX_UNLOCK_PI = 3,
	CLEW_FUTEX_OTHER = 4, /* requeue, wake-op, ... */
	CLEW_FILE_UNLOCK = 5, /* no futex: it unlocked the file that the sleeper wanted to lock */
};

/* The source of a wake outside task context, or on behalf of another task: clew_cause.kind */
enum clew_cause_kind {
	CLEW_CAUSE_NONE = 0,
	/* object: number of the interrupt; TEXT CLEW_TEXT_IRQ | number has its driver's name */
	CLEW_CAUSE_IRQ = 1,
	CLEW_CAUSE_SOFTIRQ = 2, /* object: its vector, as in the kernel's enum */
	/* object: the callback, named in a TEXT; `expires`; `task` armed it at `time`; task 0:
	 * `late`
	 */
	CLEW_CAUSE_TIMER = 3,
	CLEW_CAUSE_IPI = 4,
	CLEW_CAUSE_REQUEST = 5, /* object: the request that is being completed */
	CLEW_CAUSE_PACKET = 6,	/* `packet`; `task` sent at `time` what is being received */
	CLEW_CAUSE_BIO = 7,	/* object: the bio that ends, where its device has no requests */
};

/* clew_cause.packet: the data waited in the socket; `task` is the last one seen to send there. */
#define CLEW_PACKET_WAITED  1
#define CLEW_PACKET_DELAYED 2 /* .. until an acknowledgement that was put off came */
#define CLEW_PACKET_NAGLE   3 /* .. by Nagle's rule, until what was sent before was acknowledged */
#define CLEW_PACKET_WINDOW  4 /* .. until the receiver had room for it */
/* `time` is when the data was written: it was sent before, and got lost on the way. */
#define CLEW_PACKET_RESENT   5
#define CLEW_PACKET_FILTERED 6 /* .. to a packet filter of this machine */
#define CLEW_PACKET_REFUSED  7 /* the same, but such a filter did not even let it out */

struct clew_cause {
	union {
		__u64 time;
		__u64 late;    /* TIMER that no task armed: by how many ns it might be late */
		__u64 handler; /* IRQ, within the kernel: address of its action; never in a record
				*/
	};
	union {
		__u64 object;
		__u64 packet;  /* PACKET: CLEW_PACKET_* */
		__u64 flusher; /* of a CLEW_WORK_BARRIER: global tid of the flusher */
	};
	union {
		/* TIMER: when it was due, CLOCK_MONOTONIC; 0 unknown or in another unit */
		__u64 expires;
		__u64 last_request; /* IRQ, SOFTIRQ: the request that ended last in it, 0 none */
	};
	__u32 task;
	__u8 kind; /* enum clew_cause_kind */
	__u8 reserved[3];
};

CLEW_ASSERT_SIZE(struct clew_cause, 32);
CLEW_ASSERT_LAYOUT(struct clew_cause, object, 8);
CLEW_ASSERT_LAYOUT(struct clew_cause, expires, 16);
CLEW_ASSERT_LAYOUT(struct clew_cause, kind, 28);

#endif
