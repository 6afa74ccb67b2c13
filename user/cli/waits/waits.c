/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew waits: every sleep of the chosen threads, on what, held and ended by whom.
 */
#include "answers/waits/waits.h"
#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/front/options.h"
#include "cli/operand/input.h"
#include "cli/operand/view.h"
#include "cli/record/fresh.h"

struct waits_values {
	struct clew_selection selection;
	struct clew_view view;
	uint64_t least; /* ns */
	uint64_t kinds; /* bit mask, 0 all */
	bool stacks;
	struct clew_source_choice source;
	bool json;
	struct clew_fresh fresh;
};

const struct clew_option clew_waits_options[] = {
	{'t', "tid", "N", "only waits of this thread", clew_take_number,
	 offsetof(struct waits_values, selection.tid)},
	{'p', "pid", "N", "only waits of this process's threads", clew_take_number,
	 offsetof(struct waits_values, selection.pid)},
	{0, "comm", "GLOB", "only waits of threads named like this", clew_take_string,
	 offsetof(struct waits_values, selection.comm)},
	CLEW_GROUP_OPTIONS(struct waits_values, selection.group, "waits of threads"),
	{0, "min", "DURATION", "only waits at least so long (5ms)", clew_take_duration,
	 offsetof(struct waits_values, least)},
	{0, "kind", "KIND,..", "only waits of these kinds", clew_take_wait_kinds,
	 offsetof(struct waits_values, kinds)},
	CLEW_VIEW_OPTIONS(struct waits_values, view,
			  "show waits for work, of idle kernel threads and of threads that slept "
			  "throughout, too"),
	{0, "stacks", NULL, "say from where in the code each wait was made", clew_take_flag,
	 offsetof(struct waits_values, stacks)},
	CLEW_SOURCE_OPTIONS(struct waits_values, source,
			    "the same with lines of the source and inlined functions"),
	CLEW_FRESH_OPTIONS(struct waits_values, fresh),
	{0, "json", NULL, "print one JSON object", clew_take_flag,
	 offsetof(struct waits_values, json)},
	CLEW_OPTION_END,
};

static bool wants(void *context, const struct clew_trace *trace, const struct clew_trace_task *task,
		  uint64_t at)
{
	return clew_selection_wants_at(context, trace, task, at);
}

static struct clew_waits_asked asked_by(struct waits_values *values)
{
	const struct clew_view *view = &values->view;
	bool numbered = values->selection.tid.given || values->selection.pid.given;

	return (struct clew_waits_asked){
		.wants = wants,
		.context = &values->selection,
		.least = values->least,
		.kinds = values->kinds,
		.idle = view->idle,
		.self = view->self || numbered,
		.named = numbered || values->selection.comm,
		.stacks = values->stacks,
		.by_length = view->sort == CLEW_SORT_LENGTH,
		.by = view->by,
		.write = values->json ? clew_write_wait_json : clew_write_wait,
	};
}

static int look(struct waits_values *values, struct clew_input *input,
		struct clew_waits_asked *asked, struct clew_waits *waits)
{
	const struct clew_windows_taker taker = clew_waits_taker(waits);
	int status = 0;

	if (values->stacks)
		status = clew_need_stacks("waits", input->trace, &values->source);
	values->selection.self = values->view.self;
	if (!status)
		status = clew_input_choose(input, &values->selection);
	if (!status && input->reader)
		status = clew_input_works(input, "idle waits are known", &asked->works);
	/* The waits of clew's own that are left out are counted. */
	values->selection.self = true;
	asked->tasks = clew_input_tasks(input);
	asked->from = values->view.window.from;
	asked->to = values->view.window.to;
	if (!status)
		status = clew_input_look(input, &taker);
	asked->to = values->view.window.to;
	return status;
}

static int say(const struct waits_values *values, const struct clew_trace *trace,
	       struct clew_waits *waits)
{
	struct clew_json json = {.out = stdout};
	int r = values->json ? clew_json_waits(&json, trace, waits)
			     : clew_print_waits(stdout, trace, waits,
						clew_window_given(&values->view.window));

	return r < 0 ? clew_fail_memory() : 0;
}

static int question_answer(void *context, char **operands)
{
	struct waits_values *values = context;
	struct clew_waits_asked asked;
	struct clew_input input = {};
	struct clew_waits waits;
	int status;

	values->stacks |= clew_source_wanted(&values->source);
	asked = asked_by(values);
	clew_waits_begin(&waits, &asked);
	status = clew_input_open(
		operands[0],
		&(struct clew_input_needs){.whole = values->stacks ? "names of stacks" : NULL,
					   .works = true,
					   .window = &values->view.window},
		&input);
	if (!status)
		status = look(values, &input, &asked, &waits);
	if (!status)
		status = say(values, input.trace, &waits);
	clew_waits_done(&waits);
	clew_input_done(&input);
	clew_selection_done(&values->selection);
	return status;
}

int clew_command_waits(const struct clew_command *command, int argc, char **argv)
{
	static const struct clew_fresh_question question = {.answer = question_answer};
	struct waits_values values = {};

	return clew_fresh_answer(command, argc, argv, &values, &values.fresh, &question);
}
