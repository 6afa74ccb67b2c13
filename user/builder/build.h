/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The builder: records in, tasks, runs, waits and edges out.
 *
 * It is a push interface: feed records in order of time, from a file or live;
 * each finding goes to the sink as soon as it is certain. State is bounded: per
 * task, per CPU, per lock that somebody waits for, per request and work item in
 * flight, and what ended within about the last second.
 */
#ifndef CLEW_BUILDER_BUILD_H
#define CLEW_BUILDER_BUILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <clew/kernel/records.h>
#include <clew/tokens.h>

#define CLEW_TIME_OPEN UINT64_MAX /* an end that the capture does not contain */
#define CLEW_NO_TASK   0u

enum clew_open {
	CLEW_OPEN_NONE = 0,
	CLEW_OPEN_START = 1,
	CLEW_OPEN_END = 2,
	CLEW_OPEN_BOTH = 3,
};

/* An object as the records give it; identities are looked up by the trace. */
struct clew_object {
	uint64_t number;
	uint32_t device;
	int32_t descriptor;
	uint8_t kind;		 /* enum clew_object_kind */
	uint8_t futex_operation; /* raw, low 8 bits */
	bool shared;		 /* futex: not private */
};

struct clew_holder {
	uint32_t task;
	uint8_t evidence; /* enum clew_evidence */
	bool barged;
	uint64_t from;
	uint64_t to;
};

/*
 * A step on the way from what caused a wake to the wake, one for each thing that was
 * not a task waking another by itself. Whatever happened after `at` is the step's;
 * before, `task` had not acted yet.
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
	CLEW_LINK_PACKET = CLEW_CAUSE_PACKET,	/* task sent it at `at` */
	CLEW_LINK_WORK =
		16, /* number: function; task queued it at `at`; `worker` began it at `begin` */
};

#define CLEW_LINK_RESCUER 0x01 /* WORK: a rescuer ran it: there was no memory for a worker */
#define CLEW_LINK_BARRIER 0x02 /* WORK: a flusher waited for this item and those before it */
#define CLEW_LINK_SWAP	  0x04 /* REQUEST: it swapped pages in or out */
#define CLEW_LINK_WRITE	  0x08 /* REQUEST: it wrote data */

struct clew_link {
	uint64_t at; /* 0 unknown */
	uint64_t begin;
	uint64_t end;
	uint64_t number;
	uint32_t task; /* CLEW_NO_TASK none or unknown */
	uint32_t worker;
	uint32_t device; /* of a REQUEST */
	uint8_t kind;	 /* enum clew_link_kind */
	uint8_t flags;	 /* CLEW_LINK_* */
	uint8_t evidence;
};

/* A stretch of a task on a CPU; of serial 0, the CPU was idle. */
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
	bool open_start; /* ran already when the capture began */
};

/*
 * One sleep. `end` is the wake, clamped to `start`; CLEW_TIME_OPEN while the
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
	uint32_t from;	   /* task that this edge is from: ended_by, or who is behind a device or a
			      timer */
	uint64_t from_at;  /* raw time of its act */
	bool blind;	   /* touched by a loss: what ended it may be wrong or missing */
	uint8_t operation; /* enum clew_wake_operation of the wake */
	uint16_t poller;   /* of a wait in epoll: the same for all on one instance; 0 none */
	struct clew_object object;
	const struct clew_holder *holders; /* the builder's; valid during the call */
	uint32_t holder_count;
	/*
	 * How the wake came about, from the wake back: link_count steps. Behind them
	 * and_count other requests that had to end for it too. The builder's; valid
	 * during the call.
	 */
	const struct clew_link *links;
	uint16_t link_count;
	uint16_t and_count;
	uint32_t number; /* sleeps in the order they began, from 0; a few numbers stay unused */
};

/* Ready, but off the CPU without a sleep before it: preempted, yielded or new. */
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
	bool ends_sleep;   /* a sleep of `to` says the same in its edge_type, ended_by, end and
			      raw_end */
	uint32_t choice; /* of edges of type throttle: those with the same number are candidates for
			    one cause; 0 none */
	uint64_t weight; /* of a candidate: what speaks for it, bytes */
	uint64_t own;	 /* of one: what speaks for `to` itself, which is no candidate */
	struct clew_object object;
	const struct clew_link
		*links; /* as of the sleep; the further requests are further origins, AND */
	uint16_t link_count;
	uint16_t and_count;
	char from_comm[CLEW_COMM_SIZE]; /* name of `from` at that moment */
	char to_comm[CLEW_COMM_SIZE];
};

#define CLEW_NO_NUMBER UINT32_MAX

/* A block request, or a bio of a device that has no requests. */
struct clew_block_request {
	uint64_t sector; /* of 512 bytes, on the whole disk; UINT64_MAX: a cache flush has none */
	uint64_t queued; /* 0 unknown */
	uint64_t issued; /* the first time, 0 never */
	uint64_t completed; /* 0: not in the capture */
	uint64_t reused; /* when the kernel had another one in its place, so that it was over though
			    nobody saw its end; 0 never */
	uint64_t inode;	 /* of the file whose page comes first in it, 0 none */
	uint64_t index;	 /* of that page; UINT64_MAX: none, the memory is the caller's */
	uint32_t number; /* in the order they were first seen; a few stay unused */
	uint32_t bytes;
	uint32_t device;    /* major << 20 | minor, a whole disk */
	uint32_t operation; /* as in the kernel: low 8 bits what, above them flags */
	uint32_t file_device;
	uint32_t submitter;   /* who queued it, CLEW_NO_TASK unknown */
	uint32_t reason_task; /* who made it necessary: who asked for the sync, or dirtied too much;
				 CLEW_NO_TASK none or unknown */
	uint8_t reason;	      /* enum clew_request_reason */
	bool swap;	      /* it swaps pages in or out */
};

