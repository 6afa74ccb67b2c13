/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew edges: every dependency between tasks, one release that woke several
 * being one edge with several destinations.
 */
#include "base/sort.h"
#include "trace/trace.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answers/edges/edges.h"
#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/front/options.h"
#include "cli/operand/groups.h"
#include "cli/operand/open.h"
#include "cli/operand/selection.h"
#include "cli/operand/view.h"
#include "cli/record/fresh.h"
#include "explain/operations.h"
#include "format/text.h"
#include "words/edge.h"
#include "words/ledger.h"
#include "words/object.h"
#include "words/stack_table.h"
#include "words/task.h"

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

/* A row of the list: its key is what it is sorted by, its index that of the group or relation. */
enum row_tag { ROW_EDGES, ROW_RELATION };

struct listing {
	struct edge_words words;
	struct edges_values *values;
	const struct clew_edge *edges;
	uint32_t *order, *begin; /* of clew_trace_edge_groups() */
	size_t group_count;
	const struct clew_relation *relations;
	size_t relation_count;
	struct sort_key *rows;
	size_t row_count;
	struct clew_sums sums;
};

static bool is_asked_for(const struct listing *listing, uint32_t serial)
{
	const struct clew_selection *selection = &listing->values->selection;
	const struct clew_trace_task *task = clew_trace_task(listing->words.trace, serial);

	return task && (!selection->tid.given || task->tid == selection->tid.value) &&
	       (!selection->groups || clew_groups_have(selection->groups, task));
}

static bool is_self(const struct listing *listing, uint32_t serial)
{
	const struct clew_trace_task *task = clew_trace_task(listing->words.trace, serial);

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

/* The wait that an edge ended; NULL: it ended none. */
static const struct clew_sleep *sleep_of(const struct clew_trace *trace,
					 const struct clew_edge *edge)
{
	struct clew_piece piece;

	if (!edge->ends_sleep || !clew_trace_piece(trace, edge->to, edge->to_at, true, &piece))
		return NULL;
	return piece.sleep;
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
	    wait_is_idle(listing->words.trace, sleep)) {
		values->view.left_out.idle++;
		return false;
	}
	return true;
}

