/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew edges: every dependency between tasks, one release that woke several
 * being one edge with several destinations.
 */
#include "trace/trace.h"
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/fail.h"
#include "cli/open.h"
#include "cli/options.h"
#include "cli/selection.h"
#include "words/descriptors.h"
#include "words/ledger.h"
#include "words/object.h"
#include "words/text.h"

struct edges_values {
	struct clew_selection selection;
	uint32_t types; /* bit mask, 0 all */
	uint64_t match_window;
	bool json;
};

const struct clew_option clew_edges_options[] = {
	{0, "type", "TYPE,..", "only dependencies of these types", clew_take_edge_types,
	 offsetof(struct edges_values, types)},
	{0, "tid", "N", "only those from or to this thread", clew_take_number,
	 offsetof(struct edges_values, selection.tid)},
	{0, "match-window", "DURATION",
	 "a call may be for another that was over at most that long before it", clew_take_duration,
	 offsetof(struct edges_values, match_window)},
	{0, "json", NULL, "print one JSON object", clew_take_flag,
	 offsetof(struct edges_values, json)},
	CLEW_OPTION_END,
};

/* The answer that is being made. */
struct listing {
	const struct clew_trace *trace;
	const struct edges_values *values;
	struct clew_relations *relations;
	const struct clew_activity *activities;
	struct clew_json json;
	size_t shown;
};

/* The edges of one release, which differ only in their destination. */
struct group {
	const struct clew_edge *edges;
	const uint32_t *order;
	size_t count;
	size_t choices; /* how many groups, next to each other in `order`, are candidates for one
			   cause; else 0 */
};

static const struct clew_edge *edge_at(const struct group *group, size_t i)
{
	return &group->edges[group->order[i]];
}

static bool touches(const struct clew_trace *trace, const struct edges_values *values,
		    uint32_t serial)
{
	const struct clew_trace_task *task = clew_trace_task(trace, serial);

	return task && task->tid == values->selection.tid.value;
}

/*
 * True if one of an edge's ends was asked for; an edge with several
 * destinations is then shown whole.
 */
static bool wanted(const struct clew_trace *trace, const struct edges_values *values,
		   const struct group *group)
{
	if (values->types && !(values->types >> edge_at(group, 0)->type & 1))
		return false;
	if (!values->selection.tid.given || touches(trace, values, edge_at(group, 0)->from))
		return true;
	for (size_t i = 0; i < group->choices; i++)
		if (touches(trace, values, edge_at(group, i)->from))
			return true;
	for (size_t i = 0; i < group->count; i++)
		if (touches(trace, values, edge_at(group, i)->to))
			return true;
	return false;
}

struct end {
	uint32_t serial;
	uint64_t at;
	char comm[CLEW_COMM_SIZE + 1]; /* as of that moment */
};

static struct end destination_of(const struct clew_edge *edge)
{
	struct end end = {.serial = edge->to, .at = edge->to_at};

	memcpy(end.comm, edge->to_comm, CLEW_COMM_SIZE);
	return end;
}

static void json_end(struct clew_json *json, const struct clew_trace *trace, const struct end *end)
{
	const struct clew_trace_task *task = clew_trace_task(trace, end->serial);

	clew_json_object(json, NULL);
	if (task) {
		clew_json_unsigned(json, "pid", task->pid);
		clew_json_unsigned(json, "tid", task->tid);
	} else {
		clew_json_null(json, "pid");
		clew_json_null(json, "tid");
	}
	clew_json_string(json, "comm", end->comm);
	clew_json_unsigned(json, "at", end->at);
	clew_json_object_end(json);
}

/*
 * The part of the wait that an edge ended that the object's description needs.
 */
static struct clew_sleep ended_sleep(const struct clew_edge *edge)
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
static struct clew_object object_of(const struct clew_edge *edge)
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

/*
 * Origin i: first the edge's own, then those of the other requests that had to
 * complete.
 */
