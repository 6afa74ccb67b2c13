/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The columns of dependencies: what their list, JSON, CSV and SQL have. */
#include <clew/tokens.h>
#include <stdio.h>

#include "answers/edges/internal.h"
#include "words/edge.h"

static int of_type(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_edge *edge = row->item;

	clew_set_string(value, clew_trace_type_name(row->trace, edge->type));
	return 0;
}

static int of_evidence(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_edge *edge = row->item;

	clew_set_string(value, clew_evidence_name(edge->evidence));
	return 0;
}

static int of_from_tid(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_edge *edge = row->item;

	clew_set_tid(row->trace, edge->from, value);
	return 0;
}

/* A name as an edge has it, which ends without a zero if it fills its room. */
static int set_comm(struct clew_row *row, const char *name, struct clew_cell *value)
{
	char comm[CLEW_COMM_SIZE + 1];

	snprintf(comm, sizeof(comm), "%.*s", CLEW_COMM_SIZE, name);
	return clew_set_copy(&row->text, comm, value);
}

static int of_from(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_edge *edge = row->item;

	return set_comm(row, edge->from_comm, value);
}

static int of_from_at(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_edge *edge = row->item;

	clew_set_number(value, edge->from_at);
	return 0;
}

static int of_to_tid(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_edge *edge = row->item;

	clew_set_tid(row->trace, edge->to, value);
	return 0;
}

static int of_to(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_edge *edge = row->item;

	return set_comm(row, edge->to_comm, value);
}

static int of_to_at(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_edge *edge = row->item;

	clew_set_number(value, edge->to_at);
	return 0;
}

static int of_context(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_edge *edge = row->item;

	clew_set_string(value, clew_context_name(edge->context));
	return 0;
}

static int set_object(struct clew_row *row, bool name, struct clew_cell *value)
{
	const struct clew_sleep sleep = clew_edge_ended(row->item);
	const struct clew_object object = clew_edge_object(row->item);

	return clew_set_object(&row->text, row->trace, &object, &sleep, name, value);
}

static int of_object_kind(struct clew_row *row, struct clew_cell *value)
{
	return set_object(row, false, value);
}

static int of_object(struct clew_row *row, struct clew_cell *value)
{
	return set_object(row, true, value);
}

static int of_ends_wait(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_edge *edge = row->item;

	clew_set_number(value, edge->ends_sleep);
	return 0;
}

static int of_wait(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_edge *edge = row->item;
	struct clew_piece piece;
	size_t count;

	if (edge->ends_sleep && clew_trace_piece(row->trace, edge->to, edge->to_at, true, &piece) &&
	    piece.sleep)
		clew_set_number(value,
				(uint64_t)(piece.sleep - clew_trace_sleeps(row->trace, &count)));
	return 0;
}

static int of_choice(struct clew_row *row, struct clew_cell *value)
{
	const struct clew_edge *edge = row->item;

	clew_set_known(value, edge->choice, 0);
	return 0;
}

const struct clew_column clew_edge_columns[] = {
	CLEW_INTEGER("id", "number of the dependency", .value = clew_row_number),
	{.name = "time", .print = edge_print_time},
	CLEW_TEXT("type", "unlock, wake, socket, fork, .., as in clew edges", .value = of_type,
		  .json = clew_json_column, .print = edge_print_type),
	CLEW_TEXT("evidence", "exact, observed or candidate", .value = of_evidence,
		  .json = clew_json_column),
	CLEW_INTEGER("from_tid", "the thread that caused it", .value = of_from_tid),
	CLEW_TEXT("from_comm", "name of that thread", .value = of_from),
	CLEW_INTEGER("from_at", "when it did", .value = of_from_at),
	CLEW_INTEGER("to_tid", "the thread that depends on it", .value = of_to_tid),
	CLEW_TEXT("to_comm", "name of that thread", .value = of_to),
	CLEW_INTEGER("to_at", "when it took effect", .value = of_to_at),
	CLEW_TEXT("context", "where the wake came from: task, timer, ..", .value = of_context,
		  .json = clew_json_column),
	{.name = "relation", .json = edge_json_relation_word},
	{.name = "bridged", .json = edge_json_bridged},
	{.name = "from", .json = edge_json_from, .print = edge_print_from},
	{.name = "to", .json = edge_json_to, .print = edge_print_to},
	CLEW_TEXT("object_kind", "kind of what it goes through", .value = of_object_kind),
	CLEW_TEXT("object", "name of what it goes through", .value = of_object,
		  .json = edge_json_object, .print = edge_print_object),
	{.name = "candidates", .json = edge_json_candidates},
	{.name = "evidence", .print = edge_print_evidence},
	CLEW_INTEGER("ends_wait", "1: it ended a wait", .value = of_ends_wait),
	CLEW_INTEGER("wait", "the wait that it ended, waits.id", .value = of_wait),
	CLEW_INTEGER("choice", "candidates for one cause have the same number; NULL: certain",
		     .value = of_choice),
	{.name = "description", .json = edge_json_description},
	{.name = "waker_stack", .json = edge_json_stack},
	{},
};
