/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A record of what a thread sent to or took from a connection. See records.h. */
#ifndef CLEW_KERNEL_RECORDS_MESSAGE_H
#define CLEW_KERNEL_RECORDS_MESSAGE_H

#include <clew/kernel/records/header.h>

/* clew_header.flags of MESSAGE */
#define CLEW_MESSAGE_RECEIVED 0x01 /* it was taken; else it was sent */
#define CLEW_MESSAGE_TIMED    0x02 /* `at` is set */
/* As it left, something that the other side had sent before lay here and was not taken yet. */
#define CLEW_MESSAGE_CROSSED 0x04

/* MESSAGE: a system call that moved bytes is over. `header.time` is its end. */
struct clew_message_record {
	struct clew_header header;
	__u64 socket; /* inode number of the task's own socket */
	__u64 at;     /* when the last of it left the machine's end, or came to it; TCP only */
	__u32 task;
	__u32 bytes;
};

CLEW_ASSERT_SIZE(struct clew_message_record, 40);
CLEW_ASSERT_LAYOUT(struct clew_message_record, task, 32);

#endif