static struct end further_origin(const struct clew_trace *trace, const struct clew_edge *edge,
				 size_t i)
{
	struct end end = {.serial = edge->from, .at = edge->from_at};
	const struct clew_link *link;

	if (i == 0) {
		memcpy(end.comm, edge->from_comm, CLEW_COMM_SIZE);
		return end;
	}
	link = &edge->links[edge->link_count + i - 1];
	end.serial = link->task;
	end.at = link->at;
	snprintf(end.comm, sizeof(end.comm), "%s", clew_trace_comm_at(trace, link->task, link->at));
	return end;
}

static size_t origin_count(const struct clew_edge *edge)
{
	return 1 + (size_t)(edge->type == CLEW_EDGE_REQUEST ? edge->and_count : 0);
}

/* All candidates for one cause. */
static void json_choices(struct clew_json *json, const struct clew_trace *trace,
			 const struct group *group)
{
	for (size_t i = 0; i < group->choices; i++) {
		struct end origin = further_origin(trace, edge_at(group, i), 0);

		json_end(json, trace, &origin);
	}
}

static void json_edge(struct listing *listing, const struct group *group)
{
	const struct clew_trace *trace = listing->trace;
	struct clew_json *json = &listing->json;
	const struct clew_edge *first = edge_at(group, 0);
	struct clew_sleep sleep = ended_sleep(first);
	struct clew_object object = object_of(first);
	struct clew_description description = {};

	clew_describe_object(trace, &object, first->to_at, &description);
	clew_relations_describe(listing->relations, first->from, first->from_at, &description);
	clew_relations_describe(listing->relations, first->to, first->to_at, &description);
	clew_json_object(json, NULL);
	clew_json_string(json, "type", clew_trace_type_name(trace, first->type));
	clew_json_string(json, "evidence", clew_evidence_name(first->evidence));
	clew_json_string(json, "context", clew_context_name(first->context));
	clew_json_string(json, "relation", clew_edge_relation(first->type));
	clew_json_bool(json, "bridged", false);
	clew_json_array(json, "from");
	json_choices(json, trace, group);
	for (size_t i = 0; i < origin_count(first) && !group->choices; i++) {
		struct end origin = further_origin(trace, first, i);

		json_end(json, trace, &origin);
	}
	clew_json_array_end(json);
	clew_json_array(json, "to");
	for (size_t i = 0; i < group->count; i++) {
		struct end destination = destination_of(edge_at(group, i));

		json_end(json, trace, &destination);
	}
	clew_json_array_end(json);
	clew_json_object_of(json, "object", trace, &object, &sleep);
	clew_json_array(json, "candidates");
	json_choices(json, trace, group);
	clew_json_array_end(json);
	clew_json_description(json, &description);
	clew_json_object_end(json);
}

static void print_end(const struct clew_trace *trace, const struct end *end)
{
	const struct clew_trace_task *task = clew_trace_task(trace, end->serial);

	clew_print_safe(stdout, end->comm);
	printf("-%u", task ? task->tid : 0);
}

static void print_edge(const struct clew_trace *trace, const struct group *group)
{
	enum { MOST_SHOWN = 8 };
	const struct clew_edge *first = edge_at(group, 0);
	uint64_t start = clew_trace_start(trace);
	struct end origin = further_origin(trace, first, 0);
	struct clew_object object = object_of(first);

	printf("+%-13s %-8s ",
	       CLEW_OFFSET(first->from_at > start ? first->from_at - start : 0,
			   clew_trace_end(trace) - start),
	       clew_trace_type_name(trace, first->type));
	print_end(trace, &origin);
	for (size_t i = 1; i < group->choices; i++) {
		origin = further_origin(trace, edge_at(group, i), 0);
		fputs(" or ", stdout);
		print_end(trace, &origin);
	}
	if (origin_count(first) > 1)
		printf(" and %zu more requests", origin_count(first) - 1);
	fputs(" -> ", stdout);
	for (size_t i = 0; i < group->count && i < MOST_SHOWN; i++) {
		struct end destination = destination_of(edge_at(group, i));

		if (i)
			fputs(", ", stdout);
		print_end(trace, &destination);
	}
	if (group->count > MOST_SHOWN)
		printf(" and %zu more", group->count - MOST_SHOWN);
	if (object.kind != CLEW_OBJECT_NONE) {
		struct clew_sleep sleep = ended_sleep(first);

		fputs("  by ", stdout);
		clew_print_object(stdout, trace, &object, &sleep);
	}
	printf("  (%s)\n", clew_evidence_name(first->evidence));
}

