/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The list of `clew edges`: the dependencies and calls that were chosen, or sums of them. One
 * release that woke several tasks is one dependency with several destinations.
 */
#ifndef CLEW_ANSWERS_EDGES_LIST_H
#define CLEW_ANSWERS_EDGES_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "answers/edges/edges.h"
#include "answers/sums.h"
#include "base/sort.h"
#include "explain/sums.h"

/* Tags of rows. */
enum edge_list_tag { EDGE_LIST_EDGES, EDGE_LIST_RELATION };

struct edge_list {
	struct edge_words words; /* its json.out is where the list goes */
	const struct clew_edge *edges;
	uint32_t *order, *begin; /* of clew_trace_edge_groups() */
	size_t group_count;
	const struct clew_relation *relations;
	size_t relation_count;
	struct sort_key *rows; /* in their order; the index is that of the group or relation */
	size_t row_count;
	enum clew_sum_by by;
	struct clew_sums sums; /* unless `by` is none; the item is the group */
	struct clew_left_out left_out;
	bool part; /* only this interval was asked for: */
	uint64_t from, to;
};

struct edge_group edge_list_group(const struct edge_list *list, size_t at);
/* The wait that an edge ended; NULL: it ended none. */
const struct clew_sleep *edge_list_sleep(const struct clew_trace *trace,
					 const struct clew_edge *edge);

/* 0 or -ENOMEM. */
int edge_list_print(struct edge_list *list);
int edge_list_json(struct edge_list *list);

#endif
