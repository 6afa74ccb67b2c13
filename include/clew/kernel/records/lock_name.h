/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The owner of a kernel lock, sent when a task has contended for the lock and it was not sent
 * before. See records.h.
 */
#ifndef CLEW_KERNEL_RECORDS_LOCK_NAME_H
#define CLEW_KERNEL_RECORDS_LOCK_NAME_H

#include <clew/kernel/records/header.h>

/* clew_header.flags of LOCK_NAME: the member of a kernel structure that the lock is */
enum clew_lock_member {
	CLEW_LOCK_MEMBER_NONE = 0,	 /* what has this address now is not known */
	CLEW_LOCK_MEMBER_MMAP = 1,	 /* mm_struct.mmap_lock: `owner` */
	CLEW_LOCK_MEMBER_INODE = 2,	 /* inode.i_rwsem: `inode`, `device`, as of all below */
	CLEW_LOCK_MEMBER_INVALIDATE = 3, /* address_space.invalidate_lock */
	CLEW_LOCK_MEMBER_MAPPINGS = 4,	 /* address_space.i_mmap_rwsem */
	CLEW_LOCK_MEMBER_POSITION = 5,	 /* file.f_pos_lock */
	CLEW_LOCK_MEMBER_UNMOUNT = 6,	 /* super_block.s_umount: the root's inode */
	CLEW_LOCK_MEMBER_FREEZE = 7,	 /* super_block.s_writers: the root's inode */
	CLEW_LOCK_MEMBER_PIPE = 8,	 /* pipe_inode_info.mutex */
	CLEW_LOCK_MEMBER_COUNT = 9,
};

/* LOCK_NAME */
struct clew_lock_name {
	struct clew_header header;
	__u64 lock;
	__u64 inode;
	__u32 device;
	__u32 owner;   /* MMAP: global tgid of the process whose memory it is, 0 unknown */
	__u32 process; /* its serial: the builder fills it in, files have 0 */
	__u32 reserved;
};

CLEW_ASSERT_SIZE(struct clew_lock_name, 48);
CLEW_ASSERT_LAYOUT(struct clew_lock_name, device, 32);
CLEW_ASSERT_LAYOUT(struct clew_lock_name, process, 40);

#endif
