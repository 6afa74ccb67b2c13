/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew stitch: several causal traces as one, and how their clocks were brought together.
 */
#include "answers/stitch/stitch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/front/options.h"
#include "cli/front/write.h"
#include "cli/one/stitch.h"
#include "cli/operand/open.h"
#include "cli/operand/parts.h"

struct given_offsets {
	bool given[CLEW_STITCH_MOST_TRACES];
	clew_time offset[CLEW_STITCH_MOST_TRACES];
};

struct stitch_values {
	struct clew_parts statements;
	struct clew_parts matches;
	struct given_offsets offsets;
	const char *type;
	const char *output;
	const char *hierarchy;
	uint32_t prefix;
	bool json;
};

/* ---- options ---- */

/* [N=]DURATION, or ns without a unit. */
static int take_offset(const struct clew_option *option, const char *argument, void *value)
{
	struct given_offsets *offsets = value;
	const char *equals = strchr(argument, '='), *text = equals ? equals + 1 : argument;
	unsigned long trace = 2;
	clew_time offset = 0;
	char *end;
	size_t wrong;

	if (equals) {
		trace = strtoul(argument, &end, 10);
		if (end != equals || trace < 2 || trace > CLEW_STITCH_MOST_TRACES ||
		    argument[0] < '0' || argument[0] > '9')
			return clew_fail(CLEW_EXIT_INPUT,
					 "--%s: '%s' names no trace but the first: write a number "
					 "from 2 on, as 3=1.5ms",
					 option->name, argument);
	}
	errno = 0;
	offset = strtoll(text, &end, 10);
	if (end == text || *end || errno) {
		if (clew_duration_parse(text, strlen(text), &offset, &wrong) < 0)
			return clew_fail(CLEW_EXIT_INPUT,
					 "--%s: '%s' is no duration: write numbers with units, as "
					 "-1.5ms, or ns",
					 option->name, text);
	}
	offsets->given[trace - 1] = true;
	offsets->offset[trace - 1] = offset;
	return 0;
}

static int take_prefix(const struct clew_option *option, const char *argument, void *value)
{
	static const char *const words[] = {[CLEW_PREFIX_CONFLICT] = "conflict",
					    [CLEW_PREFIX_ALWAYS] = "always",
					    [CLEW_PREFIX_NEVER] = "never"};

	for (uint32_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!strcmp(words[i], argument)) {
			*(uint32_t *)value = i;
			return 0;
		}
	}
	return clew_fail(CLEW_EXIT_INPUT,
			 "--%s: '%s' is not known: write conflict, always or never", option->name,
			 argument);
}

const struct clew_option clew_stitch_options[] = {
	{'o', "output", "FILE", "write the one trace there, in notation (-: standard output)",
	 clew_take_string, offsetof(struct stitch_values, output)},
	{'e', "edges", "STATEMENTS", "dependencies between the traces; several times, if need be",
	 clew_take_part, offsetof(struct stitch_values, statements)},
	{'f', "file", "FILE", "those that stand there", clew_take_part_file,
	 offsetof(struct stitch_values, statements)},
	{'m', "match", "FROM=>TO",
	 "dependencies from marks with such labels in one trace to those of the same key in "
	 "another",
	 clew_take_part, offsetof(struct stitch_values, matches)},
	{0, "type", "TYPE", "the type of what --match makes (send)", clew_take_string,
	 offsetof(struct stitch_values, type)},
	{0, "offset", "N=D",
	 "add D to the times of trace N instead of estimating it; without N= of trace 2",
	 take_offset, offsetof(struct stitch_values, offsets)},
	{0, "prefix", "WHEN",
	 "names of spans and categories get N: before them in a conflict, always or never "
	 "(conflict)",
	 take_prefix, offsetof(struct stitch_values, prefix)},
	{0, "hierarchy", "NAME", "whose categories patterns mean (the first one)", clew_take_string,
	 offsetof(struct stitch_values, hierarchy)},
	{0, "json", NULL, "print one JSON object", clew_take_flag,
	 offsetof(struct stitch_values, json)},
	CLEW_OPTION_END,
};

/* --match as a statement. */
static int add_match(struct stitch_values *values, const char *text)
{
	const char *arrow = strstr(text, "=>");
	size_t from = arrow ? (size_t)(arrow - text) : strlen(text);
	const char *to = arrow ? arrow + 2 : text;
	char *statement;
	int status;

	while (arrow && from > 0 && text[from - 1] == ' ')
		from--;
	to += arrow ? strspn(to, " ") : 0;
	if (!from || !*to)
		return clew_fail(
			CLEW_EXIT_INPUT,
			"--match: '%s' lacks an expression: write one, or two with => between them",
			text);
	if (asprintf(&statement, "match dependency(%s) from marks(%.*s) to marks(%s);",
		     values->type, (int)from, text, to) < 0)
		return clew_fail(CLEW_EXIT_SYSTEM,
				 "stitch: out of memory: free some and try again");
	status = clew_add_part(&values->statements, "--match", statement);
	free(statement);
	return status;
}

/* ---- the answer ---- */

/* The question and its result. */
struct question {
	struct stitch_values *values;
	char **names;
	uint32_t count;
	struct clew_stitching *program;
	struct clew_stitch_clock clocks[CLEW_STITCH_MOST_TRACES];
	struct clew_stitch_result result;
};

