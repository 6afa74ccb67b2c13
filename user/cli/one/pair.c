/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew pair: dependencies of a trace from marks, or names of spans, that carry a key.
 */
#include <clew/pair.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answers/model/model.h"
#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/front/options.h"
#include "cli/front/write.h"
#include "cli/operand/open.h"
#include "cli/operand/query.h"

struct pair_values {
	const char *type;
	const char *origins;
	const char *destinations;
	const char *from;
	const char *to;
	const char *hierarchy;
	const char *output;
	uint32_t mode;
	bool spans;
	bool reuse;
	bool keep_without_origin;
	bool keep_without_destination;
	bool json;
};

static int take_mode(const struct clew_option *option, const char *argument, void *value)
{
	static const char *const modes[] = {
		[CLEW_MODE_SINGLE] = "single", [CLEW_MODE_AND] = "and", [CLEW_MODE_OR] = "or"};

	for (uint32_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(argument, modes[i]) == 0) {
			*(uint32_t *)value = i;
			return 0;
		}
	}
	return clew_fail(CLEW_EXIT_INPUT, "--%s: no mode '%s': there are single, and, or",
			 option->name, argument);
}

const struct clew_option clew_pair_options[] = {
	{0, "origins", "REGEX",
	 "labels of marks that are origins, a group being the key (^send:(.*)$)", clew_take_string,
	 offsetof(struct pair_values, origins)},
	{0, "destinations", "REGEX", "labels of marks that are destinations (^recv:(.*)$)",
	 clew_take_string, offsetof(struct pair_values, destinations)},
	{0, "type", "TYPE", "the type of the dependencies (send)", clew_take_string,
	 offsetof(struct pair_values, type)},
	{0, "spans", NULL,
	 "names of spans, too: an origin is a span's end, a destination its start", clew_take_flag,
	 offsetof(struct pair_values, spans)},
	{0, "from", "PATTERN", "origins in these spans only", clew_take_string,
	 offsetof(struct pair_values, from)},
	{0, "to", "PATTERN", "destinations in these spans only", clew_take_string,
	 offsetof(struct pair_values, to)},
	{0, "reuse", NULL,
	 "a key comes again: a destination belongs to the latest origin before it", clew_take_flag,
	 offsetof(struct pair_values, reuse)},
	{0, "mode", "MODE",
	 "several origins of a key: single (an error, the default), and (all must happen), or (any "
	 "will do)",
	 take_mode, offsetof(struct pair_values, mode)},
	{0, "keep-without-origin", NULL, "make dependencies of destinations alone, too",
	 clew_take_flag, offsetof(struct pair_values, keep_without_origin)},
	{0, "keep-without-destination", NULL, "make dependencies of origins alone, too",
	 clew_take_flag, offsetof(struct pair_values, keep_without_destination)},
	{'o', "output", "FILE",
	 "write the trace with its new dependencies there, in notation (-: standard output)",
	 clew_take_string, offsetof(struct pair_values, output)},
	{0, "hierarchy", "NAME", "whose categories patterns mean (the first one)", clew_take_string,
	 offsetof(struct pair_values, hierarchy)},
	{0, "json", NULL, "print one JSON object", clew_take_flag,
	 offsetof(struct pair_values, json)},
	CLEW_OPTION_END,
};

static int fail_at(const char *option, const char *expression, const struct clew_pair_error *error)
{
	clew_fail(CLEW_EXIT_INPUT, "--%s, at byte %zu: %s", option, error->offset, error->message);
	clew_point_at(expression, error->offset);
	return CLEW_EXIT_INPUT;
}

static int fail(const char *trace, int r, const struct pair_values *values,
		const struct clew_pair_error *error)
{
	switch (r) {
	case -EINVAL:
		if (error->where == CLEW_PAIR_ERROR_ORIGINS)
			return fail_at("origins", values->origins, error);
		if (error->where == CLEW_PAIR_ERROR_DESTINATIONS)
			return fail_at("destinations", values->destinations, error);
		return clew_fail(CLEW_EXIT_INPUT, "%s: %s", trace, error->message);
	case -EBADMSG:
		return clew_fail(CLEW_EXIT_INPUT, "%s: the trace is inconsistent: see `clew check`",
				 trace);
	case -E2BIG:
		return clew_fail(CLEW_EXIT_INPUT,
				 "%s: too many events for one trace, or an expression takes too "
				 "much to decide: write a "
				 "simpler one, or take a smaller trace",
				 trace);
	default:
		return clew_fail(CLEW_EXIT_SYSTEM,
				 "%s: out of memory: free some, or take a smaller trace", trace);
	}
}

static int answer(const char *trace, const struct pair_values *values,
		  const struct clew_paired *paired)
{
	uint64_t events = 0;
	int status = 0;

	for (uint32_t i = 0; i < paired->model->type_count; i++)
		events += clew_pair_events(&paired->metrics[i]);
	/* A trace that goes to standard output is the only output there. */
	if (values->json)
		clew_json_paired(stdout, paired);
	else if (events && !(values->output && strcmp(values->output, "-") == 0))
		clew_print_paired(stdout, paired);
	if (!events)
		return clew_fail(CLEW_EXIT_NEGATIVE,
				 "%s: no label matches --origins or --destinations: see the marks "
				 "with `clew dump`",
				 trace);
	if (values->output)
		status = clew_write_model(trace, paired->model, values->output);
	return status;
}

static int pair(const char *trace, const struct clew_model *model, const struct pair_values *values)
{
	struct clew_pair_rule rule = {
		.origins = values->origins,
		.destinations = values->destinations,
		.type = values->type,
		.spans = values->spans,
		.options = {.reuse = values->reuse,
			    .keep_without_origin = values->keep_without_origin,
			    .keep_without_destination = values->keep_without_destination,
			    .mode = values->mode,
			    .key_attribute = "key"}};
	const struct clew_scope scope = {.hierarchy = values->hierarchy};
	struct clew_pair_error error;
	struct clew_paired paired = {};
	uint32_t *from = NULL, *to = NULL;
	int status = 0, r;

	if (values->from)
		status = clew_find_spans("--from", values->from, model, &scope, &from,
					 &rule.from_count);
	if (values->to && !status)
		status = clew_find_spans("--to", values->to, model, &scope, &to, &rule.to_count);
	if (!status) {
		rule.from = from;
		rule.to = to;
		r = clew_pair_labels(model, &rule, &paired, &error);
		status = r < 0 ? fail(trace, r, values, &error) : answer(trace, values, &paired);
		clew_paired_done(&paired);
	}
	free(from);
	free(to);
	return status;
}

int clew_command_pair(const struct clew_command *command, int argc, char **argv)
{
	struct pair_values values = {
		.type = "send", .origins = "^send:(.*)$", .destinations = "^recv:(.*)$"};
	struct clew_model *model;
	char **operands;
	int status;

	if (!clew_options_parse(command, argc, argv, &values, &operands, &status))
		return status;
	if (!*values.type)
		return clew_fail(CLEW_EXIT_INPUT,
				 "--type: '' is no name of a type: give one, as --type send");
	if (values.json && values.output && strcmp(values.output, "-") == 0)
		return clew_fail(
			CLEW_EXIT_INPUT,
			"--json: the trace goes to standard output, too: name a file in --output");
	status = clew_check_output(operands[0], values.output);
	if (!status)
		status = clew_open_model(operands[0], &model, NULL);
	if (status)
		return status;
	status = pair(operands[0], model, &values);
	clew_model_free(model);
	return status;
}
