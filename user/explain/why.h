/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * why: where every nanosecond of an interval of one task went.
 *
 * Goes backwards through the task's timeline and replaces each wait by what its
 * cause did meanwhile, to any depth. A cause is a task, or a request in its
 * queue or device, which counts as time of the task that submitted it. Where no
 * record shows what a wait in an announced call was for, the cause is the call
 * in another task that was open for that one.
 *
 * Segments are in order of time, cover the interval exactly and do not overlap.
 * Times are ns, CLOCK_MONOTONIC.
 */
#ifndef CLEW_EXPLAIN_WHY_H
#define CLEW_EXPLAIN_WHY_H

#include "relate/relate.h"
#include "trace/frames.h"

/* Why a sleep goes on past its timer's expiry. */
enum clew_late {
	CLEW_LATE_NOT,
	CLEW_LATE_SLACK,     /* within the slack of the sleeper's timer */
	CLEW_LATE_INTERRUPT, /* the interrupt came late: interrupts were off, or the CPU was not
				available */
};

/* The dependency that led to a task of a chain. */
struct clew_hop_via {
	int8_t type; /* enum clew_edge_type; -1: none, the asked task */
	uint8_t evidence;
};

/* A logical span was suspended, and the one that resumed it is followed. */
struct clew_job_hop {
	const struct clew_job *job, *waker;
	uint32_t place;		       /* tasks of the chain before it */
	const struct clew_job_hop *up; /* the one before, NULL none */
};

struct clew_segment {
	uint64_t start;
	uint64_t end;
	uint32_t task;	      /* whose running, run queue, wait or request it is */
	uint8_t kind;	      /* enum clew_wait_kind, CLEW_SEGMENT_* included */
	uint8_t unknown_kind; /* UNKNOWN: the kind of the wait, CLEW_WAIT_UNKNOWN none */
	bool cycle;
	uint8_t late;	 /* enum clew_late */
	uint8_t held;	 /* enum clew_held: for what TCP held back the data that was waited for */
	int8_t via_type; /* enum clew_edge_type that led here, -1 none */
	uint8_t via_evidence;
	/* It led here because `task` has the other end of what is waited for: it has not ended the
	   wait. */
	bool by_end;
	uint32_t born; /* via_type FORK, EXEC: serial of the task that began by it, else
			  CLEW_NO_TASK */
	uint32_t by;   /* RUNQUEUE: serial of the task on the CPU (0 idle), UINT32_MAX unknown */
	const struct clew_sleep *sleep; /* the wait that it is a part of, or NULL */
	const struct clew_link *link; /* DEVICE, QUEUED: the request; WORK: the item that no worker
					 had begun; else NULL */
	/*
	 * DEVICE, QUEUED: the request on a lower disk that serves `link` at
	 * this time, else NULL.
	 */
	const struct clew_link *below;
	const struct clew_stay *stay; /* RUNNING: the whole segment was inside its call; NULL: it is
					 not known in what */
	const struct clew_spin *spin; /* LOCK: waited for without leaving the CPU; else NULL */
	/*
	 * The announced call that `task` is in; for a request, the call in
	 * which it was submitted. NULL: none. A segment lies within one call.
	 */
	const struct clew_activity *activity;
	/*
	 * via_type CALL: the relation that was followed, with its own evidence;
	 * it has one upper end. Else NULL. via_evidence is OBSERVED: the task
	 * slept while the call was open, but nothing proves that it slept for
	 * it.
	 */
	const struct clew_relation *called;
	/*
	 * A leaf in an announced call: a relation of several upper ends whose
	 * lower call this wait may be for; NULL: none.
	 */
	const struct clew_relation *perhaps;
	/* WORK, UNKNOWN: the logical span that was queued or suspended, and that part of its time;
	 * else NULL. */
	const struct clew_job *job;
	const struct clew_job_piece *piece;
	/* The wait for a lock of a runtime that is due to what `task` had the lock for; else NULL.
	 */
	const struct clew_job_wait *lock;
	const struct clew_job_hop *job_hops; /* the last one; NULL: no span was suspended */
	const uint32_t *chain; /* tasks asleep because of the next one, the asked task first */
	const struct clew_hop_via *vias; /* beside `chain`: what led to each of these tasks */
	uint32_t chain_length;
};

struct clew_why {
	uint64_t from;
	uint64_t to;
	uint64_t unknown_ns;
	uint32_t task;
	const struct clew_job *job; /* the logical span whose time it is, NULL: the task's */
	struct clew_segment *segments;
	size_t segment_count;
	size_t gap_count; /* losses of records within the interval */
	void *memory;
};

