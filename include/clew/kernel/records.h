/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The records that clew's BPF programs send and that a capture file stores.
 *
 * Every record opens with struct clew_header. All integers are little-endian,
 * all times CLOCK_MONOTONIC nanoseconds. A task is named by its serial, a
 * number of ours that is never reused; serial 0 is the idle task of a CPU or,
 * where a task is asked for, "unknown". Identities (task, file, socket, cgroup,
 * text) are sent once and referred to afterwards.
 *
 * The header is included from BPF and from user space: it uses only __u types.
 */
#ifndef CLEW_KERNEL_RECORDS_H
#define CLEW_KERNEL_RECORDS_H

#include <linux/types.h>

#define CLEW_COMM_SIZE	       16
#define CLEW_NSPID_LEVELS      8
#define CLEW_COMMAND_LINE_SIZE 256
#define CLEW_PATH_SIZE	       1024
#define CLEW_TEXT_SIZE	       256
#define CLEW_UNIX_PATH_SIZE    108
#define CLEW_ANNOUNCE_TEXT     512

/*
 * Telling an event takes 200 ns and more, reading the clock 20 to 40: what is below 128 is noise,
 * and would take up seven eighths of a byte of each time in a file. Times are whole steps of it,
 * rounded down, but for by how much a timer may be late, and readings of all three clocks.
 */
#define CLEW_CLOCK_STEP	 128
#define CLEW_CLOCK(time) ((time) & ~(CLEW_CLOCK_STEP - 1ULL))

/* Value of a call field where the task is in no system call. */
#define CLEW_NO_CALL 0xffff

#define CLEW_RECORD_KIND(NAME, name, number, ...) CLEW_KIND_##NAME = (number),
#define CLEW_LEDGER_KIND(NAME, name, number)	  CLEW_KIND_##NAME = (number),
enum clew_kind {
#include <clew/kernel/kinds.def>
};

/* Its size is the highest kind's number and one. */
#define CLEW_RECORD_KIND(NAME, name, number, ...) char name##_[(number) + 1];
#define CLEW_LEDGER_KIND(NAME, name, number)	  char name##_[(number) + 1];
union clew_kind_numbers {
#include <clew/kernel/kinds.def>
};
enum { CLEW_KIND_COUNT = sizeof(union clew_kind_numbers) };

/* Arrays and masks hold that many kinds. */
#define CLEW_KINDS_MAX 64
_Static_assert(CLEW_KIND_COUNT <= CLEW_KINDS_MAX, "too many kinds of records");

/* A kind's bit in a mask of kinds. The last bit stands for all kinds from there on. */
static inline __u64 clew_kind_bit(unsigned kind)
{
	return 1ULL << (kind < CLEW_KINDS_MAX ? kind : CLEW_KINDS_MAX - 1);
}

struct clew_header {
	__u64 time;
	__u32 lost; /* records this CPU has lost since the start, modulo 2^32 */
	__u16 cpu;
	__u8 kind;  /* enum clew_kind */
	__u8 flags; /* by kind */
};

/* clew_header.flags of SWITCH and STATE */
#define CLEW_SWITCH_PREEMPT 0x01 /* prev was made to go: it stays runnable */
#define CLEW_SWITCH_SLEEP   0x02 /* prev sleeps: a wait begins here */
#define CLEW_SWITCH_WAIT    0x04 /* a struct clew_wait follows */
#define CLEW_SWITCH_DEAD    0x08 /* prev will never run again */
#define CLEW_SWITCH_NEXT_SLEPT                                                                     \
	0x10 /* next's last switch-out was a sleep: the wake fields hold its last stamp */
#define CLEW_SWITCH_NEXT_NEW                                                                       \
	0x20 /* next never ran before: the wake fields hold its creator's stamp */
#define CLEW_SWITCH_CAUSE                                                                          \
	0x40 /* a struct clew_cause of the wake follows, after the clew_wait if there is one */
/* prev, still runnable, may not run: its group's CPU quota is used up; the clew_wait names the
 * group */
