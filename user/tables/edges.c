/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The table of dependencies between tasks. */
#include <clew/tokens.h>
#include <stdlib.h>

#include "tables/internal.h"
#include "words/edge.h"

enum {
	EDGE_ID,
	EDGE_TYPE,
	EDGE_EVIDENCE,
	EDGE_FROM_TID,
	EDGE_FROM,
	EDGE_FROM_AT,
	EDGE_TO_TID,
	EDGE_TO,
	EDGE_TO_AT,
	EDGE_CONTEXT,
	EDGE_OBJECT_KIND,
	EDGE_OBJECT,
	EDGE_ENDS_WAIT,
	EDGE_WAIT,
	EDGE_CHOICE
};

static const struct clew_column edge_columns[] = {
	[EDGE_ID] = CLEW_INTEGER("id", "number of the dependency"),
	[EDGE_TYPE] = CLEW_TEXT("type", "unlock, wake, socket, fork, .., as in clew edges"),
	[EDGE_EVIDENCE] = CLEW_TEXT("evidence", "exact, observed or candidate"),
	[EDGE_FROM_TID] = CLEW_INTEGER("from_tid", "the thread that caused it"),
	[EDGE_FROM] = CLEW_TEXT("from_comm", "name of that thread"),
	[EDGE_FROM_AT] = CLEW_INTEGER("from_at", "when it did"),
	[EDGE_TO_TID] = CLEW_INTEGER("to_tid", "the thread that depends on it"),
	[EDGE_TO] = CLEW_TEXT("to_comm", "name of that thread"),
	[EDGE_TO_AT] = CLEW_INTEGER("to_at", "when it took effect"),
	[EDGE_CONTEXT] = CLEW_TEXT("context", "where the wake came from: task, timer, .."),
	[EDGE_OBJECT_KIND] = CLEW_TEXT("object_kind", "kind of what it goes through"),
	[EDGE_OBJECT] = CLEW_TEXT("object", "name of what it goes through"),
	[EDGE_ENDS_WAIT] = CLEW_INTEGER("ends_wait", "1: it ended a wait"),
	[EDGE_WAIT] = CLEW_INTEGER("wait", "the wait that it ended, waits.id"),
	[EDGE_CHOICE] = CLEW_INTEGER(
		"choice", "candidates for one cause have the same number; NULL: certain"),
	{},
};

static size_t edge_count(struct table_source *source)
{
	size_t count;

	clew_trace_edges(source->trace, &count);
	return count;
}

static const struct clew_edge *edge_at(const struct table_source *source, size_t item)
{
	size_t count;

	return clew_trace_edges(source->trace, &count) + item;
}

static size_t edge_parts(const struct table_source *source, size_t item)
{
	const struct clew_edge *edge = edge_at(source, item);

	return row_wanted(source, edge->from, edge->from_at, edge->to_at) ||
	       row_wanted(source, edge->to, edge->from_at, edge->to_at);
}

/* The number of the wait that an edge ended. */
static void set_wait(const struct table_source *source, const struct clew_edge *edge,
		     struct clew_cell *value)
{
	struct clew_piece piece;
	size_t count;

	if (edge->ends_sleep &&
	    clew_trace_piece(source->trace, edge->to, edge->to_at, true, &piece) && piece.sleep)
		clew_set_number(value,
				(uint64_t)(piece.sleep - clew_trace_sleeps(source->trace, &count)));
}

static int edge_object(struct table_cursor *cursor, const struct clew_edge *edge, bool name,
		       struct clew_cell *value)
{
	struct clew_sleep sleep = clew_edge_ended(edge);
	struct clew_object object = clew_edge_object(edge);

	return clew_set_object(&cursor->text, cursor->source->trace, &object, &sleep, name, value);
}

static void edge_plain_value(const struct table_source *source, const struct clew_edge *edge,
			     unsigned column, struct clew_cell *value)
{
	switch (column) {
	case EDGE_TYPE:
		clew_set_string(value, clew_trace_type_name(source->trace, edge->type));
		break;
	case EDGE_EVIDENCE:
		clew_set_string(value, clew_evidence_name(edge->evidence));
		break;
	case EDGE_FROM_TID:
		clew_set_tid(source->trace, edge->from, value);
		break;
	case EDGE_FROM_AT:
		clew_set_number(value, edge->from_at);
		break;
	case EDGE_TO_TID:
		clew_set_tid(source->trace, edge->to, value);
		break;
	case EDGE_TO_AT:
		clew_set_number(value, edge->to_at);
		break;
	case EDGE_CONTEXT:
		clew_set_string(value, clew_context_name(edge->context));
		break;
	case EDGE_ENDS_WAIT:
		clew_set_number(value, edge->ends_sleep);
		break;
	case EDGE_WAIT:
		set_wait(source, edge, value);
		break;
	case EDGE_CHOICE:
		clew_set_known(value, edge->choice, 0);
		break;
	}
}

static int edge_value(struct table_cursor *cursor, unsigned column, struct clew_cell *value)
{
	const struct table_source *source = cursor->source;
	const struct clew_edge *edge = edge_at(source, cursor->item);
	char comm[CLEW_COMM_SIZE + 1];

	switch (column) {
	case EDGE_ID:
		clew_set_number(value, cursor->item);
		return 0;
	case EDGE_FROM:
	case EDGE_TO:
		snprintf(comm, sizeof(comm), "%.*s", CLEW_COMM_SIZE,
			 column == EDGE_FROM ? edge->from_comm : edge->to_comm);
		return clew_set_copy(&cursor->text, comm, value);
	case EDGE_OBJECT_KIND:
	case EDGE_OBJECT:
		return edge_object(cursor, edge, column == EDGE_OBJECT, value);
	default:
		edge_plain_value(source, edge, column, value);
		return 0;
	}
}

const struct table table_edges = {.name = "edges",
				  .meaning = "dependencies between tasks, with their evidence",
				  .columns = edge_columns,
				  .count = edge_count,
				  .parts = edge_parts,
				  .value = edge_value};