/*
 * Explains from..to of a task. `relations` must live as long as the result;
 * NULL: calls are not followed. Free the result with clew_why_done(). -ESRCH:
 * no such task; -EINVAL: to < from; -ENOMEM.
 */
int clew_why_explain(const struct clew_trace *trace, const struct clew_relations *relations,
		     uint32_t task, uint64_t from, uint64_t to, struct clew_why *ret_why);
/*
 * The same of an operation: of a logical span, its own time, in whatever thread it ran. A request
 * is the time of the span that took or sent the answer, if there was one; before that was
 * submitted, of who did so.
 */
struct clew_operation;
int clew_why_operation(const struct clew_trace *trace, const struct clew_relations *relations,
		       const struct clew_operation *operation, struct clew_why *ret_why);
void clew_why_done(struct clew_why *why);

/* ns */
static inline uint64_t clew_segment_length(const struct clew_segment *segment)
{
	return segment->end - segment->start;
}

/* Ends a running segment where its task enters or leaves a stay in a call, and sets `stay` if it
 * begins within one. */
void clew_cut_by_stay(const struct clew_trace *trace, struct clew_segment *segment);

/* True if two segments have the same tasks in their chains, reached in the same ways. */
bool clew_segment_same_chain(const struct clew_segment *a, const struct clew_segment *b);

/*
 * The interval between two idle waits of a thread, or an instance of what was asked for: then one
 * of `wait`, `spin`, `activity` and `frame` is not NULL.
 */
struct clew_operation {
	uint64_t from;
	uint64_t to;
	uint32_t task;
	uint32_t waits;		       /* how many of its waits fit */
	const struct clew_sleep *wait; /* the longest of these */
	const struct clew_spin *spin;
	const struct clew_activity *activity;
	const struct clew_trace_frame *frame;
	/* A request has the wait for its answer, or, if it was served, for the question. */
	const struct clew_sleep *by;   /* NULL: nobody waited, or it is known from messages */
	struct clew_object connection; /* of a request; without a kind: it is none */
	bool served;
	uint32_t job; /* number + 1 of the logical span whose time it is; 0: the task's */
};

/*
 * The operations of the tasks for which `wanted` returns true (NULL: all),
 * longest first, at most `limit` (0: no limit). `idle_kinds`: bit mask of the
 * wait kinds that separate operations; 0: the default (poll; accept or receive
 * on a socket; read of an empty pipe). *ret_total: how many operations there
 * are without the limit. The array is the caller's to free. Returns 0 or
 * -ENOMEM.
 */
int clew_operations(const struct clew_trace *trace,
		    bool (*wanted)(void *context, const struct clew_trace_task *task),
		    void *context, uint64_t idle_kinds, uint64_t from, uint64_t to, size_t limit,
		    struct clew_operation **ret_operations, size_t *ret_count, size_t *ret_total);

/*
 * The same; where there are none by the default kinds, those between two sleeps: threads that
 * never wait for others to ask something of them rest by sleeping. *ret_between_sleeps: so it was.
 */
int clew_operations_slowest(const struct clew_trace *trace,
			    bool (*wanted)(void *context, const struct clew_trace_task *task),
			    void *context, uint64_t idle_kinds, uint64_t from, uint64_t to,
			    size_t limit, struct clew_operation **ret_operations, size_t *ret_count,
			    size_t *ret_total, bool *ret_between_sleeps);

/* The tasks that are asked for. Functions get `context`; those that are NULL say no. */
struct clew_asked {
	bool (*wanted)(void *context, const struct clew_trace_task *task);
	bool (*fits)(void *context, const struct clew_sleep *sleep);
	bool (*spins)(void *context, const struct clew_spin *spin);
	bool (*announced)(void *context, const struct clew_activity *activity);
	bool (*activated)(void *context, const struct clew_trace_frame *frame);
	void *context;
	bool waits_alone; /* the waits of a call that fit, without its other ones */
	uint64_t from;	  /* ns; instances that lie outside are left out */
	uint64_t to;
};

/*
 * The instances of what is asked for, longest first: system calls with a wait that fits, from
 * their first wait until the thread ran again after their last one; spins; announced calls;
 * activations of functions.
 * `relations` may be NULL. The array is the caller's to free; it refers to the trace and the
 * relations. Returns 0 or -ENOMEM. Cost: a call of `fits` for each sleep of the wanted tasks.
 */
int clew_operations_asked(const struct clew_trace *trace, const struct clew_relations *relations,
			  const struct clew_asked *asked, struct clew_operation **ret_operations,
			  size_t *ret_count);

/* When a sleep was over for its thread: it ran again, or the capture ended. */
uint64_t clew_sleep_over(const struct clew_trace *trace, const struct clew_sleep *sleep);

#endif