#define CLEW_SWITCH_THROTTLED 0x80
#define CLEW_STATE_DEAD	      0x01 /* STATE: the task has ended, nobody has asked for its status yet */
#define CLEW_STATE_LATE                                                                            \
	0x08 /* STATE: `next` came on this CPU some time since its last record, unseen; the wake   \
		fields are its last wake's */
#define CLEW_STATE_STOP                                                                            \
	0x40 /* STATE: found by the pass at the stop, else by the one at the start */
#define CLEW_STATE_RUNNABLE 0x80 /* STATE: the task was runnable or running */

/* clew_switch.wake_context, in the order of the tokens */
enum clew_wake_context {
	CLEW_WAKE_UNKNOWN = 0,
	CLEW_WAKE_TASK = 1,
	CLEW_WAKE_IRQ = 2,
	CLEW_WAKE_SOFTIRQ = 3,
	CLEW_WAKE_TIMER = 4,
	CLEW_WAKE_IPI = 5,
	CLEW_WAKE_WORK = 6,
};

/* clew_switch.wake_flags */
#define CLEW_WAKE_SIGNAL  0x01 /* the sleeper had a signal pending when it was woken */
#define CLEW_WAKE_EXITING 0x02 /* the waker was exiting */
#define CLEW_WAKE_COMPAT  0x04 /* the waker was in a 32-bit call */
#define CLEW_WAKE_PRIVATE 0x08 /* wake_operation is on a private futex */
#define CLEW_WAKE_STOPPED 0x10 /* the sleeper was stopped or traced: this continues it */
#define CLEW_WAKE_ENDED	  0x20 /* the waker had ended, and told so who waited for that */

/* clew_switch.wake_operation: what the waker did, if it was in futex(2) */
enum clew_wake_operation {
	CLEW_FUTEX_NOT = 0,
	CLEW_FUTEX_WAKE_ONE = 1,  /* FUTEX_WAKE of one waiter */
	CLEW_FUTEX_WAKE_MANY = 2, /* FUTEX_WAKE of more than one */
	CLEW_FUTEX_UNLOCK_PI = 3,
	CLEW_FUTEX_OTHER = 4, /* requeue, wake-op, ... */
	CLEW_FILE_UNLOCK = 5, /* no futex: it let go of the lock on a file that was in the way */
};

/* clew_wait.argument of CLEW_REASON_FILE_LOCK: others may have it at the same time */
#define CLEW_FILE_LOCK_SHARED 1ULL

/* What an object number means: clew_wait.object_kind and clew_switch.wake_object_kind */
enum clew_object_kind {
	CLEW_OBJECT_NONE = 0,
	CLEW_OBJECT_FILE = 1,	 /* object: inode number, device: of its file system */
	CLEW_OBJECT_PIPE = 2,	 /* object: inode number */
	CLEW_OBJECT_SOCKET = 3,	 /* object: inode number; addresses in a SOCKET record */
	CLEW_OBJECT_EVENTFD = 4, /* object: the eventfd-id of fdinfo */
	CLEW_OBJECT_TIMERFD = 5, /* object: the address of the open file */
	CLEW_OBJECT_SIGNALFD = 6,
	CLEW_OBJECT_INOTIFY = 7,
	CLEW_OBJECT_EPOLL = 8,
	CLEW_OBJECT_PIDFD = 9,
	CLEW_OBJECT_IO_URING = 10,  /* object: address of the instance */
	CLEW_OBJECT_TTY = 11,	    /* object: inode number, device: the terminal's */
	CLEW_OBJECT_DEVICE = 12,    /* any other character device; device: its number */
	CLEW_OBJECT_ANONYMOUS = 13, /* any other anonymous inode */
	CLEW_OBJECT_FUTEX = 14,	    /* object: user address */
	CLEW_OBJECT_PATH = 15,	    /* object: hash of a path argument, in a TEXT record */
	CLEW_OBJECT_CHILD = 16,	    /* object: the pid argument of the call, as int */
	CLEW_OBJECT_FUNCTION = 17,  /* object: a kernel address, named in a TEXT record */
	CLEW_OBJECT_IPC = 18,	    /* object: System V identifier */
	CLEW_OBJECT_LOCK = 19,	  /* object: address of a kernel lock; argument: its CLEW_LOCK_* */
	CLEW_OBJECT_CGROUP = 20,  /* object: id of a CGROUP record */
	CLEW_OBJECT_REQUEST = 21, /* object: address of the request; only where a wake names it */
	CLEW_OBJECT_TIMER = 22,	  /* object: its callback's address */
	CLEW_OBJECT_WORK = 23,	  /* object: its function's address */
	CLEW_OBJECT_MEMORY = 24,  /* object: the wait's reason, RECLAIM or COMPACTION; made by the
				     builder, never by BPF */
	CLEW_OBJECT_KIND_COUNT = 25,
};

