/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A causal trace as it would have been with faster spans, shorter
 * delays or other dependencies.
 *
 *	scale spans(disk/(^fsync)) by .5;
 *	apply concurrency(4) to spans(worker-1, worker-2);
 *
 * A program of such statements (docs/what-if.md) is compiled without a trace and
 * may be applied to any number of them, in any number of threads.
 *
 * The trace is run again in order of time. An ES starts when its predecessor has
 * ended and its dependency has arrived, each with the delay that was recorded. A
 * gap that no dependency ends keeps its length. Without statements the trace
 * stays as it is. Waits for a CPU, a lock or a device are as long as recorded,
 * unless the program lets them queue up anew.
 */
#ifndef CLEW_WHAT_IF_H
#define CLEW_WHAT_IF_H

#include <clew/model.h>
#include <clew/query.h>

struct clew_program;

/*
 * Compiles `size` bytes of statements, freed by clew_program_free(). `sweep`:
 * factors may be ranges, `0..1`, from which each step of a sweep takes a value.
 * -EINVAL: *ret_error says what is wrong, at which byte; -ENOMEM.
 */
int clew_program_compile(const char *text, size_t size, bool sweep,
			 struct clew_program **ret_program, struct clew_query_error *ret_error);
void clew_program_free(struct clew_program *program);

/*
 * The number of statements; and the bytes of the text that are number
 * `statement`, from 0.
 */
uint32_t clew_program_count(const struct clew_program *program);
void clew_program_statement(const struct clew_program *program, uint32_t statement,
			    size_t *ret_offset, size_t *ret_size);
/*
 * True if a factor is a range; and the value of the first such factor at step
 * `step` of 0 .. steps.
 */
bool clew_program_sweeps(const struct clew_program *program);
double clew_program_factor(const struct clew_program *program, uint32_t step, uint32_t steps);

/* When an ES runs then, ns. */
struct clew_what_if_time {
	clew_time start, end;
};

struct clew_what_if_options {
	uint32_t hierarchy; /* index of the hierarchy of category paths in patterns, CLEW_NONE: none
			     */
	uint32_t step, steps; /* of a sweep: a range goes from its begin (step 0) to its end (step
				 `steps`); steps 0: its begin */
	/*
	 * The caller's array, by statement: how many spans, destinations of
	 * dependencies, or waits and requests in queues it applies to. May be
	 * NULL.
	 */
	uint64_t *matches;
	const bool *only;		 /* by span: those that patterns may choose; NULL: all */
	struct clew_what_if_time *times; /* the caller's array, by ES of the trace; may be NULL */
};

struct clew_what_if {
	clew_time before_start, before_end; /* first start and last end of all ESs, ns */
	clew_time after_start, after_end;
	uint64_t backward_edges; /* ends of dependencies before their origin: kept, not followed */
	uint32_t cpus;		 /* the number of CPUs in the program; 0: CPUs are as recorded */
	uint64_t lock_waits;	 /* that queued up anew; 0: as recorded */
	uint64_t requests;
};

/*
 * Applies a program to a trace, which is only read. `ret_model` NULL: only the
 * times are wanted; else *ret_model is freed by clew_model_free(), and its
 * spans have the indexes that they have in `model`. `options` NULL: the first
 * hierarchy.
 *
 * -EINVAL: the program cannot be applied to this trace, *ret_error says why, at
 * which byte of the program; -ELOOP, -EDEADLK: the run would never end,
 * *ret_error says why; -EBADMSG: the trace is inconsistent (ESs that overlap or
 * run backwards); -EOVERFLOW: times beyond 64 bits; -E2BIG: more than 2^32 - 2
 * of something, or a regular expression takes too much to decide; -ENOMEM.
 */
int clew_what_if(const struct clew_model *model, const struct clew_program *program,
		 const struct clew_what_if_options *options, struct clew_model **ret_model,
		 struct clew_what_if *ret_result, struct clew_query_error *ret_error);

#endif
