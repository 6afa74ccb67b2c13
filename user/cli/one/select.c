/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew select: the spans or positions of a causal trace that a pattern means.
 */
#include <stdlib.h>

#include "answers/model/model.h"
#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/front/options.h"
#include "cli/operand/groups.h"
#include "cli/operand/open.h"
#include "cli/operand/query.h"

struct select_values {
	struct clew_group_choice group;
	const char *hierarchy;
	bool json;
};

const struct clew_option clew_select_options[] = {
	CLEW_GROUP_OPTIONS(struct select_values, group, "spans of threads"),
	{0, "hierarchy", "NAME", "in which hierarchy category paths are meant (the first)",
	 clew_take_string, offsetof(struct select_values, hierarchy)},
	{0, "json", NULL, "print one JSON object", clew_take_flag,
	 offsetof(struct select_values, json)},
	CLEW_OPTION_END,
};

/* `only`: by span, those that may be selected; NULL: all. */
static int answer(struct clew_selected *selected, const struct clew_query *query,
		  const struct select_values *values, const bool *only)
{
	struct clew_query_options options = {.only = only};
	int status = clew_choose_hierarchy(selected->model, values->hierarchy, query,
					   &options.hierarchy),
	    r;

	if (status)
		return status;
	selected->is_position = clew_query_is_position(query);
	if (selected->is_position)
		r = clew_query_positions(query, selected->model, &options, &selected->positions);
	else
		r = clew_query_spans(query, selected->model, &options, &selected->spans,
				     &selected->span_count);
	if (r < 0)
		return clew_fail_query("pattern", r);
	if (values->json)
		clew_json_selected(stdout, selected);
	else
		clew_print_selected(stdout, selected);
	clew_positions_done(&selected->positions);
	free(selected->spans);
	return CLEW_EXIT_DONE;
}

int clew_command_select(const struct clew_command *command, int argc, char **argv)
{
	struct select_values values = {};
	struct clew_query *query;
	struct clew_model *model;
	char **operands;
	int status;

	if (!clew_options_parse(command, argc, argv, &values, &operands, &status))
		return status;
	/*
	 * Loading a trace may take long: errors in the pattern are reported
	 * first.
	 */
	status = clew_compile_query("pattern", operands[1], &query);
	if (status)
		return status;
	status = clew_open_model(operands[0], &model, NULL);
	if (!status) {
		struct clew_selected selected = {.model = model};
		bool *only;

		status = clew_groups_spans(model, &values.group, &only);
		if (!status)
			status = answer(&selected, query, &values, only);
		free(only);
		clew_model_free(model);
	}
	clew_query_free(query);
	return status;
}
