/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Critical paths of a causal trace: which ESs lead from one moment to another,
 * and where every unit of time between the two went.
 *
 * A path is a list of whole ESs. Each next one is the successor of the one
 * before in its span, or a destination of its outgoing dependency; for the
 * temporal strategy, any ES that starts no earlier than the one before ends. A
 * dependency whose destination starts before its origin ends is never followed.
 *
 * Times are ns, as in the model. All functions only read the model.
 */
#ifndef CLEW_PATH_H
#define CLEW_PATH_H

#include <clew/model.h>
#include <clew/query.h>

enum clew_strategy {
	CLEW_STRATEGY_MOST_WORK,	  /* most time in ESs */
	CLEW_STRATEGY_TEMPORAL_MOST_WORK, /* the same without causality: an ES may follow any that
					     ended before it starts */
	CLEW_STRATEGY_MOST_PROX,	  /* backwards, to what ended latest */
	CLEW_STRATEGY_PREDECESSOR,	  /* backwards, to the predecessor in the span first */
	CLEW_STRATEGY_LEAST_WORK,	  /* least time in ESs */
	CLEW_STRATEGY_LEAST_PROX,	  /* backwards, to what ended earliest */
	CLEW_STRATEGY_CAUSAL,		  /* backwards, to the dependency's origin first */
	CLEW_STRATEGY_COUNT,
};

/*
 * Its name, "most_work" ..; "unknown" for a value outside the list. Never NULL.
 */
const char *clew_strategy_name(unsigned strategy);
/* The strategy of a name, or -1. */
int clew_strategy_from_name(const char *name);

/*
 * The endpoint for a moment of a span: the lowest-index ES that contains it,
 * which is the earlier one at a boundary. -ENOENT: the span does not run then.
 */
int clew_endpoint_at(const struct clew_model *model, uint32_t span, clew_time at,
		     struct clew_position *ret_position);

struct clew_path_options {
	enum clew_strategy strategy;
	bool all_origins; /* follow every origin that ends no later than the ES starts, not only the
			     triggering one */
	uint32_t top;	  /* the most distinct paths to find; 0 means 1 */
};

struct clew_path {
	clew_time
		start; /* the moments that were asked for; the first and last ES may reach beyond */
	clew_time end;
	clew_time work; /* sum of the whole lengths of the ESs */
	uint32_t *es;
	uint32_t count;
};

struct clew_paths {
	struct clew_path *paths; /* by work; or in the order in which the strategy finds them */
	size_t count;
};

/*
 * Memory for searches in one model, which has to outlive it. A finder belongs
 * to one thread at a time. 0 or -ENOMEM.
 */
struct clew_path_finder;
int clew_path_finder_new(const struct clew_model *model, struct clew_path_finder **ret_finder);
void clew_path_finder_free(struct clew_path_finder *finder);

/*
 * Finds paths from one endpoint to another. Free them with clew_paths_done(),
 * which also takes a zeroed structure. -ENOENT: there is none; -EINVAL: an
 * invalid endpoint or strategy; -ENOMEM.
 *
 * Among ESs without length that depend on each other in a cycle, the second and
 * later paths of most_work and least_work use one order only.
 */
int clew_path_find(struct clew_path_finder *finder, const struct clew_position *from,
		   const struct clew_position *to, const struct clew_path_options *options,
		   struct clew_paths *ret_paths);
void clew_paths_done(struct clew_paths *paths);

/* The interval between two idle waits of a span. */
struct clew_path_operation {
	clew_time from; /* the end of the first idle wait; from there on it was in the run queue */
	struct clew_position start; /* where it ran again */
	struct clew_position end;   /* where the second idle wait began */
};

/*
 * The operations of a span, in order of time. `idle_kinds`: bit mask of the
 * kinds of waits (enum clew_wait_kind) that separate operations; 0: poll,
 * accept or receive on a socket, read of an empty pipe. Successive waits in one
 * system call are one idle wait. The array is the caller's to free. Returns 0
 * or -ENOMEM.
 */
int clew_path_operations(const struct clew_model *model, uint32_t span, uint64_t idle_kinds,
			 struct clew_path_operation **ret_operations, size_t *ret_count);

/*
 * True if a span has an idle wait before which no other one lies; then *ret_at is where it ran
 * last before that wait. Its operation, if there is one, began before the trace did.
 */
