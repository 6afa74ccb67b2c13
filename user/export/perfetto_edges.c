/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Dependencies as flows. Each begins at an instant on the track of the task that acted, and
 * ends at the begin of the slice in which the other task is ready: an arrow to the end of a
 * wait would be drawn from the wait's begin, backwards. A task that had its CPU at once, and
 * one that began by the dependency, gets an instant instead.
 */
#include "export/perfetto_events.h"

#include <errno.h>
#include <stdlib.h>

#include "words/describe.h"
#include "words/edge.h"

static bool ends_at_ready(const struct clew_sleep *sleep)
{
	return sleep && sleep->switch_in > sleep->end;
}

const struct clew_sleep *edges_sleep(const struct events *events, const struct clew_edge *edge)
{
	struct clew_piece piece;

	if (!edge->ends_sleep ||
	    !clew_trace_piece(events->it->trace, edge->to, edge->to_at, true, &piece) ||
	    !piece.sleep || piece.sleep->end != edge->to_at)
		return NULL;
	return piece.sleep;
}

/* Both ends are tasks that have tracks. */
static bool is_shown(const struct events *events, const struct clew_edge *edge)
{
	const struct clew_trace_task *from = clew_trace_task(events->it->trace, edge->from);
	const struct clew_trace_task *to = clew_trace_task(events->it->trace, edge->to);
	const struct clew_sleep *sleep = edges_sleep(events, edge);
	uint64_t since = sleep ? sleep->start : edge->from_at;

	return from && from->tid && to && to->tid &&
	       clew_export_wants(events->it->export, edge->to) &&
	       clew_export_has(events->it->export, since, edge->to_at);
}

/* Requests that had to complete, too, behind the dependency's own origin. */
static unsigned further_count(const struct clew_edge *edge)
{
	return edge->type == CLEW_EDGE_REQUEST ? edge->and_count : 0;
}

static const struct clew_link *further_origin(const struct clew_edge *edge, unsigned number)
{
	return &edge->links[edge->link_count + number - 1];
}

static int add_edge(struct events *events, size_t i)
{
	const struct clew_edge *edge = &events->groups.edges[i];
	struct perfetto *it = events->it;

	perfetto_thread_track(it, edge->from);
	perfetto_thread_track(it, edge->to);
	for (unsigned k = 1; k <= further_count(edge); k++)
		perfetto_thread_track(it, further_origin(edge, k)->task);
	if (ends_at_ready(edges_sleep(events, edge)))
		return 0;
	return event_add(events, EFFECT, edge->to_at, i);
}

static int add_cause(struct events *events, const struct clew_edge *first, size_t group,
		     unsigned further)
{
	struct vector *causes = &events->causes;
	uint32_t task = further ? further_origin(first, further)->task : first->from;

	if (!perfetto_thread_track(events->it, task))
		return 0;
	if (vector_reserve(causes, causes->count + 1) < 0)
		return -ENOMEM;
	((struct event_cause *)causes->data)[causes->count] =
		(struct event_cause){.group = (uint32_t)group, .further = further};
	return event_add(events, CAUSE,
			 further ? further_origin(first, further)->at : first->from_at,
			 causes->count++);
}

/* The origins of a group's first edge are those of all: one event for each origin. */
static int add_group(struct events *events, size_t group)
{
	struct event_groups *groups = &events->groups;
	const struct clew_edge *first = &groups->edges[groups->order[groups->begin[group]]];
	bool shown = false;
	int r = 0;

	for (uint32_t i = groups->begin[group]; i < groups->begin[group + 1] && r >= 0; i++)
		if (is_shown(events, &groups->edges[groups->order[i]])) {
			shown = true;
			r = add_edge(events, groups->order[i]);
		}
	for (unsigned k = 0; shown && r >= 0 && k <= further_count(first); k++)
		r = add_cause(events, first, group, k);
	return r;
}

int edges_add(struct events *events)
{
	struct event_groups *groups = &events->groups;
	int r;

	groups->edges = clew_trace_edges(events->it->trace, &groups->edge_count);
	r = clew_trace_edge_groups(events->it->trace, &groups->order, &groups->begin,
				   &groups->count);
	for (size_t i = 0; i < groups->count && r >= 0; i++)
		r = add_group(events, i);
	return r;
}

/* The object of an edge: a request, a timer, a work item, else what was waited for. */
static bool describe(const struct events *events, const struct clew_edge *edge,
		     struct object_description *ret_object)
{
	struct clew_object object = clew_edge_object(edge);
	struct clew_sleep ended = clew_edge_ended(edge);

	return object_describe_then(events->it->trace, &object, &ended, ended.start, ret_object);
}

void edges_put_cause(struct events *events, size_t index)
{
	const struct event_cause *cause = (const struct event_cause *)events->causes.data + index;
	const struct event_groups *groups = &events->groups;
	const struct clew_edge *first = &groups->edges[groups->order[groups->begin[cause->group]]];
	const struct clew_link *other =
		cause->further ? further_origin(first, cause->further) : NULL;
	const char *type = clew_trace_type_name(events->it->trace, first->type);
	struct perfetto *it = events->it;
	struct object_description object;
	size_t opened;

	opened = perfetto_event_open(it, EVENT_INSTANT,
				     perfetto_thread_track(it, other ? other->task : first->from),
				     other ? other->at : first->from_at, "cause", type);
	for (uint32_t i = groups->begin[cause->group]; i < groups->begin[cause->group + 1]; i++)
		if (is_shown(events, &groups->edges[groups->order[i]]))
			perfetto_flow(it, event_flow(groups->order[i], cause->further));
	perfetto_note(it, "type", type);
	perfetto_note(it, "evidence", clew_evidence_name(first->evidence));
	perfetto_note(it, "context", clew_context_name(first->context));
	if (describe(events, first, &object))
		perfetto_note(it, "object", object.name);
	perfetto_event_close(it, opened);
}

static void end_flows(struct events *events, size_t index)
{
	const struct clew_edge *edge = &events->groups.edges[index];

	for (unsigned k = 0; k <= further_count(edge); k++)
		if (k == 0 || perfetto_thread_track(events->it, further_origin(edge, k)->task))
			perfetto_flow_end(events->it, event_flow(index, k));
}

void edges_put_effect(struct events *events, size_t index)
{
	const struct clew_edge *edge = &events->groups.edges[index];
	struct perfetto *it = events->it;
	size_t opened = perfetto_event_open(it, EVENT_INSTANT, perfetto_thread_track(it, edge->to),
					    edge->to_at, "effect",
					    clew_trace_type_name(it->trace, edge->type));

	end_flows(events, index);
	perfetto_event_close(it, opened);
}

/* Edges are in order of to_at. */
void edges_end_flows(struct events *events, const struct clew_sleep *sleep)
{
	const struct event_groups *groups = &events->groups;
	size_t low = 0, high = groups->edge_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (groups->edges[middle].to_at < sleep->end)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < groups->edge_count && groups->edges[low].to_at == sleep->end; low++)
		if (groups->edges[low].to == sleep->task && groups->edges[low].ends_sleep &&
		    edges_sleep(events, &groups->edges[low]) == sleep &&
		    is_shown(events, &groups->edges[low]))
			end_flows(events, low);
}
