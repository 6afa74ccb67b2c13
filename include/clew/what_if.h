/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What if: a causal trace as it would have been, had spans been faster, delays
 * shorter, dependencies other ones.
 *
 *	scale spans(disk/(^fsync)) by .5;
 *	apply concurrency(4) to spans(worker-1, worker-2);
 *
 * A program of such statements (docs/what-if.md) is compiled without a trace and may be
 * applied to any number of them, in any number of threads. The trace is run again in order of
 * time: an ES starts when its predecessor has ended and its dependency has arrived, each
 * with the delay that was recorded; a gap that no dependency ends stays. Without statements
 * the trace stays as it is. Who waited for a CPU, a lock or a device waits as long as recorded,
 * unless the program has them queue up again.
 */
#ifndef CLEW_WHAT_IF_H
#define CLEW_WHAT_IF_H

#include <clew/model.h>
#include <clew/query.h>

struct clew_program;

/*
 * Compiles a program. `sweep`: factors may be ranges, `0..1`, which a step of a sweep
 * chooses from. -EINVAL: *ret_error says what is wrong at which byte; -ENOMEM.
 */
int clew_program_compile(const char *text, size_t size, bool sweep,
			 struct clew_program **ret_program, struct clew_query_error *ret_error);
void clew_program_free(struct clew_program *program);

/* How many statements it has, and which bytes of the text are number `statement`. */
uint32_t clew_program_count(const struct clew_program *program);
void clew_program_statement(const struct clew_program *program, uint32_t statement,
			    size_t *ret_offset, size_t *ret_size);
/* Whether a factor of it is a range; the factor of the first such one at step `step` of 0 .. steps.
 */
bool clew_program_sweeps(const struct clew_program *program);
double clew_program_factor(const struct clew_program *program, uint32_t step, uint32_t steps);

struct clew_what_if_options {
	uint32_t hierarchy;   /* whose categories patterns mean, CLEW_NONE: none */
	uint32_t step, steps; /* of a sweep: each range from its begin (0) to its end (steps); steps
				 0 is the begin */
	/* Of each statement: how many spans, or destinations of dependencies, or waits and requests
	 * in queues it applies to; may be NULL.
	 */
	uint64_t *matches;
};

struct clew_what_if {
	clew_time before_start, before_end; /* first start and last end of all ESs */
	clew_time after_start, after_end;
	uint64_t backward_edges; /* of an effect before its cause: kept, and not followed */
	uint32_t cpus;		 /* that the program says there are; 0: as recorded */
	uint64_t lock_waits;	 /* that were in queues again; 0: as recorded */
	uint64_t requests;
};

/*
 * Applies a program to a trace. `ret_model` NULL: only the times are wanted; else it is
 * the caller's to free; its spans have the numbers that they have in `model`.
 * `options` NULL: the first hierarchy. Errors: -EINVAL: the program cannot be applied to
 * this trace, or -ELOOP, -EDEADLK: it would never end; *ret_error says why, for -EINVAL at which
 * byte of the program. -EBADMSG: the trace itself is inconsistent (ESs that overlap or
 * run backwards); -EOVERFLOW: times beyond 64 bits; -E2BIG: more than 2^32 - 2 of something, or
 * a regular expression takes too much to decide; -ENOMEM.
 */
int clew_what_if(const struct clew_model *model, const struct clew_program *program,
		 const struct clew_what_if_options *options, struct clew_model **ret_model,
		 struct clew_what_if *ret_result, struct clew_query_error *ret_error);

#endif
