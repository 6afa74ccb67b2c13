/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew slack: how late each elementary span could have been, and what shortening it
 * could gain.
 */
#include <clew/slack.h>
#include <errno.h>
#include <stdlib.h>

#include "answers/model/model.h"
#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/front/options.h"
#include "cli/operand/groups.h"
#include "cli/operand/open.h"
#include "cli/operand/query.h"

struct slack_values {
	struct clew_group_choice group;
	const char *from;
	const char *to;
	const char *hierarchy;
	struct clew_number top;
	bool json;
};

const struct clew_option clew_slack_options[] = {
	{0, "from", "POSITION", "only what lies on paths from there, as in 's0.0.0 @ 0%'",
	 clew_take_string, offsetof(struct slack_values, from)},
	{0, "to", "POSITION", "and leads to there", clew_take_string,
	 offsetof(struct slack_values, to)},
	{0, "top", "K", "in text, the K of the largest drag (20)", clew_take_number,
	 offsetof(struct slack_values, top)},
	CLEW_GROUP_OPTIONS(struct slack_values, group, "elements of threads"),
	{0, "hierarchy", "NAME", "in which hierarchy category paths are meant (the first)",
	 clew_take_string, offsetof(struct slack_values, hierarchy)},
	{0, "json", NULL, "print one JSON object", clew_take_flag,
	 offsetof(struct slack_values, json)},
	CLEW_OPTION_END,
};

/* Leaves out the elements of other spans than those. */
static void keep_only(const struct clew_model *model, const bool *only, struct clew_slack *slack)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < slack->count; i++)
		if (only[model->es[slack->rows[i].es].span])
			slack->rows[kept++] = slack->rows[i];
	slack->count = kept;
}

/* `ends`: those of the values, perhaps in other words. `only`: by span, those whose elements are
 * shown; NULL: all. */
static int answer(const struct clew_model *model, const struct slack_values *values,
		  const struct clew_ends *ends, const bool *only)
{
	const struct clew_scope scope = {.hierarchy = values->hierarchy};
	struct clew_position from, to;
	struct clew_slack slack;
	int status = 0, r;

	if (values->from)
		status = clew_find_ends(ends->from, ends->to, model, &scope, &from, &to);
	if (status)
		return status;
	r = clew_slack_find(model, values->from ? &from : NULL, values->to ? &to : NULL, &slack);
	if (r == -ENOENT)
		return clew_fail(
			CLEW_EXIT_NEGATIVE,
			"no path leads from '%s' to '%s': see with clew dump what depends on what",
			values->from, values->to);
	if (r < 0)
		return clew_fail(CLEW_EXIT_SYSTEM,
				 "slack: out of memory: free some, or take a smaller trace");
	if (only)
		keep_only(model, only, &slack);
	if (values->json)
		clew_json_slack(stdout, model, &slack, values->from ? from.at : INT64_MIN,
				values->to ? to.at : INT64_MAX);
	else
		clew_print_slack(stdout, model, &slack, values->top.value,
				 values->from ? from.at : INT64_MIN,
				 values->to ? to.at : INT64_MAX);
	clew_slack_done(&slack);
	return CLEW_EXIT_DONE;
}

int clew_command_slack(const struct clew_command *command, int argc, char **argv)
{
	struct slack_values values = {.top = {.value = 20}};
	struct clew_ends ends;
	struct clew_trace *stacks;
	struct clew_model *model;
	bool *only = NULL;
	char **operands, *memory[2];
	int status;

	if (!clew_options_parse(command, argc, argv, &values, &operands, &status))
		return status;
	if (!values.from != !values.to)
		return clew_fail(CLEW_EXIT_INPUT,
				 "slack: an end is missing: give --from and --to, or neither");
	ends = (struct clew_ends){.from = values.from, .to = values.to};
	status = clew_open_model_between(operands[0], &ends, memory, &model, &stacks);
	if (status)
		return status;
	clew_trace_free(stacks);
	status = clew_groups_spans(model, &values.group, &only);
	if (!status)
		status = answer(model, &values, &ends, only);
	free(only);
	clew_model_free(model);
	free(memory[0]);
	free(memory[1]);
	return status;
}
