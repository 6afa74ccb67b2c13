/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* clew join: segments of a recording as one capture. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/front/options.h"
#include "cli/operand/window.h"
#include "cli/segments/joining.h"
#include "format/position.h"
#include "words/wall.h"

struct join_values {
	const char *output;
	struct clew_window window;
};

const struct clew_option clew_join_options[] = {
	{'o', "output", "FILE", "write the capture there (joined.clew)", clew_take_string,
	 offsetof(struct join_values, output)},
	{0, "from", "TIME", "begin with the segment of that moment", clew_take_string,
	 offsetof(struct join_values, window.from_text)},
	{0, "to", "TIME", "end with the segment of that moment", clew_take_string,
	 offsetof(struct join_values, window.to_text)},
	CLEW_OPTION_END,
};

static int add_all(struct clew_join *join, char **operands)
{
	char message[300];
	struct stat there;
	int status = 0;

	for (char **path = operands; *path && !status; path++) {
		int r;

		if (!stat(*path, &there) && S_ISDIR(there.st_mode)) {
			status = clew_joining_directory(join, *path);
			continue;
		}
		r = clew_joining_add(join, *path, message, sizeof(message));
		if (r < 0)
			status = clew_joining_fail(*path, r, message);
	}
	return status;
}

/* Chooses the segments that the window touches. */
static int choose(struct clew_joining *output, struct clew_window *window)
{
	size_t count = clew_join_sort(output->join);
	const struct clew_segment *first, *last;
	struct clew_time_base base;
	int status;

	if (!count)
		return clew_fail(CLEW_EXIT_INPUT,
				 "there are no segments: record with --rotate, and name its "
				 "directory");
	first = clew_join_at(output->join, 0);
	last = clew_join_at(output->join, count - 1);
	clew_wall_base_of(first->info, clew_join_meta(output->join, "utc_offset"), &base);
	base.end = last->info->end;
	window->from = base.start;
	window->to = base.end;
	status = clew_moment_take("from", window->from_text, &base, &window->from);
	if (!status)
		status = clew_moment_take("to", window->to_text, &base, &window->to);
	if (!status && window->from > window->to)
		status = clew_fail(CLEW_EXIT_INPUT, "--from is behind --to: exchange them");
	while (output->first + 1 < count &&
	       clew_join_at(output->join, output->first)->info->end <= window->from)
		output->first++;
	output->count = 1;
	while (output->first + output->count < count &&
	       clew_join_at(output->join, output->first + output->count)->info->start < window->to)
		output->count++;
	return status;
}

int clew_command_join(const struct clew_command *command, int argc, char **argv)
{
	struct join_values values = {.output = "joined.clew"};
	struct clew_joining output = {};
	char **operands;
	int status, r;

	if (!clew_options_parse(command, argc, argv, &values, &operands, &status))
		return status;
	r = clew_join_new(&output.join);
	if (r < 0)
		return clew_fail_memory();
	output.name = values.output;
	status = add_all(output.join, operands);
	if (!status)
		status = choose(&output, &values.window);
	if (!status)
		status = clew_joining_write(&output);
	clew_join_free(output.join);
	return status;
}
