/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * State that the BPF programs keep for each task. See maps.h.
 */
#ifndef CLEW_KERNEL_MAPS_TASK_H
#define CLEW_KERNEL_MAPS_TASK_H

#include <clew/kernel/records.h>

/* The purpose of a run of the iterator. */
enum clew_pass {
	CLEW_PASS_IDENTIFY = 1,
	CLEW_PASS_START = 2,
	CLEW_PASS_STOP = 3,
	CLEW_PASS_AGAIN = 4, /* as at the start, for a file that is begun later */
};

/* The last wake of a task. Written by the waker, under the task's pi_lock. */
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
	__u8 wakes; /* since the task went to sleep, 2 for more than one; it writes the 0 itself */
};

/* clew_task_state.flags */
#define CLEW_TASK_STATE_SELF	 0x01  /* clew's own */
#define CLEW_TASK_STATE_PID	 0x02  /* matches -p or -t, itself or by descent */
#define CLEW_TASK_STATE_DETAIL	 0x04  /* passes all filters but the cgroup's */
#define CLEW_TASK_STATE_NEW	 0x08  /* was never on a CPU */
#define CLEW_TASK_STATE_PAUSED	 0x10  /* `pause` is set */
#define CLEW_TASK_STATE_CALL	 0x20  /* left the CPU within `call` */
#define CLEW_TASK_STATE_UNSENT	 0x40  /* its TASK record was lost */
#define CLEW_TASK_STATE_REFUSED	 0x80  /* `file_lock` is set */
#define CLEW_TASK_STATE_RELEASE	 0x100 /* a worker: it queues bios that an I/O limit held back */
#define CLEW_TASK_STATE_PRIORITY 0x200 /* `policy` and `priority` are not the usual ones */
#define CLEW_TASK_STATE_TAKER	 0x400 /* `file_lock_holder` is the thread that took the lock */
#define CLEW_TASK_STATE_MESSAGES 0x800 /* of the process `messages_of`, itself or by descent */

/* A call that writes to a file through iomap, whose tracepoint comes before anything is copied. */
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
 * Most tasks are cold when they are switched to or woken, and that costs cache lines. This struct
 * begins 8 bytes into its first line, both in a slot and in the kernel's task storage. Every switch
 * and wake uses the first line only; waits for descriptors and futexes use the second one as well.
 */
struct clew_task_state {
	struct clew_wake_stamp wake;
	/* when it went to sleep, in steps of 1,024 ns and never 0; 0: it does not sleep, or nobody
	   asks for stacks */
	__u32 asleep_since;
	__u8 completes; /* `request` is set */
	__u8 reserved[3];
	__u32 serial;
	__u16 flags;
	__u8 slept; /* the last switch-out was a sleep */
	__u8 class; /* enum clew_call_class of the call of the last wait */

	/* The second line. */
	__u64 lock;	      /* the kernel lock it waits for, 0 none */
	__u64 first_argument; /* of the call of the last wait */
	__u64 second_argument;
	/* registers of the last fault taken in the kernel, on the task's stack */
	__u64 fault_frame;
	__u64 file; /* the file that the members below were read from */
	__u64 what; /* differs if another file is at that address */
	__u64 object;
	__u32 device;
	/* the call's number of the last wait, and 1; CLEW_NO_CALL in no call, 0 no wait yet */
	__u16 call_after;
	__u8 object_kind;
	__u8 reason; /* enum clew_wait_reason of what it does to get memory */

	/* The third and further ones. */
	struct clew_cause cause; /* of the last wake, if it has one */
	__u64 pause; /* ns: writers are slowed down, and it is about to sleep that long */
	__u32 pause_device;
	__u32 lock_type; /* CLEW_LOCK_* */
	/* the last wait in a call that may be restarted, for restart_syscall */
	struct clew_wait wait;
	__u64 lock_since;
	__u64 reclaim; /* the group whose memory it reclaims, 0 none or the machine's */
	__u64 fault_ip;
	__u32 lock_owner;    /* global tid, 0 unknown */
	__u8 lock_slept;     /* it left the CPU while it waited for the lock */
	__u8 functions;	     /* a bit for each choice of processes by `-f PID:` that it is in */
	__u8 in_functions;   /* it was in a function that is recorded */
	__u8 functions_lost; /* its last FUNCTION record was lost, or its EXEC */
	struct clew_open_call call;
	/* its last request for a lock on a file that was refused; it may have given up since */
	__u64 file_lock;
	__u64 file_lock_range;	/* as clew_wait.file_lock */
	__u32 file_lock_holder; /* as clew_wait.lock_process, when it was refused */
	__u32 function_probe;	/* cookie of the last probe of a replacing link that it met */
	__u64 request;		/* the block request it is completing, if it is */
	/* the last address that it faulted on for a store, as of when it last left a CPU */
	__u64 stored_at;
	/* address of the last buffer that its stores dirtied, as the file system reported it */
	__u64 stored_buffer;
	__u64 stored_faults; /* how many faults were over then */
	__u64 fault_number;  /* how many were over when that of fault_frame was taken */
	__u64 reason_since;  /* when `reason` was set */
	__u64 memory_begin;  /* when it last began to make the memory of a process, 0 never */
	__u32 reason_faults; /* how many faults were over at either, modulo 2^32 */
	__u32 memory_faults;
	__u64 identified;     /* time of its last TASK record */
	__u32 identified_tid; /* the tid in it */
	__u8 policy;	      /* of its last PRIORITY record, 0 before the first */
	__u8 priority;
	__u8 functions_unread; /* clew_function_unread_texts may have some of its calls */
	__u8 looks;	       /* passes over sleepers that saw its last sleep, 2 for more */
	__u64 looked; /* the time of its last wake as of the last such pass that saw it asleep */
};

#define CLEW_TASK_SLOT_BITS  12 /* 2^12 slots at least */
#define CLEW_TASK_SLOT_TAKEN 1	/* no task has it, but it is not free: its state is being made */
struct clew_task_slot {
	__u64 task; /* task_key() of the task that has it, 0 free */
	struct clew_task_state state;
} __attribute__((aligned(64)));

CLEW_ASSERT_SIZE(struct clew_wake_stamp, 40);
CLEW_ASSERT_LAYOUT(struct clew_task_state, flags, 52);
CLEW_ASSERT_LAYOUT(struct clew_task_state, lock, 64 - 8);
CLEW_ASSERT_LAYOUT(struct clew_task_state, cause, 128 - 8);
CLEW_ASSERT_LAYOUT(struct clew_task_slot, state, 8);

#endif
