/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A spawning forest, as text, as a graph and as JSON. */
#ifndef CLEW_ANSWERS_PATH_FOREST_TEXT_H
#define CLEW_ANSWERS_PATH_FOREST_TEXT_H

#include <clew/forest.h>
#include <stdio.h>

struct grove {
	const struct clew_model *model;
	const struct clew_forest *forest;
	const struct clew_forest_rule *rules;
	size_t rule_count;
	bool *carries; /* by span: it or a span below it started a root span */
	uint32_t roots, trees, spawned, alone;
	clew_time start; /* of the first root span */
	uint64_t length; /* from there to the last one's end */
};

static inline bool grove_is_root(const struct grove *grove, uint32_t span)
{
	return grove->model->spans[span].parent == CLEW_NONE;
}

static inline const char *grove_type_name(const struct grove *grove, uint32_t dependency)
{
	return clew_model_string(grove->model,
				 grove->model->types[grove->model->dependencies[dependency].type]);
}

/* Fills in all below `rule_count`; free(3) `carries`. 0 or -ENOMEM. */
int clew_forest_survey(struct grove *grove);
/* Prints the trees. `all`: those of one root span, too. 0 or -ENOMEM. */
int clew_print_forest(FILE *out, const struct grove *grove, bool all);
/* Print to standard output; a graph has the others, too, if `all` is set. */
void clew_print_forest_dot(const struct grove *grove, bool all);
void clew_json_forest(const struct grove *grove);

#endif
