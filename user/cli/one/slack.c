/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew slack: how late each elementary span could have been, and what shortening it
 * could gain.
 */
#include <clew/slack.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/front/options.h"
#include "cli/operand/groups.h"
#include "cli/operand/open.h"
#include "cli/operand/query.h"
#include "format/text.h"
#include "words/es.h"
#include "words/truth.h"

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

static void print_json(const struct clew_model *model, const struct clew_slack *slack,
		       clew_time from, clew_time to)
{
	struct clew_span_names names = {.model = model};
	struct clew_json json = {.out = stdout};

	clew_json_answer(&json);
	clew_json_array(&json, "elements");
	for (uint32_t i = 0; i < slack->count; i++) {
		const struct clew_slack_row *row = &slack->rows[i];

		clew_json_object(&json, NULL);
		clew_json_es_fields(&json, &names, row->es);
		clew_json_signed(&json, "es_time", row->earliest_start);
		clew_json_signed(&json, "ef", clew_slack_earliest_finish(model, row));
		clew_json_signed(&json, "ls", clew_slack_latest_start(model, row));
		clew_json_signed(&json, "lf", row->latest_finish);
		clew_json_signed(&json, "slack", clew_slack_of(model, row));
		clew_json_signed(&json, "drag", row->drag);
		clew_json_object_end(&json);
	}
	clew_json_array_end(&json);
	clew_json_model_truth(&json, model, from, to);
	clew_json_object_end(&json);
	clew_json_end(&json);
	clew_span_names_done(&names);
}

/* Largest drag first, then least slack. */
static int compare(const void *a, const void *b, void *context)
{
	const struct clew_slack_row *x = a, *y = b;
	const struct clew_model *model = context;

	if (x->drag != y->drag)
		return x->drag > y->drag ? -1 : 1;
	if (clew_slack_of(model, x) != clew_slack_of(model, y))
		return clew_slack_of(model, x) < clew_slack_of(model, y) ? -1 : 1;
	return x->es < y->es ? -1 : x->es > y->es;
}

static void print_text(const struct clew_model *model, struct clew_slack *slack, uint32_t top,
		       clew_time from, clew_time to)
{
	struct clew_span_names names = {.model = model};

	qsort_r(slack->rows, slack->count, sizeof(*slack->rows), compare, (void *)model);
	printf("%" PRIu32 " elements; drag: what shortening it alone could gain; slack: how late "
	       "it could be\n\n"
	       "        drag       slack      length  element\n",
	       slack->count);
	for (uint32_t i = 0; i < slack->count && i < top; i++) {
		const struct clew_slack_row *row = &slack->rows[i];
		const struct clew_es *es = &model->es[row->es];

		printf("%12s%12s%12s  ", CLEW_DURATION((uint64_t)row->drag),
		       CLEW_DURATION((uint64_t)clew_slack_of(model, row)),
		       CLEW_DURATION((uint64_t)(es->end - es->start)));
		clew_print_span(stdout, &names, es->span);
		printf(" %" PRIu32 "\n", row->es - model->spans[es->span].elementary.first);
	}
	if (slack->count > top)
		printf("%12s and %" PRIu32 " more\n", "", slack->count - top);
	clew_print_model_truth(stdout, model, from, to);
	clew_span_names_done(&names);
}

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
		print_json(model, &slack, values->from ? from.at : INT64_MIN,
			   values->to ? to.at : INT64_MAX);
	else
		print_text(model, &slack, values->top.value, values->from ? from.at : INT64_MIN,
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
