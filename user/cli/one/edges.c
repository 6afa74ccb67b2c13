/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew edges: every dependency between tasks, one release that woke several
 * being one edge with several destinations.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answers/edges/list.h"
#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/front/options.h"
#include "cli/operand/groups.h"
#include "cli/operand/open.h"
#include "cli/operand/selection.h"
#include "cli/operand/view.h"
#include "cli/record/fresh.h"
#include "explain/operations.h"
#include "words/edge.h"

struct edges_values {
	struct clew_selection selection;
	struct clew_view view;
	uint32_t types; /* bit mask, 0 all */
	uint64_t match_window;
	bool json;
	struct clew_fresh fresh;
};

const struct clew_option clew_edges_options[] = {
	{0, "type", "TYPE,..", "only dependencies of these types", clew_take_edge_types,
	 offsetof(struct edges_values, types)},
	{'t', "tid", "N", "only those from or to this thread", clew_take_number,
	 offsetof(struct edges_values, selection.tid)},
	CLEW_GROUP_OPTIONS(struct edges_values, selection.group, "those from or to threads"),
	CLEW_VIEW_OPTIONS(struct edges_values, view,
			  "show those that ended waits for work and the like, too"),
	{0, "match-window", "DURATION",
	 "a call may be for another that was over at most that long before it", clew_take_duration,
	 offsetof(struct edges_values, match_window)},
	CLEW_FRESH_OPTIONS(struct edges_values, fresh),
	{0, "json", NULL, "print one JSON object", clew_take_flag,
	 offsetof(struct edges_values, json)},
	CLEW_OPTION_END,
};

struct listing {
	struct edge_list list;
	struct edges_values *values;
};

static bool is_asked_for(const struct listing *listing, uint32_t serial)
{
	const struct clew_selection *selection = &listing->values->selection;
	const struct clew_trace_task *task = clew_trace_task(listing->list.words.trace, serial);

	return task && (!selection->tid.given || task->tid == selection->tid.value) &&
	       (!selection->groups || clew_groups_have(selection->groups, task));
}

static bool is_self(const struct listing *listing, uint32_t serial)
{
	const struct clew_trace_task *task = clew_trace_task(listing->list.words.trace, serial);

	return task && task->flags & CLEW_TASK_SELF;
}

/*
 * True if one of an edge's ends was asked for; an edge with several
 * destinations is then shown whole.
 */
static bool touches(const struct listing *listing, const struct edge_group *group,
		    bool (*is)(const struct listing *listing, uint32_t serial))
{
	if (is(listing, edge_group_at(group, 0)->from))
		return true;
	for (size_t i = 0; i < group->choices; i++)
		if (is(listing, edge_group_at(group, i)->from))
			return true;
	for (size_t i = 0; i < group->count; i++)
		if (is(listing, edge_group_at(group, i)->to))
			return true;
	return false;
}

static uint64_t length_of(const struct clew_sleep *sleep)
{
	return sleep && sleep->end != CLEW_TIME_OPEN ? sleep->end - sleep->start : 0;
}

/* Counts what is left out. */
static bool wanted(const struct listing *listing, const struct edge_group *group,
		   const struct clew_sleep *sleep)
{
	struct edges_values *values = listing->values;
	const struct clew_edge *first = edge_group_at(group, 0);

	if (values->types && !(values->types >> first->type & 1))
		return false;
	if (!clew_window_has(&values->view.window, first->from_at, first->to_at))
		return false;
	if (values->selection.tid.given)
		return touches(listing, group, is_asked_for);
	if (values->selection.groups && !touches(listing, group, is_asked_for))
		return false;
	if (!values->view.self && touches(listing, group, is_self)) {
		values->view.left_out.self++;
		return false;
	}
	/* A type that was named is wanted whatever wait it ended. */
	if (!values->view.idle && !values->types && sleep &&
	    wait_is_idle(listing->list.words.trace, sleep)) {
		values->view.left_out.idle++;
		return false;
	}
	return true;
}

static bool relation_wanted(const struct listing *listing, const struct clew_relation *relation)
{
	const struct edges_values *values = listing->values;
	const struct clew_activity *activities = listing->list.words.activities,
				   *lower = &activities[relation->lower];

	if (values->types &&
	    !(values->types >> (relation->submitted ? CLEW_EDGE_SUBMIT : CLEW_EDGE_CALL) & 1))
		return false;
	if (!clew_window_has(&values->view.window, lower->begin, lower->end))
		return false;
	if ((!values->selection.tid.given && !values->selection.groups) ||
	    is_asked_for(listing, lower->task))
		return true;
	for (uint32_t i = 0; i < relation->upper_count; i++)
		if (is_asked_for(listing, activities[relation->uppers[i]].task))
			return true;
	return false;
}

static void add_row(struct listing *listing, uint64_t length, size_t index, enum edge_list_tag tag)
{
	listing->list.rows[listing->list.row_count++] =
		(struct sort_key){.key = ~length, .index = (uint32_t)index, .tag = tag};
}

/*
 * Adds the relations whose lower activity begins at a moment or before. `at`:
 * index of the next one.
 */
