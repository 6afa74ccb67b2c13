/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Records of the block layer: bios and requests. See records.h.
 */
#ifndef CLEW_KERNEL_RECORDS_BLOCK_H
#define CLEW_KERNEL_RECORDS_BLOCK_H

#include <clew/kernel/records/header.h>

/* clew_header.flags of BIO */
enum clew_bio_event {
	/* `task` submits it; `parent`: the loop device's request that it is for, 0 none or unknown
	 */
	CLEW_BIO_QUEUE = 0,
	/* device and sector are the lower ones; from_device and from_sector are those above */
	CLEW_BIO_REMAP = 1,
	/* the part that goes ahead; `parent` is the whole, whose rest follows, sometimes with a
	   QUEUE of its own */
	CLEW_BIO_SPLIT = 2,
	CLEW_BIO_COMPLETE = 3, /* only of devices without requests */
	CLEW_BIO_MERGE = 4,    /* it became part of a waiting request */
};

#define CLEW_BIO_SWAP 0x80 /* with QUEUE: pages are swapped in or out with it */
#define CLEW_BIO_JOURNAL                                                                           \
	0x40 /* with QUEUE: it takes a block to the journal; the page stays dirty */
/* with JOURNAL: as the block was before the next transaction changed it */
#define CLEW_BIO_FROZEN 0x20
#define CLEW_BIO_KIND	0x1f /* of the flags: enum clew_bio_event */

/* BIO. Devices are whole disks; sectors of 512 bytes count from their start. */
struct clew_bio {
	struct clew_header header;
	__u64 bio; /* address: its identity until it ends */
	__u64 sector;
	__u64 from_sector;
	/* of the file whose page comes first in it, 0 none (or the caller's own memory) */
	__u64 inode;
	__u64 index; /* of that page in the file */
	__u64 parent;
	__u32 bytes;
	__u32 device;
	__u32 from_device;
	__u32 file_device;
	__u32 operation;  /* as in the kernel: the low 8 bits are the operation, then flags */
	__u32 task;	  /* serial, 0 none (an interrupt) */
	__u32 contiguous; /* its first bytes that are one range of the file from `index`; 0 unknown
			   */
	__u32 call;	  /* number of the system call that `task` is in, and 1; 0 none */
};

/* clew_header.flags of REQUEST */
enum clew_request_event {
	CLEW_REQUEST_ISSUE = 1, /* to the driver */
	CLEW_REQUEST_REQUEUE = 2,
	/* `bytes` of it; may come in parts, and twice for a flush and FUA write */
	CLEW_REQUEST_COMPLETE = 3,
	CLEW_REQUEST_MERGE = 4, /* it was merged into another one */
	/* direct I/O with one bio: one record, sent when it completes */
	CLEW_REQUEST_WHOLE = 8,
	/* `bio`, one of several of direct I/O: comes before the ISSUE record, from the same CPU */
	CLEW_REQUEST_PART = 9,
};

/* clew_request.offset: unknown */
#define CLEW_NO_OFFSET (~0ULL)

/* REQUEST */
struct clew_request {
	struct clew_header header;
	__u64 request; /* address: its identity until it is done */
	__u64 sector;
	__u64 bio;	 /* the first of its bios, 0 none */
	__u64 allocated; /* when it was allocated, 0 unknown; PART: equal to `queued` */
	__u32 bytes;
	__u32 device;
	__u32 operation; /* as in the kernel */
	union {
		__u32 task;	 /* the one in whose context the event was, 0 none */
		__u32 submitter; /* WHOLE, PART: the task that submitted it */
	};
	__s32 error;	 /* COMPLETE: status */
	__u32 context;	 /* enum clew_wake_context */
	__u32 bio_count; /* ISSUE: how many bios it has */
	/* WHOLE and PART only */
	__u32 file_device;
	__u64 queued;
	__u64 issued; /* PART: equal to `queued` */
	__u64 inode;  /* of the file that the direct I/O is on */
	__u64 offset; /* in that file, bytes; CLEW_NO_OFFSET unknown */
};

/*
 * LIMIT: the I/O limit of a cgroup held back this bio and now lets it go. Comes before the bio's
 * QUEUE record, from the same CPU; that record names no task.
 */
struct clew_limit {
	struct clew_header header;
	__u64 bio;
	__u64 cgroup;	 /* that the bio is charged to */
	__u64 limited;	 /* the only group that has a limit, this one or one above it; 0 unknown */
	__u32 submitter; /* global tid of the task that waits for the bio's direct I/O, 0 unknown */
	__u32 reserved;
};

CLEW_ASSERT_SIZE(struct clew_limit, 48);
CLEW_ASSERT_LAYOUT(struct clew_limit, submitter, 40);
CLEW_ASSERT_SIZE(struct clew_bio, 96);
CLEW_ASSERT_LAYOUT(struct clew_bio, bytes, 64);
CLEW_ASSERT_SIZE(struct clew_request, 112);
CLEW_ASSERT_LAYOUT(struct clew_request, task, 60);
CLEW_ASSERT_LAYOUT(struct clew_request, queued, 80);

#endif
