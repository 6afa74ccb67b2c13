/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Dependencies as arrows between threads. */
#include "export/flow.h"

#include "words/edge.h"

const struct clew_sleep *flow_sleep(const struct clew_trace *trace, const struct clew_edge *edge)
{
	struct clew_piece piece;

	if (!edge->ends_sleep || !clew_trace_piece(trace, edge->to, edge->to_at, true, &piece) ||
	    !piece.sleep || piece.sleep->end != edge->to_at)
		return NULL;
	return piece.sleep;
}

bool flow_is_shown(const struct clew_export *export, const struct clew_edge *edge)
{
	const struct clew_trace_task *from = clew_trace_task(export->trace, edge->from);
	const struct clew_trace_task *to = clew_trace_task(export->trace, edge->to);
	const struct clew_sleep *sleep = flow_sleep(export->trace, edge);
	uint64_t since = sleep ? sleep->start : edge->from_at;

	return from && from->tid && to && to->tid && clew_export_wants(export, edge->to) &&
	       clew_export_has(export, since, edge->to_at);
}

unsigned flow_further_count(const struct clew_edge *edge)
{
	return edge->type == CLEW_EDGE_REQUEST ? edge->and_count : 0;
}

const struct clew_link *flow_further(const struct clew_edge *edge, unsigned number)
{
	return &edge->links[edge->link_count + number - 1];
}

bool flow_describe(const struct clew_trace *trace, const struct clew_edge *edge,
		   struct object_description *ret_object)
{
	struct clew_object object = clew_edge_object(edge);
	struct clew_sleep ended = clew_edge_ended(edge);

	return object_describe_then(trace, &object, &ended, ended.start, ret_object);
}

static size_t first_at(const struct clew_edge *edges, size_t count, uint64_t at)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (edges[middle].to_at < at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct clew_edge *flow_next(const struct clew_export *export, const struct clew_edge *edges,
				  size_t count, const struct clew_sleep *sleep, size_t *at)
{
	size_t i = *at ?: first_at(edges, count, sleep->end);

	for (; i < count && edges[i].to_at == sleep->end; i++)
		if (edges[i].to == sleep->task && edges[i].ends_sleep &&
		    flow_sleep(export->trace, &edges[i]) == sleep &&
		    flow_is_shown(export, &edges[i])) {
			*at = i + 1;
			return &edges[i];
		}
	return NULL;
}
