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

#include "export/flow.h"

static int add_edge(struct events *events, size_t i)
{
	const struct clew_edge *edge = &events->groups.edges[i];
	struct perfetto *it = events->it;
	const struct clew_sleep *sleep;

	perfetto_thread_track(it, edge->from);
	perfetto_thread_track(it, edge->to);
	for (unsigned k = 1; k <= flow_further_count(edge); k++)
		perfetto_thread_track(it, flow_further(edge, k)->task);
	sleep = flow_sleep(it->trace, edge);
	if (sleep && flow_was_ready(sleep))
		return 0;
	return event_add(events, EFFECT, edge->to_at, i);
}

static int add_cause(struct events *events, const struct clew_edge *first, size_t group,
		     unsigned further)
{
	struct vector *causes = &events->causes;
	uint32_t task = further ? flow_further(first, further)->task : first->from;

	if (!perfetto_thread_track(events->it, task))
		return 0;
	if (vector_reserve(causes, causes->count + 1) < 0)
		return -ENOMEM;
	((struct event_cause *)causes->data)[causes->count] =
		(struct event_cause){.group = (uint32_t)group, .further = further};
	return event_add(events, CAUSE, further ? flow_further(first, further)->at : first->from_at,
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
		if (flow_is_shown(events->it->export, &groups->edges[groups->order[i]])) {
			shown = true;
			r = add_edge(events, groups->order[i]);
		}
	for (unsigned k = 0; shown && r >= 0 && k <= flow_further_count(first); k++)
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

void edges_put_cause(struct events *events, size_t index)
{
	const struct event_cause *cause = (const struct event_cause *)events->causes.data + index;
	const struct event_groups *groups = &events->groups;
	const struct clew_edge *first = &groups->edges[groups->order[groups->begin[cause->group]]];
	const struct clew_link *other = cause->further ? flow_further(first, cause->further) : NULL;
	const char *type = clew_trace_type_name(events->it->trace, first->type);
	struct perfetto *it = events->it;
	struct object_description object;
	size_t opened;

	opened = perfetto_event_open(it, EVENT_INSTANT,
				     perfetto_thread_track(it, other ? other->task : first->from),
				     other ? other->at : first->from_at, "cause", type);
	for (uint32_t i = groups->begin[cause->group]; i < groups->begin[cause->group + 1]; i++)
		if (flow_is_shown(events->it->export, &groups->edges[groups->order[i]]))
			perfetto_flow(it, flow_number(groups->order[i], cause->further));
	perfetto_note(it, "type", type);
	perfetto_note(it, "evidence", clew_evidence_name(first->evidence));
	perfetto_note(it, "context", clew_context_name(first->context));
	if (flow_describe(it->trace, first, &object))
		perfetto_note(it, "object", object.name);
	perfetto_event_close(it, opened);
}

static void end_flows(struct events *events, size_t index)
{
	const struct clew_edge *edge = &events->groups.edges[index];

	for (unsigned k = 0; k <= flow_further_count(edge); k++)
		if (k == 0 || perfetto_thread_track(events->it, flow_further(edge, k)->task))
			perfetto_flow_end(events->it, flow_number(index, k));
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

void edges_end_flows(struct events *events, const struct clew_sleep *sleep)
{
	size_t at = 0;

	while (flow_next(events->it->export, events->groups.edges, events->groups.edge_count, sleep,
			 &at))
		end_flows(events, at - 1);
}
