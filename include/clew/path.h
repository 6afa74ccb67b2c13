/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Critical paths of a causal trace: which ESs lead from one moment to another,
 * and where every unit of time between the two went.
 *
 * A path is a list of whole ESs; each next one is the successor of the one before
 * in its span, or a destination of its outgoing dependency (of the temporal
 * strategy: any that starts no earlier than the one before ends). An edge whose
 * destination starts before its origin ends is never followed. All of it only reads
 * the model, in any number of threads.
 */
#ifndef CLEW_PATH_H
#define CLEW_PATH_H

#include <clew/model.h>
#include <clew/query.h>

enum clew_strategy {
	CLEW_STRATEGY_MOST_WORK,	  /* most time in ESs */
	CLEW_STRATEGY_TEMPORAL_MOST_WORK, /* the same without causality: what ends before may lead
					     to what starts after */
	CLEW_STRATEGY_MOST_PROX,	  /* going back: what ended latest */
	CLEW_STRATEGY_PREDECESSOR,	  /* going back: the predecessor in the span first */
	CLEW_STRATEGY_LEAST_WORK,	  /* least time in ESs */
	CLEW_STRATEGY_LEAST_PROX,	  /* going back: what ended earliest */
	CLEW_STRATEGY_CAUSAL,		  /* going back: the dependency's origin first */
	CLEW_STRATEGY_COUNT,
};

/* "most_work" ...; "unknown" for none of them. Never NULL. */
const char *clew_strategy_name(unsigned strategy);
/* The strategy of a name, or -1. */
int clew_strategy_from_name(const char *name);

/*
 * The endpoint of a moment of a span: the lowest-index ES that holds it, so at a
 * boundary the earlier one. -ENOENT: the span does not run then.
 */
int clew_endpoint_at(const struct clew_model *model, uint32_t span, clew_time at,
		     struct clew_position *ret_position);

struct clew_path_options {
	enum clew_strategy strategy;
	bool all_origins; /* follow any origin that ends no later than the ES starts, not the
			     triggering one alone */
	uint32_t top;	  /* how many distinct paths at most; 0 is 1 */
};

struct clew_path {
	clew_time start; /* the moments asked for; the first and last ES may reach beyond */
	clew_time end;
	clew_time work; /* summed length of the ESs, whole ones */
	uint32_t *es;
	uint32_t count;
};

struct clew_paths {
	struct clew_path *paths; /* in order: by work, or as the strategy comes upon them when it
				    goes on searching */
	size_t count;
};

/* The memory of searches in one model, to be used again by the next one. A finder belongs to one
 * thread at a time. */
struct clew_path_finder;
int clew_path_finder_new(const struct clew_model *model, struct clew_path_finder **ret_finder);
void clew_path_finder_free(struct clew_path_finder *finder);

/*
 * Paths from one endpoint to another. -ENOENT: there is none; -EINVAL: an endpoint
 * or strategy that cannot be; -ENOMEM. Free them with clew_paths_done(), which also
 * takes a zeroed structure.
 *
 * Of ESs without length that depend on each other in a cycle, the second and later
 * paths of most_work and least_work follow one order only.
 */
int clew_path_find(struct clew_path_finder *finder, const struct clew_position *from,
		   const struct clew_position *to, const struct clew_path_options *options,
		   struct clew_paths *ret_paths);
void clew_paths_done(struct clew_paths *paths);

/* What a span did between two idle waits of its own. */
struct clew_path_operation {
	clew_time from; /* the first of them was over; from there it was in the run queue */
	struct clew_position start; /* it ran again */
	struct clew_position end;   /* the second one began */
};

/*
 * The operations of a span in order of time. `idle_kinds`: bit mask of the kinds of
 * waits (enum clew_wait_kind) that count as idle; 0: as for clew_operations(). One
 * that is continued in the same system call is one idle wait. The array is the
 * caller's to free. 0 or -ENOMEM.
 */
int clew_path_operations(const struct clew_model *model, uint32_t span, uint64_t idle_kinds,
			 struct clew_path_operation **ret_operations, size_t *ret_count);

/*
 * A stretch of a path, never empty. Kinds: running, in an ES of the path, or device
 * where that is a request's; a wait's kind, where the path goes through a gap of a span; runqueue,
 * between what made an ES ready and its start. What an edge's destination did while it could not
 * yet take the dependency is running, too, but not on the path. A gap that nobody typed is unknown,
 * or other where a child ran in it.
 */
struct clew_path_segment {
	clew_time start;
	clew_time end;
	uint32_t kind;	     /* enum clew_wait_kind, CLEW_SEGMENT_* included */
	uint32_t span;	     /* whose time it is */
	uint32_t es;	     /* running: the ES; else the one it ends in */
	uint32_t dependency; /* of a scheduling delay: the edge; else CLEW_NONE */
	uint32_t attributes; /* of a typed wait, or of the request that was queued or at the device;
				else CLEW_NONE */
	uint32_t child;	     /* of a gap in which a child ran: the child; else CLEW_NONE */
	bool on_path;	     /* an ES of the path runs */
};

/*
 * Segments in order of time; they cover path->start..end exactly. A path of an
 * operation may be given its `from` as start. The array is the caller's to free. 0 or
 * -ENOMEM.
 */
int clew_path_segments(const struct clew_model *model, const struct clew_path *path,
		       struct clew_path_segment **ret_segments, size_t *ret_count);

/*
 * What a segment waited for, "KIND:NAME", or the file that its request was on; NULL:
 * nothing that is known. Of a page fault and a stop there is none: what the
 * interrupted call worked on has nothing to do with them. The model's.
 */
const char *clew_path_segment_object(const struct clew_model *model,
				     const struct clew_path_segment *segment);

/* A mark of an ES of a path. */
struct clew_path_mark {
	uint32_t mark;
	uint32_t es;
};

/*
 * The marks in a path's ESs whose labels match a regular expression of `size` bytes,
 * in order; also those before its start and behind its end, as the ESs are whole ones.
 * The array is the caller's to free. -EINVAL: *ret_error says what is wrong with the
 * expression; -E2BIG: it takes too much to decide; -ENOMEM.
 */
int clew_path_marks(const struct clew_model *model, const struct clew_path *path,
		    const char *expression, size_t size, struct clew_path_mark **ret_marks,
		    size_t *ret_count, struct clew_query_error *ret_error);

/* What segments are summed by. */
enum clew_path_dimension {
	CLEW_BY_KIND,
	CLEW_BY_THREAD,	  /* the root span */
	CLEW_BY_FUNCTION, /* the name of a span that has a parent; of a request its operation */
	CLEW_BY_OBJECT,	  /* clew_path_segment_object(), and the kind */
	CLEW_BY_COUNT,
};

struct clew_path_total {
	clew_time ns;
	uint64_t segments;
	uint32_t dimension; /* enum clew_path_dimension */
	uint32_t kind;	    /* of a kind or object */
	uint32_t span;	    /* of a thread; else CLEW_NONE */
	const char *name;   /* of a function or object; else NULL. The model's */
};

/* Sums of the segments of any number of paths of one model. */
struct clew_path_totals;
int clew_path_totals_new(const struct clew_model *model, struct clew_path_totals **ret_totals);
void clew_path_totals_free(struct clew_path_totals *totals);
/* 0 or -ENOMEM. */
int clew_path_totals_add(struct clew_path_totals *totals, const struct clew_path_segment *segments,
			 size_t count);
/* All sums, a dimension after the other, each from the largest down. Valid until something is
 * added. */
const struct clew_path_total *clew_path_totals_list(struct clew_path_totals *totals,
						    size_t *ret_count);

#endif
