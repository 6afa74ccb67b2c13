/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew export: a trace in the format of another tool.
 */
#include "export/export.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/ask/ask.h"
#include "cli/export/send.h"
#include "cli/export/size.h"
#include "cli/export/split.h"
#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/front/options.h"
#include "cli/front/progress.h"
#include "cli/front/words.h"
#include "cli/front/write.h"
#include "cli/operand/open.h"
#include "cli/operand/selection.h"
#include "cli/operand/window.h"
#include "explain/classes.h"
#include "trace/frames.h"
#include "trace/stacks.h"

#define SLOWEST 10 /* operations that are explained unless another number is asked for */

struct export_values {
	const struct clew_export_format *format;
	const char *output;
	struct clew_selection selection;
	struct clew_window window;
	struct clew_ask ask;
	struct clew_number slowest;
	struct clew_number most;
	struct clew_send send;
	uint64_t split; /* ns, 0: it is written in one piece */
	enum clew_export_encoding encoding;
	enum clew_export_stacks stacks;
	bool stacks_given;
	struct clew_source_choice source;
	bool idle;
	bool spreadsheet;
};

/* Fails with all names; `typed` NULL: no format was given. */
static int fail_format(const char *typed)
{
	const char *names[32];
	size_t count = 0;

	while (clew_export_formats[count].name) {
		names[count] = clew_export_formats[count].name;
		count++;
	}
	return typed ? clew_fail_word("to", typed, strlen(typed), names, count)
		     : clew_fail(CLEW_EXIT_INPUT,
				 "no format is chosen: give one, as in --to perfetto; `clew help "
				 "export` lists them");
}

/* Sets a format, or where the interval ends: no format's name is a time. */
static int take_to(const struct clew_option *option, const char *argument, void *value)
{
	struct export_values *values = value;
	const struct clew_export_format *format = clew_export_find(argument);

	(void)option;
	if (format) {
		values->format = format;
		return 0;
	}
	if (argument[0] >= 'a' && argument[0] <= 'z')
		return fail_format(argument);
	values->window.to_text = argument;
	return 0;
}

/* Sets how long a window is. */
static int take_split(const struct clew_option *option, const char *argument, void *value)
{
	int status = clew_take_seconds(option, argument, value);

	if (!status && !*(uint64_t *)value)
		status = clew_fail(CLEW_EXIT_INPUT,
				   "--split: '%s' is no length: write one like 10s", argument);
	return status;
}

/* Sets which stacks. */
static int take_stacks(const struct clew_option *option, const char *argument, void *value)
{
	static const char *const names[] = {[CLEW_STACKS_OFF_CPU] = "off-cpu",
					    [CLEW_STACKS_WAKE] = "wake",
					    [CLEW_STACKS_CRITICAL] = "critical",
					    [CLEW_STACKS_ON_CPU] = "on-cpu"};
	struct export_values *values = value;

	int found = clew_take_word(option, argument, names, sizeof(names) / sizeof(names[0]));

	if (found < 0)
		return CLEW_EXIT_INPUT;
	values->stacks = (enum clew_export_stacks)found;
	values->stacks_given = true;
	return 0;
}

