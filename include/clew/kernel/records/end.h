/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Records of what tasks slept on at the start and the stop of a recording, and when somebody had
 * slept for long, and of the processes that had the other ends open. See records.h.
 */
#ifndef CLEW_KERNEL_RECORDS_END_H
#define CLEW_KERNEL_RECORDS_END_H

#include <clew/kernel/records/header.h>

/* clew_header.flags of END */
#define CLEW_END_HOLDS 0x01 /* `task` has the end open; else it sleeps */
/* with HOLDS: the end is a listening socket, which `listener` names */
#define CLEW_END_LISTENS 0x02
/* PIPE: what the holder can do with the pipe, or what the sleeper needs somebody to do */
#define CLEW_END_READS	 0x04
#define CLEW_END_WRITES	 0x08
#define CLEW_END_ENDLESS 0x20 /* of a sleeper: its call has no timeout */
#define CLEW_END_STOP	 0x40 /* found by the pass at the stop; else by another one */
/* of a sleeper at a Unix socket: nobody but who has the other end can send to it or make room */
#define CLEW_END_PAIRED 0x80

/*
 * END: a task sleeps in the kernel, or a process has the other end open of what one sleeps on. Both
 * have the same object_kind, device and `end` then, and come from the same pass. A task that polls
 * several descriptors has a record for each, with `end` 0 where there is no other end to find. A
 * task that waits for a request to a FUSE daemon, by a path or by a descriptor that is closed
 * already, has FILE with device 0.
 */
struct clew_end {
	struct clew_header header;
	/* of a sleeper, as clew_wait.object has it; at a futex with ENDLESS the value that its word
	 * had */
	__u64 object;
	__u64 end;	/* a number of the other end: mostly its address in the kernel; 0 unknown */
	__u64 listener; /* the same for the socket at which the peer connects, 0 none */
	__u64 function; /* of a sleeper: an address in the function that it sleeps in, 0 unknown */
	__u32 task;	/* of a holder: the process's first thread, or one with files of its own */
	__u32 device;	/* FILE: of its file system, which a FUSE daemon serves; 0 unknown */
	__s32 descriptor; /* the task's own, -1 none */
	__u16 call;	  /* of a sleeper, as clew_wait.call has it */
	__u8 object_kind; /* PIPE, SOCKET, EVENTFD, FILE, or NONE of them */
	__u8 pass;	  /* differs from that of the pass before */
};

CLEW_ASSERT_SIZE(struct clew_end, 64);
CLEW_ASSERT_LAYOUT(struct clew_end, task, 48);
CLEW_ASSERT_LAYOUT(struct clew_end, object_kind, 62);

#endif
