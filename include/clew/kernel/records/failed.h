/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A record of what a task tried in vain. See records.h. */
#ifndef CLEW_KERNEL_RECORDS_FAILED_H
#define CLEW_KERNEL_RECORDS_FAILED_H

#include <clew/kernel/records/header.h>

/* clew_header.flags of FAILED: what was tried */
enum clew_failed_what {
	CLEW_FAILED_NOTHING = 0,
	CLEW_FAILED_LOCK = 1, /* to lock a file without waiting: `object`, `device`, `owner` */
	/* To connect; by TCP a reset answered, at a Unix socket the call failed: `object`. */
	CLEW_FAILED_CONNECT = 2,
	/* The same; nothing answered, and TCP asks again: `object`, `listener`, `queued`. */
	CLEW_FAILED_ANSWER = 3,
	CLEW_FAILED_COUNT = 4,
};

/* FAILED */
struct clew_failed {
	struct clew_header header;
	__u64 object;	/* inode number of the file, or of the task's own socket */
	__u64 listener; /* inode number of the one socket that listens there, 0 none is known */
	__u32 task;
	__u32 device;
	__u32 owner;  /* global tid of one that has the lock, or of its process; 0 unknown */
	__u32 holder; /* its serial: the builder fills it in, files have 0 */
	__u32 queued; /* of the listener whose accept queue is full: how long that is; else 0 */
	__u16 call;   /* as clew_wait.call, CLEW_NO_CALL unknown */
	__u16 reserved;
};

CLEW_ASSERT_SIZE(struct clew_failed, 56);
CLEW_ASSERT_LAYOUT(struct clew_failed, task, 32);
CLEW_ASSERT_LAYOUT(struct clew_failed, call, 52);

#endif