/*
 * A stretch of a file that a request carries. Of a write, `writers` are those who wrote
 * to it since it was last clean; the last `later_count` of them did so while it was on
 * its way, so that either's bytes may have reached the disk.
 */
struct clew_page_extent {
	uint64_t inode;
	uint64_t offset; /* in the file, bytes */
	uint64_t bytes;
	uint64_t sector;	 /* on the request's disk */
	uint64_t dirtied;	 /* when the first of it became dirty, 0 unknown */
	const uint32_t *writers; /* tasks; the builder's, valid during the call */
	uint32_t writer_count;
	uint32_t later_count;
	uint32_t request; /* number */
	uint32_t device;  /* of the file system */
	uint8_t evidence; /* enum clew_evidence */
	bool known;	  /* who wrote it; of a read, nothing is to be known */
};

/*
 * Whether an inode is a disk's own, whose pages are metadata: it has no path, and its
 * number is the disk's.
 */
static inline bool clew_is_disk_inode(uint32_t device, uint64_t inode)
{
	return CLEW_DEVICE_MAJOR(device) == 0 && inode <= UINT32_MAX &&
	       CLEW_DEVICE_MAJOR((uint32_t)inode) != 0;
}

/* What a task did with a file in the page cache, from `begin` to `end`. */
enum clew_touch_event {
	CLEW_TOUCH_DIRTY = CLEW_EXTENT_DIRTY,
	CLEW_TOUCH_WRITE = CLEW_EXTENT_WRITE,
	CLEW_TOUCH_STORE = CLEW_EXTENT_STORE,
	CLEW_TOUCH_DROP = CLEW_EXTENT_DROP,
	CLEW_TOUCH_ADD = CLEW_EXTENT_ADD,
	CLEW_TOUCH_USE = CLEW_EXTENT_USE,
	CLEW_TOUCH_UNUSED, /* what `task` had asked for left the page cache, or was there at the
			      end, and nobody had used it */
	CLEW_TOUCH_SYNC,   /* it asked for the file to be written */
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

/* A kernel lock waited for without leaving the CPU. */
struct clew_spin {
	uint64_t start;
	uint64_t end;
	uint64_t lock;
	uint32_t task;
	uint32_t holder; /* as the lock said at the start, CLEW_NO_TASK unknown */
	uint32_t type;	 /* CLEW_LOCK_* */
};

/*
 * Where findings go. Any function may be NULL. A negative return stops the
 * builder, which returns it. Records of identity (TASK, FILE, SOCKET, CGROUP,
 * TEXT, RENAME, FORK, EXEC, EXIT, GAP, and STATE of who had ended before) are
 * passed on as they came.
 */
struct clew_sink {
	void *context;
	int (*identity)(void *context, const struct clew_header *record);
	int (*run)(void *context, const struct clew_run *run);
	int (*sleep)(void *context, const struct clew_sleep *sleep);
	int (*ready)(void *context, const struct clew_ready *ready);
	int (*edge)(void *context, const struct clew_edge *edge);
	int (*request)(void *context, const struct clew_block_request *request);
	/* Request `lower` was made to do a part of request `upper`; both by number. */
	int (*below)(void *context, uint32_t upper, uint32_t lower);
	int (*spin)(void *context, const struct clew_spin *spin);
	/* In order of place for one request; they may come before it and long after it. */
	int (*pages)(void *context, const struct clew_page_extent *extent);
	int (*touch)(void *context, const struct clew_touch *touch);
};

struct clew_builder;

struct clew_builder_options {
	size_t size;	     /* sizeof(struct clew_builder_options) */
	uint64_t start;	     /* ns: when recording was enabled */
	uint32_t drop_types; /* bit mask of edge types to treat as never seen (their sleeps end
				unexplained) */
};

int clew_builder_new(const struct clew_builder_options *options, const struct clew_sink *sink,
		     struct clew_builder **ret_builder);

/* Takes one record; they come in order of time. */
int clew_builder_feed(struct clew_builder *builder, const struct clew_header *record);

/* Nothing more will come: what is open is marked so and sent. `end`: when recording was disabled.
 */
int clew_builder_finish(struct clew_builder *builder, uint64_t end);

/* Bytes held now, and how many tasks they are for. */
size_t clew_builder_memory(const struct clew_builder *builder, size_t *ret_tasks);

void clew_builder_free(struct clew_builder *builder);

/* The edge that ended a sleep, whose edge_type is not -1; without names, and its links are the
 * sleep's. */
struct clew_edge clew_edge_of_sleep(const struct clew_sleep *sleep);

/* The kind of a wait inside the kernel function of that name, or -1: the function says nothing. */
int clew_function_kind(const char *name);
/*
 * The wait kind that a wait record proves. `state`: clew_switch.prev_state.
 * `function_kind`: of the function that a wait of reason FUNCTION is in, else -1.
 */
enum clew_wait_kind clew_classify_wait(const struct clew_wait *wait, unsigned state,
				       int function_kind);

#endif