static bool relation_wanted(const struct listing *listing, const struct clew_relation *relation)
{
	const struct edges_values *values = listing->values;
	const struct clew_activity *activities = listing->words.activities,
				   *lower = &activities[relation->lower];

	if (values->types && !(values->types >> CLEW_EDGE_CALL & 1))
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

/* The number of groups from this one on that are candidates for the same cause; 0: it is certain.
 */
static size_t choices_at(const struct listing *listing, size_t at)
{
	uint32_t choice = listing->edges[listing->order[listing->begin[at]]].choice;
	size_t count = 1;

	if (!choice)
		return 0;
	while (at + count < listing->group_count &&
	       listing->edges[listing->order[listing->begin[at + count]]].choice == choice)
		count++;
	return count;
}

static struct edge_group group_at(const struct listing *listing, size_t at)
{
	return (struct edge_group){.edges = listing->edges,
				   .order = listing->order + listing->begin[at],
				   .count = listing->begin[at + 1] - listing->begin[at],
				   .choices = choices_at(listing, at)};
}

static void add_row(struct listing *listing, uint64_t length, size_t index, enum row_tag tag)
{
	listing->rows[listing->row_count++] =
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
	for (; *at < listing->relation_count; (*at)++) {
		const struct clew_relation *relation = &listing->relations[*at];
		const struct clew_activity *lower = &listing->words.activities[relation->lower];

		if (lower->begin > until)
			return;
		if (relation_wanted(listing, relation))
			add_row(listing,
				lower->end == CLEW_TIME_OPEN ? 0 : lower->end - lower->begin, *at,
				ROW_RELATION);
	}
}

/* Parts of the key: what --by says. Edges that ended no wait count without time. */
static int add_up(struct listing *listing, const struct clew_edge *edge,
		  const struct clew_sleep *sleep, size_t group)
{
	const struct clew_object object = clew_edge_object(edge);
	struct clew_sum_key key = {};

	switch (listing->values->view.by) {
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
	return clew_sums_add(&listing->sums, key, length_of(sleep), (uint32_t)group);
}

/* The rows in order of time, then sorted. */
static int make_rows(struct listing *listing)
{
	size_t most = listing->group_count + listing->relation_count + 1, next_relation = 0;
	struct sort_key *spare = malloc(most * sizeof(*spare));
	int r = 0;

	listing->rows = malloc(most * sizeof(*listing->rows));
	if (!listing->rows || !spare) {
		free(spare);
		return -ENOMEM;
	}
	for (size_t i = 0, step; i < listing->group_count && r == 0; i += step) {
		struct edge_group group = group_at(listing, i);
		const struct clew_edge *first = edge_group_at(&group, 0);
		const struct clew_sleep *sleep = sleep_of(listing->words.trace, first);

		step = group.choices ?: 1;
		add_relations(listing, first->to_at, &next_relation);
		if (!wanted(listing, &group, sleep))
			continue;
		add_row(listing, length_of(sleep), i, ROW_EDGES);
		if (listing->values->view.by != CLEW_SUM_BY_NONE)
			r = add_up(listing, first, sleep, i);
	}
	add_relations(listing, CLEW_TIME_OPEN, &next_relation);
	if (listing->values->view.sort == CLEW_SORT_LENGTH)
		sort_keys(listing->rows, spare, listing->row_count);
	free(spare);
	return r;
}

static void show_rows(struct listing *listing)
{
	bool json = listing->values->json;

	for (size_t i = 0; i < listing->row_count; i++) {
		const struct sort_key *row = &listing->rows[i];

		if (row->tag == ROW_RELATION) {
			(json ? edge_json_relation : edge_print_relation)(
				&listing->words, &listing->relations[row->index]);
		} else {
			struct edge_group group = group_at(listing, row->index);

			(json ? edge_json : edge_print)(&listing->words, &group);
		}
	}
}

static const struct clew_edge *first_edge(const struct listing *listing, uint32_t group)
{
	return &listing->edges[listing->order[listing->begin[group]]];
}

static void print_sum_name(void *context, FILE *out, uint32_t item)
{
	const struct listing *listing = context;
	const struct clew_trace *trace = listing->words.trace;
	const struct clew_edge *edge = first_edge(listing, item);
	const struct clew_sleep *sleep = sleep_of(trace, edge);
	struct clew_sleep ended = clew_edge_ended(edge);
	struct clew_object object = clew_edge_object(edge);

	switch (listing->values->view.by) {
	case CLEW_SUM_BY_OBJECT:
		if (!clew_print_object(out, trace, &object, &ended))
			fputs("no object", out);
		break;
	case CLEW_SUM_BY_TASK:
		clew_print_task(out, trace, edge->to, edge->to_at);
		break;
	case CLEW_SUM_BY_HOLDER:
		clew_print_task(out, trace, edge->from, edge->from_at);
		break;
	case CLEW_SUM_BY_CALL:
		fputs((sleep ? clew_call_name(sleep->call) : NULL) ?: "no call", out);
		break;
	default:
		fputs(clew_trace_type_name(trace, edge->type), out);
		break;
	}
}

/* Into `json`, or as text if that is NULL. */
static int say_sums(struct listing *listing, struct clew_json *json)
{
	const struct clew_sums_names names = {.name = print_sum_name, .context = listing};

	return clew_say_sums(stdout, json, &listing->sums, listing->values->view.by, &names) < 0
		       ? clew_fail_memory()
		       : 0;
}

/* The list, behind the stacks of those who woke. 0 or -ENOMEM. */
static int json_list(struct listing *listing)
{
	struct edge_words *words = &listing->words;
	struct clew_stack_table stacks;
	int r = clew_stack_table_begin(&stacks, words->trace);

	words->json.stacks = &stacks;
	for (size_t i = 0; i < listing->row_count && r == 0; i++) {
		struct edge_group group;

		if (listing->rows[i].tag == ROW_RELATION)
			continue;
		group = group_at(listing, listing->rows[i].index);
		edge_waker_stack(words, &group);
	}
	if (r == 0)
		r = clew_stack_table_write(&stacks, &words->json);
	clew_json_array(&words->json, "edges");
	if (r == 0)
		show_rows(listing);
	clew_json_array_end(&words->json);
	clew_stack_table_done(&stacks);
	return r;
}

static int show_json(struct listing *listing)
{
	const struct clew_view *view = &listing->values->view;
	struct clew_json *json = &listing->words.json;
	int status = 0;

	clew_json_answer(json);
	if (view->by != CLEW_SUM_BY_NONE)
		status = say_sums(listing, json);
	else if (json_list(listing) < 0)
		status = clew_fail_memory();
	clew_json_left_out(json, &view->left_out);
	clew_json_ledger(json, listing->words.trace, view->window.from, view->window.to);
	clew_json_object_end(json);
	clew_json_end(json);
	return status;
}

static int show(struct listing *listing)
{
	const struct clew_view *view = &listing->values->view;
	const struct clew_trace *trace = listing->words.trace;
	int status = 0;

	if (listing->values->json)
		return show_json(listing);
	if (view->by != CLEW_SUM_BY_NONE)
		status = say_sums(listing, NULL);
	else
		show_rows(listing);
	putchar('\n');
	clew_print_count(stdout, clew_window_given(&view->window), listing->row_count,
			 listing->group_count + listing->relation_count, "dependencies");
	putchar('\n');
	clew_print_left_out(stdout, &view->left_out, "that ended idle waits");
	clew_print_ledger(stdout, trace, view->window.from, view->window.to);
	clew_print_cost(stdout, clew_trace_info(trace));
	return status;
}

static int answer(const struct clew_trace *trace, struct edges_values *values)
{
	struct listing listing = {.words = {.trace = trace, .json = {.out = stdout}},
				  .values = values};
	size_t edge_count, activity_count;
	int r, status;

	listing.edges = clew_trace_edges(trace, &edge_count);
	r = clew_trace_edge_groups(trace, &listing.order, &listing.begin, &listing.group_count);
	if (r < 0)
		return clew_fail(CLEW_EXIT_SYSTEM, "%s: free some memory and try again",
				 strerror(-r));
	status = clew_open_relations(trace, values->match_window, &listing.words.relations);
	if (!status) {
		listing.words.activities =
			clew_relations_activities(listing.words.relations, &activity_count);
		listing.relations =
			clew_relations_list(listing.words.relations, &listing.relation_count);
		if (make_rows(&listing) < 0)
			status = clew_fail_memory();
		else
			status = show(&listing);
	}
	clew_relations_free(listing.words.relations);
	clew_sums_done(&listing.sums);
	free(listing.rows);
	free(listing.order);
	free(listing.begin);
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
