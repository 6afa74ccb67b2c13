/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Findings: what the builder concludes from records, as a stream of tagged values
 * that several takers can receive side by side.
 *
 * Times are in ns of CLOCK_MONOTONIC, sizes and offsets in bytes, sectors in units
 * of 512 bytes. A task is named by its serial. A finding, and all that it points to,
 * belongs to its producer and is valid during the call only: a taker copies what it
 * keeps.
 */
#ifndef CLEW_BUILDER_FINDINGS_H
#define CLEW_BUILDER_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <clew/kernel/records.h>
#include <clew/tokens.h>

#define CLEW_TIME_OPEN	UINT64_MAX /* an end that the capture does not contain */
#define CLEW_NO_TASK	0u
#define CLEW_NO_NUMBER	UINT32_MAX
#define CLEW_NO_REQUEST UINT64_MAX

enum clew_open {
	CLEW_OPEN_NONE = 0,
	CLEW_OPEN_START = 1,
	CLEW_OPEN_END = 2,
	CLEW_OPEN_BOTH = 3,
};

/* An object as the records name it. The trace resolves it to an identity. */
struct clew_object {
	uint64_t number;
	union {
		uint32_t device;
		uint32_t lock_type; /* LOCK: CLEW_LOCK_* */
		uint32_t memory;    /* FUTEX that is not shared: a number that is the same in all
				       tasks that share this memory; 0 unknown */
	};
	int32_t descriptor;
	uint8_t kind;		 /* enum clew_object_kind */
	uint8_t futex_operation; /* raw, low 8 bits */
	bool shared;		 /* futex: not private */
};

/* A task that held a lock from `from` to `to`, while the sleeper waited for it. */
struct clew_holder {
	uint32_t task;
	uint8_t evidence; /* enum clew_evidence */
	bool barged;	  /* it took the lock although another waiter had been woken for it */
	bool coming;	  /* it did not hold the lock: it had been woken for it and had no CPU yet.
			     Another one may have held it unseen. */
	uint64_t from;
	uint64_t to;
};

/*
 * One step between a wake and its cause: an interrupt, a timer, a request, a packet
 * or a work item. The step covers the time after `at`; before `at`, `task` had not
 * acted yet.
 */
enum clew_link_kind {
	CLEW_LINK_NONE = CLEW_CAUSE_NONE,
	CLEW_LINK_IRQ = CLEW_CAUSE_IRQ,		/* number: of the interrupt */
	CLEW_LINK_SOFTIRQ = CLEW_CAUSE_SOFTIRQ, /* number: its vector */
	CLEW_LINK_TIMER = CLEW_CAUSE_TIMER, /* number: callback; task armed it at `at`; begin: when
					       it was due, 0 unknown; end: at the latest */
	CLEW_LINK_IPI = CLEW_CAUSE_IPI,
	CLEW_LINK_REQUEST = CLEW_CAUSE_REQUEST, /* number: of the request; task queued it at `at`;
						   begin: issued, 0 never; end: completed */
	/* task sent it at `at`, for the first time; begin: since when at least TCP had held it
	   back, 0 unknown */
	CLEW_LINK_PACKET = CLEW_CAUSE_PACKET,
	CLEW_LINK_WORK =
		16, /* number: function; task queued it at `at`; `worker` began it at `begin` */
};

#define CLEW_LINK_RESCUER 0x01 /* WORK: a rescuer ran it: there was no memory for a worker */
#define CLEW_LINK_BARRIER 0x02 /* WORK: a flush waited for this item and those before it */
#define CLEW_LINK_SWAP	  0x04 /* REQUEST: it swapped pages in or out */
#define CLEW_LINK_WRITE	  0x08 /* REQUEST: it wrote data */

/* PACKET, bits 4 to 6 of flags: what its data had waited for in the sender's socket, or how the
 * first packet with it was lost. */
enum clew_held {
	CLEW_HELD_NOT,
	CLEW_HELD_DELAYED_ACK,
	CLEW_HELD_NAGLE,
	CLEW_HELD_WINDOW,
	CLEW_HELD_LOST,	    /* on the way */
	CLEW_HELD_FILTERED, /* on the way, to a packet filter of the machine */
	CLEW_HELD_REFUSED,  /* such a filter did not let it out */
	/* These are said of a part of an attempt to connect, and are in no link: */
	CLEW_HELD_QUEUE,      /* the listener's accept queue was full */
	CLEW_HELD_UNANSWERED, /* nothing came */
};
#define CLEW_LINK_HELD_SHIFT 4
#define CLEW_LINK_HELD(link) ((enum clew_held)((link)->flags >> CLEW_LINK_HELD_SHIFT & 7))

