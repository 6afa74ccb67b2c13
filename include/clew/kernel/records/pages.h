/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Records of the page cache: what tasks do with pages of files, which pages a bio carries, and what
 * the flusher writes back. See records.h.
 */
#ifndef CLEW_KERNEL_RECORDS_PAGES_H
#define CLEW_KERNEL_RECORDS_PAGES_H

#include <clew/kernel/records/header.h>

/* clew_header.flags of EXTENT */
enum clew_extent_event {
	CLEW_EXTENT_DIRTY = 0, /* its folios became dirty: an epoch of each page begins */
	/* a call wrote it: `task` is a writer of the newest open epoch of each page that has one */
	CLEW_EXTENT_WRITE = 1,
	CLEW_EXTENT_STORE = 2, /* stored to through a shared mapping; else as WRITE */
	CLEW_EXTENT_DROP = 3,  /* it left the page cache: its open epochs end unwritten */
	CLEW_EXTENT_ADD = 4,   /* it came into the page cache for a read that `task` asked for */
	/* `task` used what was in the page cache; 0 bytes: further uses of files in the same slot,
	   see clew_file_slot(), are not recorded until more is read in there */
	CLEW_EXTENT_USE = 5,
	/* a part of a folio that stays was cut out of the file: what was written to it before is
	   gone */
	CLEW_EXTENT_CLEAR = 6,
	/* calls wrote `bytes` in all, from `offset` on, to pages that `task` had dirtied just
	   before and that no bio took since */
	CLEW_EXTENT_AGAIN = 7,
	/* who commits or writes it back made it dirty again: `task` is no writer, and an epoch that
	   is open goes on */
	CLEW_EXTENT_REDIRTY = 8,
	CLEW_EXTENT_ZERO = 9, /* a call zeroed it, in pages that stay; else as WRITE */
};

/* With DIRTY: calls wrote just these bytes, which made each page dirty that has some of them. */
#define CLEW_EXTENT_WRITTEN 0x80
#define CLEW_EXTENT_ONCE    0x40 /* with DIRTY: one folio, at `begin` */
#define CLEW_EXTENT_DELETED 0x20 /* with DROP: the file has no name any more */
#define CLEW_EXTENT_EVICTED 0x40 /* with DROP: the task's group had reached its memory limit */
#define CLEW_EXTENT_LARGE   0x10 /* with DIRTY: of folios of several pages; not with WRITTEN */
#define CLEW_EXTENT_KIND    0x0f /* of the flags: enum clew_extent_event */

#define CLEW_EXTENT_AGE 16000000 /* ns */

/*
 * EXTENT: touches of one file by one task, all of one kind and each beginning where the one before
 * ended, between `begin` and about header.time. A CPU emits its open extents when a touch does not
 * continue one, when it switches tasks, and at a touch or an interrupt CLEW_EXTENT_AGE or more
 * after `begin`. Extents are in order by `begin`, not by header.time. For a helper thread of
 * io_uring `task` is the task that submitted.
 */
struct clew_extent {
	struct clew_header header;
	__u64 begin;
	__u64 inode;
	__u64 offset; /* bytes, as `bytes` */
	__u64 bytes;
	__u32 device; /* of the file system */
	__u32 task;   /* serial, 0 none (an interrupt) */
};

/* Files share CLEW_FILE_SLOTS counts of what was read in and used. A part of the file format. */
#define CLEW_FILE_SLOT_BITS 10
#define CLEW_FILE_SLOTS	    (1u << CLEW_FILE_SLOT_BITS)
static inline __u32 clew_file_slot(__u64 inode)
{
	return (__u32)(inode * 0x9e3779b97f4a7c15ULL >> (64 - CLEW_FILE_SLOT_BITS));
}

/* clew_header.flags of PAGES */
enum clew_pages_event {
	/* what a bio carries: after its QUEUE record, from the same CPU; one with `at` 0 comes
	 * first
	 */
	CLEW_PAGES_OF_BIO = 0,
	/* the file of another file system that a loop device's request is for: before its ISSUE
	   record */
	CLEW_PAGES_BACKING = 1,
};

/* PAGES: one range of one file */
struct clew_pages {
	struct clew_header header;
	union {
		__u64 bio;
		__u64 request; /* BACKING: the loop device's request */
	};
	__u64 inode;
	__u64 offset; /* in the file, bytes */
	__u32 bytes;
	__u32 at;     /* position in the bio, bytes */
	__u32 device; /* of the file system */
	__u32 reserved;
};

/* clew_header.flags of WRITEBACK */
enum clew_writeback_event {
	CLEW_WRITEBACK_QUEUE = 0,	/* `task` asks the flusher for `work` */
	CLEW_WRITEBACK_START = 1,	/* the flusher, `task`, begins with it */
	CLEW_WRITEBACK_END = 2,		/* and ends */
	CLEW_WRITEBACK_WAKE = 3,	/* `task` dirtied so much that the background pass begins */
	CLEW_WRITEBACK_INODE_BEGIN = 4, /* `task` begins to write `inode` */
	CLEW_WRITEBACK_INODE_END = 5,	/* pages: how many it wrote */
	CLEW_WRITEBACK_SYNC_ENTER = 6,	/* `task` begins to sync `inode`, until the call ends */
};

/* WRITEBACK */
struct clew_writeback {
	struct clew_header header;
	__u64 work; /* address of the flusher's order: its identity from QUEUE to END; 0 none */
	__u64 inode;
	__u64 pages;
	union {
		__u32 device; /* of the file system, 0 unknown */
		__u32 disk;   /* WAKE, and an order for all file systems of a disk */
	};
	__u32 task;
	__u16 reason; /* the kernel's enum wb_reason: 0 background, 1 memory, 2 sync, 3 periodic, ..
		       */
	union {
		__u8 sync;	/* it waits for what it writes */
		__u8 data_only; /* SYNC_ENTER: no metadata that is not needed to read the data */
	};
	__u8 for_sync;
	__u32 call; /* SYNC_ENTER: as clew_bio.call */
};

CLEW_ASSERT_SIZE(struct clew_extent, 56);
CLEW_ASSERT_LAYOUT(struct clew_extent, device, 48);
CLEW_ASSERT_SIZE(struct clew_pages, 56);
CLEW_ASSERT_LAYOUT(struct clew_pages, bytes, 40);
CLEW_ASSERT_SIZE(struct clew_writeback, 56);
CLEW_ASSERT_LAYOUT(struct clew_writeback, device, 40);
CLEW_ASSERT_LAYOUT(struct clew_writeback, sync, 50);

#endif