bool clew_path_unbegun(const struct clew_model *model, uint32_t span, uint64_t idle_kinds,
		       clew_time *ret_at);

/*
 * A part of a path's time, never empty. Its kind is
 *
 * - running: an ES of the path runs (device: the ES is a request's), or the
 *   destination of a dependency runs before it can take that; then the time is
 *   not on the path
 * - a kind of wait: the path goes through a gap of a span
 * - runqueue: between what made an ES ready and its start
 * - unknown: a gap without a type; other, if a child ran in it
 */
struct clew_path_segment {
	clew_time start;
	clew_time end;
	uint32_t kind;	     /* enum clew_wait_kind, CLEW_SEGMENT_* included */
	uint32_t span;	     /* whose time it is */
	uint32_t es;	     /* running: the ES; else the one it ends in */
	uint32_t dependency; /* runqueue: the dependency that ended the wait; else CLEW_NONE */
	uint32_t attributes; /* the attribute list of a typed wait, or of the request that was
				queued or in the device; else CLEW_NONE */
	uint32_t child;	     /* the child that ran in a gap; else CLEW_NONE */
	bool on_path;	     /* an ES of the path runs */
};

/*
 * The segments of a path in order of time; they cover path->start..end exactly.
 * The path of an operation may be given the operation's `from` as its start.
 * The array is the caller's to free. Returns 0 or -ENOMEM.
 */
int clew_path_segments(const struct clew_model *model, const struct clew_path *path,
		       struct clew_path_segment **ret_segments, size_t *ret_count);

/*
 * The object that a segment waited for, "KIND:NAME", or the file of its request; a string
 * of the model. NULL: unknown. A page fault and a stop have none: the
 * interrupted call's object is not what they wait for.
 */
const char *clew_path_segment_object(const struct clew_model *model,
				     const struct clew_path_segment *segment);

/* A mark of an ES of a path. */
struct clew_path_mark {
	uint32_t mark;
	uint32_t es;
};

/*
 * The marks in a path's ESs whose labels match a regular expression of `size`
 * bytes, in order. As the ESs are whole ones, marks may lie before the path's
 * start or behind its end. The array is the caller's to free. -EINVAL:
 * *ret_error says what is wrong with the expression; -E2BIG: it takes too much
 * to decide; -ENOMEM.
 */
int clew_path_marks(const struct clew_model *model, const struct clew_path *path,
		    const char *expression, size_t size, struct clew_path_mark **ret_marks,
		    size_t *ret_count, struct clew_query_error *ret_error);

/* The property by which segments are summed. */
enum clew_path_dimension {
	CLEW_BY_KIND,
	CLEW_BY_THREAD,	  /* the root span */
	CLEW_BY_FUNCTION, /* the name of a span that has a parent; for a request, its operation */
	CLEW_BY_OBJECT,	  /* clew_path_segment_object(), and the kind */
	CLEW_BY_COUNT,
};

struct clew_path_total {
	clew_time ns;
	uint64_t segments;
	uint32_t dimension; /* enum clew_path_dimension */
	uint32_t kind;	    /* by kind and by object: the kind */
	uint32_t span;	    /* by thread: the root span; else CLEW_NONE */
	const char
		*name; /* by function and by object: the name, a string of the model; else NULL */
};

/*
 * Sums of the segments of any number of paths of one model, which has to
 * outlive them. Freed by clew_path_totals_free(). 0 or -ENOMEM.
 */
struct clew_path_totals;
int clew_path_totals_new(const struct clew_model *model, struct clew_path_totals **ret_totals);
void clew_path_totals_free(struct clew_path_totals *totals);
/* 0 or -ENOMEM. */
int clew_path_totals_add(struct clew_path_totals *totals, const struct clew_path_segment *segments,
			 size_t count);
/* Adds a sum of others. Its name has one address wherever it is the same. 0 or -ENOMEM. */
int clew_path_totals_merge(struct clew_path_totals *totals, const struct clew_path_total *row);
/*
 * All sums, by dimension, then from the largest down. The array belongs to
 * `totals` and is valid until something is added.
 */
const struct clew_path_total *clew_path_totals_list(struct clew_path_totals *totals,
						    size_t *ret_count);

#endif
