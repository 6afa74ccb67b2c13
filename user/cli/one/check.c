/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew check: whether a causal trace is consistent.
 */
#include <clew/model_make.h>
#include <stdlib.h>

#include "answers/model/model.h"
#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/front/options.h"
#include "cli/operand/open.h"

struct check_values {
	bool json;
};

const struct clew_option clew_check_options[] = {
	{0, "json", NULL, "print one JSON object", clew_take_flag,
	 offsetof(struct check_values, json)},
	CLEW_OPTION_END,
};

int clew_command_check(const struct clew_command *command, int argc, char **argv)
{
	struct check_values values = {};
	struct clew_problem *problems;
	struct clew_model *model;
	size_t count, errors = 0;
	bool is_capture;
	char **operands;
	int status;

	if (!clew_options_parse(command, argc, argv, &values, &operands, &status))
		return status;
	status = clew_open_model(operands[0], &model, &is_capture);
	if (status)
		return status;
	if (clew_model_check(model, is_capture, &problems, &count) < 0) {
		clew_model_free(model);
		return clew_fail(CLEW_EXIT_SYSTEM, "%s: out of memory: free some and try again",
				 operands[0]);
	}
	for (size_t i = 0; i < count; i++)
		errors += !problems[i].warning;
	if (values.json)
		clew_json_problems(stdout, model, problems, count);
	else
		clew_print_problems(stdout, model, problems, count, errors);
	free(problems);
	clew_model_free(model);
	return errors ? CLEW_EXIT_NEGATIVE : CLEW_EXIT_DONE;
}
