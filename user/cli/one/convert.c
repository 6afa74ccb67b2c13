/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew convert: any trace as notation.
 */
#include "cli/front/commands.h"
#include "cli/front/options.h"
#include "cli/front/write.h"
#include "cli/operand/open.h"

struct convert_values {
	const char *output;
	struct clew_number frames;
};

const struct clew_option clew_convert_options[] = {
	{'o', "output", "FILE", "write the notation there (-: standard output)", clew_take_string,
	 offsetof(struct convert_values, output)},
	{0, "frames", "N",
	 "of a capture, make spans of at most N activations of functions, the longest (200000)",
	 clew_take_number, offsetof(struct convert_values, frames)},
	CLEW_OPTION_END,
};

int clew_command_convert(const struct clew_command *command, int argc, char **argv)
{
	struct convert_values values = {.output = "-"};
	struct clew_model *model;
	char **operands;
	int status;

	if (!clew_options_parse(command, argc, argv, &values, &operands, &status))
		return status;
	status = clew_check_output(operands[0], values.output);
	if (!status)
		status = clew_open_model_frames(
			operands[0], values.frames.given ? values.frames.value + 1ull : 0, &model,
			NULL);
	if (status)
		return status;
	status = clew_write_model(operands[0], model, values.output);
	clew_model_free(model);
	return status;
}