/*
 * One end of a relation. Its moment is the begin of the activity, or of the
 * lower activity if the two are nested.
 */
static struct end activity_end(const struct listing *listing, const struct clew_relation *relation,
			       uint32_t place)
{
	const struct clew_activity *activity = &listing->activities[place],
				   *lower = &listing->activities[relation->lower];
	struct end end = {.serial = activity->task,
			  .at = relation->nested ? lower->begin : activity->begin};

	snprintf(end.comm, sizeof(end.comm), "%s",
		 clew_trace_comm_at(listing->trace, end.serial, end.at));
	return end;
}

static bool relation_wanted(const struct listing *listing, const struct clew_relation *relation)
{
	const struct edges_values *values = listing->values;

	if (values->types && !(values->types >> CLEW_EDGE_CALL & 1))
		return false;
	if (!values->selection.tid.given ||
	    touches(listing->trace, values, listing->activities[relation->lower].task))
		return true;
	for (uint32_t i = 0; i < relation->upper_count; i++)
		if (touches(listing->trace, values, listing->activities[relation->uppers[i]].task))
			return true;
	return false;
}

static void json_uppers(struct listing *listing, const struct clew_relation *relation,
			const char *key, bool all)
{
	clew_json_array(&listing->json, key);
	for (uint32_t i = 0; all && i < relation->upper_count; i++) {
		struct end end = activity_end(listing, relation, relation->uppers[i]);

		json_end(&listing->json, listing->trace, &end);
	}
	clew_json_array_end(&listing->json);
}

static void json_relation(struct listing *listing, const struct clew_relation *relation,
			  const struct clew_description *description)
{
	struct clew_json *json = &listing->json;
	struct end end = activity_end(listing, relation, relation->lower);

	clew_json_object(json, NULL);
	clew_json_string(json, "type", clew_edge_type_name(CLEW_EDGE_CALL));
	clew_json_string(json, "evidence", clew_evidence_name(relation->evidence));
	clew_json_string(json, "context", clew_context_name(CLEW_WAKE_TASK));
	clew_json_string(json, "relation", clew_edge_relation(CLEW_EDGE_CALL));
	clew_json_bool(json, "bridged", relation->bridged);
	json_uppers(listing, relation, "from", true);
	clew_json_array(json, "to");
	json_end(json, listing->trace, &end);
	clew_json_array_end(json);
	clew_json_null(json, "object");
	json_uppers(listing, relation, "candidates", relation->upper_count > 1);
	clew_json_description(json, description);
	clew_json_call(json, listing->relations, relation);
	clew_json_object_end(json);
}

static void print_relation(const struct listing *listing, const struct clew_relation *relation,
			   const struct clew_description *description)
{
	const struct clew_activity *lower = &listing->activities[relation->lower];
	uint64_t start = clew_trace_start(listing->trace);

	printf("+%-13s %-8s ",
	       CLEW_OFFSET(lower->begin > start ? lower->begin - start : 0,
			   clew_trace_end(listing->trace) - start),
	       clew_edge_type_name(CLEW_EDGE_CALL));
	for (uint32_t i = 0; i < relation->upper_count; i++) {
		struct end end = activity_end(listing, relation, relation->uppers[i]);

		if (i)
			fputs(" or ", stdout);
		print_end(listing->trace, &end);
	}
	fputs(" -> ", stdout);
	struct end end = activity_end(listing, relation, relation->lower);

	print_end(listing->trace, &end);
	fputs("  by ", stdout);
	clew_print_call(stdout, lower);
	clew_print_description(stdout, description);
	printf("  (%s%s)\n", clew_evidence_name(relation->evidence),
	       relation->bridged ? ", bridged" : "");
}

