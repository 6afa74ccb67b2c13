/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stacks of a trace: where in its code, and where in the kernel, a task waited or ran. All that
 * is returned is the trace's.
 */
#ifndef CLEW_TRACE_STACKS_H
#define CLEW_TRACE_STACKS_H

#include "trace/trace.h"

struct clew_trace_stack {
	const uint64_t *frames; /* innermost first, as records have them */
	uint32_t count;
	uint8_t end;   /* enum clew_stack_end */
	uint8_t flags; /* CLEW_STACK_* */
};

/* A stack of NULL was not taken, or its frames were lost. */
struct clew_sleep_stacks {
	const struct clew_trace_stack *user;
	const struct clew_trace_stack *kernel;
	uint8_t user_end; /* enum clew_stack_end, also of a user stack without frames */
};

/* False: the capture has no stacks of that sleep. */
bool clew_trace_sleep_stacks(const struct clew_trace *trace, const struct clew_sleep *sleep,
			     struct clew_sleep_stacks *ret_stacks);

/* From where in its code a task woke another one at a moment, such as an edge's `from` and
 * `from_at`. False: the capture has none of that wake. */
bool clew_trace_waker_stacks(const struct clew_trace *trace, uint32_t waker, uint64_t at,
			     struct clew_sleep_stacks *ret_stacks);

/* The samples of a task in from..to, in order of time; NULL: none. */
const struct clew_task_stacks *clew_trace_samples(const struct clew_trace *trace, uint32_t task,
						  uint64_t from, uint64_t to, size_t *ret_count);
/* All samples, by task and time; NULL: none. */
const struct clew_task_stacks *clew_trace_all_samples(const struct clew_trace *trace,
						      size_t *ret_count);
void clew_trace_sample_stacks(const struct clew_trace *trace, const struct clew_task_stacks *sample,
			      struct clew_sleep_stacks *ret_stacks);

/* True if the capture has stacks at all. */
bool clew_trace_has_stacks(const struct clew_trace *trace);

struct clew_stack_place {
	const char *name;   /* of the function, as the file has it; NULL unknown */
	const char *object; /* path of the file; NULL: none, or the kernel */
	uint64_t at;	    /* in the file; without one the address */
	uint64_t start;	    /* of the function there; `at`: unknown */
	bool outside;	    /* of all files */
	bool jit;	    /* code that the process made; `at` and `start` are addresses */

	/* In the source, of a trace with lines (trace/lines.h). */
	const char *file; /* path; NULL unknown */
	unsigned line;	  /* from 1; 0 unknown */
	bool inlined;	  /* compiled into the next place, which has `at` */
};

/* The function that a frame lies in. */
void clew_trace_stack_place(const struct clew_trace *trace, uint64_t frame, bool kernel,
			    struct clew_stack_place *ret_place);

/* For struct clew_trace: keeps a record of kind STACK, WAITED, WAKER, SAMPLE, IMAGE or SYMBOL. */
int trace_take_stack(struct clew_trace *trace, const struct clew_header *header);
void trace_finish_stacks(struct clew_trace *trace);

#endif
