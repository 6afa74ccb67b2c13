/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Records of what a running task ran in. See records.h.
 */
#ifndef CLEW_KERNEL_RECORDS_WHERE_H
#define CLEW_KERNEL_RECORDS_WHERE_H

#include <clew/kernel/records/header.h>

/* clew_header.flags of WHERE: one of these, and perhaps CLEW_WHERE_STAYED */
enum clew_where_event {
	CLEW_WHERE_TICK = 0,  /* `task` runs, as a timer's tick found it */
	CLEW_WHERE_LEAVE = 1, /* `task` ran for long and now leaves its CPU, still runnable */
	/* from `begin` on `task` was in `call`, to copy or make the memory of a process, or in
	   `reason` */
	CLEW_WHERE_SPAN = 2,
};
#define CLEW_WHERE_EVENT  0x0f
#define CLEW_WHERE_STAYED 0x80 /* the task was not in user mode since it last came on a CPU */

/* WHERE */
struct clew_where {
	struct clew_header header;
	__u64 begin; /* SPAN */
	__u32 task;
	/* The same while a task stays in one call, as far as its saved registers, its time in user
	   mode and its counts of reads and writes tell. */
	__u32 identity;
	__u32 faults;	     /* page faults of the task that were over, modulo 2^32 */
	__u32 faults_before; /* SPAN: as of `begin` */
	__u16 call;	     /* system call number, CLEW_NO_CALL none: it was in user mode */
	__u8 reason;	     /* enum clew_wait_reason of what it did to get memory */
	__u8 reserved[5];
};

CLEW_ASSERT_SIZE(struct clew_where, 48);
CLEW_ASSERT_LAYOUT(struct clew_where, faults, 32);
CLEW_ASSERT_LAYOUT(struct clew_where, call, 40);

#endif
