/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Records of file systems' journals: ext4, xfs, btrfs. See records.h.
 */
#ifndef CLEW_KERNEL_RECORDS_JOURNAL_H
#define CLEW_KERNEL_RECORDS_JOURNAL_H

#include <clew/kernel/records/header.h>

/* clew_header.flags of JOURNAL */
enum clew_journal_event {
	CLEW_JOURNAL_HANDLE = 0, /* `task` had a handle of the transaction open until now: `open` */
	CLEW_JOURNAL_AWAIT = 1,	 /* `task` syncs `inode` and awaits the transaction */
	CLEW_JOURNAL_COMMIT_BEGIN = 2,
	CLEW_JOURNAL_COMMIT_LOCKED = 3, /* no new handles; it waits for the open ones */
	CLEW_JOURNAL_COMMIT_FLUSH = 4,	/* there are none any more */
	CLEW_JOURNAL_COMMIT_END = 5,
	CLEW_JOURNAL_TOUCH = 6,	  /* `task` touched `block` within a handle: `unit` */
	CLEW_JOURNAL_PUSH = 7,	  /* xfs: `work` writes the checkpoint */
	CLEW_JOURNAL_FORCE = 8,	  /* `task` forces the log up to `value` */
	CLEW_JOURNAL_SPACE = 9,	  /* `task` waits for room in the log */
	CLEW_JOURNAL_IOCLOG = 10, /* `task` waits for a log buffer: `bio` */
};

/* JOURNAL */
struct clew_journal {
	struct clew_header header;
	__u64 transaction; /* ext4: transaction, xfs: checkpoint, btrfs: transaction; 0 none */
	__u64 inode;
	__u64 block; /* TOUCH: number in the file system, in units of `unit` bytes */
	union {
		__u64 value; /* FORCE: the log's sequence number */
		__u64 open;  /* HANDLE: for how long it was open, ns */
		__u64 unit;  /* TOUCH: bytes */
		__u64 work;  /* PUSH: the work item */
		__u64 bio;   /* IOCLOG: the bio that writes the log buffer */
	};
	__u32 device; /* of the file system */
	__u32 task;
};

CLEW_ASSERT_SIZE(struct clew_journal, 56);
CLEW_ASSERT_LAYOUT(struct clew_journal, value, 40);
CLEW_ASSERT_LAYOUT(struct clew_journal, device, 48);

#endif