/* True if something was sent a second time. */
static inline bool clew_held_lost(enum clew_held held)
{
	return held >= CLEW_HELD_LOST;
}

struct clew_link {
	uint64_t at; /* 0 unknown */
	uint64_t begin;
	uint64_t end;
	uint64_t released; /* of a REQUEST, as in clew_block_request */
	uint64_t number;
	uint32_t task; /* CLEW_NO_TASK none or unknown */
	uint32_t worker;
	uint32_t device; /* of a REQUEST */
	uint8_t kind;	 /* enum clew_link_kind */
	uint8_t flags;	 /* CLEW_LINK_* */
	uint8_t evidence;
};

/* An interval in which a task ran on a CPU. Serial 0: the CPU was idle. */
enum clew_run_end {
	CLEW_RUN_SLEPT,
	CLEW_RUN_PREEMPTED,
	CLEW_RUN_YIELDED,
	CLEW_RUN_EXITED,
	CLEW_RUN_OPEN,
	CLEW_RUN_LOST
};
struct clew_run {
	uint64_t start;
	uint64_t end;
	uint32_t task;
	uint16_t cpu;
	uint8_t ended;	 /* enum clew_run_end */
	bool open_start; /* it was running when the capture began */
};

/*
 * One sleep. `end` is the time of the wake, clamped to `start`; CLEW_TIME_OPEN if the
 * capture does not contain it. `switch_in` is when the task next ran.
 */
struct clew_sleep {
	uint64_t start;
	uint64_t end;
	uint64_t raw_end;   /* the wake as stamped, 0 none */
	uint64_t switch_in; /* CLEW_TIME_OPEN: not in the capture */
	uint32_t task;
	uint32_t ended_by; /* the task that caused the wake, CLEW_NO_TASK none or unknown */
	uint32_t call_id;  /* the same for all waits in one call of this task */
	uint16_t call;	   /* CLEW_NO_CALL none */
	uint8_t kind;	   /* enum clew_wait_kind */
	uint8_t context;   /* enum clew_wake_context */
	uint8_t open;	   /* enum clew_open */
	uint8_t flags;	   /* CLEW_WAIT_FLAG_* */
	int8_t edge_type;  /* enum clew_edge_type of the edge that ended it, -1 none */
	uint8_t edge_evidence;
	uint32_t from;	  /* origin of that edge: ended_by, or the task behind a device or timer */
	uint64_t from_at; /* raw time of its act */
	bool blind;	  /* a loss overlaps it: what ended it may be wrong or missing */
	bool hidden;	  /* blind: no loss overlaps it, but a switch is missing */
	bool across; /* `from` is on another host: what it sent was on the way from `from_at` */
	uint8_t operation; /* enum clew_wake_operation of the wake */
	uint8_t state;	   /* of the task, the low bits of the kernel's number; 0 unknown */
	bool frozen;	   /* STOPPED: its group was frozen */
	uint16_t poller;   /* epoll wait: the same for all waits on one instance; 0 none */
	/* At a socket, or by one that ended a poll: when the question left that was open there, ns,
	   or CLEW_ASKED_SOMETIME; 0: none is known. Its own socket's side says whose it was. */
	uint64_t asked;
	/* The other end of its socket is on another host: the shortest round trip, us, + 1; 1: that
	   is not known; 0: it is on this host, or it is not known where. */
	uint32_t away;
	struct clew_object object;
	const struct clew_holder *holders;
	/*
	 * The steps between the wake and its cause: link_count links, the one next to
	 * the wake first. They are followed by and_count links to other requests that
	 * had to end too before the sleep could.
	 */
	const struct clew_link *links;
	uint32_t holder_count;
	uint16_t link_count;
	uint16_t and_count;
	uint64_t number; /* sleeps in the order they began, from 0; a few numbers stay unused */
};

/* An interval off the CPU that did not begin with a sleep: the task was preempted, yielded or is
 * new. */
struct clew_ready {
	uint64_t start;
	uint64_t end; /* CLEW_TIME_OPEN: not in the capture */
	uint32_t task;
};

