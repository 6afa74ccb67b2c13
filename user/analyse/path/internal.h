/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared by the path strategies: the edges of the causal graph that an analysis
 * may follow, and the ESs between two others.
 */
#ifndef CLEW_ANALYSE_PATH_INTERNAL_H
#define CLEW_ANALYSE_PATH_INTERNAL_H

#include "base/vector.h"
#include <clew/path.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static inline clew_time es_length(const struct clew_model *model, uint32_t es)
{
	return model->es[es].end - model->es[es].start;
}

/* The triggering origin of an ES's incoming dependency, CLEW_NONE if there is none or it ends too
 * late. */
static inline uint32_t usable_trigger(const struct clew_model *model, uint32_t es)
{
	uint32_t dependency = model->es[es].in, trigger;

	if (dependency == CLEW_NONE)
		return CLEW_NONE;
	trigger = clew_model_trigger(model, dependency);
	return trigger != CLEW_NONE && model->es[trigger].end <= model->es[es].start ? trigger
										     : CLEW_NONE;
}

/* The destinations that an ES's outgoing dependency leads to; which of them start in time is the
 * caller's to see. */
static inline const uint32_t *targets(const struct clew_model *model, uint32_t es, bool all_origins,
				      uint32_t *ret_count)
{
	const struct clew_dependency *dependency;

	*ret_count = 0;
	if (model->es[es].out == CLEW_NONE)
		return NULL;
	dependency = &model->dependencies[model->es[es].out];
	if (all_origins || dependency->origins.count == 1 ||
	    model->origins[dependency->origins.first] == es)
		*ret_count = dependency->destinations.count;
	return model->destinations + dependency->destinations.first;
}

/*
 * From when an ES that follows a gap was ready to run: what ended its wait was over.
 * Its start where that is not known, the gap's start of one that is all run queue.
 */
clew_time gap_ready(const struct clew_model *model, uint32_t es);

/* A word of an attribute of rows, without its backslashes; its length. The position behind it
 * stays at *at. */
size_t row_word(const char **at, char *word, size_t size);

/* A row of a wait's attribute `holder`: who had it, within the wait; or was woken for it and had no
 * CPU yet. */
struct holder_row {
	char name[512];
	clew_time from, to;
	bool coming;
	unsigned evidence; /* enum clew_evidence */
};

/*
 * The next row of "NAME", or of rows "NAME FROM TO EVIDENCE [barged|coming]" in order of holding, a
 * comma between them, of a wait from..to. False: there is none.
 */
bool next_holder(const char **at, clew_time from, clew_time to, struct holder_row *ret_row);

/* CLEW_NONE: the trace has no hierarchy of this name. */
uint32_t hierarchy_named(const struct clew_model *model, const char *name);

/* A search's state of an ES; all zero before the search. */
struct path_node {
	clew_time work; /* of the best path so far */
	uint32_t from;	/* the ES it comes through (greedy: goes on to) + 1; 0 none */
	uint32_t edges; /* of dependencies that come from within the reach and were not followed
			   yet, or NODE_DONE */
};

#define NODE_DONE UINT32_MAX

/*
 * The ESs on any causal path between two ("the reach"). An ES that leads to another is reached
 * by all its predecessors, and one that is led to by all its successors, so that in each span
 * they are one run of neighbours: first..last, none if first is
 * CLEW_NONE.
 */
struct span_reach {
	uint32_t first;
	uint32_t last;
	uint32_t low, high; /* where the search stopped looking, either way */
	uint32_t lowest;    /* the first ES worth looking at */
	bool waiting;
};

struct clew_path_finder {
	const struct clew_model *model;
	struct path_node *nodes; /* one an ES */
	struct vector node_memory;
	struct span_reach *spans;
	struct vector touched;	/* uint32_t: spans that are not as they were at first */
	struct vector worklist; /* uint32_t: spans of which more ESs have to be looked at */
	size_t taken;		/* of the worklist */
	struct vector queue;	/* uint32_t: ESs, in order of their visit */
	uint32_t count;		/* ESs of the reach */
};

/* Finds the reach, and every ES's count of edges from within. -ENOENT: no path; -ENOMEM. The finder
 * is new, or forgot the last one. */
int reach_between(struct clew_path_finder *finder, uint32_t from, uint32_t to, bool all_origins);
/* Clears what the last search left behind, if it left anything. */
void reach_forget(struct clew_path_finder *finder);

static inline bool reach_has(const struct clew_path_finder *finder, uint32_t es)
{
	const struct span_reach *span = &finder->spans[finder->model->es[es].span];

	return span->first != CLEW_NONE && span->first <= es && es <= span->last;
}

static inline int list_add(struct vector *list, uint32_t item)
{
	int r = vector_reserve(list, list->count + 1);

	if (r < 0)
		return r;
	((uint32_t *)list->data)[list->count++] = item;
	return 0;
}

/* The first *taken items of a queue are done with: where they are most of it, they make room. */
static inline void list_drop(struct vector *list, size_t *taken)
{
	uint32_t *items = list->data;

	if (*taken < 4096 || *taken * 2 < list->count)
		return;
	memmove(items, items + *taken, sizeof(*items) * (list->count - *taken));
	list->count -= *taken;
	*taken = 0;
}

/* Adds a path, reading the ESs from the last to the first where `backwards`. Takes a copy. */
int paths_add(struct clew_paths *paths, const struct clew_model *model, const uint32_t *es,
	      uint32_t count, bool backwards);

/* The strategies: each adds at least one path, or returns -ENOENT. */
int path_work(struct clew_path_finder *finder, uint32_t from, uint32_t to,
	      const struct clew_path_options *options, struct clew_paths *paths);
int path_greedy(struct clew_path_finder *finder, uint32_t from, uint32_t to,
		const struct clew_path_options *options, struct clew_paths *paths);
int path_temporal(struct clew_path_finder *finder, uint32_t from, uint32_t to,
		  const struct clew_path_options *options, struct clew_paths *paths);

/*
 * The best paths of a graph without cycles, one after the other, when the best
 * continuation of every node is known. A node is a number; the path of a node ends
 * at `end`, which has no continuation.
 */
struct top_graph {
	void *context;
	uint32_t end;
	bool least;
	clew_time (*length)(void *context, uint32_t node);
	/* The best length of a path from this node to the end. */
	clew_time (*best)(void *context, uint32_t node);
	/* The continuation that gives it. */
	uint32_t (*best_next)(void *context, uint32_t node);
	/* Continuation number i, from 0; false: there are no more. None twice; CLEW_NONE: does not
	 * lead to the end. */
	bool (*next)(void *context, uint32_t node, uint32_t i, uint32_t *ret_node);
};

/* Calls `found` with the nodes of each path, best first, at most `limit`; it returns 0 or stops the
 * search with its error. */
int top_paths(const struct top_graph *graph, uint32_t start, uint32_t limit,
	      int (*found)(void *context, const uint32_t *nodes, uint32_t count),
	      void *found_context);

#endif