const struct clew_option clew_export_options[] = {
	{0, "to", "FORMAT",
	 "the format: perfetto, folded, pprof, chrome, sqlite, csv, ctf, html, dot, otlp or proto. "
	 "And with a TIME, end there",
	 take_to, 0},
	{'o', "output", "FILE", "write there (-: standard output)", clew_take_string,
	 offsetof(struct export_values, output)},
	{0, "from", "TIME",
	 "begin there: 1.25s since the start, -5s before the end, 10:32:07.5, ns", clew_take_string,
	 offsetof(struct export_values, window.from_text)},
	{'t', "tid", "N", "only waits of this thread", clew_take_number,
	 offsetof(struct export_values, selection.tid)},
	{'p', "pid", "N", "only waits of this process's threads", clew_take_number,
	 offsetof(struct export_values, selection.pid)},
	{0, "comm", "GLOB", "only waits of threads named like this", clew_take_string,
	 offsetof(struct export_values, selection.comm)},
	CLEW_GROUP_OPTIONS(struct export_values, selection.group, "waits of threads"),
	{0, "slowest", "N",
	 "explain the N longest operations of the chosen threads (10; of dot: 1)", clew_take_number,
	 offsetof(struct export_values, slowest)},
	CLEW_ASK_OPTIONS(struct export_values, ask),
	{0, "stacks", "KIND",
	 "of folded and pprof: what waits were for by their code (off-cpu), what others did "
	 "meanwhile (wake), the same of whole operations (critical), or samples (on-cpu)",
	 take_stacks, 0},
	CLEW_SOURCE_OPTIONS(struct export_values, source,
			    "of pprof: off-cpu and on-cpu with lines of the source, and inlined "
			    "functions"),
	{0, "idle", NULL, "of off-cpu and wake: count waits for work, too", clew_take_flag,
	 offsetof(struct export_values, idle)},
	{0, "spreadsheet", NULL, "of csv: no text begins a formula", clew_take_flag,
	 offsetof(struct export_values, spreadsheet)},
	{0, "max", "N",
	 "of dot: at most N (200) steps of an operation; of otlp: at most N (2000) spans",
	 clew_take_number, offsetof(struct export_values, most)},
	{0, "split", "TIME",
	 "write a file for each stretch of that length: out.pftrace becomes out.01.pftrace, ..",
	 take_split, offsetof(struct export_values, split)},
	CLEW_SEND_OPTIONS(struct export_values, send),
	CLEW_OPTION_END,
};

static bool all_threads(const struct clew_selection *selection)
{
	return !selection->tid.given && !selection->pid.given && !selection->comm &&
	       !clew_groups_asked(&selection->group);
}

/* For clew_write_file(). */
struct writing {
	struct clew_export export;
	const struct clew_export_format *format;
	struct clew_progress progress;
	uint64_t part; /* of those below, from 0 */
	uint64_t parts;
};

/* `context`: struct writing *. */
static void update_progress(void *context, double done)
{
	struct writing *writing = context;

	clew_progress_update(&writing->progress,
			     ((double)writing->part + done) / (double)writing->parts);
}

static int write_format(struct writing *writing)
{
	int r = writing->format->write(&writing->export);

	clew_progress_end(&writing->progress);
	if (r == -ESPIPE)
		return clew_fail(CLEW_EXIT_INPUT,
				 "%s: cannot be written to a pipe or device: "
				 "name a file with -o",
				 writing->format->name);
	if (r == -E2BIG)
		return clew_fail(CLEW_EXIT_INPUT,
				 "%s: there are more than %u events, which no viewer of it holds: "
				 "choose a part by --from and --to, or use perfetto",
				 writing->format->name, CLEW_CHROME_MOST);
	if (r < 0 && r != -ENOMEM)
		return clew_fail(CLEW_EXIT_SYSTEM, "%s: name a place that can be written",
				 strerror(-r));
	return r < 0 ? clew_fail_memory() : 0;
}

static int write_file(void *context, FILE *out)
{
	struct writing *writing = context;

	writing->export.out = out;
	return write_format(writing);
}

static int write_folder(void *context, const char *folder)
{
	struct writing *writing = context;

	writing->export.folder = folder;
	return write_format(writing);
}

static int write_output(struct writing *writing, const char *output)
{
	return writing->format->folder ? clew_write_folder(output, write_folder, writing)
				       : clew_write_file(output, write_file, writing);
}

/* Leaves the operations that a part shows, in the same order. */
static void choose_operations(struct clew_export *export, const struct clew_operation *operations,
			      size_t count, struct clew_operation *chosen)
{
	export->operation_count = 0;
	for (size_t i = 0; i < count; i++)
		if (clew_export_has(export, operations[i].from, operations[i].to))
			chosen[export->operation_count++] = operations[i];
	export->operations = chosen;
}

