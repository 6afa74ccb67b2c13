/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The fields of a dependency in JSON. */
#include "answers/edges/internal.h"
#include "words/descriptors.h"
#include "words/edge.h"
#include "words/object.h"
#include "words/stack_table.h"

/* All candidates for one cause. */
static void json_choices(struct clew_json *json, const struct clew_trace *trace,
			 const struct edge_group *group)
{
	for (size_t i = 0; i < group->choices; i++) {
		struct edge_end origin = edge_origin(trace, edge_group_at(group, i), 0);

		edge_json_end(json, trace, &origin);
	}
}

uint32_t edge_waker_stack(struct edge_words *words, const struct edge_group *group)
{
	const struct clew_edge *first = edge_group_at(group, 0);

	return group->choices
		       ? CLEW_JSON_NO_NUMBER
		       : clew_stack_of_waker(words->json.stacks, first->from, first->from_at);
}

void edge_json_relation_word(struct clew_json *json, const struct clew_column *column,
			     struct clew_row *row)
{
	const struct clew_edge *edge = row->item;

	clew_json_string(json, column->name, clew_edge_relation(edge->type));
}

void edge_json_bridged(struct clew_json *json, const struct clew_column *column,
		       struct clew_row *row)
{
	(void)row;
	clew_json_bool(json, column->name, false);
}

void edge_json_from(struct clew_json *json, const struct clew_column *column, struct clew_row *row)
{
	const struct edge_row *context = row->context;
	const struct edge_group *group = context->group;

	clew_json_array(json, column->name);
	json_choices(json, row->trace, group);
	for (size_t i = 0; i < edge_origin_count(row->item) && !group->choices; i++) {
		struct edge_end origin = edge_origin(row->trace, row->item, i);

		edge_json_end(json, row->trace, &origin);
	}
	clew_json_array_end(json);
}

void edge_json_to(struct clew_json *json, const struct clew_column *column, struct clew_row *row)
{
	const struct edge_row *context = row->context;
	const struct edge_group *group = context->group;

	clew_json_array(json, column->name);
	for (size_t i = 0; i < group->count; i++) {
		struct edge_end destination = edge_destination(edge_group_at(group, i));

		edge_json_end(json, row->trace, &destination);
	}
	clew_json_array_end(json);
}

void edge_json_object(struct clew_json *json, const struct clew_column *column,
		      struct clew_row *row)
{
	const struct clew_sleep sleep = clew_edge_ended(row->item);
	const struct clew_object object = clew_edge_object(row->item);

	clew_json_object_of(json, column->name, row->trace, &object, &sleep);
}

void edge_json_candidates(struct clew_json *json, const struct clew_column *column,
			  struct clew_row *row)
{
	const struct edge_row *context = row->context;

	clew_json_array(json, column->name);
	json_choices(json, row->trace, context->group);
	clew_json_array_end(json);
}

void edge_json_description(struct clew_json *json, const struct clew_column *column,
			   struct clew_row *row)
{
	const struct edge_row *context = row->context;
	struct clew_relations *relations = context->words->relations;
	const struct clew_edge *edge = row->item;
	const struct clew_object object = clew_edge_object(edge);
	struct clew_description description = {};

	(void)column;
	clew_describe_object(row->trace, &object, edge->to_at, &description);
	clew_relations_describe(relations, edge->from, edge->from_at, &description);
	clew_relations_describe(relations, edge->to, edge->to_at, &description);
	clew_json_description(json, &description);
}

void edge_json_stack(struct clew_json *json, const struct clew_column *column, struct clew_row *row)
{
	const struct edge_row *context = row->context;

	clew_json_table_number(json, column->name,
			       edge_waker_stack(context->words, context->group));
}
