/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The object of a dependency. */
#include "words/edge.h"

/*
 * The part of the wait that an edge ended that the object's description needs.
 */
struct clew_sleep clew_edge_ended(const struct clew_edge *edge)
{
	return (struct clew_sleep){
		.task = edge->to,
		.start = edge->to_at,
		.ended_by = edge->from,
		.edge_type = (int8_t)edge->type,
		.call = CLEW_NO_CALL,
		.kind = CLEW_WAIT_UNKNOWN,
		.links = edge->links,
		.link_count = edge->link_count,
	};
}

/*
 * The object that an edge goes through: a request, a timer, a work item, else
 * what was waited for.
 */
struct clew_object clew_edge_object(const struct clew_edge *edge)
{
	const struct clew_link *first = edge->links, *last;

	if (edge->link_count == 0)
		return edge->object;
	last = first + edge->link_count - 1;
	if (edge->type == CLEW_EDGE_REQUEST && last->kind == CLEW_LINK_REQUEST)
		return (struct clew_object){
			.kind = CLEW_OBJECT_REQUEST, .number = last->number, .descriptor = -1};
	if (edge->type == CLEW_EDGE_TIMER && last->kind == CLEW_LINK_TIMER)
		return (struct clew_object){
			.kind = CLEW_OBJECT_TIMER, .number = last->number, .descriptor = -1};
	if (edge->type == CLEW_EDGE_WORK && first->kind == CLEW_LINK_WORK)
		return (struct clew_object){
			.kind = CLEW_OBJECT_WORK, .number = first->number, .descriptor = -1};
	return edge->object;
}
