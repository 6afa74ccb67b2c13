/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew check: whether a causal trace is consistent.
 */
#include <clew/model_make.h>
#include <stdlib.h>

#include "answers/path/model_json.h"
#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/front/options.h"
#include "cli/operand/open.h"
#include "format/text.h"
#include "words/truth.h"

struct check_values {
	bool json;
};

const struct clew_option clew_check_options[] = {
	{0, "json", NULL, "print one JSON object", clew_take_flag,
	 offsetof(struct check_values, json)},
	CLEW_OPTION_END,
};

static const char *severity(const struct clew_problem *problem)
{
	return problem->warning ? "warning" : "error";
}

static void print_json(const struct clew_model *model, const struct clew_problem *problems,
		       size_t count)
{
	struct clew_json json = {.out = stdout};

	clew_json_answer(&json);
	clew_json_array(&json, "problems");
	for (size_t i = 0; i < count; i++) {
		clew_json_object(&json, NULL);
		clew_json_string(&json, "kind", problems[i].kind);
		clew_json_string(&json, "severity", severity(&problems[i]));
		clew_json_span(&json, "span", model, problems[i].span);
		clew_json_known(&json, "es", problems[i].es, CLEW_NONE);
		clew_json_string(&json, "message", problems[i].message);
		clew_json_object_end(&json);
	}
	clew_json_array_end(&json);
	clew_json_model_truth(&json, model, CLEW_WHOLE);
	clew_json_object_end(&json);
	clew_json_end(&json);
}

static void print_text(const struct clew_model *model, const struct clew_problem *problems,
		       size_t count, size_t errors)
{
	for (size_t i = 0; i < count; i++) {
		char *path = problems[i].span == CLEW_NONE
				     ? NULL
				     : clew_model_span_path(model, problems[i].span);

		printf("%s: %s", severity(&problems[i]), problems[i].kind);
		if (path) {
			fputs(" in ", stdout);
			clew_print_safe(stdout, path);
		}
		if (problems[i].es != CLEW_NONE)
			printf(", elementary span %u", problems[i].es);
		fputs(": ", stdout);
		clew_print_safe(stdout, problems[i].message);
		putchar('\n');
		free(path);
	}
	if (count)
		printf("%zu error%s and %zu warning%s", errors, errors == 1 ? "" : "s",
		       count - errors, count - errors == 1 ? "" : "s");
	else
		fputs("No problem", stdout);
	printf(" in %u spans, %u elementary spans and %u dependencies.\n", model->span_count,
	       model->es_count, model->dependency_count);
	clew_print_model_truth(stdout, model, CLEW_WHOLE);
}

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
		print_json(model, problems, count);
	else
		print_text(model, problems, count, errors);
	free(problems);
	clew_model_free(model);
	return errors ? CLEW_EXIT_NEGATIVE : CLEW_EXIT_DONE;
}
