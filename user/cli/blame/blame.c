/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew blame: who kept whom from going on.
 */
#include <clew/blame.h>
#include <stdlib.h>
#include <string.h>

#include "answers/path/blame.h"
#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/front/options.h"
#include "cli/operand/groups.h"
#include "cli/operand/input.h"
#include "cli/operand/query.h"
#include "cli/record/fresh.h"
#include "words/lines.h"

struct blame_values {
	struct clew_group_choice group;
	const char *victims;
	const char *antagonists;
	const char *hierarchy;
	struct clew_number top;
	const char *by;
	bool all_running;
	struct clew_window window;
	struct clew_source_choice source;
	bool json;
	struct clew_fresh fresh;
};

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
	CLEW_FRESH_OPTIONS(struct blame_values, fresh),
	{0, "json", NULL, "print one JSON object", clew_take_flag,
	 offsetof(struct blame_values, json)},
	CLEW_OPTION_END,
};

static int fail_for_memory(void)
{
	return clew_fail(CLEW_EXIT_SYSTEM,
			 "blame: out of memory: free some, or choose fewer spans");
}

static int check(void *context)
{
	const struct blame_values *values = context;

	if (values->by && strcmp(values->by, "function") != 0)
		return clew_fail(CLEW_EXIT_INPUT, "blame: --by is function, not '%s'", values->by);
	if (clew_source_wanted(&values->source) && (values->by || values->all_running))
		return clew_fail(CLEW_EXIT_INPUT, "blame: --lines is about samples, which neither "
						  "--by nor --all-running tells: leave one out");
	return 0;
}

static int open_input(struct blame_values *values, const char *operand, struct clew_input *input)
{
	bool by_name = clew_is_by_name(values->victims) && clew_is_by_name(values->antagonists);
	const struct clew_input_needs needs = {
		.whole = values->all_running ? "record of all that ran meanwhile"
			 : values->by	     ? "functions that threads waited in"
			 : !by_name	     ? "properties of spans besides their names"
					     : NULL,
		/* Functions that were called are spans as well, which the names do not have. */
		.functions = values->victims || values->antagonists,
		.models = true,
		.window = &values->window,
	};

	return clew_input_open(operand, &needs, input);
}

/* The spans that were chosen. */
struct choice {
	uint32_t *victims, *antagonists;
	size_t victim_count, antagonist_count;
};

static int choose(const struct blame_values *values, struct clew_input *input,
		  struct choice *ret_choice)
{
	struct clew_scope by = {.hierarchy = values->hierarchy}, of = by;
	const struct clew_model *model;
	bool *only = NULL;
	int status;

	if (!values->victims && !values->antagonists && !clew_groups_asked(&values->group))
		return 0;
	status = clew_input_model(input, &model);
	if (!status)
		status = clew_groups_spans(model, &values->group, &only);
	of.only = only;
	if (!status && values->victims)
		status = clew_find_spans("--victims", values->victims, model, &of,
					 &ret_choice->victims, &ret_choice->victim_count);
	if (!status && values->antagonists)
		status = clew_find_spans("--antagonists", values->antagonists, model, &by,
					 &ret_choice->antagonists, &ret_choice->antagonist_count);
	if (!status && !values->victims && only) {
		ret_choice->victims = clew_blame_others(model, only, &ret_choice->victim_count);
		status = ret_choice->victims ? 0 : fail_for_memory();
	}
	free(only);
	return status;
}

static struct clew_blame_asked asked_by(const struct blame_values *values,
					const struct choice *choice)
{
	struct clew_blame_asked asked = {
		.victims = choice->victims,
		.victim_count = choice->victim_count,
		.calls = !values->victims,
		.antagonists = choice->antagonists,
		.antagonist_count = choice->antagonist_count,
		.all_running = values->all_running,
		.innermost = values->by,
	};

	if (clew_window_given(&values->window)) {
		asked.from = (clew_time)values->window.from;
		asked.to = (clew_time)values->window.to;
	}
	return asked;
}

static int find(struct clew_input *input, struct clew_blame_sum *sum)
{
	struct clew_windows_taker taker;
	int status;

	if (!input->reader)
		return clew_blame_sum_model(sum, input->model, input->trace) < 0 ? fail_for_memory()
										 : 0;
	if (clew_blame_sum_taker(sum, input->tasks, &taker) < 0)
		return fail_for_memory();
	status = clew_input_look(input, &taker);
	if (!status && clew_blame_sum_finish(sum, input->trace) < 0)
		status = fail_for_memory();
	return status;
}

static int say(const struct blame_values *values, struct clew_input *input,
	       struct clew_blame_sum *sum)
{
	bool given = clew_window_given(&values->window);
	int status = 0;

	if (clew_say_blame(stdout, sum, given ? (clew_time)values->window.from : INT64_MIN,
			   given ? (clew_time)values->window.to : INT64_MAX,
			   values->json ? NULL : &values->top.value) < 0)
		status = fail_for_memory();
	if (!status && input->trace && !values->json)
		clew_print_lines_told(stdout, input->trace);
	return status;
}

static int answer(const struct blame_values *values, struct clew_input *input)
{
	struct clew_blame_asked asked;
	struct clew_blame_sum sum = {};
	struct choice choice = {};
	int status = 0;

	/* The stacks of a long capture come with its names. */
	if (clew_source_wanted(&values->source) && !input->reader)
		status = clew_need_stacks("blame", input->trace, &values->source);
	if (!status)
		status = choose(values, input, &choice);
	asked = asked_by(values, &choice);
	if (!status && clew_blame_sum_begin(&sum, &asked) < 0)
		status = fail_for_memory();
	if (!status)
		status = find(input, &sum);
	if (!status && clew_source_wanted(&values->source) && input->reader)
		status = clew_need_stacks("blame", input->trace, &values->source);
	if (!status)
		status = say(values, input, &sum);
	clew_blame_sum_done(&sum);
	free(choice.victims);
	free(choice.antagonists);
	return status;
}

static int question_answer(void *context, char **operands)
{
	struct blame_values *values = context;
	struct clew_input input = {};
	int status = open_input(values, operands[0], &input);

	if (!status)
		status = answer(values, &input);
	clew_input_done(&input);
	return status;
}

int clew_command_blame(const struct clew_command *command, int argc, char **argv)
{
	static const struct clew_fresh_question question = {.check = check,
							    .answer = question_answer};
	struct blame_values values = {.top = {.value = 20}};

	return clew_fresh_answer(command, argc, argv, &values, &values.fresh, &question);
}
