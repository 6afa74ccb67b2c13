/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew report: one screen about a recording, what hurts most first; with --html a page that
 * anyone can read.
 */
#include "answers/report/report_sum.h"

#include <stdlib.h>
#include <string.h>

#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/front/options.h"
#include "cli/front/progress.h"
#include "cli/front/terminal.h"
#include "cli/front/write.h"
#include "cli/operand/input.h"
#include "cli/operand/long_operations.h"
#include "cli/record/fresh.h"
#include "format/style.h"
#include "format/text.h"
#include "page/page.h"
#include "words/ledger.h"
#include "words/lines.h"
#include "words/stack_table.h"

#define BARS_WIDTH    98 /* columns that a terminal must have for bars */
#define COMMAND_WIDTH 60 /* of a recorded command, as the first line has it */

struct report_values {
	struct clew_selection selection;
	struct clew_window window;
	struct clew_number slowest;
	const char *output;
	bool json;
	bool html;
	bool all;
	struct clew_source_choice source;
	struct clew_fresh fresh;
};

const struct clew_option clew_report_options[] = {
	{'p', "pid", "N", "only threads of this process", clew_take_number,
	 offsetof(struct report_values, selection.pid)},
	{0, "comm", "GLOB", "only threads named like this", clew_take_string,
	 offsetof(struct report_values, selection.comm)},
	CLEW_GROUP_OPTIONS(struct report_values, selection.group, "threads"),
	CLEW_WINDOW_OPTIONS(struct report_values, window),
	CLEW_SOURCE_OPTIONS(struct report_values, source,
			    "tell functions with lines of the source, and inlined ones, too"),
	CLEW_FRESH_OPTIONS(struct report_values, fresh),
	{0, "json", NULL, "print one JSON object", clew_take_flag,
	 offsetof(struct report_values, json)},
	{0, "html", NULL, "write a page for a browser, by default beside the capture",
	 clew_take_flag, offsetof(struct report_values, html)},
	{'o', "output", "FILE", "of --html: write there (-: standard output)", clew_take_string,
	 offsetof(struct report_values, output)},
	{0, "slowest", "N", "of --html: explain the N (10) longest operations", clew_take_number,
	 offsetof(struct report_values, slowest)},
	{0, "all", NULL, "of --html: a timeline of all threads, whatever its size", clew_take_flag,
	 offsetof(struct report_values, all)},
	CLEW_OPTION_END,
};

/* ---- a recorded command ---- */

/* The command that a report is about; NULL: about the threads that were asked for, or all. */
static const char *command_of(const struct report *report, const struct report_values *values)
{
	return values->selection.recorded.root == CLEW_NO_TASK
		       ? NULL
		       : clew_trace_meta(report->trace, "command");
}

static void json_about(struct clew_json *json, const struct report *report,
		       const struct report_values *values)
{
	const char *command = command_of(report, values);

	if (command) {
		clew_json_object(json, "about");
		clew_json_string(json, "command", command);
		clew_json_unsigned(json, "threads", values->selection.recorded.task_count);
		clew_json_string(json, "machine", report->machine);
		clew_json_object_end(json);
	}
}

static void print_about(FILE *out, const struct report *report, const struct report_values *values)
{
	const char *command = command_of(report, values);

	if (!command)
		return;
	fputs("About `", out);
	clew_print_cut(out, command, COMMAND_WIDTH);
	fprintf(out, "` and its children, %zu threads (the whole machine: --comm '*').\n\n",
		values->selection.recorded.task_count);
}

/* ---- the answer ---- */

static int print_json(const struct report *report, const struct report_values *values)
{
	struct clew_stacked answer;
	struct clew_json *json = &answer.fields.json;

	if (clew_stacked_begin(&answer,
			       clew_trace_has_stacks(report->trace) ? report->trace : NULL) < 0)
		return clew_fail_memory();
	json_about(json, report, values);
	report_json(json, report);
	clew_json_lines_told(json, report->trace);
	clew_json_ledger(json, report->trace, report->from, report->to);
	return clew_stacked_end(&answer, stdout) < 0 ? clew_fail_memory() : 0;
}

static void print_text(const struct report *report, const struct report_values *values)
{
	size_t width = clew_terminal_width();

	print_about(stdout, report, values);
	report_print(stdout, report, width, width >= BARS_WIDTH);
	if (report->machine)
		printf("\nThe machine meanwhile: %s\n", report->machine);
	putchar('\n');
	clew_print_ledger(stdout, report->trace, report->from, report->to);
	clew_print_lines_told(stdout, report->trace);
	clew_print_cost(stdout, clew_trace_info(report->trace));
}

/* ---- the page ---- */

static int write_page(void *context, FILE *out)
{
	const struct clew_page_options *options = context;
	int r = clew_page_write(out, options);

	clew_progress_end(options->progress_context);
	return r < 0 ? clew_fail_memory() : 0;
}

/* The name of a page: that of the capture, with another ending. */
static char *page_name(const char *operand)
{
	const char *name = strcmp(operand, "-") ? operand : "report", *dot = strrchr(name, '.');
	size_t length =
		dot && !strchr(dot, '/') && dot > name ? (size_t)(dot - name) : strlen(name);
	char *page;

	return asprintf(&page, "%.*s.html", (int)length, name) < 0 ? NULL : page;
}

