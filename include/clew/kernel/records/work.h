/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Records of what is done on behalf of a task elsewhere: work items and io_uring. See records.h.
 */
#ifndef CLEW_KERNEL_RECORDS_WORK_H
#define CLEW_KERNEL_RECORDS_WORK_H

#include <clew/kernel/records/wake.h>

/* clew_header.flags of WORK */
#define CLEW_WORK_UNSEEN  0x01 /* its queueing was not seen */
#define CLEW_WORK_RESCUER 0x02 /* a rescuer runs it: there was no memory for a worker */
/* the item only marks for cause.flusher that all items before it are done */
#define CLEW_WORK_BARRIER 0x04

/*
 * WORK: at header.time `worker` began the item that was queued at `queued`: by `queuer` in task
 * context, else from `cause` (a delayed item's timer with the task that armed it, a request's
 * completion, ...).
 */
struct clew_work {
	struct clew_header header;
	__u64 work;	/* address: its identity until it is queued again */
	__u64 function; /* named in a TEXT */
	__u64 queued;	/* 0 unknown */
	__u32 worker;
	__u32 queuer; /* serial, 0 none or unknown */
	struct clew_cause cause;
	__u8 context; /* enum clew_wake_context in which it was queued */
	__u8 reserved[7];
};

/* clew_header.flags of RING */
#define CLEW_RING_SUBMIT   0x00
#define CLEW_RING_COMPLETE 0x01
#define CLEW_RING_WORKER   0x02 /* passed to a worker of the ring; `task` submitted it */

/* RING: io_uring */
struct clew_ring {
	struct clew_header header;
	__u64 ring; /* address of the instance, as the object of waits for it */
	__u64 user_data;
	__u64 request; /* address of the kernel's request: the same from submission to completion */
	__u32 task;    /* in whose context it was */
	__u32 operation; /* IORING_OP_* */
};

CLEW_ASSERT_SIZE(struct clew_work, 88);
CLEW_ASSERT_LAYOUT(struct clew_work, cause, 48);
CLEW_ASSERT_LAYOUT(struct clew_work, context, 80);
CLEW_ASSERT_SIZE(struct clew_ring, 48);
CLEW_ASSERT_LAYOUT(struct clew_ring, task, 40);

#endif
