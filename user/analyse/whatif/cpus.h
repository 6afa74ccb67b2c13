/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * CPUs of a what-if run: so many, equal, and any for any thread. A root span and what it
 * calls is a thread; CPUs and devices are none. A ready thread takes a free CPU or queues up. A
 * thread keeps its CPU from ES to ES as long as the next one starts when the last one ends. If
 * others wait, slice follows upon slice, and at the end of each one as many as wait go to the end
 * of the queue: who has had its CPU longest, and for a slice. So does who was preempted as it was
 * recorded. An ES without length needs no CPU.
 */
#ifndef CLEW_ANALYSE_WHATIF_CPUS_H
#define CLEW_ANALYSE_WHATIF_CPUS_H

#include "analyse/whatif/internal.h"

struct cpu {
	uint32_t thread;	 /* CLEW_NONE: free */
	uint32_t es;		 /* CLEW_NONE: the last one has just ended */
	clew_time since;	 /* when the thread got it */
	uint32_t before, behind; /* of those that are not free, in order of `since` */
	uint32_t next;		 /* free; or let go of just now by the same thread */
};

/* For a recorded start: how long before it the ES was ready. */
struct ready_time {
	clew_time queued; /* a CPU was busy with others */
	clew_time kept;	  /* and then on its way, as a CPU that wakes up is */
};

struct whatif_cpus {
	struct cpu *cpus;
	uint32_t count, free; /* those behind `count` were never used */
	uint32_t limit;
	uint32_t first, last;
	uint32_t *thread_of; /* of each span, CLEW_NONE: needs no CPU */
	uint32_t *cpu_of;    /* of each span: what its ES runs on, CLEW_NONE none */
	uint32_t *held;	     /* of each thread: a CPU that it may go on with at this moment */
	uint32_t *queue;     /* ESs, a ring of as many as there are spans */
	uint32_t queue_first, queue_count, queue_size;
	struct ready_time *recorded; /* of each ES */
	clew_time *ready;	     /* of each ES, in the run */
	bool slice_planned;
	clew_time slice_end; /* the last one at which somebody went to the end of the queue */
	struct cut *cuts;    /* in order of their begins; behind the run by ES and time */
	size_t *cut_of;	     /* of each span: the last one */
	uint8_t *ends;	     /* of each span: an end of its ES is planned, perhaps too early */
	size_t cut_count, cut_capacity;
};

int cpus_prepare(struct whatif *w);
void cpus_done(struct whatif *w);
/* 1: the ES runs now; 0: it queues up; or an error. */
int cpus_take(struct whatif *w, uint32_t es, clew_time at, bool yields);
/* Plans the end of an ES that runs. 0 or -ENOMEM. */
int cpus_plan_end(struct whatif *w, uint32_t es);
/* A planned end has come. False: the ES was off its CPU since then, and ends later. */
bool cpus_comes_to_end(struct whatif *w, uint32_t es, clew_time at);
/* The ES is over; its thread may go on at this moment. */
int cpus_end(struct whatif *w, uint32_t es, clew_time at);
/* A CPU with which its thread did not go on is free. */
int cpus_release(struct whatif *w, uint32_t es, clew_time at);
/* A thread that has had a CPU for a slice goes to the end of the queue. */
int cpus_slice(struct whatif *w, clew_time at);
/* When all have run. -ENOMEM. */
int cpus_sort_cuts(struct whatif *w);

static inline bool cpus_uses(const struct whatif *w, uint32_t span)
{
	return w->cpus && w->cpus->thread_of[span] != CLEW_NONE;
}

#endif
