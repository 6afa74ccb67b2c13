/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* clew dump: all of a causal trace. */
#include "answers/model/model.h"
#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/front/options.h"
#include "cli/operand/open.h"

struct dump_values {
	bool json;
};

const struct clew_option clew_dump_options[] = {
	{0, "json", NULL, "print one JSON object", clew_take_flag,
	 offsetof(struct dump_values, json)},
	CLEW_OPTION_END,
};

int clew_command_dump(const struct clew_command *command, int argc, char **argv)
{
	struct dump_values values = {};
	struct clew_model *model;
	char **operands;
	int status;

	if (!clew_options_parse(command, argc, argv, &values, &operands, &status))
		return status;
	status = clew_open_model(operands[0], &model, NULL);
	if (status)
		return status;
	if (values.json)
		clew_json_dump(stdout, model);
	else
		clew_print_dump(stdout, model);
	clew_model_free(model);
	return CLEW_EXIT_DONE;
}