static int make_page(const struct report *report, const struct report_values *values,
		     const char *operand)
{
	char *name = values->output ? strdup(values->output) : page_name(operand);
	struct clew_progress progress;
	const struct clew_page_options options = {
		.report = report,
		.name = operand,
		.slowest = values->slowest.given ? values->slowest.value : CLEW_PAGE_SLOWEST,
		.limit = values->all ? UINT64_MAX : CLEW_PAGE_LIMIT,
		.progress = clew_progress_update,
		.progress_context = &progress,
	};
	int status;

	if (!name)
		return clew_fail_memory();
	/* Names in a page are not for a terminal. */
	clew_style_turn(false);
	clew_progress_begin(&progress, "writing");
	status = clew_check_output(operand, name);
	if (!status)
		status = clew_write_file(name, write_page, (void *)&options);
	if (!status && strcmp(name, "-"))
		printf("The page is %s: open it in a browser.\n", name);
	free(name);
	return status;
}

static int question_check(void *context)
{
	struct report_values *values = context;
	const char *option = values->output	     ? "-o"
			     : values->slowest.given ? "--slowest"
			     : values->all	     ? "--all"
						     : NULL;

	/* Any request may be one of those that are asked about. */
	values->fresh.recording.messages_if_shown = clew_selection_chooses(&values->selection);
	if (values->html && values->json)
		return clew_fail(CLEW_EXIT_INPUT, "--html and --json: choose one of them");
	if (option && !values->html)
		return clew_fail(CLEW_EXIT_INPUT, "%s: is about a page: use it with --html",
				 option);
	return 0;
}

/* Finds the causes of operations that no window knows all of, each in a trace of its time. */
static int explain_rest(const struct clew_input *input, struct report *report)
{
	int status = 0;

	for (size_t i = 0; i < report->operation_count && !status; i++) {
		struct report_operation *operation = &report->operations[i];
		struct clew_trace *trace;

		if (operation->explained)
			continue;
		status = clew_load_interval(input->operand, "looking at a slow operation",
					    operation->operation.from, operation->operation.to,
					    &trace);
		if (status)
			return status;
		if (report_explain(trace, NULL, operation) < 0)
			status = clew_fail_memory();
		clew_trace_free(trace);
	}
	return status;
}

#define RELEASE 1000000000ull /* ns: the command begins so soon after its recording */

/* Reads when a command that a long capture was made of began. */
static int see_release(const struct clew_input *input, struct clew_recorded *recorded)
{
	const uint64_t start = input->window->from;
	struct clew_trace *trace;
	int status = clew_load_interval(input->operand, "looking at the command's begin", start,
					start + RELEASE, &trace);

	if (status)
		return status;
	recorded->from = clew_recorded_release(trace, recorded->root);
	clew_trace_free(trace);
	return 0;
}

/* The report refers to *choice and to *ret_relations, which is the caller's to free. */
static int find(struct report_values *values, struct clew_input *input,
		struct clew_input_choice *choice, struct report *ret_report,
		struct clew_relations **ret_relations)
{
	struct report_asked asked = {
		.chosen = {.wants = clew_input_wants,
			   .context = choice,
			   .some = clew_selection_chooses(&values->selection)},
		.from = values->window.from,
		.to = values->window.to,
	};
	struct report_sum *sum = report_sum_begin(&asked);
	const struct clew_windows_taker taker = report_sum_taker(sum);
	int status = sum ? clew_input_choose(input, &values->selection) : clew_fail_memory();

	if (values->selection.recorded.root != CLEW_NO_TASK) {
		asked.command = &values->selection.recorded;
		if (!status && input->reader)
			status = see_release(input, &values->selection.recorded);
		/* Before, it waited for the recording to begin. */
		if (asked.from < asked.command->from && asked.command->from < asked.to)
			asked.from = asked.command->from;
	}
	if (!status)
		status = clew_input_look(input, &taker);
	/* Else it was checked before. */
	if (!status && input->reader && !input->tasks)
		status = clew_selection_check(&values->selection, input->trace);
	if (!status)
		status = clew_try_relations(input->trace, ret_relations);
	if (!status && report_sum_finish(sum, input->trace, *ret_relations, ret_report) < 0)
		status = clew_fail_memory();
	report_sum_free(sum);
	return status ? status : explain_rest(input, ret_report);
}

static int answer(struct report_values *values, struct clew_input *input)
{
	struct clew_relations *relations = NULL;
	struct report report = {};
	struct clew_input_choice choice = {.input = input, .selection = &values->selection};
	int status = find(values, input, &choice, &report, &relations);

	if (!status && values->html)
		status = make_page(&report, values, input->operand);
	else if (!status && values->json)
		status = print_json(&report, values);
	else if (!status)
		print_text(&report, values);
	report_done(&report);
	clew_relations_free(relations);
	return status;
}

/* The part of an answer that windows do not have; NULL: they have it all. */
static const char *needs_whole(const struct report_values *values)
{
	return values->html				    ? "timeline"
	       : clew_source_wanted(&values->source)	    ? "lines of the source"
	       : clew_selection_chooses(&values->selection) ? "classes of operations"
							    : NULL;
}

static int question_answer(void *context, char **operands)
{
	struct report_values *values = context;
	struct clew_input input = {};
	int status;

	/* A page has the timeline of all threads. */
	values->selection.recorded_first = !values->html;
	status = clew_input_open(operands[0],
				 &(struct clew_input_needs){.whole = needs_whole(values),
							    .functions = true,
							    .announced = true,
							    .window = &values->window},
				 &input);
	if (!status && clew_source_wanted(&values->source))
		status = clew_need_stacks("report", input.trace, &values->source);
	if (!status)
		status = answer(values, &input);
	clew_input_done(&input);
	clew_selection_done(&values->selection);
	return status;
}

int clew_command_report(const struct clew_command *command, int argc, char **argv)
{
	static const struct clew_fresh_question question = {.check = question_check,
							    .answer = question_answer};
	struct report_values values = {};

	return clew_fresh_answer(command, argc, argv, &values, &values.fresh, &question);
}
