/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew locks: what each contended lock cost, who held it, and why for so long.
 */
#include "answers/locks/locks.h"
#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/front/options.h"
#include "cli/operand/input.h"
#include "cli/record/fresh.h"
#include "explain/locks_sum.h"
#include "words/ledger.h"

#define TOP 10 /* locks in text */

struct locks_values {
	struct clew_selection selection;
	struct clew_window window;
	struct clew_number top;
	bool json;
	struct clew_fresh fresh;
};

const struct clew_option clew_locks_options[] = {
	{'t', "tid", "N", "only locks that this thread waited for, and its waits", clew_take_number,
	 offsetof(struct locks_values, selection.tid)},
	{'p', "pid", "N", "the same of this process's threads", clew_take_number,
	 offsetof(struct locks_values, selection.pid)},
	{0, "comm", "GLOB", "the same of threads named like this", clew_take_string,
	 offsetof(struct locks_values, selection.comm)},
	CLEW_GROUP_OPTIONS(struct locks_values, selection.group, "waits of threads"),
	CLEW_WINDOW_OPTIONS(struct locks_values, window),
	{0, "self", NULL, "show waits of clew's own threads, too", clew_take_flag,
	 offsetof(struct locks_values, selection.self)},
	{0, "top", "K", "the K locks that cost most (in text 10)", clew_take_number,
	 offsetof(struct locks_values, top)},
	CLEW_FRESH_OPTIONS(struct locks_values, fresh),
	{0, "json", NULL, "print one JSON object", clew_take_flag,
	 offsetof(struct locks_values, json)},
	CLEW_OPTION_END,
};

/* *ret_relations: the caller's to free, as what was found refers to it. */
static int find(struct locks_values *values, struct clew_input *input,
		struct clew_locks_asked *asked, struct clew_locks_sum *sum,
		struct clew_relations **ret_relations)
{
	struct clew_windows_taker taker = clew_locks_sum_taker(sum);
	int status = clew_input_look(input, &taker);

	if (!status)
		status = clew_selection_check(&values->selection, input->trace);
	/* Windows have nothing that programs announced. */
	if (!status && !input->reader)
		status = clew_try_relations(input->trace, ret_relations);
	asked->relations = *ret_relations;
	asked->from = values->window.from;
	asked->to = values->window.to;
	if (!status && clew_locks_sum_make(sum, input->trace) < 0)
		status = clew_fail_memory();
	if (!status && clew_locks_sum_again(sum, &taker))
		status = clew_input_look_again(input, &taker);
	clew_locks_sum_finish(sum);
	return status;
}

static void say(const struct locks_values *values, const struct clew_trace *trace,
		const struct clew_locks_sum *sum)
{
	struct clew_json json = {.out = stdout};
	size_t top = sum->asked->top;

	if (!values->json) {
		clew_print_locks(stdout, trace, &sum->locks, &sum->taken, top);
		clew_print_ledger(stdout, trace, values->window.from, values->window.to);
		clew_print_cost(stdout, clew_trace_info(trace));
		return;
	}
	clew_json_answer(&json);
	clew_json_locks(&json, trace, &sum->locks, &sum->taken, top);
	clew_json_ledger(&json, trace, values->window.from, values->window.to);
	clew_json_object_end(&json);
	clew_json_end(&json);
}

static int answer(struct locks_values *values, struct clew_input *input)
{
	struct clew_locks_asked asked = {
		.chosen = {.wants = clew_selection_wants, .context = &values->selection},
		.top = values->top.given ? (size_t)values->top.value
		       : values->json	 ? SIZE_MAX
					 : TOP,
		.say = values->json ? NULL : clew_print_lock_doing};
	struct clew_relations *relations = NULL;
	struct clew_locks_sum sum;
	int status;

	clew_locks_sum_begin(&sum, &asked);
	status = find(values, input, &asked, &sum, &relations);
	if (!status)
		say(values, input->trace, &sum);
	clew_locks_sum_done(&sum);
	clew_relations_free(relations);
	return status;
}

static int question_answer(void *context, char **operands)
{
	struct locks_values *values = context;
	struct clew_input input = {};
	int status;

	status = clew_input_open(operands[0],
				 &(struct clew_input_needs){.functions = true,
							    .announced = true,
							    .window = &values->window},
				 &input);
	if (!status)
		status = answer(values, &input);
	clew_input_done(&input);
	clew_selection_done(&values->selection);
	return status;
}

int clew_command_locks(const struct clew_command *command, int argc, char **argv)
{
	static const struct clew_fresh_question question = {.answer = question_answer};
	struct locks_values values = {};

	return clew_fresh_answer(command, argc, argv, &values, &values.fresh, &question);
}
