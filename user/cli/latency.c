/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew latency: histograms of how long calls of functions, waits and operations took, and how that
 * time divides. The results of several traces are added.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/fail.h"
#include "cli/open.h"
#include "cli/options.h"
#include "cli/selection.h"
#include "cli/window.h"
#include "trace/frames.h"
#include "words/latency.h"
#include "words/ledger.h"
#include "words/text.h"

#define TOP    20 /* groups in text */
#define DIGITS 3

struct latency_values {
	struct clew_selection selection;
	struct clew_window window;
	const char *by;
	const char *group;
	struct clew_number digits;
	struct clew_number top;
	bool idle;
	bool json;
};

const struct clew_option clew_latency_options[] = {
	{0, "by", "WHAT", "path, function, kind, call, device, lock or operation", clew_take_string,
	 offsetof(struct latency_values, by)},
	{0, "group", "WHAT", "tell apart by thread, process, cgroup or comm, too", clew_take_string,
	 offsetof(struct latency_values, group)},
	{0, "digits", "N", "decimal digits of a time that count, 1 to 5 (3)", clew_take_number,
	 offsetof(struct latency_values, digits)},
	{0, "tid", "N", "only times of this thread", clew_take_number,
	 offsetof(struct latency_values, selection.tid)},
	{0, "pid", "N", "only times of this process's threads", clew_take_number,
	 offsetof(struct latency_values, selection.pid)},
	{0, "comm", "GLOB", "only times of threads named like this", clew_take_string,
	 offsetof(struct latency_values, selection.comm)},
	CLEW_GROUP_OPTIONS(struct latency_values, selection.group, "times of threads"),
	CLEW_WINDOW_OPTIONS(struct latency_values, window),
	{0, "idle", NULL, "waits for work and of idle threads, too", clew_take_flag,
	 offsetof(struct latency_values, idle)},
	{0, "self", NULL, "times of clew's own threads, too", clew_take_flag,
	 offsetof(struct latency_values, selection.self)},
	{0, "top", "K", "the K groups that cost most (in text 20)", clew_take_number,
	 offsetof(struct latency_values, top)},
	{0, "json", NULL, "print one JSON object", clew_take_flag,
	 offsetof(struct latency_values, json)},
	CLEW_OPTION_END,
};

/* The results so far, and the document that they will be in. */
struct sum {
	struct clew_latency_options options;
	struct clew_latency latency;
	struct clew_latency_left_out left_out;
	bool by_given;
};

/* ---- what is asked for ---- */

static int fail_word(const char *option, const char *word, const char *words)
{
	return clew_fail(CLEW_EXIT_INPUT, "--%s: '%s' is none: write %s", option, word, words);
}

static int read_options(const struct latency_values *values, struct sum *sum)
{
	struct clew_latency_options *options = &sum->options;
	uint32_t digits = values->digits.given ? values->digits.value : DIGITS;

	sum->by_given = values->by;
	options->idle = values->idle;
	if (values->by)
		while (options->by < CLEW_LATENCY_BY_COUNT &&
		       strcmp(clew_latency_by_name(options->by), values->by))
			options->by++;
	if (options->by == CLEW_LATENCY_BY_COUNT)
		return fail_word("by", values->by,
				 "path, function, kind, call, device, lock or operation");
	if (values->group)
		options->level++;
	while (options->level && options->level < CLEW_LATENCY_LEVEL_COUNT &&
	       strcmp(clew_latency_level_name(options->level), values->group))
		options->level++;
	if (options->level == CLEW_LATENCY_LEVEL_COUNT)
		return fail_word("group", values->group, "thread, process, cgroup or comm");
	if (digits < HISTOGRAM_LEAST_DIGITS || digits > HISTOGRAM_MOST_DIGITS)
		return clew_fail(CLEW_EXIT_INPUT, "--digits: %u: write a number from %d to %d",
				 digits, HISTOGRAM_LEAST_DIGITS, HISTOGRAM_MOST_DIGITS);
	sum->latency = clew_latency_new(digits);
	return 0;
}

/* Without --by, what the first trace has: calls of functions, or else waits. */
static int choose_by(const struct clew_trace *trace, struct sum *sum, const char *operand)
{
	enum clew_latency_by *by = &sum->options.by;

	if (!sum->by_given)
		*by = clew_trace_has_frames(trace) ? CLEW_LATENCY_PATH : CLEW_LATENCY_KIND;
	sum->by_given = true;
	if ((*by == CLEW_LATENCY_PATH || *by == CLEW_LATENCY_FUNCTION) &&
	    !clew_trace_has_frames(trace))
		return clew_fail(CLEW_EXIT_INPUT,
				 "%s: no functions were recorded: record with -f, or give another "
				 "--by",
				 operand);
	return 0;
}

