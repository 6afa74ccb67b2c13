/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stitching: several causal traces become one, with dependencies between them,
 * and their clocks are brought together by these.
 *
 *	add dependency(send) from position(client @ (^request$)) of 1
 *		to positions(server @ 0%) of 2;
 *	match dependency(send) from marks(^send ) to marks(^receive );
 *	join dependencies(rpc) by key(call);
 *
 * A program of such statements (docs/stitch.md) is compiled without a trace. An
 * effect is not before its cause: a dependency from trace 1 to trace 2 limits
 * what has to be added to the times of trace 2 from below, one in the other
 * direction from above. Times are ns.
 */
#ifndef CLEW_STITCH_H
#define CLEW_STITCH_H

#include <clew/model.h>
#include <clew/query.h>

struct clew_stitching;

#define CLEW_STITCH_MOST_TRACES 64

/*
 * Compiles `size` bytes of statements, freed by clew_stitching_free(). -EINVAL:
 * *ret_error says what is wrong, at which byte; -ENOMEM.
 */
int clew_stitching_compile(const char *text, size_t size, struct clew_stitching **ret_program,
			   struct clew_query_error *ret_error);
void clew_stitching_free(struct clew_stitching *program);
/*
 * The number of statements; and the bytes of the text that are number
 * `statement`, from 0.
 */
uint32_t clew_stitching_count(const struct clew_stitching *program);
void clew_stitching_statement(const struct clew_stitching *program, uint32_t statement,
			      size_t *ret_offset, size_t *ret_size);

/*
 * The root spans and root categories that get "N:" before their name, N being the number of
 * their trace, from 1.
 */
enum clew_stitch_prefix {
	CLEW_PREFIX_CONFLICT, /* those that have the name of one in another trace */
	CLEW_PREFIX_ALWAYS,
	CLEW_PREFIX_NEVER, /* categories of one name are one */
};

struct clew_stitch_options {
	enum clew_stitch_prefix prefix;
	const char *hierarchy; /* the hierarchy of category paths in patterns; NULL: the first one
				  of each trace */
	const bool *forced;    /* by trace: its offset is given in `offsets`; may be NULL */
	const clew_time *offsets; /* ns, by trace */
	/* Dependencies by the bytes of TCP connections between the hosts of the traces, too. */
	bool connections;
};

/* The way in which the offset of a trace's clock was found. */
enum clew_clock_source {
	CLEW_CLOCK_FIRST,   /* the first trace, whose clock the others are brought to */
	CLEW_CLOCK_GIVEN,   /* by the options */
	CLEW_CLOCK_BETWEEN, /* the middle of the range that dependencies in both directions allow */
	CLEW_CLOCK_LEAST, /* dependencies lead to it only: the least offset, as if the fastest took
			     no time */
	CLEW_CLOCK_MOST,  /* dependencies lead from it only: the greatest offset */
	CLEW_CLOCK_CONFLICT, /* no offset satisfies all: the one that violates them least */
	CLEW_CLOCK_ASSUMED,  /* no dependency limits it: as if it were the first trace's clock */
};

struct clew_stitch_clock {
	enum clew_clock_source source;
	clew_time offset; /* ns that were added to its times */
	/*
	 * The range of the offset, as far as dependencies limit it. In a
	 * conflict low > high.
	 */
	bool has_low, has_high;
	clew_time low, high;
	uint64_t error; /* ns that the offset may be wrong by, for BETWEEN; at least so much for a
			   CONFLICT; else 0 */
	/* By how many parts per million it runs faster than the first trace's; its times were
	   changed accordingly. 0: by none that connections show. */
	double rate;
	uint64_t edges_in, edges_out; /* ends of dependencies from other traces and to them */
	/*
	 * CONFLICT: a clock that runs this much faster than the first trace's
	 * would explain it, in parts per million.
	 */
	bool has_drift;
	double drift;
};

/* The result of a statement. */
struct clew_stitch_count {
	uint64_t dependencies;
	uint64_t alone;	    /* marks or halves without a counterpart */
	uint64_t ambiguous; /* those with several, which cannot be told apart */
};

/* The result of joining connections between hosts. */
struct clew_stitch_connected {
	uint64_t ends;	       /* of connections, in all traces */
	uint64_t repeated;     /* of these, ends that are in several traces */
	uint64_t connections;  /* both ends of which are known, in two traces */
	uint64_t messages;     /* that an end of these took */
	uint64_t joined;       /* those of which it is known who sent them */
	uint64_t dependencies; /* waits that the arrival of one of these ended */
};

struct clew_stitch_result {
	struct clew_stitch_clock *clocks; /* the caller's array, by trace */
	struct clew_stitch_count *counts; /* the caller's array, by statement; may be NULL */
	struct clew_stitch_connected connected;
	uint64_t backward; /* ends of dependencies between traces that are still before their origin
			    */
};

/*
 * Makes one trace of `count` traces, 1 .. CLEW_STITCH_MOST_TRACES: spans,
 * dependencies, marks, waits, categories and attributes of the first, then of
 * the second and so on, each simplified; then the dependencies that the program
 * adds. Moments within attributes, and names of threads there, are changed
 * accordingly. `program` NULL: no statements. *ret_model is freed by
 * clew_model_free().
 *
 * -EINVAL: a statement cannot be applied to these traces, *ret_error says why,
 * at which byte of the program; -EBADMSG: a trace is inconsistent; -EOVERFLOW:
 * times beyond 64 bits; -E2BIG: more than 2^32 - 2 of something; -ENOMEM.
 */
int clew_stitch(const struct clew_model *const *traces, uint32_t count,
		const struct clew_stitching *program, const struct clew_stitch_options *options,
		struct clew_model **ret_model, struct clew_stitch_result *ret_result,
		struct clew_query_error *ret_error);

#endif
