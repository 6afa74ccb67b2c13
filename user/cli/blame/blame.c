/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew blame: who kept whom from going on.
 */
#include "cli/blame/blame.h"

#include <clew/kernel/records.h>
#include <stdlib.h>
#include <string.h>

#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/operand/query.h"
#include "cli/operand/windows.h"
#include "words/lines.h"

const struct clew_option clew_blame_options[] = {
	{0, "victims", "PATTERN", "only what kept these spans waiting (all)", clew_take_string,
	 offsetof(struct blame_values, victims)},
	{0, "antagonists", "PATTERN", "blame only these spans (all)", clew_take_string,
	 offsetof(struct blame_values, antagonists)},
	{0, "all-running", NULL,
	 "blame all that ran while a span could have, whatever it waited for", clew_take_flag,
	 offsetof(struct blame_values, all_running)},
	{0, "by", "function", "add up by the functions in which threads waited and had something",
	 clew_take_string, offsetof(struct blame_values, by)},
	{0, "top", "K", "in text, the K longest (20)", clew_take_number,
	 offsetof(struct blame_values, top)},
	CLEW_WINDOW_OPTIONS(struct blame_values, window),
	CLEW_GROUP_OPTIONS(struct blame_values, group, "what kept threads waiting"),
	{0, "hierarchy", "NAME", "in which hierarchy category paths are meant (the first)",
	 clew_take_string, offsetof(struct blame_values, hierarchy)},
	CLEW_SOURCE_OPTIONS(struct blame_values, source,
			    "tell functions with lines of the source, and inlined ones, too"),
	{0, "json", NULL, "print one JSON object", clew_take_flag,
	 offsetof(struct blame_values, json)},
	CLEW_OPTION_END,
};

uint32_t *blame_find_others(const struct clew_model *model, const bool *only, size_t *ret_count)
{
	uint32_t *spans = malloc((model->span_count + 1ul) * sizeof(*spans));

	*ret_count = 0;
	for (uint32_t span = 0; spans && span < model->span_count; span++) {
		const char *flags =
			clew_model_attribute(model, model->spans[span].attributes, "task_flags");

		if ((!only || only[span]) &&
		    (!flags || !(strtoul(flags, NULL, 10) & CLEW_TASK_SELF)))
			spans[(*ret_count)++] = span;
	}
	return spans;
}

int blame_choose(const struct clew_model *model, const struct blame_values *values,
		 const bool *only, struct blame_choice *ret_choice)
{
	const struct clew_scope by = {.hierarchy = values->hierarchy},
				of = {.hierarchy = values->hierarchy, .only = only};
	int status = 0;

	*ret_choice = (struct blame_choice){};
	if (values->victims)
		status = clew_find_spans("--victims", values->victims, model, &of,
					 &ret_choice->victims, &ret_choice->victim_count);
	if (status)
		return status;
	if (values->antagonists)
		status = clew_find_spans("--antagonists", values->antagonists, model, &by,
					 &ret_choice->antagonists, &ret_choice->antagonist_count);
	if (status)
		ret_choice->antagonists = NULL;
	if (!status && !values->victims) {
		ret_choice->victims = blame_find_others(model, only, &ret_choice->victim_count);
		status = ret_choice->victims ? 0 : blame_fail_for_memory();
	}
	return status;
}

void blame_choice_done(struct blame_choice *choice)
{
	free(choice->victims);
	free(choice->antagonists);
}

/* `stacks`: as clew_open_model_stacks() has it. */
static int answer_with(const struct clew_model *model, const struct clew_trace *stacks,
		       const struct blame_values *values, const bool *only)
{
	struct blame_answer answer = {.victims = {.model = model},
				      .antagonists = {.model = model},
				      .is_by_function = values->by != NULL,
				      .all_running = values->all_running,
				      .from = INT64_MIN,
				      .to = INT64_MAX};
	struct clew_blame_options options = {
		.all_running = values->all_running,
		.innermost = values->by != NULL,
		.charged = values->by || values->all_running ? NULL : clew_pair_places_charge,
		.context = &answer.ran_in};
	struct blame_choice choice;
	int status = blame_choose(model, values, only, &choice);

	if (clew_window_given(&values->window)) {
		options.from = answer.from = (clew_time)values->window.from;
		options.to = answer.to = (clew_time)values->window.to;
	}
	if (!status) {
		options.victims = choice.victims;
		options.victim_count = choice.victim_count;
		options.antagonists = choice.antagonists;
		options.antagonist_count = choice.antagonist_count;
		if (clew_pair_places_init(&answer.ran_in, model, options.charged ? stacks : NULL) <
			    0 ||
		    clew_blame_find(model, &options, &answer.pairs, &answer.count) < 0)
			status = blame_fail_for_memory();
	}
	if (!status)
		status = blame_print(&answer, values);
	blame_answer_done(&answer);
	blame_choice_done(&choice);
	return status;
}

static int answer_in_one_piece(const char *operand, struct blame_values *values)
{
	struct clew_trace *stacks;
	struct clew_model *model;
	bool *only = NULL;
	int status = clew_open_model_window(operand, &values->window, &model, &stacks);

	if (status)
		return status;
	if (clew_source_wanted(&values->source))
		status = clew_need_stacks("blame", stacks, &values->source);
	if (!status)
		status = clew_groups_spans(model, &values->group, &only);
	if (!status)
		status = answer_with(model, stacks, values, only);
	if (!status && stacks && !values->json)
		clew_print_lines_told(stdout, stacks);
	free(only);
	clew_model_free(model);
	clew_trace_free(stacks);
	return status;
}

int clew_command_blame(const struct clew_command *command, int argc, char **argv)
{
	struct blame_values values = {.top = {.value = 20}};
	struct clew_reader *reader = NULL;
	char **operands;
	int status = 0;

	if (!clew_options_parse(command, argc, argv, &values, &operands, &status))
		return status;
	if (values.by && strcmp(values.by, "function") != 0)
		return clew_fail(CLEW_EXIT_INPUT, "blame: --by is function, not '%s'", values.by);
	if (clew_source_wanted(&values.source) && (values.by || values.all_running))
		return clew_fail(CLEW_EXIT_INPUT, "blame: --lines is about samples, which neither "
						  "--by nor --all-running tells: leave one out");
	if (!clew_window_given(&values.window))
		status = clew_windows_open_models(operands[0], &reader);
	if (status)
		return status;
	if (reader && blame_has_windows(reader, &values))
		status = blame_in_windows(operands[0], reader, &values);
	else
		status = answer_in_one_piece(operands[0], &values);
	clew_reader_close(reader);
	return status;
}