/* Why the kernel lets a task wait, where that says more than its call: clew_wait.reason */
enum clew_wait_reason {
	CLEW_REASON_NONE = 0,
	CLEW_REASON_LOCK =
		1, /* a kernel lock: object LOCK; owner: the global tid of who had it, 0 unknown */
	CLEW_REASON_RECLAIM = 2,    /* it reclaims memory */
	CLEW_REASON_COMPACTION = 3, /* it compacts memory */
	CLEW_REASON_GROUP_RECLAIM =
		4, /* it reclaims memory of its group; `device` free, object CGROUP */
	CLEW_REASON_FUNCTION = 5, /* argument: address inside the kernel function it waits in, named
				     in a TEXT record */
	CLEW_REASON_QUOTA = 6,	  /* its group's CPU quota: object CGROUP */
	CLEW_REASON_DIRTY = 7,	  /* too much is dirty: object DEVICE, device: the disk it is dirty
				     for; argument: the pause in ns */
	CLEW_REASON_RUNTIME = 8, /* its own runtime, of SCHED_DEADLINE: object TIMER; argument: when
				    it gets more, 0 unknown */
	/* flock, fcntl: argument: a number of that lock, CLEW_FILE_LOCK_SHARED aside; owner: the
	   global tgid of who had it, 0 unknown */
	CLEW_REASON_FILE_LOCK = 9,
};

/* clew_wait.argument and clew_lock.type of a kernel lock: the bits of the kernel's
 * lock:contention_begin */
#define CLEW_LOCK_SPIN	 0x01
#define CLEW_LOCK_READ	 0x02
#define CLEW_LOCK_WRITE	 0x04
#define CLEW_LOCK_RT	 0x08
#define CLEW_LOCK_PERCPU 0x10
#define CLEW_LOCK_MUTEX	 0x20

/* Devices are numbered as the kernel does inside: major << 20 | minor. */
#define CLEW_DEVICE_MAJOR(device) ((device) >> 20)
#define CLEW_DEVICE_MINOR(device) ((device)&0xfffff)

