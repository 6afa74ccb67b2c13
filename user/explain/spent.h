/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Adds up how tasks spent their time, and who had what they waited for: sums by task, of a whole
 * trace, or of the windows of a long capture one after another.
 */
#ifndef CLEW_EXPLAIN_SPENT_H
#define CLEW_EXPLAIN_SPENT_H

#include <clew/spent.h>

#include "base/map.h"
#include "base/vector.h"
#include "explain/chosen.h"
#include "trace/windows.h"

/* The word for a part, as in `clew report --json`; NULL: idle. */
const char *clew_spent_word(enum clew_spent spent);

/* True if a quota kept a task off the CPU: its group's, or its own runtime. */
static inline bool clew_is_quota(const struct clew_sleep *sleep)
{
	return sleep->kind == CLEW_WAIT_THROTTLE && (sleep->object.kind == CLEW_OBJECT_CGROUP ||
						     sleep->object.kind == CLEW_OBJECT_TIMER);
}

/* The part that a wait counts as; CLEW_SPENT_COUNT: it is idle. */
enum clew_spent clew_spent_of(const struct clew_trace *trace, const struct clew_sleep *sleep);
/*
 * The same within the operations of a program that is asked about: its own sleeps and what its
 * threads wait for again and again count, unless they rest. The trace is of the whole capture.
 */
enum clew_spent clew_spent_within(const struct clew_trace *trace, const struct clew_sleep *sleep);
/* The one or the other: within operations where a program or a thread was chosen. */
enum clew_spent clew_spent_chosen(const struct clew_chosen *chosen, const struct clew_trace *trace,
				  const struct clew_sleep *sleep);
/* The same of a kind of wait, enum clew_wait_kind, if nothing else is known about the wait. */
enum clew_spent clew_spent_of_kind(unsigned kind);

/* The sums of a task. */
struct clew_task_time {
	uint32_t task;			  /* serial */
	uint64_t spent[CLEW_SPENT_COUNT]; /* ns */
	uint64_t had_lock;		  /* ns for which it had what chosen tasks waited for */
};

/* Zeroed at first. */
struct clew_task_times {
	struct vector times; /* struct clew_task_time */
	struct map places;   /* a task -> its index in `times` */
	struct map had_cpu;  /* (a task that was ready, one that ran on its CPU) -> ns */
};

/*
 * Adds up from..to, ns, of the chosen tasks, but not of clew's own. `window`: only the pieces of
 * timelines that end in it, each as a whole; NULL: all. 0 or -ENOMEM. Cost: each piece of each
 * task once, and for a piece without a CPU each run on that CPU meanwhile.
 */
int clew_task_times_gather(struct clew_task_times *times, const struct clew_trace *trace,
			   const struct clew_chosen *chosen, uint64_t from, uint64_t to,
			   const struct clew_trace_window *window);
/* Adds the sums of a task to those that it has already. 0 or -ENOMEM. */
int clew_task_times_add(struct clew_task_times *times, const struct clew_task_time *more);
/* Adds time for which a task ran on the CPU that another one was ready for. 0 or -ENOMEM. */
int clew_task_times_add_cpu(struct clew_task_times *times, uint32_t ready, uint32_t ran,
			    uint64_t ns);
void clew_task_times_done(struct clew_task_times *times);

#endif
