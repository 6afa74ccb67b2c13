/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the kernel side keeps in its maps and user space reads or writes there.
 * Unlike records.h it never reaches a file: both sides are always of one build.
 */
#ifndef CLEW_KERNEL_MAPS_H
#define CLEW_KERNEL_MAPS_H

#include <clew/kernel/records.h>

/* What the iterator does. */
enum clew_pass { CLEW_PASS_IDENTIFY = 1, CLEW_PASS_START = 2, CLEW_PASS_STOP = 3 };

/* The last wake of a task. Written under its pi_lock. */
struct clew_wake_stamp {
	__u64 time;
	__u64 object;
	__u32 waker;
	__u32 device;
	__s32 descriptor;
	__u16 call;
	__u8 context;
	__u8 flags;
	__u8 operation;
	__u8 object_kind;
	__u8 has_cause;
	__u8 reserved;
};

#define CLEW_TASK_STATE_SELF	0x01
#define CLEW_TASK_STATE_PID	0x02 /* matches -p or -t, itself or by descent */
#define CLEW_TASK_STATE_DETAIL	0x04 /* passes all filters but the cgroup's */
#define CLEW_TASK_STATE_NEW	0x08 /* was never on a CPU */
#define CLEW_TASK_STATE_PAUSED	0x10 /* `pause` is set */
#define CLEW_TASK_STATE_CALL	0x20 /* left the CPU within `call` */
#define CLEW_TASK_STATE_UNTOLD	0x40 /* its identity was lost */
#define CLEW_TASK_STATE_REFUSED 0x80 /* `file_lock` is set */

/* A call that writes to a file by way of iomap, which tells of it before it copies anything. */
struct clew_open_call {
	__u64 call; /* address of the kernel's struct kiocb, 0: none */
	__u64 data; /* and of its struct iov_iter */
	__u64 file;
	__u64 inode_address;
	__u64 inode;
	__u64 offset;
	__u64 bytes;
	__u32 device;
	__u32 task;
};

/*
 * Most tasks are cold when they are switched to or woken, and what that costs is cache lines. 8
 * bytes come before this in its line, of the slot or of the kernel's task storage: what each switch
 * and wake touches is in that one, what waits for descriptors and futexes touch besides in the
 * next.
 */
struct clew_task_state {
	struct clew_wake_stamp wake;
	__u64 request; /* the block request it is completing, 0 none */
	__u32 serial;
	__u8 flags;
	__u8 slept; /* the last switch-out was a sleep */
	__u8 class; /* enum clew_call_class of the call of the last wait */
	__u8 wakes; /* stamps since the last switch-out into a sleep, 2 for more than one */

	__u64 lock;	      /* the kernel lock it waits for, 0 none */
	__u64 first_argument; /* of the call of the last wait */
	__u64 second_argument;
	__u64 fault_frame; /* registers of the last fault taken in the kernel, on the task's stack
			    */
	__u64 file;	   /* what the fields below were read from */
	__u64 what;	   /* and what tells it from the next file at that address */
	__u64 object;
	__u32 device;
	__u16 call_after; /* of the last wait: the call's number and one more, CLEW_NO_CALL in no
			     call; 0 no wait yet */
	__u8 object_kind;
	__u8 reason; /* enum clew_wait_reason of what it is doing to memory */

	struct clew_cause cause; /* of the last wake, if it has one */
	__u64 pause; /* ns: writers are slowed down, and it is about to sleep that long */
	__u32 pause_device;
	__u32 lock_type; /* CLEW_LOCK_* */
	struct clew_wait
		wait; /* the last one in a call that may be begun again, for restart_syscall */
	__u64 lock_since;
	__u64 reclaim; /* the group whose memory it reclaims, 0 none or the machine's */
	__u64 fault_ip;
	__u32 lock_owner; /* global tid, 0 unknown */
	__u8 lock_slept;  /* it left the CPU while it waited for the lock */
	__u8 reserved[3];
	struct clew_open_call call;
	__u64 file_lock; /* its last request for a lock on a file that was refused; it may have
			    given up since */
	__u64 file_lock_range;	/* as the argument of CLEW_REASON_FILE_LOCK */
	__u32 file_lock_holder; /* the global tgid of who had it when it was refused, 0 unknown */
	__u32 reserved2;
	__u64 stored_at; /* the last address that it faulted to store to, as of when it last left a
			    CPU */
	__u64 stored_buffer; /* address of the last buffer that a store of its dirtied, by the file
				system's word */
	__u64 stored_faults; /* and how many faults were over then */
	__u64 fault_number;  /* how many were over when that of fault_frame was taken */
};

#define CLEW_TASK_SLOT_BITS  12 /* 2^12 slots at least */
#define CLEW_TASK_SLOT_TAKEN 1	/* no task's, but not free either: its state is being made */
struct clew_task_slot {
	__u64 task; /* what task_key() gives of the task whose state it is, 0 free */
	struct clew_task_state state;
} __attribute__((aligned(64)));

