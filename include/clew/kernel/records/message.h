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
#define CLEW_MESSAGE_PLACED  0x08 /* `position`, `round_trip` and `resent` are set: TCP only */
#define CLEW_MESSAGE_OUTSIDE 0x10 /* the other side is on another host */
#define CLEW_MESSAGE_WINDOW  0x20 /* sent: the other side had no room for all of it */
#define CLEW_MESSAGE_QUERY   0x40 /* sent by UDP: it asks for a name, see `position` */

/* MESSAGE: a system call that moved bytes is over. `header.time` is its end. */
struct clew_message_record {
	struct clew_header header;
	__u64 socket; /* inode number of the task's own socket */
	__u64 at;     /* when the last of it left the machine's end, or came to it; TCP only */
	__u32 task;
	__u32 bytes;
	/* bytes that the connection had moved in this direction before them; QUERY: the hash of a
	   TEXT record with the name that it asks for */
	__u64 position;
	/* us, the shortest that TCP measured lately; 0 unknown. Its smoothed one has the other
	   side's thinking in it, where answers acknowledge questions. */
	__u32 round_trip;
	__u32 resent; /* segments that this end has sent again so far */
};

CLEW_ASSERT_SIZE(struct clew_message_record, 56);
CLEW_ASSERT_LAYOUT(struct clew_message_record, task, 32);

#endif
