/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The table of dependencies between tasks. */
#include "answers/edges/edges.h"
#include "tables/internal.h"

static size_t edge_count(struct table_source *source)
{
	size_t count;

	clew_trace_edges(source->trace, &count);
	return count;
}

static const struct clew_edge *edge_at(const struct table_source *source, size_t item)
{
	size_t count;

	return clew_trace_edges(source->trace, &count) + item;
}

static size_t edge_parts(const struct table_source *source, size_t item)
{
	const struct clew_edge *edge = edge_at(source, item);

	return row_wanted(source, edge->from, edge->from_at, edge->to_at) ||
	       row_wanted(source, edge->to, edge->from_at, edge->to_at);
}

static const void *edge_item(const struct table_source *source, size_t item)
{
	return edge_at(source, item);
}

const struct table table_edges = {.name = "edges",
				  .meaning = "dependencies between tasks, with their evidence",
				  .columns = clew_edge_columns,
				  .count = edge_count,
				  .parts = edge_parts,
				  .item = edge_item};
