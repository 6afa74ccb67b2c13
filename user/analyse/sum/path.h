/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Critical paths that are asked for, and where their time went.
 *
 * A sum is begun, finds paths in a causal trace in one piece, or operations in each window of a
 * long capture (trace/windows.h), each in a causal trace of its own, and is finished.
 */
#ifndef CLEW_ANALYSE_SUM_PATH_H
#define CLEW_ANALYSE_SUM_PATH_H

#include <clew/path.h>
#include <clew/query.h>

#include "analyse/sum/parties.h"
#include "analyse/sum/path_stacks.h"
#include "analyse/sum/places.h"
#include "trace/windows.h"

struct clew_path_asked {
	struct clew_path_options options;
	bool all;	 /* of all instances of spans, not one from here to there */
	bool operations; /* the instances are what the spans did between two idle waits */
	uint64_t idle;	 /* bit mask of these, 0 the default */
	bool keep;	 /* the paths themselves, not their sums alone; not with windows */
};

/* A path and its segments; with `all`, the span that it is an instance of. */
struct clew_found_path {
	struct clew_path path;
	struct clew_path_segment *segments;
	size_t segment_count;
	struct clew_path_mark *marks;
	size_t mark_count;
	uint32_t span;
};

struct clew_path_counts {
	size_t count;
	size_t without_path; /* instances that have none */
	clew_time whole;     /* ns from their starts to their ends */
	clew_time work;	     /* ns of their elements */
	clew_time start;     /* of the first one; */
	clew_time end;	     /* of the last one */
};

/* The sums of windows. */
struct clew_path_windows {
	struct map chosen; /* serials of the threads */
	/* A trace of all names that has the waits that separate operations by default; NULL:
	   other kinds do, or there are too many. */
	const struct clew_trace *works;
	struct map idle; /* serial -> the end of its last wait that may be idle, before a window */
	struct arena arena;
	struct parties parties;
	struct map names;		 /* hash of a name -> the name */
	struct clew_path_totals *totals; /* spans are numbers of parties */
	/* struct clew_operation: those that began before their window knows everything. They began
	 * with `from`, or earlier if that idle wait was in an exchange. */
	struct vector longs;
	struct clew_model *made;
};

struct clew_path_sum {
	const struct clew_path_asked *asked;
	const struct clew_model *model;
	struct clew_path_finder *finder;
	struct clew_path_totals *totals;
	struct clew_trace *places; /* what threads ran in */
	struct clew_place_sums ran_in;
	struct clew_path_stacks stacks;
	struct clew_path_counts counts;
	struct clew_found_path *found; /* none where only sums are wanted */
	size_t count;
	struct clew_path_windows windows;
};

/* `asked` stays the caller's. Free it with clew_path_sum_done(). */
void clew_path_sum_begin(struct clew_path_sum *sum, const struct clew_path_asked *asked);
void clew_path_sum_done(struct clew_path_sum *sum);

/* ---- a causal trace in one piece ---- */

/* Paths are found in this trace from now on. `stacks`: the trace of the capture behind it if that
 * has stacks, or NULL. 0 or -ENOMEM. */
int clew_path_sum_model(struct clew_path_sum *sum, const struct clew_model *model,
			struct clew_trace *stacks);
/* Finds the path between two positions. 0, -ENOENT if none leads there, -EINVAL if the trace is
 * inconsistent, or -ENOMEM. */
int clew_path_sum_between(struct clew_path_sum *sum, const struct clew_position *from,
			  const struct clew_position *to);
/* Finds the paths of all instances of a span. 0, -EINVAL or -ENOMEM. */
int clew_path_sum_span(struct clew_path_sum *sum, uint32_t span);
/* Finds the marks on the paths whose labels match. As clew_path_marks(). */
int clew_path_sum_marks(struct clew_path_sum *sum, const char *marks,
			struct clew_query_error *ret_error);

/* The running of a segment, as far as it lies in one call. */
struct clew_segment clew_path_place(const struct clew_path_sum *sum,
				    const struct clew_path_segment *segment);

/* ---- windows of a long capture, for operations ---- */

/* For clew_windows_run(): `spans` of the causal trace of `names`, which has the capture's. 0 or
 * -ENOMEM. */
int clew_path_sum_taker(struct clew_path_sum *sum, const struct clew_trace *names,
			const uint32_t *spans, size_t count, struct clew_windows_taker *ret_taker);
/* Operations that are longer than what their windows know are in sum->windows.longs: finds these in
 * a trace of their time. One that began before it is there afterwards. 0 or -errno. */
int clew_path_sum_longs(void *sum, const struct clew_trace *trace, const void *longs, size_t count);
/* Makes a causal trace that has all spans, which the sums are about then. 0 or -errno. */
int clew_path_sum_finish(struct clew_path_sum *sum, const struct clew_trace *names);

#endif