struct clew_count_row {
	__u64 seen;
	__u64 filtered;
	__u64 reserved;
	__u64 lost;
	__u64 missed;
};

/* What runs on a CPU at one level of interrupts, hard or soft. */
struct clew_level {
	struct clew_cause outer; /* the interrupt, softirq or inter-processor interrupt; kind NONE:
				    not told */
	struct clew_cause inner; /* the timer's callback, or the packet, that it is at */
	__u64 request;		 /* the block request that is being completed, 0 none */
};

/* Touches of a file that have not been told yet: more of the same make it longer. See struct
 * clew_extent. */
struct clew_open_extent {
	__u64 begin;
	__u64 inode; /* 0: none */
	__u64 offset;
	__u64 bytes; /* 0: all of it was taken back, and what comes next goes on there */
	__u32 device;
	__u32 task;
	__u32 generation; /* of the file: another task's touch, or a bio, ends the extent */
	__u32 last;	  /* the bytes at its end that a call's last copy wrote, 0 none */
	__u16 grown;	  /* how often, since the clock was looked at; 0: never */
	__u8 written;	  /* DIRTY: calls wrote just these bytes, and no other extent tells that */
	__u8 reserved[5];
};

#define CLEW_EXTENT_EVENTS 8

/* Pages of one file that one task made dirty on this CPU, as the last extents told. */
#define CLEW_DIRTIED_RANGES 4
struct clew_dirtied {
	__u64 inode; /* 0: none */
	__u32 device;
	__u32 task;
	__u32 generation; /* of the file: with another one some may be on their way */
	__u32 next;	  /* of the ranges, to be overwritten */
	__u64 again; /* where the last copy began that the open AGAIN extent has; its `last` tells
			how much it was */
	struct {
		__u64 from, to; /* bytes, whole pages */
	} ranges[CLEW_DIRTIED_RANGES];
};

/* clew_header.flags of the record that tells it. */
static inline __u8 clew_extent_flags(__u32 event, const struct clew_open_extent *open)
{
	if (event != CLEW_EXTENT_DIRTY)
		return (__u8)event;
	return open->written ? CLEW_EXTENT_DIRTY | CLEW_EXTENT_WRITTEN
	       : open->grown ? CLEW_EXTENT_DIRTY
			     : CLEW_EXTENT_DIRTY | CLEW_EXTENT_ONCE;
}

/* Handles of one transaction that a task had since it came on the CPU. See struct clew_journal. */
struct clew_open_handle {
	__u64 transaction;
	__u32 device; /* 0: none */
	__u32 task;
};

/*
 * A CPU's counters, and the two ends of its ring of switches. Those rings are ours:
 * the slots of all CPUs are one mapped array, `switch_slots` a CPU.
 * Only the CPU itself, in a switch or an interrupt (see `telling`), moves head, and only its drain
 * thread moves tail, each on a cache line of its own; head - tail never exceeds the slots.
 */
struct clew_cpu_state {
	struct clew_count_row counts[CLEW_KIND_COUNT];
	__u64 run_queue; /* address of this CPU's struct rq, 0 not found yet */
	__u32 lost;
	__u32 running;	   /* serial of the task that the last switch put on this CPU, 0 idle or not
			      known yet */
	__u32 running_pid; /* its tid: some kernels hide the switches of protected tasks from
			      programs, and then it is stale */
	__u32 switched;	   /* a switch was seen on this CPU */
	__u32 interrupted; /* `levels` may hold something */
	__u32 polled_interrupt; /* number of the last interrupt that had a network device polled */
	__u64 polled_action;	/* and the address of what handled it, 0 none is known */
	__u64 polled_device;	/* and that of the device, 0 none */
	__u64 last_to_poll;	/* see bpf/napi.h: as the interrupt began, 0 not known */
	__u64 packet;		/* see number_of_packet() */
	__u64 packet_received;	/* address of the one that the softirq here is at, 0 none */
	__u32 packet_actor;	/* the task by whose act that left, 0 none is known */
	__u32 packet_acknowledges; /* and whether it carries no data */
	__u64 packet_sent; /* address of the last one with data that was sent here by a socket, 0
			      none is known */
	__u64 packet_sent_what;	     /* what tells it from another one at that address */
	__u64 packet_sent_socket;    /* address of that socket */
	struct clew_level levels[2]; /* hard, soft */
	__u32 position;		     /* of head among the slots */
	__u32 open; /* bits of `extents` and, above them, `handle`, that may have something to tell
		     */
	__u32 touching;	     /* a program is at them */
	__u32 telling;	     /* an interrupt's program is at the next slot */
	__u64 called;	     /* when the drain was woken last */
	__u64 fault_address; /* of that store */
	__u64 spin; /* the spinlock that the task here waits for, 0 none: meanwhile it stays on this
		       CPU */
	__u64 spin_since;
	__u64 named; /* the inode whose path was looked at last: its address may be another's later
		      */
	__u32 named_generation;
	__u32 fault_task; /* tid of the last whose store faulted here */
	__u64 queueing;	  /* the bio that is being queued here: read back it is a number to the
			     verifier */
	struct clew_open_extent extents[CLEW_EXTENT_EVENTS];
	struct clew_dirtied dirtied;
	struct clew_open_handle handle;
	struct clew_open_call call; /* the latest of the task that runs here; it may be over */
	__u64 head __attribute__((aligned(64)));
	__u64 tail __attribute__((aligned(64)));
} __attribute__((aligned(64)));