struct clew_edge {
	uint64_t from_at; /* raw time of the cause */
	uint64_t to_at;
	uint32_t from;
	uint32_t to;
	uint8_t type;	   /* enum clew_edge_type */
	uint8_t evidence;  /* enum clew_evidence */
	uint8_t context;   /* enum clew_wake_context */
	uint8_t operation; /* enum clew_wake_operation: wakes of one WAKE_MANY are one edge with
			      several destinations */
	bool ends_sleep;   /* a sleep of `to` carries the same in its edge_type, ended_by, end and
			      raw_end */
	uint32_t choice; /* type throttle: edges with the same number are candidates for one cause;
			    0 none */
	uint64_t weight; /* of a candidate: bytes that it dirtied lately */
	uint64_t own;	 /* of a candidate: bytes that `to`, which is no candidate, dirtied lately
			  */
	struct clew_object object;
	const struct clew_link *links; /* as in clew_sleep; the and_count requests are further
					  origins */
	uint16_t link_count;
	uint16_t and_count;
	char from_comm[CLEW_COMM_SIZE]; /* name of `from` at that moment */
	char to_comm[CLEW_COMM_SIZE];
};

/* A block request, or a bio of a device that has no requests. */
struct clew_block_request {
	uint64_t sector; /* of 512 bytes, on the whole disk; UINT64_MAX: a cache flush has none */
	uint64_t queued; /* 0 unknown; with `released`: it was submitted by then, perhaps before */
	uint64_t released;  /* when the I/O limit of a cgroup let it go, 0: none held it back */
	uint64_t group;	    /* id of the cgroup that it was charged to then, 0 unknown */
	uint64_t limited;   /* and of the group that has the limit, the same or one above it */
	uint64_t issued;    /* the first time, 0 never */
	uint64_t completed; /* 0: not in the capture */
	uint64_t reused;    /* when the kernel re-used its memory for another request, although no
			       completion was recorded; 0 never */
	uint64_t inode;	    /* of the file whose page comes first in it, 0 none */
	uint64_t index;	    /* of that page; UINT64_MAX: none, the memory is the caller's */
	uint64_t number;    /* in the order they were first seen; a few stay unused */
	uint32_t bytes;
	uint32_t device;    /* major << 20 | minor, a whole disk */
	uint32_t operation; /* as in the kernel: operation in the low 8 bits, flags above */
	uint32_t file_device;
	uint32_t submitter;   /* task that queued it, CLEW_NO_TASK unknown */
	uint32_t reason_task; /* task that made it necessary, by a sync or by dirtying too much;
				 CLEW_NO_TASK none or unknown */
	uint8_t reason;	      /* enum clew_request_reason */
	bool swap;	      /* it swaps pages in or out */
	bool again; /* of SERVED: it was written before, and the disk's cache is flushed for it now
		     */
};

/* Request `lower` was made to serve a part of request `upper`; both are numbers. */
struct clew_below {
	uint64_t upper;
	uint64_t lower;
};

/*
 * A range of a file that a request carries. For a write, `writers` are the tasks that
 * wrote to the range since it was last clean. The last `later_count` of them wrote
 * while the request was in flight, so that their bytes may or may not have reached
 * the disk with it.
 */
struct clew_page_extent {
	uint64_t inode;
	uint64_t offset; /* in the file, bytes */
	uint64_t bytes;
	uint64_t sector;	 /* on the request's disk */
	uint64_t dirtied;	 /* when the first of it became dirty, 0 unknown */
	uint64_t request;	 /* number */
	const uint32_t *writers; /* tasks */
	uint32_t writer_count;
	uint32_t later_count;
	uint32_t device; /* of the file system */
	uint32_t above;	 /* the disk that this file is behind, if the writers wrote to that disk; 0:
			    they wrote to the file */
	uint8_t evidence; /* enum clew_evidence */
	bool known;	  /* the writers are known; false for every read */
};

/*
 * True if an inode is a disk's own, whose pages are metadata: it has no path, and its
 * number is the disk's.
 */
static inline bool clew_is_disk_inode(uint32_t device, uint64_t inode)
{
	return CLEW_DEVICE_MAJOR(device) == 0 && inode <= UINT32_MAX &&
	       CLEW_DEVICE_MAJOR((uint32_t)inode) != 0;
}

