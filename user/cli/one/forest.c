/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew forest: who started whom, as trees in text, as a graph or in JSON.
 */
#include <clew/forest.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "answers/path/forest_text.h"
#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/front/options.h"
#include "cli/operand/open.h"
#include "words/truth.h"

struct forest_values {
	const char *types;
	const char *first_only;
	const char *several;
	bool all;
	bool dot;
	bool json;
};

const struct clew_option clew_forest_options[] = {
	{0, "types", "TYPE,..",
	 "dependencies of these types start root spans (spawn,fork,submit, as far as there are)",
	 clew_take_string, offsetof(struct forest_values, types)},
	{0, "first-only", "TYPE,..",
	 "of these types: nothing may come into a root span before (all: of any)", clew_take_string,
	 offsetof(struct forest_values, first_only)},
	{0, "several", "TYPE,..",
	 "of these types: a root span may be started by several spans, the first counts (all "
	 "without --types)",
	 clew_take_string, offsetof(struct forest_values, several)},
	{0, "all", NULL, "also those that started nothing and that nothing started", clew_take_flag,
	 offsetof(struct forest_values, all)},
	{0, "dot", NULL, "print a graph for dot(1)", clew_take_flag,
	 offsetof(struct forest_values, dot)},
	{0, "json", NULL, "print one JSON object", clew_take_flag,
	 offsetof(struct forest_values, json)},
	CLEW_OPTION_END,
};

static const char *type_name(const struct clew_model *model, uint32_t type)
{
	return clew_model_string(model, model->types[type]);
}

/* ---- rules ---- */

static int fail_type(const char *option, const char *word, size_t size,
		     const struct clew_model *model)
{
	char *names = NULL;
	size_t length;
	FILE *stream = open_memstream(&names, &length);

	for (uint32_t i = 0; stream && i < model->type_count; i++)
		fprintf(stream, "%s%s", i ? ", " : "", type_name(model, i));
	if (stream)
		fclose(stream);
	clew_fail(CLEW_EXIT_INPUT, "%s: the trace has no type '%.*s': it has %s", option, (int)size,
		  word, names ?: "others");
	free(names);
	return CLEW_EXIT_INPUT;
}

/* Marks the types of a list; "all" marks those of `within`. */
static int mark_types(const char *option, const char *list, const struct clew_model *model,
		      const bool *within, bool *marked)
{
	for (const char *word = list; word;
	     word = strchr(word, ',') ? strchr(word, ',') + 1 : NULL) {
		size_t size = strcspn(word, ",");
		uint32_t type = 0;

		if (within && size == 3 && !memcmp(word, "all", 3)) {
			memcpy(marked, within, model->type_count * sizeof(*marked));
			continue;
		}
		while (type < model->type_count &&
		       (strlen(type_name(model, type)) != size ||
			memcmp(type_name(model, type), word, size) != 0))
			type++;
		if (type == model->type_count)
			return fail_type(option, word, size, model);
		if (within && !within[type])
			return clew_fail(
				CLEW_EXIT_INPUT,
				"%s: '%.*s' starts nothing: add it to --types, or leave it out",
				option, (int)size, word);
		marked[type] = true;
	}
	return 0;
}

static int default_types(const struct clew_model *model, bool *spawning)
{
	size_t count = clew_forest_default_rules(model, NULL, 0);
	struct clew_forest_rule *rules = calloc(count + 1, sizeof(*rules));

	if (!rules)
		return -ENOMEM;
	clew_forest_default_rules(model, rules, count);
	for (size_t i = 0; i < count; i++)
		spawning[rules[i].type] = true;
	free(rules);
	return 0;
}

static int out_of_memory(void)
{
	return clew_fail(CLEW_EXIT_SYSTEM,
			 "forest: out of memory: free some, or take a smaller trace");
}

static int make_rules(const struct forest_values *values, const struct clew_model *model,
		      struct clew_forest_rule *rules, size_t *ret_count)
{
	bool *marked = calloc(3 * ((size_t)model->type_count + 1), sizeof(*marked));
	bool *spawning = marked, *first_only = marked + model->type_count,
	     *several = first_only + model->type_count;
	int status = 0;

