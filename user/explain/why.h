/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * why: where every nanosecond of an interval of one task went.
 *
 * Goes backwards through the task's timeline and replaces each wait by what its
 * cause did meanwhile, to any depth: a task, or a request in its queue or its device,
 * which is its submitter's time; and where no record says what a wait in an announced
 * call was for, by the call in another task that was open for that one. Segments are in order of
 * time, cover the interval exactly and do not overlap.
 */
#ifndef CLEW_EXPLAIN_WHY_H
#define CLEW_EXPLAIN_WHY_H

#include "relate/relate.h"

/* Why a sleep goes on whose time is over: its timer has not fired yet. */
enum clew_late {
	CLEW_LATE_NOT,
	CLEW_LATE_SLACK,     /* the sleeper's timer may be so late */
	CLEW_LATE_INTERRUPT, /* it may not: its interrupt is late, as interrupts are off or the CPU
				is not there */
};

struct clew_segment {
	uint64_t start;
	uint64_t end;
	uint32_t task;	      /* whose running, run queue, wait or request it is */
	uint8_t kind;	      /* enum clew_wait_kind, CLEW_SEGMENT_* included */
	uint8_t unknown_kind; /* of an UNKNOWN segment: the wait's kind, CLEW_WAIT_UNKNOWN none */
	bool cycle;
	uint8_t late;	 /* enum clew_late */
	int8_t via_type; /* enum clew_edge_type that led here, -1 none */
	uint8_t via_evidence;
	uint32_t born; /* via_type FORK, EXEC: serial of the task that began with it, else
			  CLEW_NO_TASK */
	uint32_t by;   /* RUNQUEUE: serial of who had the CPU (0 idle), UINT32_MAX unknown */
	const struct clew_sleep *sleep; /* the wait it is a leaf of, or NULL */
	const struct clew_link *link; /* DEVICE, QUEUED: the request; WORK: the item that no worker
					 had begun; else NULL */
	/* DEVICE, QUEUED: where `link` goes by way of another disk, the request there that it is
	 * about; else NULL */
	const struct clew_link *below;
	const struct clew_spin *spin; /* LOCK: waited for without leaving the CPU; else NULL */
	/* The call that `task` is in, of a request the one that it was made in; NULL none. A
	 * segment is in one alone. */
	const struct clew_activity *activity;
	/*
	 * via_type CALL: whose call is for whose, of an evidence of its own; it has one upper end.
	 * Else NULL. via_evidence is OBSERVED: the task slept while the call was open, and nothing
	 * proves that it slept for it.
	 */
	const struct clew_relation *called;
	/* A leaf in an announced call: one that may be for it, or for another of the upper ends;
	 * NULL none. */
	const struct clew_relation *perhaps;
	const uint32_t *chain; /* tasks asleep because of the next one, the asked task first */
	uint32_t chain_length;
};

struct clew_why {
	uint64_t from;
	uint64_t to;
	uint64_t unknown_ns;
	uint32_t task;
	struct clew_segment *segments;
	size_t segment_count;
	size_t gap_count; /* losses that touch the interval */
	void *memory;
};

/* `relations` NULL: calls are not followed. They have to live as long as the result. -ESRCH,
 * -EINVAL, -ENOMEM. */
int clew_why_explain(const struct clew_trace *trace, const struct clew_relations *relations,
		     uint32_t task, uint64_t from, uint64_t to, struct clew_why *ret_why);
void clew_why_done(struct clew_why *why);

/* A stretch of a thread between two idle waits. */
struct clew_operation {
	uint64_t from;
	uint64_t to;
	uint32_t task;
};

/*
 * All operations of the tasks for which `wanted` says so, longest first, at most
 * `limit` (0: all). `idle_kinds`: bit mask of wait kinds that count as idle; 0:
 * the default (poll; accept or receive on a socket; read of an empty pipe).
 * The array is the caller's to free. *ret_total: how many there were.
 */
int clew_operations(const struct clew_trace *trace,
		    bool (*wanted)(void *context, const struct clew_trace_task *task),
		    void *context, uint64_t idle_kinds, uint64_t from, uint64_t to, size_t limit,
		    struct clew_operation **ret_operations, size_t *ret_count, size_t *ret_total);

#endif
