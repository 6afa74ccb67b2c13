/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The parts of the line about a dependency. */
#include "answers/edges/internal.h"
#include "format/style.h"
#include "format/text.h"
#include "words/edge.h"
#include "words/object.h"

#define MOST_SHOWN 8 /* destinations */

void edge_print_time(FILE *out, const struct clew_row *row)
{
	const struct clew_edge *edge = row->item;
	uint64_t start = clew_trace_start(row->trace);

	fprintf(out, "+%-13s ",
		CLEW_OFFSET(edge->from_at > start ? edge->from_at - start : 0,
			    clew_trace_end(row->trace) - start));
}

void edge_print_type(FILE *out, const struct clew_row *row)
{
	const struct clew_edge *edge = row->item;

	clew_print_styled(out, clew_style_of_type(edge->type), 8,
			  clew_trace_type_name(row->trace, edge->type));
	putc(' ', out);
}

void edge_print_from(FILE *out, const struct clew_row *row)
{
	const struct edge_row *context = row->context;
	const struct edge_group *group = context->group;
	struct edge_end origin = edge_origin(row->trace, row->item, 0);
	size_t count = edge_origin_count(row->item);

	edge_print_end(out, row->trace, &origin);
	for (size_t i = 1; i < group->choices; i++) {
		origin = edge_origin(row->trace, edge_group_at(group, i), 0);
		fputs(" or ", out);
		edge_print_end(out, row->trace, &origin);
	}
	if (count > 1)
		fprintf(out, " and %zu more requests", count - 1);
}

void edge_print_to(FILE *out, const struct clew_row *row)
{
	const struct edge_row *context = row->context;
	const struct edge_group *group = context->group;

	fputs(" -> ", out);
	for (size_t i = 0; i < group->count && i < MOST_SHOWN; i++) {
		struct edge_end destination = edge_destination(edge_group_at(group, i));

		if (i)
			fputs(", ", out);
		edge_print_end(out, row->trace, &destination);
	}
	if (group->count > MOST_SHOWN)
		fprintf(out, " and %zu more", group->count - MOST_SHOWN);
}

void edge_print_object(FILE *out, const struct clew_row *row)
{
	const struct clew_object object = clew_edge_object(row->item);
	const struct clew_sleep sleep = clew_edge_ended(row->item);

	if (object.kind == CLEW_OBJECT_NONE)
		return;
	fputs("  by ", out);
	clew_print_object(out, row->trace, &object, &sleep);
}

void edge_print_evidence(FILE *out, const struct clew_row *row)
{
	const struct clew_edge *edge = row->item;

	fprintf(out, "  (%s)\n", clew_evidence_name(edge->evidence));
}
