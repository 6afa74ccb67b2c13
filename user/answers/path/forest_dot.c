/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A spawning forest as a graph for dot(1). */
#include <inttypes.h>
#include <stdio.h>

#include "answers/path/forest_text.h"
#include "format/text.h"

static void print_edges(const struct grove *grove, uint32_t span)
{
	const struct clew_model *model = grove->model;
	uint32_t count, from = span;
	const uint32_t *spawned = clew_forest_spawned(grove->forest, span, &count);

	while (!grove_is_root(grove, from))
		from = model->spans[from].parent;
	for (uint32_t i = 0; i < count; i++) {
		bool counts = clew_forest_spawner(grove->forest, spawned[i]) == span;

		printf("\tn%" PRIu32 " -> n%" PRIu32 " [", from, spawned[i]);
		if (counts) {
			fputs("label=\"", stdout);
			clew_print_dot(
				stdout,
				grove_type_name(
					grove,
					model->es[clew_forest_spawned_at(grove->forest, spawned[i])]
						.in));
			if (from != span) {
				fputs("\\nby ", stdout);
				clew_print_dot(stdout,
					       clew_model_string(model, model->spans[span].name));
			}
			putchar('"');
		}
		printf("%s];\n", counts ? "" : "style=dashed");
	}
}

void clew_print_forest_dot(const struct grove *grove, bool all)
{
	const struct clew_model *model = grove->model;

	puts("digraph forest {\n\tnode [shape=box];");
	for (uint32_t root = model->first_root; root != CLEW_NONE;
	     root = model->spans[root].next_sibling) {
		const struct clew_span *span = &model->spans[root];

		if (!all && !grove->carries[root] &&
		    clew_forest_spawner(grove->forest, root) == CLEW_NONE)
			continue;
		printf("\tn%" PRIu32 " [label=\"", root);
		clew_print_dot(stdout, clew_model_string(model, span->name));
		printf("\\n%s\"];\n", CLEW_DURATION((uint64_t)span->end - (uint64_t)span->start));
	}
	for (uint32_t span = 0; span < model->span_count; span++)
		print_edges(grove, span);
	puts("}");
}
