/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* clew report: one screen about a recording, what hurts most first. */
#include "words/report.h"

#include <string.h>

#include "cli/commands.h"
#include "cli/fail.h"
#include "cli/open.h"
#include "cli/options.h"
#include "cli/selection.h"
#include "cli/terminal.h"
#include "cli/window.h"
#include "words/ledger.h"

#define BARS_WIDTH 98 /* columns that a terminal must have for bars */

struct report_values {
	struct clew_selection selection;
	struct clew_window window;
	bool json;
};

const struct clew_option clew_report_options[] = {
	{0, "pid", "N", "only threads of this process", clew_take_number,
	 offsetof(struct report_values, selection.pid)},
	{0, "comm", "GLOB", "only threads named like this", clew_take_string,
	 offsetof(struct report_values, selection.comm)},
	CLEW_GROUP_OPTIONS(struct report_values, selection.group, "threads"),
	CLEW_WINDOW_OPTIONS(struct report_values, window),
	{0, "json", NULL, "print one JSON object", clew_take_flag,
	 offsetof(struct report_values, json)},
	CLEW_OPTION_END,
};

static void print_json(const struct report *report)
{
	struct clew_json json = {.out = stdout};

	clew_json_object(&json, NULL);
	report_json(&json, report);
	clew_json_ledger(&json, report->trace, report->from, report->to);
	clew_json_object_end(&json);
	clew_json_end(&json);
}

static void print_text(const struct report *report)
{
	size_t width = clew_terminal_width();

	report_print(stdout, report, width, width >= BARS_WIDTH);
	putchar('\n');
	clew_print_ledger(stdout, report->trace, report->from, report->to);
	clew_print_cost(stdout, clew_trace_info(report->trace));
}

static int answer(const struct clew_trace *trace, struct report_values *values)
{
	struct clew_relations *relations = NULL;
	const struct clew_chosen chosen = {clew_selection_wants, &values->selection};
	struct report report = {};
	int status = clew_window_take(&values->window, trace), r;

	if (!status)
		status = clew_selection_check(&values->selection, trace);
	if (!status)
		status = clew_try_relations(trace, &relations);
	if (status)
		return status;
	r = report_make(trace, relations, &chosen, values->window.from, values->window.to, &report);
	if (r < 0)
		status = clew_fail(CLEW_EXIT_SYSTEM, "%s: free some memory and try again",
				   strerror(-r));
	else if (values->json)
		print_json(&report);
	else
		print_text(&report);
	report_done(&report);
	clew_relations_free(relations);
	return status;
}

int clew_command_report(const struct clew_command *command, int argc, char **argv)
{
	struct report_values values = {};
	struct clew_trace *trace;
	char **operands;
	int status;

	if (!clew_options_parse(command, argc, argv, &values, &operands, &status))
		return status;
	status = clew_open_trace(operands[0], 0, &trace);
	if (status)
		return status;
	status = answer(trace, &values);
	clew_selection_done(&values.selection);
	clew_trace_free(trace);
	return status;
}