/*
 * Shows the relations whose lower activity begins at a moment or before. `at`:
 * index of the next one.
 */
static void show_relations(struct listing *listing, uint64_t until, size_t *at)
{
	size_t count;
	const struct clew_relation *relations = clew_relations_list(listing->relations, &count);

	for (; *at < count && listing->activities[relations[*at].lower].begin <= until; (*at)++) {
		const struct clew_activity *lower = &listing->activities[relations[*at].lower];
		struct clew_description description = {};

		if (!relation_wanted(listing, &relations[*at]))
			continue;
		listing->shown++;
		clew_relations_describe(listing->relations, lower->task, lower->begin,
					&description);
		if (listing->values->json)
			json_relation(listing, &relations[*at], &description);
		else
			print_relation(listing, &relations[*at], &description);
	}
}

/* How many groups from this one on are candidates for the same cause. */
static size_t count_choices(const struct clew_edge *edges, const uint32_t *order,
			    const uint32_t *begin, size_t at, size_t group_count,
			    struct group *group)
{
	uint32_t choice = edges[order[begin[at]]].choice;
	size_t more = 0;

	if (!choice)
		return 0;
	while (at + more + 1 < group_count && edges[order[begin[at + more + 1]]].choice == choice)
		more++;
	group->choices = more + 1;
	return more;
}

static int answer(const struct clew_trace *trace, const struct edges_values *values)
{
	struct listing listing = {.trace = trace, .values = values, .json = {.out = stdout}};
	size_t edge_count, group_count, relation_count, next_relation = 0;
	const struct clew_edge *edges = clew_trace_edges(trace, &edge_count);
	uint32_t *order, *begin;
	int r = clew_trace_edge_groups(trace, &order, &begin, &group_count), status;

	if (r < 0)
		return clew_fail(CLEW_EXIT_SYSTEM, "%s: free some memory and try again",
				 strerror(-r));
	status = clew_open_relations(trace, values->match_window, &listing.relations);
	if (status) {
		free(order);
		free(begin);
		return status;
	}
	listing.activities = clew_relations_activities(listing.relations, &relation_count);
	clew_relations_list(listing.relations, &relation_count);
	if (values->json) {
		clew_json_object(&listing.json, NULL);
		clew_json_array(&listing.json, "edges");
	}
	for (size_t i = 0; i < group_count; i++) {
		struct group group = {.edges = edges,
				      .order = order + begin[i],
				      .count = begin[i + 1] - begin[i]};

		show_relations(&listing, edge_at(&group, 0)->to_at, &next_relation);
		i += count_choices(edges, order, begin, i, group_count, &group);
		if (!wanted(trace, values, &group))
			continue;
		listing.shown++;
		if (values->json)
			json_edge(&listing, &group);
		else
			print_edge(trace, &group);
	}
	show_relations(&listing, CLEW_TIME_OPEN, &next_relation);
	if (values->json) {
		clew_json_array_end(&listing.json);
		clew_json_ledger(&listing.json, trace, clew_trace_start(trace),
				 clew_trace_end(trace));
		clew_json_object_end(&listing.json);
		clew_json_end(&listing.json);
	} else {
		printf("\n%zu of %zu dependencies\n", listing.shown, group_count + relation_count);
		clew_print_ledger_and_cost(stdout, trace);
	}
	clew_relations_free(listing.relations);
	free(order);
	free(begin);
	return CLEW_EXIT_DONE;
}

int clew_command_edges(const struct clew_command *command, int argc, char **argv)
{
	struct edges_values values = {};
	struct clew_trace *trace;
	char **operands;
	int status;

	if (!clew_options_parse(command, argc, argv, &values, &operands, &status))
		return status;
	status = clew_open_trace(operands[0], 0, &trace);
	if (status)
		return status;
	status = clew_selection_check(&values.selection, trace);
	if (!status)
		status = answer(trace, &values);
	clew_trace_free(trace);
	return status;
}
