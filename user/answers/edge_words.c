/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One dependency in JSON and in words. */
#include "answers/edge_words.h"

#include <string.h>

#include "format/style.h"
#include "format/text.h"
#include "words/edge.h"
#include "words/object.h"
#include "words/stack_table.h"
#include "words/task.h"

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
	clew_json_task_place(json, trace, end->serial, end->at);
	clew_json_unsigned(json, "at", end->at);
	clew_json_object_end(json);
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
			 const struct edge_group *group)
{
	for (size_t i = 0; i < group->choices; i++) {
		struct end origin = further_origin(trace, edge_group_at(group, i), 0);

		json_end(json, trace, &origin);
	}
}

uint32_t edge_waker_stack(struct edge_words *words, const struct edge_group *group)
{
	const struct clew_edge *first = edge_group_at(group, 0);

	return group->choices
		       ? CLEW_JSON_NO_NUMBER
		       : clew_stack_of_waker(words->json.stacks, first->from, first->from_at);
}

void edge_json(struct edge_words *words, const struct edge_group *group)
{
	const struct clew_trace *trace = words->trace;
	struct clew_json *json = &words->json;
	const struct clew_edge *first = edge_group_at(group, 0);
	struct clew_sleep sleep = clew_edge_ended(first);
	struct clew_object object = clew_edge_object(first);
	struct clew_description description = {};

	clew_describe_object(trace, &object, first->to_at, &description);
	clew_relations_describe(words->relations, first->from, first->from_at, &description);
	clew_relations_describe(words->relations, first->to, first->to_at, &description);
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
		struct end destination = destination_of(edge_group_at(group, i));

		json_end(json, trace, &destination);
	}
	clew_json_array_end(json);
	clew_json_object_of(json, "object", trace, &object, &sleep);
	clew_json_array(json, "candidates");
	json_choices(json, trace, group);
	clew_json_array_end(json);
	clew_json_description(json, &description);
	clew_json_table_number(json, "waker_stack", edge_waker_stack(words, group));
	clew_json_object_end(json);
}

static void print_end(const struct clew_trace *trace, const struct end *end)
{
	const struct clew_trace_task *task = clew_trace_task(trace, end->serial);

	clew_print_safe(stdout, end->comm);
	printf("-%u", task ? task->tid : 0);
	clew_print_task_place(stdout, trace, end->serial, end->at);
}

void edge_print(struct edge_words *words, const struct edge_group *group)
{
	const struct clew_trace *trace = words->trace;
	enum { MOST_SHOWN = 8 };
	const struct clew_edge *first = edge_group_at(group, 0);
	uint64_t start = clew_trace_start(trace);
	struct end origin = further_origin(trace, first, 0);
	struct clew_object object = clew_edge_object(first);

	printf("+%-13s ", CLEW_OFFSET(first->from_at > start ? first->from_at - start : 0,
				      clew_trace_end(trace) - start));
	clew_print_styled(stdout, clew_style_of_type(first->type), 8,
			  clew_trace_type_name(trace, first->type));
	putchar(' ');
	print_end(trace, &origin);
	for (size_t i = 1; i < group->choices; i++) {
		origin = further_origin(trace, edge_group_at(group, i), 0);
		fputs(" or ", stdout);
		print_end(trace, &origin);
	}
	if (origin_count(first) > 1)
		printf(" and %zu more requests", origin_count(first) - 1);
	fputs(" -> ", stdout);
	for (size_t i = 0; i < group->count && i < MOST_SHOWN; i++) {
		struct end destination = destination_of(edge_group_at(group, i));

		if (i)
			fputs(", ", stdout);
		print_end(trace, &destination);
	}
	if (group->count > MOST_SHOWN)
		printf(" and %zu more", group->count - MOST_SHOWN);
	if (object.kind != CLEW_OBJECT_NONE) {
		struct clew_sleep sleep = clew_edge_ended(first);

		fputs("  by ", stdout);
		clew_print_object(stdout, trace, &object, &sleep);
	}
	printf("  (%s)\n", clew_evidence_name(first->evidence));
}

/*
 * One end of a relation. Its moment is the begin of the activity, or of the
 * lower activity if the two are nested.
 */
static struct end activity_end(const struct edge_words *words, const struct clew_relation *relation,
			       uint32_t place)
{
	const struct clew_activity *activity = &words->activities[place],
				   *lower = &words->activities[relation->lower];
	struct end end = {.serial = activity->task,
			  .at = relation->nested ? lower->begin : activity->begin};

	snprintf(end.comm, sizeof(end.comm), "%s",
		 clew_trace_comm_at(words->trace, end.serial, end.at));
	return end;
}

static void json_uppers(struct edge_words *words, const struct clew_relation *relation,
			const char *key, bool all)
{
	clew_json_array(&words->json, key);
	for (uint32_t i = 0; all && i < relation->upper_count; i++) {
		struct end end = activity_end(words, relation, relation->uppers[i]);

		json_end(&words->json, words->trace, &end);
	}
	clew_json_array_end(&words->json);
}

/* Describes what the lower call was announced to be about. */
static void describe_lower(const struct edge_words *words, const struct clew_relation *relation,
			   struct clew_description *ret_description)
{
	const struct clew_activity *lower = &words->activities[relation->lower];

	*ret_description = (struct clew_description){};
	clew_relations_describe(words->relations, lower->task, lower->begin, ret_description);
}

void edge_json_relation(struct edge_words *words, const struct clew_relation *relation)
{
	struct clew_json *json = &words->json;
	struct clew_description description;
	struct end end = activity_end(words, relation, relation->lower);

	clew_json_object(json, NULL);
	clew_json_string(json, "type", clew_edge_type_name(CLEW_EDGE_CALL));
	clew_json_string(json, "evidence", clew_evidence_name(relation->evidence));
	clew_json_string(json, "context", clew_context_name(CLEW_WAKE_TASK));
	clew_json_string(json, "relation", clew_edge_relation(CLEW_EDGE_CALL));
	clew_json_bool(json, "bridged", relation->bridged);
	json_uppers(words, relation, "from", true);
	clew_json_array(json, "to");
	json_end(json, words->trace, &end);
	clew_json_array_end(json);
	clew_json_null(json, "object");
	json_uppers(words, relation, "candidates", relation->upper_count > 1);
	describe_lower(words, relation, &description);
	clew_json_description(json, &description);
	clew_json_call(json, words->relations, relation);
	clew_json_null(json, "waker_stack");
	clew_json_object_end(json);
}

void edge_print_relation(struct edge_words *words, const struct clew_relation *relation)
{
	struct clew_description description;
	const struct clew_activity *lower = &words->activities[relation->lower];
	uint64_t start = clew_trace_start(words->trace);

	printf("+%-13s %-8s ",
	       CLEW_OFFSET(lower->begin > start ? lower->begin - start : 0,
			   clew_trace_end(words->trace) - start),
	       clew_edge_type_name(CLEW_EDGE_CALL));
	for (uint32_t i = 0; i < relation->upper_count; i++) {
		struct end end = activity_end(words, relation, relation->uppers[i]);

		if (i)
			fputs(" or ", stdout);
		print_end(words->trace, &end);
	}
	fputs(" -> ", stdout);
	struct end end = activity_end(words, relation, relation->lower);

	print_end(words->trace, &end);
	fputs("  by ", stdout);
	clew_print_call(stdout, lower);
	describe_lower(words, relation, &description);
	clew_print_description(stdout, &description);
	printf("  (%s%s)\n", clew_evidence_name(relation->evidence),
	       relation->bridged ? ", bridged" : "");
}
