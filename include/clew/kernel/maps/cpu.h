/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * State that the BPF programs keep for each CPU: counters, the interrupts that it is in, touches of
 * files that are not sent yet, and the ring of switches. See maps.h.
 */
#ifndef CLEW_KERNEL_MAPS_CPU_H
#define CLEW_KERNEL_MAPS_CPU_H

#include <clew/kernel/maps/task.h>

/* One kind of record on one CPU, see struct clew_ledger_row. */
struct clew_count_row {
	__u64 seen;
	__u64 filtered;
	__u64 reserved;
	__u64 lost;
	__u64 missed;
};

/* The handlers that run on a CPU at one level of interrupts, hard or soft. */
struct clew_level {
	/* the interrupt, softirq or inter-processor interrupt; kind NONE: unknown */
	struct clew_cause outer;
	struct clew_cause inner; /* the timer's callback or the packet that it handles */
	__u64 request;		 /* the block request that is being completed, 0 none */
};

/* Touches of a file that are not sent yet. More of the same extend it. See struct clew_extent. */
struct clew_open_extent {
	__u64 begin;
	__u64 inode; /* 0: none */
	__u64 offset;
	__u64 bytes; /* 0: all of it was undone, and what comes next continues there */
	__u32 device;
	__u32 task;
	__u32 generation; /* of the file: another task's touch, or a bio, ends the extent */
	__u32 last;	  /* the bytes at its end that a call's last copy wrote, 0 none */
	__u16 grown;	  /* how often since the clock was read; 0: never */
	/* DIRTY: calls wrote just these bytes, and no other extent has them; DROP: 0 or
	   CLEW_EXTENT_DELETED or CLEW_EXTENT_EVICTED */
	__u8 written;
	__u8 large; /* DIRTY: of folios of several pages, and not written */
	__u8 reserved[4];
};

#define CLEW_EXTENT_EVENTS 10

/* Pages of one file that one task dirtied on this CPU, as the last extents say. */
#define CLEW_DIRTIED_RANGES 4
struct clew_dirtied {
	__u64 inode; /* 0: none */
	__u32 device;
	__u32 task;
	__u32 generation; /* of the file: if it differs, some may be being written already */
	__u32 next;	  /* of the ranges, to be overwritten */
	/* where the last copy of the open AGAIN extent began; that extent's `last` is its size */
	__u64 again;
	struct {
		__u64 from, to; /* bytes, whole pages */
	} ranges[CLEW_DIRTIED_RANGES];
};

/* clew_header.flags of the record that an open extent becomes. */
static inline __u8 clew_extent_flags(__u32 event, const struct clew_open_extent *open)
{
	if (event == CLEW_EXTENT_DROP)
		return (__u8)(CLEW_EXTENT_DROP | open->written);
	if (event != CLEW_EXTENT_DIRTY)
		return (__u8)event;
	if (open->written)
		return CLEW_EXTENT_DIRTY | CLEW_EXTENT_WRITTEN;
	return (__u8)(CLEW_EXTENT_DIRTY | (open->grown ? 0 : CLEW_EXTENT_ONCE) |
		      (open->large ? CLEW_EXTENT_LARGE : 0));
}

/* Handles of one transaction that a task had since it came on the CPU. See struct clew_journal. */
struct clew_open_handle {
	__u64 transaction;
	__u32 device; /* 0: none */
	__u32 task;
};

/*
 * A CPU's counters, and the two ends of its ring of switches. These rings are clew's own: the slots
 * of all CPUs are one mapped array, `switch_slots` for each CPU. Only the CPU itself moves head, in
 * a switch or an interrupt (see `slot_busy`), and only its drain thread moves tail. Each has a
 * cache line of its own; head - tail never exceeds the number of slots.
 */
struct clew_cpu_state {
	struct clew_count_row counts[CLEW_KIND_COUNT];
	__u64 run_queue; /* address of this CPU's struct rq, 0 not found yet */
	__u32 lost;
	/* serial of the task that the last switch put on this CPU, 0 idle or not known yet */
	__u32 running;
	/* its tid. Some kernels hide the switches of protected tasks from programs: then it is
	   stale */
	__u32 running_pid;
	__u32 switched;		/* a switch was seen on this CPU */
	__u64 run_since;	/* when that was last, 0 never */
	__u32 interrupted;	/* `levels` may hold something */
	__u32 polled_interrupt; /* number of the last interrupt that had a network device polled */
	__u64 polled_action;	/* address of its handler, 0 unknown */
	__u64 polled_device;	/* address of that device, 0 unknown */
	__u64 last_to_poll;	/* see bpf/napi.h: as the interrupt began, 0 unknown */
	__u64 packet;		/* see number_of_packet() */
	__u64 packet_received;	/* address of the packet that the softirq here handles, 0 none */
	__u32 packet_actor;	/* the task whose act sent it, 0 unknown */
	__u32 packet_acknowledges; /* whether it carries no data */
	__u32 packet_late;	   /* whether it is an acknowledgement that was put off */
	__u32 packet_outside;	   /* whether it came from another host */
	/* address of the last packet with data that a socket sent here, 0 unknown */
	__u64 packet_sent;
	__u64 packet_sent_what;	     /* differs if another packet is at that address */
	__u64 packet_sent_socket;    /* address of that socket */
	struct clew_level levels[2]; /* hard, soft */
	__u32 position;		     /* of head among the slots */
	/* bits of `extents`, and above them of `handle`, that may have something to send */
	__u32 open;
	__u32 extents_busy;  /* a program works on them */
	__u32 slot_busy;     /* an interrupt's program fills the next slot */
	__u64 called;	     /* when the drain was woken last */
	__u64 fault_address; /* of the last store that faulted here */
	/* the spinlock that the task here waits for, 0 none: meanwhile it stays on this CPU */
	__u64 spin;
	__u64 spin_since;
	/* the inode whose path was looked up last; its address may be another's later */
	__u64 named;
	__u32 named_generation;
	__u32 fault_task; /* tid of the task whose store faulted last here */
	/* the bio that is being queued here: read back from here, it is a number to the verifier */
	__u64 queueing;
	struct clew_open_extent extents[CLEW_EXTENT_EVENTS];
	struct clew_dirtied dirtied;
	struct clew_open_handle handle;
	struct clew_open_call call; /* the latest of the task that runs here; it may be over */
	__u64 head __attribute__((aligned(64)));
	__u64 tail __attribute__((aligned(64)));
} __attribute__((aligned(64)));

#define CLEW_WHOLE_SOFT 0x80 /* with WHOLE: a softirq completes it, not a hard interrupt */

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

/* Each in a line of its own, however many kinds of records there are. */
_Static_assert(__builtin_offsetof(struct clew_cpu_state, head) % 64 == 0, "head");
_Static_assert(__builtin_offsetof(struct clew_cpu_state, tail) ==
		       __builtin_offsetof(struct clew_cpu_state, head) + 64,
	       "tail");
CLEW_ASSERT_SIZE(struct clew_whole, 104);
CLEW_ASSERT_SIZE(struct clew_switch_slot, 104);

#endif