static void add_relations(struct listing *listing, uint64_t until, size_t *at)
{
	/* Calls are no edges of a release, and are in no sum. */
	if (listing->values->view.by != CLEW_SUM_BY_NONE)
		return;
	for (; *at < listing->list.relation_count; (*at)++) {
		const struct clew_relation *relation = &listing->list.relations[*at];
		const struct clew_activity *lower =
			&listing->list.words.activities[relation->lower];

		if (lower->begin > until)
			return;
		if (relation_wanted(listing, relation))
			add_row(listing,
				lower->end == CLEW_TIME_OPEN ? 0 : lower->end - lower->begin, *at,
				EDGE_LIST_RELATION);
	}
}

/* Parts of the key: what --by says. Edges that ended no wait count without time. */
static int add_up(struct listing *listing, const struct clew_edge *edge,
		  const struct clew_sleep *sleep, size_t group)
{
	const struct clew_object object = clew_edge_object(edge);
	struct clew_sum_key key = {};

	switch (listing->list.by) {
	case CLEW_SUM_BY_OBJECT:
		key = (struct clew_sum_key){{object.number, object.kind, object.device}};
		break;
	case CLEW_SUM_BY_TASK:
		key.parts[0] = edge->to;
		break;
	case CLEW_SUM_BY_CALL:
		key.parts[0] = sleep ? sleep->call : CLEW_NO_CALL;
		break;
	case CLEW_SUM_BY_HOLDER:
		key.parts[0] = edge->from;
		break;
	default:
		key.parts[0] = edge->type;
		break;
	}
	return clew_sums_add(&listing->list.sums, key, length_of(sleep), (uint32_t)group);
}

/* The rows in order of time, then sorted. */
static int make_rows(struct listing *listing)
{
	size_t most = listing->list.group_count + listing->list.relation_count + 1,
	       next_relation = 0;
	struct sort_key *spare = malloc(most * sizeof(*spare));
	int r = 0;

	listing->list.rows = malloc(most * sizeof(*listing->list.rows));
	if (!listing->list.rows || !spare) {
		free(spare);
		return -ENOMEM;
	}
	for (size_t i = 0, step; i < listing->list.group_count && r == 0; i += step) {
		struct edge_group group = edge_list_group(&listing->list, i);
		const struct clew_edge *first = edge_group_at(&group, 0);
		const struct clew_sleep *sleep = edge_list_sleep(listing->list.words.trace, first);

		step = group.choices ?: 1;
		add_relations(listing, first->to_at, &next_relation);
		if (!wanted(listing, &group, sleep))
			continue;
		add_row(listing, length_of(sleep), i, EDGE_LIST_EDGES);
		if (listing->values->view.by != CLEW_SUM_BY_NONE)
			r = add_up(listing, first, sleep, i);
	}
	add_relations(listing, CLEW_TIME_OPEN, &next_relation);
	if (listing->values->view.sort == CLEW_SORT_LENGTH)
		sort_keys(listing->list.rows, spare, listing->list.row_count);
	free(spare);
	return r;
}

static int answer(const struct clew_trace *trace, struct edges_values *values)
{
	struct listing listing = {.list = {.words = {.trace = trace, .json = {.out = stdout}},
					   .by = values->view.by,
					   .part = clew_window_given(&values->view.window),
					   .from = values->view.window.from,
					   .to = values->view.window.to},
				  .values = values};
	size_t edge_count, activity_count;
	int r, status;

	listing.list.edges = clew_trace_edges(trace, &edge_count);
	r = clew_trace_edge_groups(trace, &listing.list.order, &listing.list.begin,
				   &listing.list.group_count);
	if (r < 0)
		return clew_fail(CLEW_EXIT_SYSTEM, "%s: free some memory and try again",
				 strerror(-r));
	status = clew_open_relations(trace, values->match_window, &listing.list.words.relations);
	if (!status) {
		listing.list.words.activities =
			clew_relations_activities(listing.list.words.relations, &activity_count);
		listing.list.relations = clew_relations_list(listing.list.words.relations,
							     &listing.list.relation_count);
		r = make_rows(&listing);
		listing.list.left_out = values->view.left_out;
		if (r >= 0)
			r = (values->json ? edge_list_json : edge_list_print)(&listing.list);
		if (r < 0)
			status = clew_fail_memory();
	}
	clew_relations_free(listing.list.words.relations);
	clew_sums_done(&listing.list.sums);
	free(listing.list.rows);
	free(listing.list.order);
	free(listing.list.begin);
	return status;
}

static int question_answer(void *context, char **operands)
{
	struct edges_values *values = context;
	struct clew_trace *trace;
	int status;

	status = clew_open_window(operands[0], 0, &values->view.window, &trace);
	if (status)
		return status;
	status = clew_selection_check(&values->selection, trace);
	if (!status)
		status = answer(trace, values);
	clew_selection_done(&values->selection);
	clew_trace_free(trace);
	return status;
}

int clew_command_edges(const struct clew_command *command, int argc, char **argv)
{
	static const struct clew_fresh_question question = {.answer = question_answer};
	struct edges_values values = {};

	return clew_fresh_answer(command, argc, argv, &values, &values.fresh, &question);
}