static int write_part(struct writing *writing, const char *output, const char *operand)
{
	char *name = clew_window_file(output, writing->part, writing->parts);
	int status = name ? clew_check_output(operand, name) : clew_fail_memory();

	if (!status)
		status = write_output(writing, name);
	free(name);
	return status;
}

/* A sum counts what begins in its part, lest two parts count it; a viewer needs all that overlaps.
 */
static int write_parts(struct writing *writing, const struct export_values *values,
		       const char *operand)
{
	struct clew_export *export = &writing->export;
	const struct clew_operation *operations = export->operations;
	size_t count = export->operation_count;
	struct clew_operation *chosen = malloc((count + 1) * sizeof(*chosen));
	int status = chosen ? 0 : clew_fail_memory();

	writing->parts = clew_window_count(&values->window, values->split);
	if (!status && writing->parts > CLEW_SPLIT_MOST)
		status = clew_fail(CLEW_EXIT_INPUT,
				   "--split: %llu files are more than %u: choose longer stretches, "
				   "or a part by --from and --to",
				   (unsigned long long)writing->parts, CLEW_SPLIT_MOST);
	for (; !status && writing->part < writing->parts; writing->part++) {
		clew_window_at(&values->window, values->split, writing->part, &export->from,
			       &export->to);
		export->begun_in = writing->format->stacks && writing->part;
		choose_operations(export, operations, count, chosen);
		status = write_part(writing, values->output, operand);
	}
	free(chosen);
	return status;
}

static uint32_t slowest(const struct export_values *values)
{
	return values->slowest.given ? values->slowest.value : values->format->slowest ?: SLOWEST;
}

/* The operations that are to be explained, as `clew why` chooses them. */
static int find_operations(const struct clew_asked_in *in, const struct export_values *values,
			   struct clew_operation **ret_operations, size_t *ret_count)
{
	const struct clew_chosen chosen = {.wants = clew_selection_wants,
					   .context = (void *)in->selection};
	uint32_t most = slowest(values);
	int status = 0;

	if (clew_ask_given(&values->ask)) {
		status = clew_ask_find(&values->ask, in, ret_operations, ret_count);
		if (*ret_count > most)
			*ret_count = most;
		return status;
	}
	if (clew_classes_slowest(in->trace, &chosen, in->window->from, in->window->to, most,
				 ret_operations, ret_count) < 0)
		return clew_fail_memory();
	return !*ret_count && values->format->alone ? clew_ask_offer(in, 0, most) : 0;
}

static int check(const struct clew_trace *trace, struct export_values *values)
{
	size_t total;
	int status;

	/* The time of clew itself belongs to a whole picture, but not into sums. */
	values->selection.self = !values->format->stacks && !values->format->without_self;
	status = clew_selection_check(&values->selection, trace);
	if (!status && values->format->stacks && values->stacks == CLEW_STACKS_ON_CPU &&
	    !clew_trace_all_samples(trace, &total))
		status = clew_fail(CLEW_EXIT_INPUT,
				   "the capture has no samples of running threads: record with "
				   "--stacks");
	/* An announcement needs no function. */
	if (!status && values->format->calls && !clew_trace_has_frames(trace) &&
	    !(clew_trace_announcements(trace, &total), total))
		status = clew_fail(CLEW_EXIT_NEGATIVE,
				   "no functions were recorded, and no program announced calls: "
				   "give `clew record` -f OBJECT:GLOB");
	return status;
}