/* An act of a task on a file in the page cache, from `begin` to `end`. */
enum clew_touch_event {
	CLEW_TOUCH_DIRTY = CLEW_EXTENT_DIRTY,
	CLEW_TOUCH_WRITE = CLEW_EXTENT_WRITE,
	CLEW_TOUCH_STORE = CLEW_EXTENT_STORE,
	CLEW_TOUCH_DROP = CLEW_EXTENT_DROP,
	CLEW_TOUCH_ADD = CLEW_EXTENT_ADD,
	CLEW_TOUCH_USE = CLEW_EXTENT_USE,
	CLEW_TOUCH_UNUSED,  /* pages that `task` had read in left the page cache, or were there at
			       the end, and nobody had used them */
	CLEW_TOUCH_SYNC,    /* it asked for the file to be written */
	CLEW_TOUCH_DELETED, /* pages left the page cache because the file has no name any more */
	CLEW_TOUCH_AGAIN,   /* it asked for pages again, which a group's memory limit had evicted */
	CLEW_TOUCH_COUNT,
};
struct clew_touch {
	uint64_t begin;
	uint64_t end;
	uint64_t inode;
	uint64_t offset; /* of the first byte */
	uint64_t bytes;
	uint32_t device;
	uint32_t task;
	uint8_t event; /* enum clew_touch_event */
};

/* A kernel lock that a task waited for without leaving the CPU. */
struct clew_spin {
	uint64_t start;
	uint64_t end;
	uint64_t lock;
	uint32_t task;
	uint32_t holder; /* as the lock named it at the start, CLEW_NO_TASK unknown */
	uint32_t type;	 /* CLEW_LOCK_* */
};

/*
 * The place that a task ran in from `start` to `end`, as far as it ran then: inside one system
 * call. Two equal times: a tick found it there; then `call` may be CLEW_NO_CALL, user
 * mode. Stays with a length do not overlap within a task.
 */
struct clew_stay {
	uint64_t start;
	uint64_t end;
	uint32_t task;
	uint16_t call;
	uint8_t reason;	  /* enum clew_wait_reason: what it did there to get memory, NONE nothing */
	uint8_t evidence; /* enum clew_evidence */
};

/* The number of times that something happened to a task while it ran from `start` to `end`; above
 * 0. */
enum clew_tally_what {
	CLEW_TALLY_FAULTS, /* page faults */
	CLEW_TALLY_YIELDS, /* it gave up its CPU by sched_yield */
	CLEW_TALLY_WHATS,
};
struct clew_tally {
	uint64_t start;
	uint64_t end;
	uint32_t number;
	uint32_t task;
	uint8_t what; /* enum clew_tally_what */
};

/*
 * One activation of a traced function. Frames come when they are certain: a parent after
 * its children, at the latest at the end. The order of their ends is not promised.
 */
enum clew_frame_closed {
	CLEW_FRAME_RETURNED,
	CLEW_FRAME_TAIL_CALL, /* it jumped to another function, which returns in its place */
	CLEW_FRAME_LONGJMP,
	CLEW_FRAME_EXCEPTION,
	CLEW_FRAME_EXIT, /* of the thread, or of the process */
	CLEW_FRAME_CANCELED,
	CLEW_FRAME_CRASH,
	CLEW_FRAME_EXEC,
	CLEW_FRAME_UNWOUND, /* the thread went on above it; how is not known */
	CLEW_FRAME_LOST,    /* records were lost while it was open */
	CLEW_FRAME_OPEN,    /* at the capture's end */
	CLEW_FRAME_POINT,   /* it has no length: the program carries a probe there */
	CLEW_FRAME_CLOSED_COUNT,
};
#define CLEW_FRAME_INHERITED                                                                       \
	0x01 /* the parent process entered it; it starts at the fork and is in no count */
#define CLEW_FRAME_INCLUSIVE 0x02 /* a tail call's end is the callee's return */
#define CLEW_FRAME_INFERRED  0x04 /* its end is the time of the event that proved it */
#define CLEW_FRAME_REPLACED  0x08 /* of a trace: a logical span is there in its place */

/* clew_frame.unread. A text that was read at the return alone is behind the entry's other values.
 */