	if (!marked)
		return out_of_memory();
	if (values->types)
		status = mark_types("--types", values->types, model, NULL, spawning);
	else if (default_types(model, spawning) < 0)
		status = out_of_memory();
	if (!status && values->first_only)
		status =
			mark_types("--first-only", values->first_only, model, spawning, first_only);
	if (!status && values->several)
		status = mark_types("--several", values->several, model, spawning, several);
	*ret_count = 0;
	for (uint32_t i = 0; !status && i < model->type_count; i++)
		if (spawning[i])
			rules[(*ret_count)++] = (struct clew_forest_rule){
				.type = i,
				.first_only = first_only[i],
				.several_times = values->several ? several[i] : !values->types};
	free(marked);
	return status;
}

static int fail_rule(const struct clew_model *model, const struct clew_forest_problem *problem)
{
	const struct clew_dependency *dependency = &model->dependencies[problem->dependency];
	const char *name = clew_model_string(model, model->spans[problem->root].name),
		   *type = type_name(model, dependency->type);
	const struct clew_es *trigger = &model->es[clew_model_trigger(model, problem->dependency)];

	if (problem->not_first)
		return clew_fail(
			CLEW_EXIT_NEGATIVE,
			"'%s': dependency %" PRIu32
			" (%s) is not the first that comes in: leave %s out of --first-only",
			name, problem->dependency + 1, type, type);
	return clew_fail(CLEW_EXIT_NEGATIVE,
			 "'%s' is started once more, by '%s' at %s (dependency %" PRIu32
			 ", %s): add %s to --several, or --several all",
			 name, clew_model_string(model, model->spans[trigger->span].name),
			 clew_model_moment(model, trigger->end, (char[32]){0}),
			 problem->dependency + 1, type, type);
}

static int answer(const struct forest_values *values, struct grove *grove)
{
	int status = 0;

	if (clew_forest_survey(grove) < 0)
		return out_of_memory();
	if (values->json)
		clew_json_forest(grove);
	else if (values->dot)
		clew_print_forest_dot(grove, values->all);
	else if (grove->spawned && clew_print_forest(stdout, grove, values->all) < 0)
		status = out_of_memory();
	if (!status && grove->spawned && !values->json && !values->dot)
		clew_print_model_truth(stdout, grove->model, CLEW_WHOLE);
	if (!status && !grove->spawned)
		return clew_fail(CLEW_EXIT_NEGATIVE,
				 "nothing in the trace is started by something: name other types "
				 "of dependencies in --types");
	return status;
}

static int find(const struct forest_values *values, const struct clew_model *model,
		struct clew_forest_rule *rules)
{
	struct grove grove = {.model = model, .rules = rules};
	struct clew_forest_problem problem;
	struct clew_forest *forest;
	int status = make_rules(values, model, rules, &grove.rule_count), r;

	if (status)
		return status;
	r = clew_forest_new(model, rules, grove.rule_count, &forest, &problem);
	if (r < 0)
		return r == -EINVAL ? fail_rule(model, &problem) : out_of_memory();
	grove.forest = forest;
	status = answer(values, &grove);
	clew_forest_free(forest);
	free(grove.carries);
	return status;
}

int clew_command_forest(const struct clew_command *command, int argc, char **argv)
{
	struct forest_values values = {};
	struct clew_forest_rule *rules;
	struct clew_model *model;
	char **operands;
	int status;

	if (!clew_options_parse(command, argc, argv, &values, &operands, &status))
		return status;
	if (values.dot && values.json)
		return clew_fail(CLEW_EXIT_INPUT, "--dot and --json at once: choose one");
	status = clew_open_model(operands[0], &model, NULL);
	if (status)
		return status;
	rules = calloc((size_t)model->type_count + 1, sizeof(*rules));
	status = rules ? find(&values, model, rules) : out_of_memory();
	free(rules);
	clew_model_free(model);
	return status;
}