static int fail(const struct question *question, int r, const struct clew_query_error *error)
{
	switch (r) {
	case -EINVAL:
		return clew_fail_in_parts(&question->values->statements, error->offset,
					  error->message);
	case -EBADMSG:
		return clew_fail(CLEW_EXIT_INPUT,
				 "a trace is inconsistent: see which one with `clew check`");
	case -EOVERFLOW:
		return clew_fail(CLEW_EXIT_INPUT,
				 "a time is beyond what a number holds: give a smaller --offset");
	case -E2BIG:
		return clew_fail(
			CLEW_EXIT_INPUT,
			"more of something than a trace can hold: stitch fewer or smaller traces");
	default:
		return clew_fail(CLEW_EXIT_SYSTEM,
				 "stitch: out of memory: free some, or take smaller traces");
	}
}

/* ---- one stitching ---- */

static void say(const struct question *question, const struct clew_model *model)
{
	const struct stitch_values *values = question->values;
	const struct clew_stitch_answer answer = {.names = question->names,
						  .count = question->count,
						  .program = question->program,
						  .text = values->statements.text,
						  .clocks = question->clocks,
						  .result = &question->result};
	bool to_standard = values->output && !strcmp(values->output, "-");

	if (values->json)
		clew_json_stitch(stdout, &answer, model);
	else
		clew_print_stitch(to_standard ? stderr : stdout, &answer, model);
}

static bool has_hierarchy(const struct clew_model *model, const char *name)
{
	for (uint32_t i = 0; i < model->hierarchy_count; i++)
		if (!strcmp(clew_model_string(model, model->hierarchies[i]), name))
			return true;
	return false;
}

static int stitch(struct question *question, const struct clew_model *const *models)
{
	struct stitch_values *values = question->values;
	const struct clew_stitch_options options = {
		.prefix = values->prefix,
		.hierarchy = values->hierarchy,
		.forced = values->offsets.given,
		.offsets = values->offsets.offset,
		.connections = !clew_stitching_count(question->program)};
	bool known = !values->hierarchy;
	struct clew_query_error error = {};
	struct clew_model *model;
	int status = 0, r;

	for (uint32_t i = 0; i < question->count && !known; i++)
		known = has_hierarchy(models[i], values->hierarchy);
	if (!known)
		return clew_fail(
			CLEW_EXIT_INPUT,
			"--hierarchy: no trace has a '%s': see what there is with `clew dump`",
			values->hierarchy);
	question->result.clocks = question->clocks;
	question->result.counts = calloc((size_t)clew_stitching_count(question->program) + 1,
					 sizeof(*question->result.counts));
	r = question->result.counts ? clew_stitch(models, question->count, question->program,
						  &options, &model, &question->result, &error)
				    : -ENOMEM;
	if (r < 0) {
		status = fail(question, r, &error);
	} else {
		say(question, model);
		if (values->output)
			status = clew_write_model(question->names[0], model, values->output);
		/* There are hosts, and nothing joins them. */
		if (!status && question->result.connected.ends &&
		    !question->result.connected.connections)
			status = CLEW_EXIT_NEGATIVE;
		clew_model_free(model);
	}
	free(question->result.counts);
	return status;
}

static int load_and_stitch(struct question *question)
{
	struct clew_model *models[CLEW_STITCH_MOST_TRACES] = {};
	uint32_t streams = 0;
	int status = 0;

	for (uint32_t i = 0; i < question->count; i++)
		streams += !strcmp(question->names[i], "-");
	if (streams > 1)
		return clew_fail(CLEW_EXIT_INPUT,
				 "stitch: standard input is one trace, not %u: name files",
				 streams);
	for (uint32_t i = 0; i < question->count && !status; i++)
		status = clew_check_output(question->names[i], question->values->output);
	for (uint32_t i = 0; i < question->count && !status; i++)
		status = clew_open_model(question->names[i], &models[i], NULL);
	if (!status)
		status = stitch(question, (const struct clew_model *const *)models);
	for (uint32_t i = 0; i < question->count; i++)
		clew_model_free(models[i]);
	return status;
}

static int run(char **operands, struct stitch_values *values)
{
	struct question question = {.values = values, .names = operands};
	struct clew_query_error error = {};
	int status = 0, r;

	while (operands[question.count] && question.count < CLEW_STITCH_MOST_TRACES)
		question.count++;
	if (operands[question.count])
		return clew_fail(CLEW_EXIT_INPUT, "stitch: too many traces: give at most %d",
				 CLEW_STITCH_MOST_TRACES);
	for (uint32_t i = question.count; i < CLEW_STITCH_MOST_TRACES; i++)
		if (values->offsets.given[i])
			return clew_fail(CLEW_EXIT_INPUT,
					 "--offset: there is no trace %u: there are %u", i + 1,
					 question.count);
	if (values->json && values->output && !strcmp(values->output, "-"))
		return clew_fail(
			CLEW_EXIT_INPUT,
			"--json: the trace goes to standard output, too: name a file in --output");
	for (size_t i = 0; i < values->matches.count && !status; i++)
		status = add_match(values, values->matches.items[i].text);
	if (!status)
		status = clew_join_parts(&values->statements);
	if (status)
		return status;
	r = clew_stitching_compile(values->statements.text, values->statements.size,
				   &question.program, &error);
	if (r < 0)
		return fail(&question, r, &error);
	status = load_and_stitch(&question);
	clew_stitching_free(question.program);
	return status;
}

int clew_stitch_captures(char **names, const char *output)
{
	struct stitch_values values = {.type = "send", .output = output};
	int status = run(names, &values);

	clew_parts_done(&values.statements);
	return status;
}

int clew_command_stitch(const struct clew_command *command, int argc, char **argv)
{
	struct stitch_values values = {.type = "send"};
	char **operands;
	int status;

	if (clew_options_parse(command, argc, argv, &values, &operands, &status))
		status = run(operands, &values);
	clew_parts_done(&values.statements);
	clew_parts_done(&values.matches);
	return status;
}
