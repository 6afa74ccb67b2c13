/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew io: what became of what programs asked of files, by file, program and device;
 * with --file one file's story from write() to the disk.
 */
#include "answers/io/io.h"

#include <errno.h>
#include <string.h>

#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/front/options.h"
#include "cli/front/terminal.h"
#include "cli/front/words.h"
#include "cli/operand/input.h"
#include "cli/record/fresh.h"
#include "explain/io_sum.h"

static const char *const sort_names[] = {
	[IO_SORT_SIZE] = "size",
	[IO_SORT_WAITED] = "waited",
	[IO_SORT_NAME] = "name",
};

static const char *const by_names[] = {
	[IO_BY_PROGRAM] = "program",
	[IO_BY_FILE] = "file",
	[IO_BY_DISK] = "disk",
};

static int take_sort(const struct clew_option *option, const char *argument, void *value)
{
	int found = clew_take_word(option, argument, sort_names,
				   sizeof(sort_names) / sizeof(sort_names[0]));

	if (found < 0)
		return CLEW_EXIT_INPUT;
	*(enum io_sort *)value = (enum io_sort)found;
	return 0;
}

static int take_by(const struct clew_option *option, const char *argument, void *value)
{
	int found =
		clew_take_word(option, argument, by_names, sizeof(by_names) / sizeof(by_names[0]));

	if (found < 0)
		return CLEW_EXIT_INPUT;
	*(enum io_by *)value = (enum io_by)found;
	return 0;
}

struct io_values {
	struct clew_selection selection;
	struct clew_window window;
	bool self;
	enum io_by by;
	enum io_sort sort;
	const char *file;
	bool json;
	struct clew_fresh fresh;
};

const struct clew_option clew_io_options[] = {
	{0, "file", "PATH", "this file alone, and what happened to it in order of time",
	 clew_take_string, offsetof(struct io_values, file)},
	CLEW_GROUP_OPTIONS(struct io_values, selection.group, "what was done by threads"),
	CLEW_WINDOW_OPTIONS(struct io_values, window),
	{0, "self", NULL, "show clew's own threads and files, too", clew_take_flag,
	 offsetof(struct io_values, self)},
	{0, "sort", "KEY", "size: the most bytes first (the default); waited; name", take_sort,
	 offsetof(struct io_values, sort)},
	{0, "by", "KEY", "only the sums by program, file or disk", take_by,
	 offsetof(struct io_values, by)},
	CLEW_FRESH_OPTIONS(struct io_values, fresh),
	{0, "json", NULL, "print one JSON object", clew_take_flag,
	 offsetof(struct io_values, json)},
	CLEW_OPTION_END,
};

static int find(struct io_values *values, struct clew_input *input, const struct io_asked *asked,
		struct clew_io *ret_io)
{
	struct clew_input_choice choice = {.input = input, .selection = &values->selection};
	struct clew_chosen chosen = {};
	struct clew_io_sum *sum = clew_io_sum_begin(&chosen, asked->from, asked->to);
	const struct clew_trace *names;
	int status = sum ? 0 : clew_fail_memory();

	if (!status && clew_groups_asked(&values->selection.group)) {
		chosen = (struct clew_chosen){.wants = clew_input_wants, .context = &choice};
		status = clew_input_names(input, &names);
		if (!status)
			status = clew_selection_resolve(&values->selection, names);
	}
	if (!status) {
		const struct clew_windows_taker taker = clew_io_sum_taker(sum);

		status = clew_input_look(input, &taker);
	}
	if (!status && clew_io_sum_finish(sum, input->trace, ret_io) < 0)
		status = clew_fail_memory();
	clew_io_sum_free(sum);
	return status;
}

static int say(const struct io_values *values, const struct io_answer *answer)
{
	struct clew_json json = {.out = stdout};
	int r = values->json ? clew_json_io(&json, answer) : clew_print_io(stdout, answer);

	return r < 0 ? clew_fail_memory() : 0;
}

static int answer(struct io_values *values, struct clew_input *input)
{
	bool whole = !clew_window_given(&values->window);
	struct io_asked asked = {.by = values->by,
				 .sort = values->sort,
				 .path = values->file,
				 .self = values->self,
				 /* All of the trace has no limits: what began before it counts. */
				 .from = whole ? 0 : values->window.from,
				 .to = whole ? CLEW_TIME_OPEN : values->window.to,
				 .width = clew_terminal_width()};
	struct io_answer answer = {};
	int status, r;

	values->selection.self = true;
	status = find(values, input, &asked, &answer.io);
	r = status ? 0 : io_choose(input->trace, &asked, &answer);
	if (r == -ENOENT)
		status = clew_fail(
			CLEW_EXIT_INPUT,
			"--file: no file '%s' in the capture: see `clew io` for those there are",
			values->file);
	else if (r < 0)
		status = clew_fail_memory();
	answer.asked.from = values->window.from;
	answer.asked.to = values->window.to;
	if (!status)
		status = say(values, &answer);
	io_answer_done(&answer);
	return status;
}

static int question_answer(void *context, char **operands)
{
	struct io_values *values = context;
	struct clew_input input = {};
	int status;

	status = clew_input_open(
		operands[0],
		&(struct clew_input_needs){.whole = values->file ? "single events" : NULL,
					   .window = &values->window},
		&input);
	if (!status)
		status = answer(values, &input);
	clew_input_done(&input);
	clew_selection_done(&values->selection);
	return status;
}

int clew_command_io(const struct clew_command *command, int argc, char **argv)
{
	static const struct clew_fresh_question question = {.answer = question_answer};
	struct io_values values = {};

	return clew_fresh_answer(command, argc, argv, &values, &values.fresh, &question);
}
