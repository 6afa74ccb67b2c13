/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A wait of a task: the object, the call, and what the kernel says besides. See records.h.
 */
#ifndef CLEW_KERNEL_RECORDS_WAIT_H
#define CLEW_KERNEL_RECORDS_WAIT_H

#include <clew/kernel/records/header.h>

/* The meaning of an object number: clew_wait.object_kind and clew_switch.wake_object_kind */
enum clew_object_kind {
	CLEW_OBJECT_NONE = 0,
	CLEW_OBJECT_FILE = 1,	 /* object: inode number; device: of its file system */
	CLEW_OBJECT_PIPE = 2,	 /* object: inode number */
	CLEW_OBJECT_SOCKET = 3,	 /* object: inode number; addresses are in a SOCKET record */
	CLEW_OBJECT_EVENTFD = 4, /* object: the eventfd-id of fdinfo */
	CLEW_OBJECT_TIMERFD = 5, /* object: the address of the open file */
	CLEW_OBJECT_SIGNALFD = 6,
	CLEW_OBJECT_INOTIFY = 7,
	CLEW_OBJECT_EPOLL = 8,
	CLEW_OBJECT_PIDFD = 9,
	CLEW_OBJECT_IO_URING = 10,  /* object: address of the instance */
	CLEW_OBJECT_TTY = 11,	    /* object: inode number; device: the terminal's */
	CLEW_OBJECT_DEVICE = 12,    /* any other character device; device: its number */
	CLEW_OBJECT_ANONYMOUS = 13, /* any other anonymous inode */
	CLEW_OBJECT_FUTEX = 14,	    /* object: user address */
	CLEW_OBJECT_PATH = 15,	    /* object: hash of a path argument; the TEXT record has it */
	CLEW_OBJECT_CHILD = 16,	    /* object: the pid argument of the call, as int */
	CLEW_OBJECT_FUNCTION = 17,  /* object: a kernel address, named in a TEXT record */
	CLEW_OBJECT_IPC = 18,	    /* object: System V identifier */
	CLEW_OBJECT_LOCK = 19,	    /* object: address of a kernel lock; lock_type is set */
	CLEW_OBJECT_CGROUP = 20,    /* object: id of a CGROUP record */
	CLEW_OBJECT_REQUEST = 21,   /* object: address of the request; only in a wake */
	CLEW_OBJECT_TIMER = 22,	    /* object: address of its callback */
	CLEW_OBJECT_WORK = 23,	    /* object: address of its function */
	/* object: the reason of the wait, RECLAIM or COMPACTION. The builder makes it, not BPF. */
	CLEW_OBJECT_MEMORY = 24,
	CLEW_OBJECT_KIND_COUNT = 25,
};

/* Why the kernel lets a task wait, where that says more than its call: clew_wait.reason */
enum clew_wait_reason {
	CLEW_REASON_NONE = 0,
	CLEW_REASON_LOCK = 1,	    /* a kernel lock: object LOCK, lock_type, lock_owner */
	CLEW_REASON_RECLAIM = 2,    /* it reclaims memory */
	CLEW_REASON_COMPACTION = 3, /* it compacts memory */
	/* It reclaims memory of its group: object CGROUP if nothing else is the object. */
	CLEW_REASON_GROUP_RECLAIM = 4,
	CLEW_REASON_FUNCTION = 5, /* it waits in a kernel function: `function` */
	CLEW_REASON_QUOTA = 6,	  /* its group's CPU quota is used up: object CGROUP */
	/* Too much is dirty: object DEVICE, device: the disk it is dirty for; `pause` */
	CLEW_REASON_DIRTY = 7,
	/* Its own SCHED_DEADLINE runtime is used up: object TIMER; `refilled` */
	CLEW_REASON_RUNTIME = 8,
	CLEW_REASON_FILE_LOCK = 9, /* flock or fcntl: `file_lock`, `lock_process` */
	CLEW_REASON_FROZEN = 10,   /* its group is frozen, by version 2; the call is to go on */
};

/* The types of a kernel lock: the bits of the kernel's lock:contention_begin */
#define CLEW_LOCK_SPIN	 0x01
#define CLEW_LOCK_READ	 0x02
#define CLEW_LOCK_WRITE	 0x04
#define CLEW_LOCK_RT	 0x08
#define CLEW_LOCK_PERCPU 0x10
#define CLEW_LOCK_MUTEX	 0x20

/* In clew_wait.file_lock: others may hold the lock at the same time. */
#define CLEW_FILE_LOCK_SHARED 1ULL

