/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew path: the critical path from one position to another, or of every instance of
 * some spans, where its time went, and sums of that.
 */
#include <stdlib.h>

#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/operand/windows.h"
#include "cli/path/path.h"
#include "words/lines.h"
#include "words/truth.h"

static int take_strategy(const struct clew_option *option, const char *argument, void *value)
{
	int strategy = clew_strategy_from_name(argument);

	if (strategy < 0)
		return clew_fail(CLEW_EXIT_INPUT,
				 "--%s: no strategy '%s': there are most_work, temporal_most_work, "
				 "most_prox, predecessor, least_work, "
				 "least_prox, causal",
				 option->name, argument);
	*(uint32_t *)value = (uint32_t)strategy;
	return 0;
}

const struct clew_option clew_path_options[] = {
	{0, "from", "POSITION", "the path begins there, as in 's0.0.0 @ 0%'", clew_take_string,
	 offsetof(struct path_values, from)},
	{0, "to", "POSITION", "the path ends there", clew_take_string,
	 offsetof(struct path_values, to)},
	{0, "all", "PATTERN", "the paths of all these spans, each from its start to its end",
	 clew_take_string, offsetof(struct path_values, all)},
	{0, "operations", NULL,
	 "with --all, the paths of what these spans did between two idle waits each",
	 clew_take_flag, offsetof(struct path_values, operations)},
	{0, "idle", "KIND,..",
	 "waits between operations (poll, accept, receive, read of an empty pipe)",
	 clew_take_wait_kinds, offsetof(struct path_values, idle)},
	{0, "strategy", "STRATEGY",
	 "most_work (the default), temporal_most_work, most_prox, predecessor, least_work, "
	 "least_prox or causal",
	 take_strategy, offsetof(struct path_values, strategy)},
	{0, "top", "K", "K distinct paths, the best first", clew_take_number,
	 offsetof(struct path_values, top)},
	{0, "all-origins", NULL,
	 "follow every origin that ends in time, not the triggering one alone", clew_take_flag,
	 offsetof(struct path_values, all_origins)},
	{0, "marks", "REGEX", "also list the marks on the path whose labels match",
	 clew_take_string, offsetof(struct path_values, marks)},
	CLEW_GROUP_OPTIONS(struct path_values, group, "spans of threads"),
	{0, "hierarchy", "NAME", "whose categories patterns mean (the first one)", clew_take_string,
	 offsetof(struct path_values, hierarchy)},
	CLEW_SOURCE_OPTIONS(struct path_values, source,
			    "tell functions with lines of the source, and inlined ones, too"),
	CLEW_FRESH_OPTIONS(struct path_values, fresh),
	{0, "json", NULL, "print one JSON object", clew_take_flag,
	 offsetof(struct path_values, json)},
	CLEW_OPTION_END,
};

void path_note(struct path_answer *answer, int r)
{
	if (!answer->error)
		answer->error = r;
}

int path_print(struct path_answer *answer)
{
	if (answer->values->json) {
		path_print_json(answer);
	} else {
		path_print_text(answer);
		clew_print_model_truth(stdout, answer->model, answer->sum.start, answer->sum.end);
	}
	return answer->error < 0 ? path_out_of_memory() : CLEW_EXIT_DONE;
}

static int question_check(void *context)
{
	const struct path_values *values = context;
	bool grouped = !values->from && !values->to && clew_groups_asked(&values->group);

	if (values->all && (values->from || values->to || values->top.given))
		return clew_fail(
			CLEW_EXIT_INPUT,
			"path: --all has the ends of its spans: leave --from, --to and --top out");
	if ((values->operations && !values->all && !grouped) ||
	    (values->idle && !values->operations))
		return clew_fail(CLEW_EXIT_INPUT, "path: operations are of spans: give --all with "
						  "--operations, and --operations with --idle");
	if (!values->all && (!values->from || !values->to) && (!grouped || values->top.given))
		return clew_fail(CLEW_EXIT_INPUT,
				 "path: an end is missing: give --from and --to, --all or a group");
	return 0;
}

static int answer_in_one_piece(const char *operand, const struct path_values *values)
{
	struct path_answer answer = {
		.values = values,
		.ends = {.from = values->from, .to = values->to},
		.scope.hierarchy = values->hierarchy,
	};
	struct clew_trace *stacks;
	struct clew_model *model;
	char *memory[2];
	bool *only = NULL;
	int status = clew_open_model_between(operand, &answer.ends, memory, &model, &stacks);

	if (status)
		return status;
	if (clew_source_wanted(&values->source))
		status = clew_need_stacks("path", stacks, &values->source);
	if (!status)
		status = clew_groups_spans(model, &values->group, &only);
	answer.scope.only = only;
	if (!status && path_answer_init(&answer, model, stacks) < 0)
		status = path_out_of_memory();
	if (!status)
		status = path_find(&answer);
	if (!status)
		status = path_print(&answer);
	if (!status && stacks && !values->json)
		clew_print_lines_told(stdout, stacks);
	free(only);
	path_answer_done(&answer);
	clew_trace_free(stacks);
	clew_model_free(model);
	free(memory[0]);
	free(memory[1]);
	return status;
}

static int question_answer(void *context, char **operands)
{
	struct path_values *values = context;
	struct clew_reader *reader = NULL;
	int status = 0;

	if (values->operations)
		status = clew_windows_open_models(operands[0], &reader);
	if (status)
		return status;
	if (reader && path_has_windows(reader, values))
		status = path_in_windows(operands[0], reader, values);
	else
		status = answer_in_one_piece(operands[0], values);
	clew_reader_close(reader);
	return status;
}

int clew_command_path(const struct clew_command *command, int argc, char **argv)
{
	static const struct clew_fresh_question question = {.check = question_check,
							    .answer = question_answer};
	struct path_values values = {.top = {.value = 1}};

	return clew_fresh_answer(command, argc, argv, &values, &values.fresh, &question);
}