#define CLEW_WHOLE_SOFT 0x80 /* with WHOLE: not a hard interrupt completes it but a softirq */

/* A WHOLE request as a slot holds it: one that an interrupt completes without error. */
struct clew_whole {
	struct clew_header header;
	__u64 request;
	__u64 sector;
	__u64 bio;
	__u64 allocated;
	__u64 queued;
	__u64 issued;
	__u64 inode;
	__u64 offset;
	__u32 bytes;
	__u32 device;
	__u32 operation;
	__u32 task;
	__u32 file_device;
	__u32 reserved;
};

/*
 * A slot: a SWITCH record as it goes to the file, or a request. With CLEW_SWITCH_CAUSE the slot
 * after it holds the cause: few records have one, and it must not make all larger.
 */
struct clew_switch_slot {
	union {
		struct {
			union {
				struct clew_switch change;
				struct clew_cause cause;
			};
			struct clew_wait wait; /* if the flag says so */
		};
		struct clew_whole whole;
	};
};

/*
 * Where a user-space probe finds its arguments, as the note beside it in the program's file says. A
 * site is one instruction of one file; its number is the probe's cookie.
 */
#define CLEW_SITES	    4096
#define CLEW_SITE_ARGUMENTS 6

enum clew_operand_kind {
	CLEW_OPERAND_NONE = 0,
	CLEW_OPERAND_CONSTANT = 1,
	CLEW_OPERAND_REGISTER = 2,
	CLEW_OPERAND_MEMORY = 3
};

struct clew_operand {
	__s64 value; /* the constant, or what is added to the register */
	__u16 base;  /* the register: offset in the kernel's struct pt_regs */
	__u8 kind;   /* enum clew_operand_kind */
	__u8 shift;  /* bits above the argument's own */
	__u8 is_signed;
	__u8 reserved[3];
};

struct clew_site {
	__u32 point; /* CLEW_POINT_*, or of a layer's description: CLEW_POINT_FIRST and up */
	__u32 reserved;
	struct clew_operand arguments[CLEW_SITE_ARGUMENTS];
};

enum clew_point_number { CLEW_POINT_BEGIN = 0, CLEW_POINT_END = 1, CLEW_POINT_FIRST = 2 };

/* What a layer's description wants of the arguments at its points: a number or a text, at the end
 * of a chain of reads. */
#define CLEW_POINTS	  254
#define CLEW_POINT_VALUES 6
#define CLEW_POINT_STEPS  3

struct clew_step {
	__s32 add;
	__u8 size; /* of what is then read there, bytes; 0: nothing is */
	__u8 is_signed;
	__u16 reserved;
};

struct clew_point_value {
	__u8 argument;
	__u8 is_text; /* what it ends at is the address of one */
	__u16 text_max;
	struct clew_step steps[CLEW_POINT_STEPS];
};

struct clew_point {
	__u32 count;
	struct clew_point_value values[CLEW_POINT_VALUES];
};

/* Environment variables that may be listed, and the bytes of a name with its '='. */
#define CLEW_ENVIRONMENT_NAMES 16
#define CLEW_ENVIRONMENT_NAME  64

CLEW_ASSERT_SIZE(struct clew_operand, 16);
CLEW_ASSERT_SIZE(struct clew_site, 104);
CLEW_ASSERT_SIZE(struct clew_wake_stamp, 40);
CLEW_ASSERT_LAYOUT(struct clew_task_state, lock, 64 - 8);
CLEW_ASSERT_LAYOUT(struct clew_task_state, cause, 128 - 8);
CLEW_ASSERT_LAYOUT(struct clew_task_slot, state, 8);
CLEW_ASSERT_LAYOUT(struct clew_cpu_state, head, 1984);
CLEW_ASSERT_LAYOUT(struct clew_cpu_state, tail, 2048);
CLEW_ASSERT_SIZE(struct clew_whole, 104);
CLEW_ASSERT_SIZE(struct clew_switch_slot, 104);

#endif