/* ---- the answer ---- */

/* A trace and the part of it that was asked for. */
struct part {
	struct clew_trace *trace;
	struct clew_window window;
	const char *operand;
};

static int gather(const struct part *part, struct clew_selection *selection, struct sum *sum)
{
	int status = clew_selection_check(selection, part->trace);

	if (!status)
		status = choose_by(part->trace, sum, part->operand);
	if (status)
		return status;
	sum->options.chosen =
		(struct clew_chosen){.wants = clew_selection_wants, .context = selection};
	sum->options.from = part->window.from;
	sum->options.to = part->window.to;
	return clew_latency_gather(part->trace, &sum->options, &sum->latency, &sum->left_out) < 0
		       ? clew_fail_memory()
		       : 0;
}

static int add_part(struct part *part, const struct latency_values *values, struct sum *sum)
{
	struct clew_selection selection = values->selection;
	int status = clew_open_trace(part->operand, 0, &part->trace);

	if (status)
		return status;
	part->window = values->window;
	status = clew_window_take(&part->window, part->trace);
	if (!status)
		status = gather(part, &selection, sum);
	clew_selection_done(&selection);
	return status;
}

/* The ledgers, where there are several: each with its trace's name. */
static void json_ledgers(struct clew_json *json, const struct part *parts, size_t count)
{
	if (count == 1) {
		clew_json_ledger(json, parts->trace, parts->window.from, parts->window.to);
		return;
	}
	clew_json_array(json, "traces");
	for (size_t i = 0; i < count; i++) {
		clew_json_object(json, NULL);
		clew_json_string(json, "name", parts[i].operand);
		clew_json_ledger(json, parts[i].trace, parts[i].window.from, parts[i].window.to);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
}

static void print_ledgers(const struct part *parts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (count > 1) {
			fputs(i ? "\n" : "", stdout);
			clew_print_safe(stdout, parts[i].operand);
			fputs(":\n", stdout);
		}
		clew_print_ledger(stdout, parts[i].trace, parts[i].window.from, parts[i].window.to);
		clew_print_cost(stdout, clew_trace_info(parts[i].trace));
	}
}

static int print(const struct latency_values *values, const struct sum *sum,
		 const struct part *parts, size_t count)
{
	size_t top = values->top.given ? values->top.value : values->json ? SIZE_MAX : TOP;
	struct clew_json json = {.out = stdout};
	int r;

	if (!values->json) {
		r = clew_print_latency(stdout, &sum->latency, &sum->options, top, &sum->left_out);
		print_ledgers(parts, count);
	} else {
		clew_json_object(&json, NULL);
		r = clew_json_latency(&json, &sum->latency, &sum->options, top, &sum->left_out,
				      false);
		json_ledgers(&json, parts, count);
		clew_json_object_end(&json);
		clew_json_end(&json);
	}
	return r < 0 ? clew_fail_memory() : 0;
}

/* By function, all groups of one become one. */
static int aggregate(struct sum *sum)
{
	struct clew_latency together;
	int r;

	if (sum->options.by != CLEW_LATENCY_FUNCTION)
		return 0;
	r = clew_latency_aggregate(&sum->latency, &together);
	clew_latency_done(&sum->latency);
	sum->latency = together;
	return r < 0 ? clew_fail_memory() : 0;
}

static int answer(const struct latency_values *values, struct part *parts, size_t count,
		  struct sum *sum)
{
	int status = 0;

	for (size_t i = 0; i < count && !status; i++)
		status = add_part(&parts[i], values, sum);
	if (!status)
		status = aggregate(sum);
	return status ?: print(values, sum, parts, count);
}

int clew_command_latency(const struct clew_command *command, int argc, char **argv)
{
	struct latency_values values = {};
	struct sum sum = {};
	struct part *parts;
	char **operands;
	size_t count = 0;
	int status;

	if (!clew_options_parse(command, argc, argv, &values, &operands, &status))
		return status;
	status = read_options(&values, &sum);
	if (status)
		return status;
	while (operands[count])
		count++;
	parts = calloc(count, sizeof(*parts));
	for (size_t i = 0; parts && i < count; i++)
		parts[i].operand = operands[i];
	status = parts ? answer(&values, parts, count, &sum) : clew_fail_memory();
	for (size_t i = 0; parts && i < count; i++)
		clew_trace_free(parts[i].trace);
	free(parts);
	clew_latency_done(&sum.latency);
	return status;
}