/* clew_wait.futex_class: what the memory around the futex word looked like */
enum clew_futex_class {
	CLEW_FUTEX_CLASS_NONE = 0,   /* nothing that has a holder */
	CLEW_FUTEX_CLASS_MUTEX = 1,  /* glibc mutex; owner: its tid, in its own pid namespace */
	CLEW_FUTEX_CLASS_BUSY = 2,   /* a three-state lock word in use whose owner cannot be read */
	CLEW_FUTEX_CLASS_PI = 3,     /* PI futex; owner: the tid in the word */
	CLEW_FUTEX_CLASS_ROBUST = 4, /* robust mutex; owner: the tid in the word */
	CLEW_FUTEX_CLASS_RWLOCK = 5, /* glibc rwlock held by the writer `owner` */
	/* a word that counts readers, or says that a writer is there, and that somebody waits */
	CLEW_FUTEX_CLASS_READERS = 6,
	CLEW_FUTEX_CLASS_WRITERS = 7, /* the word after such a one, on which writers wait */
};

/* clew_wait.flags */
#define CLEW_WAIT_FLAG_SAME_CALL 0x01 /* the task was not in user mode since its last wait */
#define CLEW_WAIT_FLAG_FAULT	 0x02 /* in a page fault, inside `call` or outside any */
#define CLEW_WAIT_FLAG_COMPAT	 0x04 /* a 32-bit call; `call` has the 64-bit number */
#define CLEW_WAIT_FLAG_RESTARTED 0x08 /* in restart_syscall; `call` is the original */
#define CLEW_WAIT_FLAG_IOWAIT	 0x10 /* the kernel counts it as waiting for I/O */
#define CLEW_WAIT_FLAG_DETAIL	 0x20 /* the task passes the filter: the object was looked up */
#define CLEW_WAIT_FLAG_KTHREAD	 0x40 /* a kernel thread */
#define CLEW_WAIT_FLAG_VFORK	 0x80 /* a clone that waits for the child to exec or exit */
/* the task was not in user mode since it last came on a CPU */
#define CLEW_WAIT_FLAG_STAYED  0x100
#define CLEW_WAIT_FLAG_COUNTED 0x200 /* `faults` is set */
/* the program that would have said why the kernel makes the task wait was refused */
#define CLEW_WAIT_FLAG_UNSEEN 0x400

/* `lock_process` is the thread that took the lock */
#define CLEW_WAIT_FLAG_TAKER 0x800

/* clew_wait.splice_side: the object is the one that is written to. */
#define CLEW_SPLICE_OUT 1

/* clew_wait.asked: it is not known when */
#define CLEW_ASKED_SOMETIME 1ULL

/* One sleep, as known when the task leaves its CPU. */
struct clew_wait {
	__u64 object;
	union {
		__u64 argument;
		__u64 expected;	 /* futex: the value waited on */
		__u64 path;	 /* PATH: hash of the second path argument, or 0 */
		__u64 lock_type; /* LOCK: CLEW_LOCK_* */
		__u64 function;	 /* FUNCTION: an address in it, named in a TEXT record */
		__u64 pause;	 /* DIRTY: for how long it is to sleep, ns */
		__u64 refilled;	 /* RUNTIME: when it gets more, 0 unknown */
		/* FILE_LOCK: a number that waits for the same lock share; CLEW_FILE_LOCK_SHARED */
		__u64 file_lock;
		/* SOCKET, without a reason: when the question left that is open there, ns, or
		   CLEW_ASKED_SOMETIME; 0: none is known to be */
		__u64 asked;
	};
	__u32 device;
	union {
		__u32 owner;	  /* futex: tid as read from the lock, 0 unknown */
		__u32 lock_owner; /* LOCK: global tid of the holder, 0 unknown */
		/* FILE_LOCK: global tgid of the holder, 0 unknown; or CLEW_WAIT_FLAG_TAKER */
		__u32 lock_process;
		/* SOCKET, without a reason, where `asked` is set or the call connects: the other
		   end is on another host, this far away: the shortest round trip in us, + 1; 1: it
		   is not known how far. 0: it is on this host, or it is not known where. */
		__u32 away;
	};
	__s32 descriptor; /* file descriptor argument of the call, -1 none */
	__u16 call;	  /* system call number (call_numbers.h), CLEW_NO_CALL none */
	__u8 object_kind; /* enum clew_object_kind */
	__u8 futex_class; /* enum clew_futex_class */
	union {
		__u8 futex_operation; /* the low 8 bits, FUTEX_PRIVATE_FLAG included */
		__u8 splice_side;     /* of a splice: CLEW_SPLICE_OUT or 0 */
	};
	__u8 reason; /* enum clew_wait_reason */
	__u16 flags;
	__u32 faults; /* page faults of the task that were over, modulo 2^32 */
};

CLEW_ASSERT_SIZE(struct clew_wait, 40);
CLEW_ASSERT_LAYOUT(struct clew_wait, argument, 8);
CLEW_ASSERT_LAYOUT(struct clew_wait, owner, 20);
CLEW_ASSERT_LAYOUT(struct clew_wait, call, 28);
CLEW_ASSERT_LAYOUT(struct clew_wait, futex_operation, 32);
CLEW_ASSERT_LAYOUT(struct clew_wait, flags, 34);
CLEW_ASSERT_LAYOUT(struct clew_wait, faults, 36);

#endif
