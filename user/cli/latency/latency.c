/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew latency: histograms of how long calls of functions, waits and operations took, and how that
 * time divides. The results of several traces are added.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answers/latency/latency_sum.h"
#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/front/options.h"
#include "cli/front/terminal.h"
#include "cli/front/words.h"
#include "cli/front/write.h"
#include "cli/latency/latency_live.h"
#include "cli/operand/input.h"
#include "cli/operand/long_operations.h"
#include "cli/record/fresh.h"
#include "format/style.h"
#include "format/text.h"
#include "trace/frames.h"
#include "words/dropped.h"
#include "words/frame.h"
#include "words/ledger.h"

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
	bool live;
	bool json;
	const char *output;
	struct clew_fresh fresh;
};

const struct clew_option clew_latency_options[] = {
	{0, "by", "WHAT", "path, function, kind, call, device, lock, peer or operation",
	 clew_take_string, offsetof(struct latency_values, by)},
	{0, "group", "WHAT", "tell apart by thread, process, cgroup, comm or arg:NAME, too",
	 clew_take_string, offsetof(struct latency_values, group)},
	{0, "digits", "N", "decimal digits of a time that count, 1 to 5 (3)", clew_take_number,
	 offsetof(struct latency_values, digits)},
	{'t', "tid", "N", "only times of this thread", clew_take_number,
	 offsetof(struct latency_values, selection.tid)},
	{'p', "pid", "N", "only times of this process's threads", clew_take_number,
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
	{0, "live", NULL,
	 "record, and answer each second: calls (with -f) or waits, as far as they are over",
	 clew_take_flag, offsetof(struct latency_values, live)},
	{0, "json", NULL, "print one JSON object", clew_take_flag,
	 offsetof(struct latency_values, json)},
	{'o', "output", "FILE", "write the answer there", clew_take_string,
	 offsetof(struct latency_values, output)},
	CLEW_FRESH_OPTIONS(struct latency_values, fresh),
	CLEW_FUNCTION_OPTIONS(struct latency_values, fresh.recording),
	CLEW_OPTION_END,
};

/* The results so far, and the document that they will be in. */
struct sum {
	struct clew_latency_sum all;
	bool by_given;
};

/* ---- what is asked for ---- */

static int read_group(const char *text, struct clew_latency_options *options)
{
	static const char *const groups[] = {"thread", "process", "cgroup", "comm", "arg:NAME"};
	static const char argument[] = "arg:";

	if (!strncmp(text, argument, strlen(argument)) && text[strlen(argument)]) {
		options->level = CLEW_LATENCY_ARGUMENT;
		options->argument = text + strlen(argument);
		return 0;
	}
	for (options->level = CLEW_LATENCY_THREAD; options->level < CLEW_LATENCY_ARGUMENT;
	     options->level++)
		if (!strcmp(clew_latency_level_name(options->level), text))
			return 0;
	return clew_fail_word("group", text, strlen(text), groups,
			      sizeof(groups) / sizeof(groups[0]));
}

static int fail_by(const char *typed)
{
	const char *names[CLEW_LATENCY_BY_COUNT];

	for (unsigned by = 0; by < CLEW_LATENCY_BY_COUNT; by++)
		names[by] = clew_latency_by_name(by);
	return clew_fail_word("by", typed, strlen(typed), names, CLEW_LATENCY_BY_COUNT);
}

static bool is_of_calls(enum clew_latency_by by)
{
	return by == CLEW_LATENCY_PATH || by == CLEW_LATENCY_FUNCTION;
}

static int read_options(const struct latency_values *values, struct sum *sum)
{
	struct clew_latency_options *options = &sum->all.options;
	uint32_t digits = values->digits.given ? values->digits.value : DIGITS;
	int status;

	sum->by_given = values->by;
	options->idle = values->idle;
	if (values->by)
		while (options->by < CLEW_LATENCY_BY_COUNT &&
		       strcmp(clew_latency_by_name(options->by), values->by))
			options->by++;
	if (options->by == CLEW_LATENCY_BY_COUNT)
		return fail_by(values->by);
	status = values->group ? read_group(values->group, options) : 0;
	if (status)
		return status;
	if (digits < HISTOGRAM_LEAST_DIGITS || digits > HISTOGRAM_MOST_DIGITS)
		return clew_fail(CLEW_EXIT_INPUT, "--digits: %u: write a number from %d to %d",
				 digits, HISTOGRAM_LEAST_DIGITS, HISTOGRAM_MOST_DIGITS);
	clew_latency_sum_begin(&sum->all, digits);
	return 0;
}

static int fail_argument(const struct clew_latency_options *options)
{
	return clew_fail(CLEW_EXIT_INPUT,
			 "--group arg:%s: only calls have arguments: write --by path or function",
			 options->argument);
}

/* True if calls of functions or logical spans were recorded. */
static bool has_calls(const struct clew_trace *trace)
{
	size_t moments;

	clew_trace_moments(trace, &moments);
	return moments || clew_trace_has_frames(trace);
}

/* Without --by, what the first trace has: calls of functions, or else waits. */
static int choose_by(const struct clew_trace *trace, struct sum *sum, const char *operand)
{
	enum clew_latency_by *by = &sum->all.options.by;

	if (!sum->by_given)
		*by = has_calls(trace) ? CLEW_LATENCY_PATH : CLEW_LATENCY_KIND;
	sum->by_given = true;
	if (is_of_calls(*by) && !has_calls(trace))
		return clew_fail(CLEW_EXIT_INPUT,
				 "%s: no functions were recorded: record with -f or --runtime, or "
				 "give another --by",
				 operand);
	if (sum->all.options.argument && !is_of_calls(*by))
		return fail_argument(&sum->all.options);
	if (sum->all.options.argument &&
	    !clew_functions_have_argument(trace, sum->all.options.argument))
		return clew_fail(CLEW_EXIT_INPUT,
				 "--group arg:%s: no such argument was recorded: record with -f "
				 "'OBJECT:GLOB(%s:i32)'",
				 sum->all.options.argument, sum->all.options.argument);
	return 0;
}

/* ---- the answer ---- */

/* A trace and the part of it that was asked for. */
struct part {
	struct clew_input input;
	struct clew_window window;
	const char *operand;
};

static bool is_of_operations(const struct sum *sum)
{
	return sum->by_given && sum->all.options.by == CLEW_LATENCY_OPERATION;
}

static int open_part(struct part *part, const struct latency_values *values, const struct sum *sum)
{
	bool calls = sum->by_given && is_of_calls(sum->all.options.by);

	part->window = values->window;
	return clew_input_open(
		part->operand,
		&(struct clew_input_needs){.whole = calls || sum->all.options.argument
							    ? "calls from start to end"
							    : NULL,
					   .functions = true,
					   .works = is_of_operations(sum),
					   .window = &part->window},
		&part->input);
}

/* True if all waits are gathered before it matters which threads are asked for. */
static bool chooses_late(const struct part *part, const struct sum *sum)
{
	return part->input.reader && sum->by_given && sum->all.options.by == CLEW_LATENCY_LOCK;
}

/* Finds which threads are asked for, and by what their times are grouped. */
static int choose(struct part *part, struct clew_selection *selection, struct sum *sum)
{
	struct clew_latency_options *options = &sum->all.options;
	struct clew_input *input = &part->input;
	const struct clew_trace *names;
	int status;

	if (chooses_late(part, sum))
		return 0;
	status = clew_input_choose(input, selection);
	/* A task's group is the one that the capture saw last. */
	if (!status && (options->level == CLEW_LATENCY_CGROUP || is_of_operations(sum)))
		status = clew_input_names(input, &names);
	if (!status && !input->reader)
		status = choose_by(input->trace, sum, part->operand);
	/* A capture in windows has no functions. */
	if (!sum->by_given)
		options->by = CLEW_LATENCY_KIND;
	sum->by_given = true;
	return status;
}

static int add_trace(struct part *part, struct clew_selection *selection, struct sum *sum)
{
	struct clew_latency_options *options = &sum->all.options;
	const struct clew_trace *works;
	struct clew_windows_taker taker;
	int status;

	options->chosen = (struct clew_chosen){.wants = clew_selection_wants, .context = selection};
	options->from = part->window.from;
	options->to = part->window.to;
	options->tasks = clew_input_tasks(&part->input);
	if (part->input.reader && is_of_operations(sum)) {
		status = clew_input_works(&part->input, "operations are those", &works);
		if (status)
			return status;
		if (clew_latency_sum_works(&sum->all, works) < 0)
			return clew_fail_memory();
	}
	taker = clew_latency_sum_taker(&sum->all);
	status = clew_input_look(&part->input, &taker);
	if (!status && chooses_late(part, sum))
		status = clew_selection_check(selection, part->input.trace);
	if (!status)
		status = clew_long_operations(
			part->operand, sum->all.longs.data, sum->all.longs.count,
			sizeof(struct clew_kind_operation), clew_latency_sum_longs, &sum->all);
	if (!status && clew_latency_sum_finish(&sum->all, part->input.trace) < 0)
		status = clew_fail_memory();
	return status;
}

static int add_part(struct part *part, const struct latency_values *values, struct sum *sum)
{
	struct clew_selection selection = values->selection;
	int status = open_part(part, values, sum);

	if (!status)
		status = choose(part, &selection, sum);
	if (!status)
		status = add_trace(part, &selection, sum);
	clew_selection_done(&selection);
	return status;
}

/* An answer on its way to a file. */
struct answer {
	const struct latency_values *values;
	const struct sum *sum;
	const struct part *parts;
	size_t count;
};

/* The ledgers, where there are several: each with its trace's name. */
static void json_ledgers(struct clew_json *json, const struct part *parts, size_t count)
{
	if (count == 1) {
		clew_json_ledger(json, parts->input.trace, parts->window.from, parts->window.to);
		return;
	}
	clew_json_array(json, "traces");
	for (size_t i = 0; i < count; i++) {
		clew_json_object(json, NULL);
		clew_json_string(json, "name", parts[i].operand);
		clew_json_ledger(json, parts[i].input.trace, parts[i].window.from,
				 parts[i].window.to);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
}

static void json_dropped(struct clew_json *json, const struct part *parts, size_t count)
{
	clew_json_array(json, "groups_dropped");
	for (size_t i = 0; i < count; i++)
		clew_json_dropped(json, parts[i].input.trace);
	clew_json_array_end(json);
}

static void print_ledgers(FILE *out, const struct part *parts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (count > 1) {
			fputs(i ? "\n" : "", out);
			clew_print_safe(out, parts[i].operand);
			fputs(":\n", out);
		}
		clew_print_dropped(out, parts[i].input.trace);
		clew_print_ledger(out, parts[i].input.trace, parts[i].window.from,
				  parts[i].window.to);
		clew_print_cost(out, clew_trace_info(parts[i].input.trace));
	}
}

static int print(void *context, FILE *out)
{
	const struct answer *answer = context;
	const struct latency_values *values = answer->values;
	const struct sum *sum = answer->sum;
	size_t top = values->top.given ? values->top.value : values->json ? SIZE_MAX : TOP;
	struct clew_json json = {.out = out};
	int r;

	if (!values->json) {
		r = clew_print_latency(out, &sum->all.latency, &sum->all.options, top,
				       &sum->all.left_out);
		print_ledgers(out, answer->parts, answer->count);
	} else {
		clew_json_answer(&json);
		r = clew_json_latency(&json, &sum->all.latency, &sum->all.options, top,
				      &sum->all.left_out, false);
		json_dropped(&json, answer->parts, answer->count);
		json_ledgers(&json, answer->parts, answer->count);
		clew_json_object_end(&json);
		clew_json_end(&json);
	}
	return r < 0 ? clew_fail_memory() : 0;
}

static int answer(const struct latency_values *values, struct part *parts, size_t count,
		  struct sum *sum)
{
	struct answer answer = {.values = values, .sum = sum, .parts = parts, .count = count};
	int status = 0;

	for (size_t i = 0; i < count && !status; i++)
		status = add_part(&parts[i], values, sum);
	if (!status && clew_latency_sum_aggregate(&sum->all) < 0)
		status = clew_fail_memory();
	if (status)
		return status;
	/* A name in a file is not for a terminal. */
	if (values->output)
		clew_style_turn(false);
	else
		sum->all.options.narrow = clew_terminal_narrower(CLEW_LATENCY_WIDE);
	return clew_write_file(values->output ?: "-", print, &answer);
}

static int answer_traces(const struct latency_values *values, char **operands, struct sum *sum)
{
	struct part *parts;
	size_t count = 0;
	int status;

	while (operands[count])
		count++;
	parts = calloc(count, sizeof(*parts));
	for (size_t i = 0; parts && i < count; i++)
		parts[i].operand = operands[i];
	status = parts ? answer(values, parts, count, sum) : clew_fail_memory();
	for (size_t i = 0; parts && i < count; i++)
		clew_input_done(&parts[i].input);
	free(parts);
	return status;
}

/* ---- while it is recorded ---- */

/* The first option that was given and has no meaning while it records; NULL: there is none. */
static const char *option_not_live(const struct latency_values *values)
{
	return values->output			   ? "-o"
	       : values->fresh.keep		   ? "--keep"
	       : values->window.from_text	   ? "--from"
	       : values->window.to_text		   ? "--to"
	       : values->selection.group.cgroup	   ? "--cgroup"
	       : values->selection.group.container ? "--container"
	       : values->selection.group.pod	   ? "--pod"
	       : values->selection.group.unit	   ? "--unit"
						   : NULL;
}

static int answer_live(struct latency_values *values, struct sum *sum)
{
	bool functions = values->fresh.recording.functions.count;
	enum clew_latency_by by = sum->by_given ? sum->all.options.by
				  : functions	? CLEW_LATENCY_PATH
						: CLEW_LATENCY_KIND;
	bool calls = is_of_calls(by);
	const struct clew_latency_live live = {
		.recording = &values->fresh.recording,
		.selection = &values->selection,
		.options = &sum->all.options,
		.digits = sum->all.latency.digits,
		.top = values->top.given ? values->top.value
		       : values->json	 ? SIZE_MAX
					 : TOP,
		.json = values->json,
	};
	const char *option = option_not_live(values);

	if (values->fresh.words)
		return clew_fail(CLEW_EXIT_INPUT,
				 "latency: --live and a command: start it in another terminal");
	if (option)
		return clew_fail(CLEW_EXIT_INPUT,
				 "--live and %s: record first, and ask then, as with -d DURATION",
				 option);
	if (by == CLEW_LATENCY_LOCK || by == CLEW_LATENCY_PEER || by == CLEW_LATENCY_OPERATION)
		return clew_fail(
			CLEW_EXIT_INPUT,
			"--live --by %s: write path, function, kind, call or device, or leave out "
			"--live",
			clew_latency_by_name(by));
	if (calls && !functions)
		return clew_fail(CLEW_EXIT_INPUT,
				 "--live --by %s: no functions: choose some with -f, or give "
				 "another --by",
				 clew_latency_by_name(by));
	if (!calls && functions)
		return clew_fail(CLEW_EXIT_INPUT,
				 "--live -f and --by %s: leave out -f, or write --by path",
				 clew_latency_by_name(by));
	if (sum->all.options.argument && !calls)
		return fail_argument(&sum->all.options);
	sum->all.options.by = by;
	return clew_latency_live_run(&live);
}

int clew_command_latency(const struct clew_command *command, int argc, char **argv)
{
	struct latency_values values = {};
	struct sum sum = {};
	char **operands;
	int status;

	clew_fresh_begin(&values.fresh, &argc, argv);
	if (!clew_options_parse(command, argc, argv, &values, &operands, &status))
		return status;
	values.fresh.option = values.live ? "--live" : NULL;
	status = read_options(&values, &sum);
	/* Any request may be one of those that are asked about. */
	values.fresh.recording.messages_if_shown = sum.all.options.by == CLEW_LATENCY_OPERATION &&
						   !values.live &&
						   clew_selection_chooses(&values.selection);
	if (!status)
		status = values.live ? clew_fresh_check(&values.fresh, command, argc, operands)
				     : clew_fresh_record(&values.fresh, command, argc, &operands);
	if (!status)
		status = values.live ? answer_live(&values, &sum)
				     : answer_traces(&values, operands, &sum);
	clew_latency_sum_done(&sum.all);
	return clew_fresh_end(&values.fresh, status);
}
