/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew annotate: marks where dependencies of a causal trace begin and end.
 */
#include <clew/annotate.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answers/model/model.h"
#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/front/options.h"
#include "cli/front/write.h"
#include "cli/operand/open.h"
#include "cli/operand/parts.h"
#include "cli/operand/query.h"

struct annotate_values {
	struct clew_parts rules;
	const char *output;
	const char *hierarchy;
	bool json;
};

const struct clew_option clew_annotate_options[] = {
	{'r', "rule", "RULE", "one more rule; several times, if need be", clew_take_part,
	 offsetof(struct annotate_values, rules)},
	{'f', "file", "FILE", "the rules that stand there", clew_take_part_file,
	 offsetof(struct annotate_values, rules)},
	{'o', "output", "FILE",
	 "write the trace with its marks there, in notation (-: standard output)", clew_take_string,
	 offsetof(struct annotate_values, output)},
	{0, "hierarchy", "NAME", "whose categories patterns mean (the first one)", clew_take_string,
	 offsetof(struct annotate_values, hierarchy)},
	{0, "json", NULL, "print one JSON object", clew_take_flag,
	 offsetof(struct annotate_values, json)},
	CLEW_OPTION_END,
};

static int fail(const char *trace, const struct annotate_values *values, int r,
		const struct clew_query_error *error)
{
	switch (r) {
	case -EINVAL:
		return clew_fail_in_parts(&values->rules, error->offset, error->message);
	case -EBADMSG:
		return clew_fail(CLEW_EXIT_INPUT, "%s: the trace is inconsistent: see `clew check`",
				 trace);
	case -E2BIG:
		return clew_fail(
			CLEW_EXIT_INPUT,
			"%s: more marks than a trace can have: write rules for fewer spans", trace);
	default:
		return clew_fail(CLEW_EXIT_SYSTEM,
				 "%s: out of memory: free some, or take a smaller trace", trace);
	}
}

static int annotate(const char *trace, const struct clew_model *model,
		    const struct clew_annotation *rules, const struct annotate_values *values)
{
	uint64_t *marks = calloc((size_t)clew_annotation_count(rules) + 1, sizeof(*marks));
	bool to_standard = values->output && !strcmp(values->output, "-");
	struct clew_query_options options = {};
	struct clew_query_error error = {};
	struct clew_model *annotated;
	int status = clew_choose_hierarchy(model, values->hierarchy, NULL, &options.hierarchy), r;

	if (!status) {
		r = marks ? clew_annotate(model, rules, &options, &annotated, marks, &error)
			  : -ENOMEM;
		if (r < 0)
			status = fail(trace, values, r, &error);
	}
	if (!status) {
		if (values->json)
			clew_json_marks(stdout, model, values->rules.text, rules, marks);
		else
			clew_print_marks(to_standard ? stderr : stdout, model, values->rules.text,
					 rules, marks);
		if (values->output)
			status = clew_write_model(trace, annotated, values->output);
		clew_model_free(annotated);
	}
	free(marks);
	return status;
}

static int run(char **operands, struct annotate_values *values)
{
	struct clew_annotation *rules = NULL;
	struct clew_query_error error;
	struct clew_model *model;
	int status = operands[1] ? clew_add_part(&values->rules, "RULES", operands[1]) : 0, r;

	if (!status && !values->rules.count)
		return clew_fail(CLEW_EXIT_INPUT, "annotate: no rule: give one, as 'mark incoming "
						  "dependencies(all) of spans(**) as label(in-);'");
	if (!status)
		status = clew_join_parts(&values->rules);
	if (status)
		return status;
	r = clew_annotation_compile(values->rules.text, values->rules.size, &rules, &error);
	if (r < 0)
		return fail(operands[0], values, r, &error);
	status = clew_check_output(operands[0], values->output);
	if (!status)
		status = clew_open_model(operands[0], &model, NULL);
	if (!status) {
		status = annotate(operands[0], model, rules, values);
		clew_model_free(model);
	}
	clew_annotation_free(rules);
	return status;
}

int clew_command_annotate(const struct clew_command *command, int argc, char **argv)
{
	struct annotate_values values = {};
	char **operands;
	int status;

	if (clew_options_parse(command, argc, argv, &values, &operands, &status)) {
		if (values.json && values.output && strcmp(values.output, "-") == 0)
			status = clew_fail(CLEW_EXIT_INPUT, "--json: the trace goes to standard "
							    "output, too: name a file in --output");
		else
			status = run(operands, &values);
	}
	clew_parts_done(&values.rules);
	return status;
}