/* clew_wait.futex_class: what the memory around the word looked like */
enum clew_futex_class {
	CLEW_FUTEX_CLASS_NONE = 0,  /* nothing that has a holder */
	CLEW_FUTEX_CLASS_MUTEX = 1, /* glibc mutex; owner: its tid, in the waiter's pid namespace */
	CLEW_FUTEX_CLASS_BUSY = 2,  /* a three-state lock word in use whose owner cannot be read */
	CLEW_FUTEX_CLASS_PI = 3,    /* PI futex; owner: the tid in the word */
	CLEW_FUTEX_CLASS_ROBUST = 4, /* robust mutex; owner: the tid in the word */
	CLEW_FUTEX_CLASS_RWLOCK = 5, /* glibc rwlock held by the writer `owner` */
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

/* clew_wait.futex_operation of a splice: the object is what it writes to */
#define CLEW_SPLICE_OUT 1

/* One sleep, known at its switch-out. */
struct clew_wait {
	__u64 object;
	__u64 argument; /* futex: expected value; PATH: second argument's hash or 0 */
	__u32 device;
	__u32 owner;	      /* futex: tid as read from the lock, 0 unknown */
	__s32 descriptor;     /* file descriptor argument of the call, -1 none */
	__u16 call;	      /* system call number, CLEW_NO_CALL none */
	__u8 object_kind;     /* enum clew_object_kind */
	__u8 futex_class;     /* enum clew_futex_class */
	__u8 futex_operation; /* low 8 bits of the operation, FUTEX_PRIVATE_FLAG included; of a
				 splice CLEW_SPLICE_OUT or 0 */
	__u8 flags;
	__u8 reason; /* enum clew_wait_reason */
	__u8 reserved;
	__u32 reserved2;
};

/* What a wake in no task's name, or on another's behalf, came from: clew_cause.kind */
enum clew_cause_kind {
	CLEW_CAUSE_NONE = 0,
	CLEW_CAUSE_IRQ = 1, /* object: number of the interrupt; TEXT CLEW_TEXT_IRQ | number has its
			       driver's name */
	CLEW_CAUSE_SOFTIRQ = 2, /* object: its vector, as in the kernel's enum */
	CLEW_CAUSE_TIMER = 3,	/* object: callback (a TEXT); expires; task armed it at `time`; task
				   0: by so much it might be late, ns */
	CLEW_CAUSE_IPI = 4,
	CLEW_CAUSE_REQUEST = 5, /* object: the request that is being completed */
	CLEW_CAUSE_PACKET =
		6,	    /* task sent at `time` what is being received; object: CLEW_PACKET_* */
	CLEW_CAUSE_BIO = 7, /* object: the bio that ends, where its device has no requests */
};

/* The data had to wait in the socket; that task was the last one seen to send by it before. */
#define CLEW_PACKET_WAITED 1

#define CLEW_TEXT_IRQ 0x1000000000000ULL
/* | number << 32 | serial of a process: the value of the environment variable that is `number`th in
 * the file's "environment"; "" unset */
#define CLEW_TEXT_ENVIRONMENT 0x2000000000000ULL
/* | uid: the name of a user of the machine */
#define CLEW_TEXT_USER 0x3000000000000ULL
/* | device: what the kernel calls a disk or a part of one, and in brackets what a mapping's maker
 * did */
#define CLEW_TEXT_DISK 0x4000000000000ULL

struct clew_cause {
	__u64 time;
	__u64 object;
	__u64 expires; /* TIMER: when it was due, CLOCK_MONOTONIC; 0 unknown or in another unit.
			  IRQ, SOFTIRQ: the request that ended last in it, 0 none */
	__u32 task;
	__u8 kind; /* enum clew_cause_kind */
	__u8 reserved[3];
};

/*
 * SWITCH: prev left the CPU, next came on it. The wake fields describe the last
 * wake of `next`. STATE: prev = next = the task; the wait (start) or the wake
 * fields (stop) are the task's own.
 */
struct clew_switch {
	struct clew_header header;
	__u64 wake_time;
	__u64 wake_object; /* by wake_object_kind: what made a poller ready; FUTEX: the waker's
			      address of a shared futex */
	__u32 prev;
	__u32 next;
	__u32 waker; /* serial of the task that ran the wake; a bystander if not in context task */
	__u32 wake_device;
	__s32 wake_descriptor; /* of the poller, -1 unknown */
	__u16 prev_state;      /* as the scheduler gave it */
	__u16 wake_call;       /* the waker's system call, CLEW_NO_CALL none */
	__u8 wake_context;
	__u8 wake_flags;
	__u8 wake_operation;
	__u8 wake_object_kind;
	__u32 reserved;
};

/* clew_task_record.task_flags */
#define CLEW_TASK_KTHREAD 0x01
#define CLEW_TASK_KWORKER 0x02
#define CLEW_TASK_SELF	  0x04 /* clew's own */
#define CLEW_TASK_DETAIL  0x08 /* passes the filter */
#define CLEW_TASK_COMPAT  0x10

struct clew_task_record {
	struct clew_header header;
	__u64 start_time; /* of the task, CLOCK_MONOTONIC */
	__u64 cgroup;	  /* id of a CGROUP record, 0 unknown */
	__u64 executable; /* inode number, 0 for a kernel thread */
	__u32 executable_device;
	__u32 task;
	__u32 process; /* serial of the thread group's leader, 0 unknown */
	__u32 parent;  /* serial of the creating or real parent, 0 unknown */
	__u32 tid;
	__u32 pid;
	__u32 user;
	__u32 pid_namespace;   /* inode number */
	__u32 mount_namespace; /* inode number */
	__u32 task_flags;
	__u32 nspid[CLEW_NSPID_LEVELS]; /* tid at each pid namespace level, initial first */
	__u16 nspid_count;
	__u16 command_line_size; /* bytes that follow; arguments end in NUL */
	__u32 reserved;
	char comm[CLEW_COMM_SIZE];
};

/*
 * FORK: task = parent, other = child. EXEC: task = before, other = after; they
 * differ where a thread that was not the leader took the leader's tid. EXIT:
 * task, value = exit code as the kernel keeps it.
 */
struct clew_life {
	struct clew_header header;
	__u32 task;
	__u32 other;
	__u64 value;
};

struct clew_rename {
	struct clew_header header;
	__u32 task;
	__u32 reserved;
	char comm[CLEW_COMM_SIZE];
};

/* clew_header.flags of FILE */
#define CLEW_FILE_DELETED   0x01
#define CLEW_FILE_TRUNCATED 0x02 /* the path lacks its first components */
#define CLEW_FILE_DIRECTORY 0x04

/* A character device is told by its own number, not by that of the file system of its name: no file
 * has such an inode there. */
#define CLEW_CHARACTER_INODE (1ull << 63)

/*
 * In the ring buffer the path is its components from the last to the first, each
 * ended by NUL; the drain turns them into the path that is stored.
 */
struct clew_file_record {
	struct clew_header header;
	__u64 inode;
	__u32 device;
	__u32 mount_namespace; /* of the task that used it */
	__u32 generation;      /* 24 bits of it, 0 none */
	__u16 path_size;
	__u16 reserved;
};

struct clew_socket_record {
	struct clew_header header;
	__u64 inode;
	__u64 peer; /* inode number of a Unix socket's peer, 0 unknown */
	__u16 family;
	__u16 type;
	__u16 local_port; /* host byte order */
	__u16 peer_port;
	__u8 local[16]; /* network byte order; IPv4 in the first four */
	__u8 remote[16];
	char local_path[CLEW_UNIX_PATH_SIZE]; /* abstract names begin with '@' */
	char peer_path[CLEW_UNIX_PATH_SIZE];
};

/* The path as for FILE. */
struct clew_cgroup_record {
	struct clew_header header;
	__u64 id;
	__u32 hierarchy; /* 0: the unified one */
	__u16 path_size;
	__u16 reserved;
};

struct clew_text_record {
	struct clew_header header;
	__u64 hash; /* what an object number refers to */
	__u16 text_size;
	__u16 reserved;
	__u32 reserved2;
};

/* clew_header.flags of WORK */
#define CLEW_WORK_UNSEEN  0x01 /* its queueing was not seen */
#define CLEW_WORK_RESCUER 0x02 /* a rescuer runs it: there was no memory for a worker */
#define CLEW_WORK_BARRIER                                                                          \
	0x04 /* it only tells a flusher that the items before it are done; cause.object: the       \
		flusher's global tid */

/*
 * At header.time `worker` began the item that was queued at `queued`: by `queuer`
 * in task context; else `cause` tells what queued it (a delayed work's timer with
 * who armed it; a request's completion ...).
 */
struct clew_work {
	struct clew_header header;
	__u64 work;	/* address, its identity until it is queued again */
	__u64 function; /* a TEXT */
	__u64 queued;	/* 0 unknown */
	__u32 worker;
	__u32 queuer; /* serial, 0 none or unknown */
	struct clew_cause cause;
	__u8 context; /* enum clew_wake_context in which it was queued */
	__u8 reserved[7];
};

/* clew_header.flags of BIO */
enum clew_bio_event {
	CLEW_BIO_QUEUE = 0, /* `task` submits it; `parent`: the loop device's request that it is
			       for, 0 none or unknown */
	CLEW_BIO_REMAP =
		1, /* device and sector are the lower ones; from_device, from_sector those above */
	CLEW_BIO_SPLIT = 2, /* the part that goes ahead; `parent` is the whole, whose rest follows,
			       some with its own QUEUE */
	CLEW_BIO_COMPLETE = 3, /* only of devices without requests */
	CLEW_BIO_MERGE = 4,    /* it became part of a waiting request */
};

#define CLEW_BIO_SWAP 0x80 /* with QUEUE: pages are swapped in or out with it */

/* Devices are whole disks, sectors of 512 bytes count from their start. */
struct clew_bio {
	struct clew_header header;
	__u64 bio; /* address: its identity until it ends */
	__u64 sector;
	__u64 from_sector;
	__u64 inode; /* of the file whose page comes first in it, 0 none (or the caller's own
			memory) */
	__u64 index; /* of that page in the file */
	__u64 parent;
	__u32 bytes;
	__u32 device;
	__u32 from_device;
	__u32 file_device;
	__u32 operation;  /* as in the kernel: low 8 bits what, above them flags */
	__u32 task;	  /* serial, 0 none (an interrupt) */
	__u32 contiguous; /* so many of its bytes, from the first, are one stretch of the file from
			     `index`; 0 unknown */
	__u32 call;	  /* number of the system call that `task` is in, and 1; 0 none */
};

/* clew_header.flags of REQUEST */
enum clew_request_event {
	CLEW_REQUEST_ISSUE = 1, /* to the driver */
	CLEW_REQUEST_REQUEUE = 2,
	CLEW_REQUEST_COMPLETE =
		3, /* `bytes` of it; may come in parts, and twice for a flush and FUA write */
	CLEW_REQUEST_MERGE = 4, /* it goes up in another one */
	CLEW_REQUEST_WHOLE =
		8, /* all of one that is of direct I/O and has one bio, told when it completes */
	CLEW_REQUEST_PART = 9, /* `bio`, one of several and of direct I/O: before the ISSUE record,
				  and from the same CPU */
};

struct clew_request {
	struct clew_header header;
	__u64 request; /* address: its identity until it is done */
	__u64 sector;
	__u64 bio;	 /* the first of its bios, 0 none */
	__u64 allocated; /* when it was made, 0 unknown; PART: as `queued`, and so is `issued` */
	__u32 bytes;
	__u32 device;
	__u32 operation; /* as in the kernel */
	__u32 task;	 /* in whose context, 0 none; WHOLE and PART: who submitted it */
	__s32 error;	 /* COMPLETE: status */
	__u32 context;	 /* enum clew_wake_context */
	__u32 bio_count; /* ISSUE: how many bios are in it */
	/* WHOLE and PART only */
	__u32 file_device;
	__u64 queued;
	__u64 issued;
	__u64 inode;  /* of the file that the direct I/O is on */
	__u64 offset; /* in that file, bytes; CLEW_NO_OFFSET unknown */
};

/* From `begin` to header.time `task` waited for a kernel lock without leaving the CPU. */
struct clew_lock {
	struct clew_header header;
	__u64 begin;
	__u64 lock;
	__u32 task;
	__u32 owner; /* global tid, 0 unknown */
	__u32 type;  /* CLEW_LOCK_* */
	__u32 reserved;
};

/* clew_header.flags of RING */
#define CLEW_RING_SUBMIT   0x00
#define CLEW_RING_COMPLETE 0x01
#define CLEW_RING_WORKER   0x02 /* handed to a worker of the ring, `task` submitted it */

struct clew_ring {
	struct clew_header header;
	__u64 ring; /* address of the instance, as the object of waits for it */
	__u64 user_data;
	__u64 request; /* address of the kernel's request: the same from submission to completion */
	__u32 task;    /* in whose context */
	__u32 operation; /* IORING_OP_* */
};

/* clew_header.flags of REFILL */
#define CLEW_REFILL_ENOUGH 0x01 /* something was left over: all that waited for it may run */

/* The period timer of a group's CPU quota ran. */
struct clew_refill {
	struct clew_header header;
	__u64 cgroup;
};

/* clew_header.flags of EXTENT */
enum clew_extent_event {
	CLEW_EXTENT_DIRTY = 0, /* its folios became dirty: an epoch of each page opens */
	CLEW_EXTENT_WRITE = 1, /* a call wrote it: `task` joins the newest open epoch of each page;
				  a page with none: nothing */
	CLEW_EXTENT_STORE = 2, /* stored to through a shared mapping: as WRITE */
	CLEW_EXTENT_DROP = 3,  /* it left the page cache: its open epochs end unwritten */
	CLEW_EXTENT_ADD = 4,   /* it came into the page cache for a read that `task` asked for */
	CLEW_EXTENT_USE = 5,   /* `task` used what was in the page cache */
	CLEW_EXTENT_CLEAR = 6, /* a part of a folio that stays, cut out of the file: what was
				  written to it before is gone */
	/* calls wrote `bytes` in all, from `offset` on, to pages that `task` had made dirty just
	   before and nothing took along since */
	CLEW_EXTENT_AGAIN = 7,
};

#define CLEW_EXTENT_WRITTEN                                                                        \
	0x80 /* with DIRTY: calls wrote just these bytes, which made each page dirty that has some \
		of them */
#define CLEW_EXTENT_ONCE 0x40 /* with DIRTY: one folio, at `begin` */

#define CLEW_EXTENT_AGE 16000000 /* ns */

/*
 * Touches of one file by one task, of one kind and each where the one before
 * ended, between `begin` and header.time or shortly before it: a CPU tells them
 * when the row breaks, when it switches tasks, and at a touch or an interrupt
 * CLEW_EXTENT_AGE or more after `begin`. They are in order by `begin`, not by
 * header.time. Of a helper of io_uring, `task` is who submitted.
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

/* clew_header.flags of PAGES */
enum clew_pages_event {
	CLEW_PAGES_OF_BIO = 0,	/* what a bio carries, after its QUEUE record and from the same CPU;
				   `at` 0: all that it carries first */
	CLEW_PAGES_BACKING = 1, /* what file of another file system the loop device's request `bio`
				   is for, before its ISSUE record */
};

/* One stretch of one file. */
struct clew_pages {
	struct clew_header header;
	__u64 bio; /* BACKING: the loop device's request */
	__u64 inode;
	__u64 offset; /* in the file, bytes */
	__u32 bytes;
	__u32 at;     /* position in the bio, bytes */
	__u32 device; /* of the file system */
	__u32 reserved;
};

/* clew_header.flags of WRITEBACK */
enum clew_writeback_event {
	CLEW_WRITEBACK_QUEUE = 0, /* `task` asks the flusher for `work` */
	CLEW_WRITEBACK_START = 1, /* the flusher, `task`, begins with it */
	CLEW_WRITEBACK_END = 2,	  /* and ends */
	CLEW_WRITEBACK_WAKE = 3,  /* `task` dirtied so much that the background pass is begun */
	CLEW_WRITEBACK_INODE_BEGIN = 4, /* `task` begins to write `inode` */
	CLEW_WRITEBACK_INODE_END = 5,	/* pages: how many it wrote */
	CLEW_WRITEBACK_SYNC_ENTER = 6,	/* `task` begins to sync `inode`, in a call that ends it */
};

struct clew_writeback {
	struct clew_header header;
	__u64 work; /* address of the flusher's order: its identity from QUEUE to END; 0 none */
	__u64 inode;
	__u64 pages;
	__u32 device; /* of the file system; of an order for all of them, and of WAKE: the disk; 0
			 unknown */
	__u32 task;
	__u16 reason; /* enum wb_reason of the kernel: 0 background, 1 memory, 2 sync, 3 periodic,
			 ... */
	__u8 sync;    /* it waits for what it writes; SYNC_ENTER: data only */
	__u8 for_sync;
	__u32 call; /* of SYNC_ENTER, as clew_bio.call */
};

/* clew_header.flags of JOURNAL */
enum clew_journal_event {
	CLEW_JOURNAL_HANDLE = 0, /* `task` had a handle of the transaction open until now; value:
				    for how many ns */
	CLEW_JOURNAL_AWAIT = 1,	 /* `task` syncs `inode` and awaits the transaction */
	CLEW_JOURNAL_COMMIT_BEGIN = 2,
	CLEW_JOURNAL_COMMIT_LOCKED = 3, /* it takes no more handles and waits for the open ones */
	CLEW_JOURNAL_COMMIT_FLUSH = 4,	/* there are none any more */
	CLEW_JOURNAL_COMMIT_END = 5,
	CLEW_JOURNAL_TOUCH = 6,	  /* `block` was touched by `task` within a handle */
	CLEW_JOURNAL_PUSH = 7,	  /* xfs: the checkpoint is written by work item `value` */
	CLEW_JOURNAL_FORCE = 8,	  /* `task` forces the log up to `value` */
	CLEW_JOURNAL_SPACE = 9,	  /* `task` waits for room in the log */
	CLEW_JOURNAL_IOCLOG = 10, /* `task` waits for the log buffer `value` */
};

struct clew_journal {
	struct clew_header header;
	__u64 transaction; /* ext4: transaction, xfs: checkpoint, btrfs: transaction; 0 none */
	__u64 inode;
	__u64 block; /* TOUCH: number in the file system, in units of `value` bytes */
	__u64 value;
	__u32 device; /* of the file system */
	__u32 task;
};

/* A program told what it does, by the probes of clew/announce.h. `size` bytes follow: interface,
 * operation, TYPE=VALUE .., each ended by NUL. */
struct clew_announce {
	struct clew_header header;
	__u64 token; /* of the program: joins an end to its begin */
	__u32 task;
	__u16 size;
	__u8 event; /* 0 begin, 1 end */
	__u8 reserved;
};

/* header.flags of struct clew_gap: made by the capture file's reader; the records were stored, but
 * the file lacks them. */
#define CLEW_GAP_IN_FILE   0x01
#define CLEW_GAP_UNCOUNTED (~0ULL) /* its `count`: nobody knows how many, if any */

/* Between the records at `from` and at header.time this CPU lost `count` records. */
struct clew_gap {
	struct clew_header header;
	__u64 from;
	__u64 count;
};

/* clew_request.offset: unknown */
#define CLEW_NO_OFFSET (~0ULL)

#define CLEW_ASSERT_LAYOUT(type, member, offset)                                                   \
	_Static_assert(__builtin_offsetof(type, member) == (offset), #type "." #member)
#define CLEW_ASSERT_SIZE(type, size) _Static_assert(sizeof(type) == (size), #type)

CLEW_ASSERT_SIZE(struct clew_header, 16);
CLEW_ASSERT_SIZE(struct clew_wait, 40);
CLEW_ASSERT_LAYOUT(struct clew_wait, call, 28);
CLEW_ASSERT_SIZE(struct clew_switch, 64);
CLEW_ASSERT_LAYOUT(struct clew_switch, prev_state, 52);
CLEW_ASSERT_SIZE(struct clew_task_record, 136);
CLEW_ASSERT_LAYOUT(struct clew_task_record, comm, 120);
CLEW_ASSERT_SIZE(struct clew_life, 32);
CLEW_ASSERT_SIZE(struct clew_rename, 40);
CLEW_ASSERT_SIZE(struct clew_file_record, 40);
CLEW_ASSERT_SIZE(struct clew_socket_record, 288);
CLEW_ASSERT_SIZE(struct clew_cgroup_record, 32);
CLEW_ASSERT_SIZE(struct clew_text_record, 32);
CLEW_ASSERT_SIZE(struct clew_gap, 32);
CLEW_ASSERT_SIZE(struct clew_cause, 32);
CLEW_ASSERT_SIZE(struct clew_work, 88);
CLEW_ASSERT_SIZE(struct clew_bio, 96);
CLEW_ASSERT_SIZE(struct clew_request, 112);
CLEW_ASSERT_SIZE(struct clew_lock, 48);
CLEW_ASSERT_SIZE(struct clew_ring, 48);
CLEW_ASSERT_SIZE(struct clew_refill, 24);
CLEW_ASSERT_SIZE(struct clew_extent, 56);
CLEW_ASSERT_SIZE(struct clew_pages, 56);
CLEW_ASSERT_SIZE(struct clew_writeback, 56);
CLEW_ASSERT_SIZE(struct clew_journal, 56);
CLEW_ASSERT_SIZE(struct clew_announce, 32);
CLEW_ASSERT_LAYOUT(struct clew_wait, reason, 34);

#endif