static int export(const struct clew_trace *trace, struct export_values *values, const char *operand)
{
	struct writing writing = {.format = values->format, .parts = 1};
	struct clew_relations *relations = NULL;
	struct clew_operation *operations = NULL;
	struct clew_selection others;
	size_t count = 0;
	int status = check(trace, values);

	if (!status)
		status = clew_try_relations(trace, &relations);
	/* Nobody asks why clew itself was slow. */
	others = values->selection;
	others.self = false;
	if (!status)
		status = find_operations(&(struct clew_asked_in){.trace = trace,
								 .relations = relations,
								 .selection = &others,
								 .window = &values->window,
								 .operand = operand},
					 values, &operations, &count);
	if (!status) {
		clew_progress_begin(&writing.progress, "exporting");
		writing.export = (struct clew_export){
			.name = operand,
			.trace = trace,
			.relations = relations,
			.wanted = values->selection.self && all_threads(&values->selection)
					  ? NULL
					  : clew_selection_wants,
			.context = &values->selection,
			.from = values->window.from,
			.to = values->window.to,
			.operations = operations,
			.operation_count = count,
			.slowest = slowest(values),
			.stacks = values->stacks,
			.idle = values->idle,
			.spreadsheet = values->spreadsheet,
			.encoding = values->encoding,
			.most = values->most.given ? values->most.value : values->format->most,
			.progress = update_progress,
			.progress_context = &writing,
		};
		if (!values->send.endpoint)
			clew_export_note_size(&writing.export, values->format, operand);
		if (values->split)
			status = write_parts(&writing, values, operand);
		else if (values->send.endpoint)
			status =
				clew_send_export(&values->send, &writing.export, &writing.progress);
		else
			status = write_output(&writing, values->output);
	}
	free(operations);
	clew_relations_free(relations);
	return status;
}

/* Fails if the format and the output do not go with what is asked for. */
static int check_output(struct export_values *values)
{
	const struct clew_export_format *format = values->format;
	bool is_stdout = !strcmp(values->output, "-");

	if (values->split && format->alone)
		return clew_fail(
			CLEW_EXIT_INPUT,
			"--split: %s is about single operations, which are not cut: choose "
			"them by --from and --to",
			format->name);
	if (values->split && is_stdout)
		return clew_fail(CLEW_EXIT_INPUT, "--split: it writes several files: name them "
						  "with -o");
	if (format->binary && is_stdout && isatty(STDOUT_FILENO))
		return clew_fail(CLEW_EXIT_INPUT,
				 "%s is nothing for a terminal: name a file with -o", format->name);
	if (format->folder && is_stdout)
		return clew_fail(CLEW_EXIT_INPUT, "%s is several files: name a folder with -o",
				 format->name);
	if (values->stacks_given && !format->stacks)
		return clew_fail(CLEW_EXIT_INPUT,
				 "--stacks: %s has no added-up stacks: use folded or pprof",
				 format->name);
	if (values->spreadsheet && strcmp(format->name, "csv") != 0)
		return clew_fail(CLEW_EXIT_INPUT,
				 "--spreadsheet: %s is nothing for one: use --to csv",
				 format->name);
	if (clew_source_wanted(&values->source) &&
	    (!format->lines ||
	     (values->stacks != CLEW_STACKS_OFF_CPU && values->stacks != CLEW_STACKS_ON_CPU)))
		return clew_fail(CLEW_EXIT_INPUT,
				 "--lines: only off-cpu and on-cpu of pprof have them: use --to "
				 "pprof, or leave it out");
	return clew_send_check(&values->send, format, values->output, &values->encoding);
}

int clew_command_export(const struct clew_command *command, int argc, char **argv)
{
	struct export_values values = {.output = "-", .send.patience = CLEW_SEND_PATIENCE};
	struct clew_trace *trace;
	char **operands;
	int status;

	if (!clew_options_parse(command, argc, argv, &values, &operands, &status))
		return status;
	if (!values.format)
		return fail_format(NULL);
	status = check_output(&values);
	if (!status && !values.split)
		status = clew_check_output(operands[0], values.output);
	if (!status)
		status = clew_open_window(operands[0], 0, &values.window, &trace);
	if (status)
		return status;
	if (clew_source_wanted(&values.source))
		status = clew_need_stacks("export", trace, &values.source);
	if (!status)
		status = export(trace, &values, operands[0]);
	clew_selection_done(&values.selection);
	clew_trace_free(trace);
	return status;
}
