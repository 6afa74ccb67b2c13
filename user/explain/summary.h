/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Adds up how the programs of a recording spent their time: added up over all of their threads,
 * without idle waits and without clew itself. A program is all processes of one name; a kernel
 * thread's name counts up to its first digit, so that all kworkers are one.
 */
#ifndef CLEW_EXPLAIN_SUMMARY_H
#define CLEW_EXPLAIN_SUMMARY_H

#include "explain/spent.h"

struct clew_program {
	char name[CLEW_COMM_SIZE + 1];
	bool kernel;			  /* kernel threads */
	size_t tasks;			  /* that spent any time */
	uint64_t total;			  /* ns, the sum of `spent` */
	uint64_t spent[CLEW_SPENT_COUNT]; /* ns */
	/* ns for which it had what threads waited for, its own ones, too: the CPU, a lock */
	uint64_t had_cpu;
	uint64_t had_lock;
};

struct clew_summary {
	struct clew_program *programs; /* most time first, `other` not counted */
	size_t count;
	uint32_t *program_of; /* by the index of a task: its program */
	struct clew_task_times times;
};

/* The name of a task's program. Returns true for a kernel thread's. */
bool clew_program_name(const struct clew_trace *trace, const struct clew_trace_task *task,
		       char name[static CLEW_COMM_SIZE + 1]);

/*
 * The sums of programs from those of their tasks, which it takes over, also after an error. `trace`
 * knows all tasks. Tasks that are not chosen are only in what programs had that the chosen ones
 * waited for. Free the result with clew_summary_done(). 0 or -ENOMEM.
 */
int clew_summary_of(const struct clew_trace *trace, struct clew_task_times *times,
		    struct clew_summary *ret_summary);
void clew_summary_done(struct clew_summary *summary);

/* The program of a task, by its serial; UINT32_MAX: none. */
uint32_t clew_summary_program(const struct clew_summary *summary, const struct clew_trace *trace,
			      uint32_t serial);

/*
 * The time that each program had the CPU for which the threads of `victim` (an index) were ready:
 * *ret_ns has summary->count elements, and is the caller's to free. 0 or -ENOMEM.
 */
int clew_summary_cpu(const struct clew_summary *summary, const struct clew_trace *trace,
		     uint32_t victim, uint64_t **ret_ns);

#endif
