// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * clew edges: every dependency between tasks, one release that woke several
 * being one edge with several destinations.
 */
#include <clew/trace.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "object.h"
#include "report.h"
#include "text.h"

struct edges_values {
	struct clew_selection selection;
	uint32_t types; /* bit mask, 0 all */
	bool json;
};

const struct clew_option clew_edges_options[] = {
	{0, "type", "TYPE,..", "only dependencies of these types", clew_take_edge_types, offsetof(struct edges_values, types)},
	{0, "tid", "N", "only those from or to this thread", clew_take_number, offsetof(struct edges_values, selection.tid)},
	{0, "json", NULL, "print one JSON object", clew_take_flag, offsetof(struct edges_values, json)},
	CLEW_OPTION_END,
};

/* The edges of one release: they differ in nothing but their destination. */
struct group {
	const struct clew_edge *edges;
	const uint32_t *order;
	size_t count;
};

static const struct clew_edge *edge_at(const struct group *group, size_t i)
{
	return &group->edges[group->order[i]];
}

static bool touches(const struct clew_trace *trace, const struct edges_values *values, uint32_t serial)
{
	const struct clew_trace_task *task = clew_trace_task(trace, serial);

	return task && task->tid == values->selection.tid.value;
}

/* An edge with several destinations is shown whole if one of its ends is asked for. */
static bool wanted(const struct clew_trace *trace, const struct edges_values *values, const struct group *group)
{
	if (values->types && !(values->types >> edge_at(group, 0)->type & 1))
		return false;
	if (!values->selection.tid.given || touches(trace, values, edge_at(group, 0)->from))
		return true;
	for (size_t i = 0; i < group->count; i++)
		if (touches(trace, values, edge_at(group, i)->to))
			return true;
	return false;
}

static void json_end(struct clew_json *json, const struct clew_trace *trace, uint32_t serial, const char comm[CLEW_COMM_SIZE], uint64_t at)
{
	const struct clew_trace_task *task = clew_trace_task(trace, serial);
	char name[CLEW_COMM_SIZE + 1] = "";

	memcpy(name, comm, CLEW_COMM_SIZE);
	clew_json_object(json, NULL);
	if (task) {
		clew_json_unsigned(json, "pid", task->pid);
		clew_json_unsigned(json, "tid", task->tid);
	} else {
		clew_json_null(json, "pid");
		clew_json_null(json, "tid");
	}
	clew_json_string(json, "comm", name);
	clew_json_unsigned(json, "at", at);
	clew_json_object_end(json);
}

static void json_edge(struct clew_json *json, const struct clew_trace *trace, const struct group *group)
{
	const struct clew_edge *first = edge_at(group, 0);

	clew_json_object(json, NULL);
	clew_json_string(json, "type", clew_edge_type_name(first->type));
	clew_json_string(json, "evidence", clew_evidence_name(first->evidence));
	clew_json_string(json, "context", clew_context_name(first->context));
	clew_json_string(json, "relation", clew_edge_relation(first->type));
	clew_json_bool(json, "bridged", false);
	clew_json_array(json, "from");
	json_end(json, trace, first->from, first->from_comm, first->from_at);
	clew_json_array_end(json);
	clew_json_array(json, "to");
	for (size_t i = 0; i < group->count; i++)
		json_end(json, trace, edge_at(group, i)->to, edge_at(group, i)->to_comm, edge_at(group, i)->to_at);
	clew_json_array_end(json);
	clew_json_object_of(json, "object", trace, &first->object, NULL);
	clew_json_array(json, "candidates");
	clew_json_array_end(json);
	clew_json_object(json, "descriptors");
	clew_json_object_end(json);
	clew_json_object_end(json);
}

static void print_end(const struct clew_trace *trace, uint32_t serial, const char comm[CLEW_COMM_SIZE])
{
	const struct clew_trace_task *task = clew_trace_task(trace, serial);
	char name[CLEW_COMM_SIZE + 1] = "";

	memcpy(name, comm, CLEW_COMM_SIZE);
	clew_print_safe(stdout, name);
	printf("-%u", task ? task->tid : 0);
}

static void print_edge(const struct clew_trace *trace, const struct group *group)
{
	enum { MOST_SHOWN = 8 };
	const struct clew_edge *first = edge_at(group, 0);
	uint64_t start = clew_trace_start(trace);

	printf("+%-13s %-8s ", CLEW_OFFSET(first->from_at > start ? first->from_at - start : 0, clew_trace_end(trace) - start),
	       clew_edge_type_name(first->type));
	print_end(trace, first->from, first->from_comm);
	fputs(" -> ", stdout);
	for (size_t i = 0; i < group->count && i < MOST_SHOWN; i++) {
		if (i)
			fputs(", ", stdout);
		print_end(trace, edge_at(group, i)->to, edge_at(group, i)->to_comm);
	}
	if (group->count > MOST_SHOWN)
		printf(" and %zu more", group->count - MOST_SHOWN);
	if (first->object.kind != CLEW_OBJECT_NONE) {
		fputs("  by ", stdout);
		clew_print_object(stdout, trace, &first->object, NULL);
	}
	printf("  (%s)\n", clew_evidence_name(first->evidence));
}

static int answer(const struct clew_trace *trace, const struct edges_values *values)
{
	struct clew_json json = {.out = stdout};
	size_t edge_count, group_count, shown = 0;
	const struct clew_edge *edges = clew_trace_edges(trace, &edge_count);
	uint32_t *order, *begin;
	int r = clew_trace_edge_groups(trace, &order, &begin, &group_count);

	if (r < 0)
		return clew_fail(CLEW_EXIT_SYSTEM, "%s: free some memory and try again", strerror(-r));
	if (values->json) {
		clew_json_object(&json, NULL);
		clew_json_array(&json, "edges");
	}
	for (size_t i = 0; i < group_count; i++) {
		struct group group = {.edges = edges, .order = order + begin[i], .count = begin[i + 1] - begin[i]};

		if (!wanted(trace, values, &group))
			continue;
		shown++;
		if (values->json)
			json_edge(&json, trace, &group);
		else
			print_edge(trace, &group);
	}
	if (values->json) {
		clew_json_array_end(&json);
		clew_json_truth(&json, trace, clew_trace_start(trace), clew_trace_end(trace));
		clew_json_object_end(&json);
		clew_json_end(&json);
	} else {
		printf("\n%zu of %zu dependencies\n", shown, group_count);
		clew_print_truth(stdout, trace, clew_trace_start(trace), clew_trace_end(trace));
	}
	free(order);
	free(begin);
	return CLEW_EXIT_DONE;
}

int clew_command_edges(int argc, char **argv)
{
	struct edges_values values = {};
	struct clew_trace *trace;
	char **operands;
	int status;

	if (!clew_options_parse(argc, argv, &values, &operands, &status))
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
