/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The dependencies of `clew edges`, in words, as JSON and as columns. */
#ifndef CLEW_ANSWERS_EDGES_EDGES_H
#define CLEW_ANSWERS_EDGES_EDGES_H

#include "answers/columns.h"
#include "format/json.h"
#include "relate/relate.h"
#include "trace/trace.h"

/* The sources of the words. */
struct edge_words {
	const struct clew_trace *trace;
	struct clew_relations *relations;
	const struct clew_activity *activities;
	struct clew_json json;
};

/* The edges of one release, which differ only in their destination. */
struct edge_group {
	const struct clew_edge *edges;
	const uint32_t *order;
	size_t count;
	size_t choices; /* how many groups, next to each other in `order`, are candidates for one
			   cause; else 0 */
};

static inline const struct clew_edge *edge_group_at(const struct edge_group *group, size_t i)
{
	return &group->edges[group->order[i]];
}

/* Items are struct clew_edge. The context of JSON and text is struct edge_row. */
extern const struct clew_column clew_edge_columns[];

/* The stack of who woke, in the words' json.stacks; CLEW_JSON_NO_NUMBER: there is none. */
uint32_t edge_waker_stack(struct edge_words *words, const struct edge_group *group);
void edge_json(struct edge_words *words, const struct edge_group *group);
void edge_print(struct edge_words *words, const struct edge_group *group);
/* The same for a call. */
void edge_json_relation(struct edge_words *words, const struct clew_relation *relation);
void edge_print_relation(struct edge_words *words, const struct clew_relation *relation);

#endif
