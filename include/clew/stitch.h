/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stitching: several causal traces as one, with the dependencies that lead from one to
 * another, and their clocks brought together by these.
 *
 *	add dependency(send) from position(client @ (^request$)) of 1 to positions(server @ 0%) of
 *2; match dependency(send) from marks(^send ) to marks(^receive ); join dependencies(rpc) by
 *key(call);
 *
 * A program of such statements (docs/stitch.md) is compiled without a trace. An effect is not
 * before its cause: a dependency from trace 1 to trace 2 says what must at least be added to
 * the times of trace 2, one back what at most.
 */
#ifndef CLEW_STITCH_H
#define CLEW_STITCH_H

#include <clew/model.h>
#include <clew/query.h>

struct clew_stitching;

#define CLEW_STITCH_MOST_TRACES 64

/* -EINVAL: *ret_error says what is wrong at which byte; -ENOMEM. */
int clew_stitching_compile(const char *text, size_t size, struct clew_stitching **ret_program,
			   struct clew_query_error *ret_error);
void clew_stitching_free(struct clew_stitching *program);
/* How many statements it has, and which bytes of the text are number `statement`. */
uint32_t clew_stitching_count(const struct clew_stitching *program);
void clew_stitching_statement(const struct clew_stitching *program, uint32_t statement,
			      size_t *ret_offset, size_t *ret_size);

/* Which root spans and root categories get "N:" before their name, N being the trace's number
 * from 1. */
enum clew_stitch_prefix {
	CLEW_PREFIX_CONFLICT, /* those that have the name of one in another trace */
	CLEW_PREFIX_ALWAYS,
	CLEW_PREFIX_NEVER, /* categories of one name are one */
};

struct clew_stitch_options {
	enum clew_stitch_prefix prefix;
	const char *hierarchy; /* whose categories patterns mean; NULL: the first of each trace */
	const bool *forced;    /* by trace: its offset is given; may be NULL */
	const clew_time *offsets; /* of those */
};

/* How the offset of a trace's clock was found. */
enum clew_clock_source {
	CLEW_CLOCK_FIRST,    /* the first trace: all others are brought to its clock */
	CLEW_CLOCK_GIVEN,    /* by the options */
	CLEW_CLOCK_BETWEEN,  /* the middle of what dependencies in both directions leave */
	CLEW_CLOCK_LEAST,    /* dependencies to it only: as if the fastest took no time */
	CLEW_CLOCK_MOST,     /* dependencies from it only: likewise */
	CLEW_CLOCK_CONFLICT, /* no one offset will do: the one that is least wrong */
	CLEW_CLOCK_ASSUMED,  /* no dependency says anything: as if it were the first one's clock */
};

struct clew_stitch_clock {
	enum clew_clock_source source;
	clew_time offset; /* was added to its times */
	/* What the offset may be, as far as anything says so. In a conflict low > high. */
	bool has_low, has_high;
	clew_time low, high;
	uint64_t error; /* how far off the offset may be, where that is known: BETWEEN, and at least
			   so far in a CONFLICT; else 0 */
	uint64_t edges_in,
		edges_out; /* dependencies from other traces and to them, by their ends */
	/* Of a CONFLICT: a clock that runs that much faster than the first one's would explain it,
	 * in parts per million. */
	bool has_drift;
	double drift;
};

/* What a statement came to. */
struct clew_stitch_count {
	uint64_t dependencies;
	uint64_t alone;	    /* marks or halves that have no counterpart */
	uint64_t ambiguous; /* those that have several, and it cannot be told which is which */
};

struct clew_stitch_result {
	struct clew_stitch_clock *clocks; /* by trace; room for all, the caller's */
	struct clew_stitch_count *counts; /* by statement, likewise; may be NULL */
	uint64_t backward; /* ends of dependencies between traces that are before their origin even
			      now */
};

/*
 * Stitches `count` traces, of 1 .. CLEW_STITCH_MOST_TRACES: spans, dependencies, marks, waits,
 * categories and attributes of the first, then of the second and so on, each simplified; then those
 * that the program adds. Moments within attributes, and names of threads there, go along. `program`
 * NULL: no statements. The model is the caller's to free.
 *
 * -EINVAL: a statement cannot be applied to these traces, *ret_error says why and at which byte of
 * the program; -EBADMSG: a trace is inconsistent; -EOVERFLOW: times beyond 64 bits; -E2BIG: more
 * than 2^32 - 2 of something; -ENOMEM.
 */
int clew_stitch(const struct clew_model *const *traces, uint32_t count,
		const struct clew_stitching *program, const struct clew_stitch_options *options,
		struct clew_model **ret_model, struct clew_stitch_result *ret_result,
		struct clew_query_error *ret_error);

#endif
