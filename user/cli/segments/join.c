/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* clew join: segments of a recording as one capture. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/front/options.h"
#include "cli/operand/window.h"
#include "cli/segments/joining.h"

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
		status = clew_joining_choose(&output, &values.window, false);
	if (!status)
		status = clew_joining_write(&output);
	clew_join_free(output.join);
	return status;
}
