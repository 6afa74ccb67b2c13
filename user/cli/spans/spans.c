/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew spans: calls of traced functions, and logical spans. With --key it is about announced calls;
 * spans_key.c has that.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answers/spans/spans.h"
#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/front/options.h"
#include "cli/operand/open.h"
#include "cli/operand/selection.h"
#include "cli/operand/window.h"
#include "cli/record/fresh.h"
#include "cli/spans/spans_key.h"
#include "words/functions.h"
#include "words/ledger.h"

struct spans_values {
	struct clew_selection selection;
	struct clew_window window;
	const char *name; /* glob, or NULL */
	const char *key;  /* of announced calls, or NULL */
	bool list;
	bool json;
	struct clew_fresh fresh;
};

const struct clew_option clew_spans_options[] = {
	{0, "key", "KEY",
	 "the announced calls that have this descriptor or attribute: VALUE or TYPE=VALUE",
	 clew_take_string, offsetof(struct spans_values, key)},
	{0, "name", "GLOB", "only functions, with --key calls, named like this", clew_take_string,
	 offsetof(struct spans_values, name)},
	{'t', "tid", "N", "only what this thread was in", clew_take_number,
	 offsetof(struct spans_values, selection.tid)},
	{'p', "pid", "N", "only what this process's threads were in", clew_take_number,
	 offsetof(struct spans_values, selection.pid)},
	{0, "comm", "GLOB", "only what threads named like this were in", clew_take_string,
	 offsetof(struct spans_values, selection.comm)},
	CLEW_WINDOW_OPTIONS(struct spans_values, window),
	{0, "list", NULL, "each activation, too", clew_take_flag,
	 offsetof(struct spans_values, list)},
	CLEW_FRESH_OPTIONS(struct spans_values, fresh),
	CLEW_FUNCTION_OPTIONS(struct spans_values, fresh.recording),
	{0, "json", NULL, "print one JSON object", clew_take_flag,
	 offsetof(struct spans_values, json)},
	CLEW_OPTION_END,
};

/* By number, the functions that --name means. To be freed; NULL: no memory. */
static bool *choose_functions(const struct clew_trace *trace, const char *glob)
{
	uint32_t count = clew_trace_function_count(trace);
	bool *wanted = calloc(count + 1, sizeof(*wanted));

	for (uint32_t i = 0; wanted && i < count; i++) {
		const struct clew_trace_function *function = clew_trace_function(trace, i);

		wanted[i] = !glob || (function && clew_match_function(glob, function));
	}
	return wanted;
}

/* Without spans, says so if the capture's description cannot be read. Returns an exit status. */
static int check_description(const struct clew_trace *trace)
{
	const char *text = clew_trace_meta(trace, "layers");
	struct clew_layers *layers = NULL;
	char message[300];
	int r = text && !clew_trace_jobs(trace)
			? clew_layers_read(text, strlen(text), "layers", &layers, message,
					   sizeof(message))
			: 0;

	clew_layers_free(layers);
	if (r == -EINVAL)
		return clew_fail(CLEW_EXIT_INPUT, "the capture's description cannot be read: %s",
				 message);
	return r < 0 ? clew_fail_memory() : 0;
}

static int print(const struct clew_calls *calls, const struct clew_logical *logical,
		 const struct spans_values *values)
{
	size_t jobs = 0;
	int r = 0;

	if (values->json)
		return clew_json_calls(stdout, calls, logical, values->list) < 0
			       ? clew_fail_memory()
			       : 0;
	if (logical)
		r = clew_print_logical(stdout, logical, &jobs);
	if (r < 0)
		return clew_fail_memory();
	if (values->name && !jobs && !calls->row_count)
		return clew_fail(CLEW_EXIT_NEGATIVE,
				 "nothing of the name '%s' was recorded: leave out --name to see "
				 "all",
				 values->name);
	if (clew_trace_function_count(calls->trace))
		clew_print_calls(stdout, calls, values->list);
	else
		clew_print_ledger(stdout, calls->trace, calls->from, calls->to);
	return 0;
}

static int answer(const struct clew_trace *trace, struct spans_values *values)
{
	bool *wanted = choose_functions(trace, values->name);
	const struct clew_chosen chosen = {.wants = clew_selection_wants,
					   .context = &values->selection};
	struct clew_calls calls = {.trace = trace,
				   .chosen = chosen,
				   .from = values->window.from,
				   .to = values->window.to,
				   .wanted = wanted};
	const struct clew_jobs *jobs = clew_trace_jobs(trace);
	struct clew_logical logical = {.jobs = jobs,
				       .chosen = chosen,
				       .name = values->name,
				       .from = values->window.from,
				       .to = values->window.to,
				       .each = values->list};
	int status = clew_selection_check(&values->selection, trace);

	if (!status)
		status = check_description(trace);
	if (!status && !clew_trace_function_count(trace) && !jobs)
		status = clew_fail(CLEW_EXIT_NEGATIVE,
				   "no functions were recorded: give `clew record` -f OBJECT:GLOB, "
				   "or --runtime NAME");
	if (!status && (!wanted || clew_calls_add_up(&calls) < 0))
		status = clew_fail_memory();
	if (!status)
		status = print(&calls, jobs ? &logical : NULL, values);
	clew_calls_done(&calls);
	free(wanted);
	return status;
}

static int question_answer(void *context, char **operands)
{
	struct spans_values *values = context;
	struct clew_trace *trace;
	int status;

	if (values->key)
		return clew_spans_key(operands[0],
				      &(struct clew_key_question){.key = values->key,
								  .name = values->name,
								  .selection = values->selection,
								  .window = &values->window,
								  .json = values->json});
	status = clew_open_window(operands[0], 0, &values->window, &trace);
	if (status)
		return status;
	status = answer(trace, values);
	clew_selection_done(&values->selection);
	clew_trace_free(trace);
	return status;
}

int clew_command_spans(const struct clew_command *command, int argc, char **argv)
{
	static const struct clew_fresh_question question = {.answer = question_answer};
	struct spans_values values = {};

	return clew_fresh_answer(command, argc, argv, &values, &values.fresh, &question);
}