#define CLEW_FRAME_UNREAD	 0x803f /* bit n: value n is unknown; bit 15: the returned one */
#define CLEW_FRAME_UNREAD_RESULT 0x8000
#define CLEW_FRAME_AGAIN	 0x07c0 /* bit n + 6: value n was read at the return */
#define CLEW_FRAME_AGAIN_SHIFT	 6
struct clew_frame {
	uint64_t start; /* exact, not in steps of CLEW_CLOCK_STEP */
	uint64_t end;	/* CLEW_TIME_OPEN if OPEN */
	uint64_t self;	/* ns in no traced function that it called */
	uint64_t probe; /* ns of it that clew's probes took, by the calibrated costs */
	uint32_t task;
	uint32_t end_task;	/* another one after exec of another thread than the leader */
	uint32_t function;	/* number of the SITE records */
	uint32_t number;	/* in the order they were entered, from 0; a few stay unused */
	uint32_t parent;	/* number of the frame that it was called in, CLEW_NO_NUMBER none */
	uint16_t depth;		/* 0: in no traced function */
	uint8_t closed;		/* enum clew_frame_closed */
	uint8_t flags;		/* CLEW_FRAME_* */
	uint16_t values_size;	/* of the entry's values, in bytes */
	uint16_t returned_size; /* of the return's, behind them */
	uint16_t unread;	/* CLEW_FRAME_UNREAD, CLEW_FRAME_AGAIN; from bit 0 on */
	const uint8_t *values;
};

/* ---- the stream ---- */

/* At most 32 tags, as masks have a bit for each. */
enum clew_finding_tag {
	/*
	 * A record of identity, passed on as it came: TASK, FILE, SOCKET, CGROUP, TEXT,
	 * RENAME, FORK, EXEC, EXIT, ANNOUNCE, END, GAP, and STATE of a task that had ended before.
	 * It comes before the findings that follow from it.
	 */
	CLEW_FINDING_IDENTITY,
	CLEW_FINDING_RUN,
	CLEW_FINDING_SLEEP,
	CLEW_FINDING_READY,
	CLEW_FINDING_EDGE,
	CLEW_FINDING_REQUEST,
	CLEW_FINDING_BELOW,
	CLEW_FINDING_SPIN,
	CLEW_FINDING_PAGES, /* by sector within one request; before the request or long after it */
	CLEW_FINDING_TOUCH,
	CLEW_FINDING_STAY,
	CLEW_FINDING_TALLY,
	CLEW_FINDING_FRAME,
	/* A frame that begins: its end means nothing yet. It comes before those that it calls, and
	   before its FRAME. */
	CLEW_FINDING_ENTERED,
	/* A request that has just ended, in order of time; twice if it is flushed then and ends
	   again. Its REQUEST comes much later, when no wake can name it any more. */
	CLEW_FINDING_SERVED,
	CLEW_FINDING_COUNT
};
#define CLEW_FINDING_BIT(tag) (1u << (tag))
#define CLEW_FINDINGS_ALL     (CLEW_FINDING_BIT(CLEW_FINDING_COUNT) - 1)

struct clew_finding {
	enum clew_finding_tag tag;
	union {
		const struct clew_header *identity;
		const struct clew_run *run;
		const struct clew_sleep *sleep;
		const struct clew_ready *ready;
		const struct clew_edge *edge;
		const struct clew_block_request *request; /* of REQUEST and SERVED */
		const struct clew_below *below;
		const struct clew_spin *spin;
		const struct clew_page_extent *pages;
		const struct clew_touch *touch;
		const struct clew_stay *stay;
		const struct clew_tally *tally;
		const struct clew_frame *frame; /* of FRAME and ENTERED */
	};
};

/*
 * One receiver of findings. It gets those whose tags are in `wants`, in the order in
 * which they are found, and on the thread that feeds the builder. A negative return
 * stops the builder, which then returns it from every call.
 */
struct clew_builder;
struct clew_finding_taker {
	uint32_t wants; /* CLEW_FINDING_BIT(tag) of each */
	int (*take)(void *context, struct clew_finding finding);
	void *context;
	/*
	 * Called when the horizon has passed a multiple of CLEW_STEP, the last one if it has passed
	 * several: before any record of that time or later is looked at. It may ask the builder
	 * what is open. A negative return is as that of `take`. NULL: not called.
	 */
	int (*step)(void *context, const struct clew_builder *builder, uint64_t now);
};

#define CLEW_STEP 100000000ull /* ns */

#endif
