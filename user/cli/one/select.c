/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew select: the spans or positions of a causal trace that a pattern means.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/front/options.h"
#include "cli/operand/groups.h"
#include "cli/operand/open.h"
#include "cli/operand/query.h"
#include "format/json.h"
#include "format/text.h"
#include "words/truth.h"

struct select_values {
	struct clew_group_choice group;
	const char *hierarchy;
	bool json;
};

const struct clew_option clew_select_options[] = {
	CLEW_GROUP_OPTIONS(struct select_values, group, "spans of threads"),
	{0, "hierarchy", "NAME", "in which hierarchy category paths are meant (the first)",
	 clew_take_string, offsetof(struct select_values, hierarchy)},
	{0, "json", NULL, "print one JSON object", clew_take_flag,
	 offsetof(struct select_values, json)},
	CLEW_OPTION_END,
};

/* The spans or positions that a pattern selects. */
struct selected {
	const struct clew_model *model;
	uint32_t *spans;
	size_t span_count;
	struct clew_positions positions;
	bool is_position;
};

static uint32_t span_of(const struct selected *selected, size_t position)
{
	return selected->model->es[selected->positions.items[position].es].span;
}

/* Paths are made one at a time. Without memory for one it is left out. */
static void json_path(struct clew_json *json, const char *key, const struct selected *selected,
		      uint32_t span)
{
	char *path = clew_model_span_path(selected->model, span);

	clew_json_string(json, key, path);
	free(path);
}

static void print_json(const struct selected *selected)
{
	struct clew_json json = {.out = stdout};

	clew_json_answer(&json);
	clew_json_array(&json, "spans");
	for (size_t i = 0; i < selected->span_count; i++)
		json_path(&json, NULL, selected, selected->spans[i]);
	for (size_t i = 0; i < selected->positions.count; i++)
		if (i == 0 || span_of(selected, i) != span_of(selected, i - 1))
			json_path(&json, NULL, selected, span_of(selected, i));
	clew_json_array_end(&json);
	clew_json_array(&json, "positions");
	for (size_t i = 0; i < selected->positions.count; i++) {
		const struct clew_position *position = &selected->positions.items[i];
		uint32_t span = span_of(selected, i);

		clew_json_object(&json, NULL);
		json_path(&json, "span", selected, span);
		clew_json_unsigned(&json, "es",
				   position->es - selected->model->spans[span].elementary.first);
		clew_json_signed(&json, "at", position->at);
		clew_json_object_end(&json);
	}
	clew_json_array_end(&json);
	clew_json_model_truth(&json, selected->model, CLEW_WHOLE);
	clew_json_object_end(&json);
	clew_json_end(&json);
}

static void print_path(const struct selected *selected, uint32_t span)
{
	char *path = clew_model_span_path(selected->model, span);

	clew_print_safe(stdout, path ?: "?");
	free(path);
}

static void print_spans(const struct selected *selected)
{
	for (size_t i = 0; i < selected->span_count; i++) {
		const struct clew_span *span = &selected->model->spans[selected->spans[i]];

		print_path(selected, selected->spans[i]);
		printf("  [%" PRId64 ",%" PRId64 "]  %s\n", span->start, span->end,
		       CLEW_DURATION((uint64_t)span->end - (uint64_t)span->start));
	}
	printf("\n%zu of %" PRIu32 " spans\n", selected->span_count, selected->model->span_count);
}

static void print_positions(const struct selected *selected)
{
	const struct clew_positions *positions = &selected->positions;

	for (size_t i = 0; i < positions->count; i++) {
		const struct clew_es *es = &selected->model->es[positions->items[i].es];

		print_path(selected, es->span);
		printf("  @ %" PRId64 "  in its elementary span %" PRIu32 " [%" PRId64 ",%" PRId64
		       "]\n",
		       positions->items[i].at,
		       positions->items[i].es - selected->model->spans[es->span].elementary.first,
		       es->start, es->end);
	}
	printf("\n%zu position%s\n", positions->count, positions->count == 1 ? "" : "s");
	if (positions->suspended)
		printf("suspended then: %zu\n", positions->suspended);
	if (positions->outside)
		printf("not reaching that moment: %zu\n", positions->outside);
}

/* `only`: by span, those that may be selected; NULL: all. */
static int answer(struct selected *selected, const struct clew_query *query,
		  const struct select_values *values, const bool *only)
{
	struct clew_query_options options = {.only = only};
	int status = clew_choose_hierarchy(selected->model, values->hierarchy, query,
					   &options.hierarchy),
	    r;

	if (status)
		return status;
	selected->is_position = clew_query_is_position(query);
	if (selected->is_position)
		r = clew_query_positions(query, selected->model, &options, &selected->positions);
	else
		r = clew_query_spans(query, selected->model, &options, &selected->spans,
				     &selected->span_count);
	if (r < 0)
		return clew_fail_query("pattern", r);
	if (values->json)
		print_json(selected);
	else if (selected->is_position)
		print_positions(selected);
	else
		print_spans(selected);
	if (!values->json)
		clew_print_model_truth(stdout, selected->model, CLEW_WHOLE);
	clew_positions_done(&selected->positions);
	free(selected->spans);
	return CLEW_EXIT_DONE;
}

int clew_command_select(const struct clew_command *command, int argc, char **argv)
{
	struct select_values values = {};
	struct clew_query *query;
	struct clew_model *model;
	char **operands;
	int status;

	if (!clew_options_parse(command, argc, argv, &values, &operands, &status))
		return status;
	/*
	 * Loading a trace may take long: errors in the pattern are reported
	 * first.
	 */
	status = clew_compile_query("pattern", operands[1], &query);
	if (status)
		return status;
	status = clew_open_model(operands[0], &model, NULL);
	if (!status) {
		struct selected selected = {.model = model};
		bool *only;

		status = clew_groups_spans(model, &values.group, &only);
		if (!status)
			status = answer(&selected, query, &values, only);
		free(only);
		clew_model_free(model);
	}
	clew_query_free(query);
	return status;
}
