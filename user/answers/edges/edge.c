/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A dependency in words and as JSON. */
#include "answers/edges/edges.h"

#include <stdlib.h>

#include "answers/edges/internal.h"

static struct clew_row row_of(const struct edge_row *context)
{
	return (struct clew_row){.trace = context->words->trace,
				 .item = edge_group_at(context->group, 0),
				 .number = context->group->order[0],
				 .context = context};
}

void edge_json(struct edge_words *words, const struct edge_group *group)
{
	const struct edge_row context = {words, group};
	struct clew_row row = row_of(&context);

	clew_json_object(&words->json, NULL);
	clew_json_row(&words->json, clew_edge_columns, &row);
	clew_json_object_end(&words->json);
	free(row.text);
}

void edge_print(struct edge_words *words, const struct edge_group *group)
{
	const struct edge_row context = {words, group};
	const struct clew_row row = row_of(&context);

	clew_print_row(stdout, clew_edge_columns, &row);
}
