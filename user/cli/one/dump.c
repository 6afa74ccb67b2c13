/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew dump: all of a causal trace. As text: a span with its elementary spans and the
 * waits between them, then dependencies, then categories.
 */
#include <clew/tokens.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "answers/path/model_json.h"
#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/front/options.h"
#include "cli/operand/open.h"
#include "format/text.h"
#include "words/truth.h"

struct dump_values {
	bool json;
};

const struct clew_option clew_dump_options[] = {
	{0, "json", NULL, "print one JSON object", clew_take_flag,
	 offsetof(struct dump_values, json)},
	CLEW_OPTION_END,
};

#define TYPE_WIDTH	  9
#define MOMENT(model, at) clew_model_moment(model, at, (char[32]){0})

static void print_span_path(const struct clew_model *model, uint32_t span)
{
	char *path = clew_model_span_path(model, span);

	clew_print_safe(stdout, path ?: "(no memory for its path)");
	free(path);
}

static void print_attributes(const struct clew_model *model, uint32_t list)
{
	if (list == CLEW_NONE)
		return;
	for (uint32_t i = model->attribute_lists[list]; i < model->attribute_lists[list + 1]; i++) {
		putchar(' ');
		clew_print_safe(stdout, clew_model_string(model, model->attributes[i].key));
		putchar('=');
		clew_print_safe(stdout, clew_model_string(model, model->attributes[i].value));
	}
}

static const char *type_name(const struct clew_model *model, uint32_t dependency)
{
	return clew_model_string(model, model->types[model->dependencies[dependency].type]);
}

/* ---- spans ---- */

static void print_gap(const struct clew_model *model, uint32_t before, uint32_t behind)
{
	uint32_t wait = model->es[behind].wait;

	printf("        %s..%s ", MOMENT(model, model->es[before].end),
	       MOMENT(model, model->es[behind].start));
	if (wait == CLEW_NONE) {
		puts("suspended");
		return;
	}
	printf("waits: %s", clew_wait_kind_name(model->waits[wait].kind));
	print_attributes(model, model->waits[wait].attributes);
	putchar('\n');
}

static void print_link(const struct clew_model *model, const char *arrow, uint32_t dependency)
{
	if (dependency == CLEW_NONE)
		return;
	printf("  %s %" PRIu32 " ", arrow, dependency + 1);
	clew_print_safe(stdout, type_name(model, dependency));
}

static void print_elementary(const struct clew_model *model, uint32_t number, uint32_t es)
{
	struct clew_range marks = clew_model_marks(model, es);

	printf("  %4" PRIu32 "  [%s,%s]", number, MOMENT(model, model->es[es].start),
	       MOMENT(model, model->es[es].end));
	print_link(model, "<-", model->es[es].in);
	print_link(model, "->", model->es[es].out);
	for (uint32_t i = marks.first; i < marks.first + marks.count; i++) {
		fputs("  {", stdout);
		clew_print_safe(stdout, clew_model_string(model, model->marks[i].label));
		printf("@%s}", MOMENT(model, model->marks[i].at));
	}
	putchar('\n');
}

static void print_span(const struct clew_model *model, uint32_t number)
{
	const struct clew_span *span = &model->spans[number];
	struct clew_range range = span->elementary;

	print_span_path(model, number);
	printf(" [%s,%s]", MOMENT(model, span->start), MOMENT(model, span->end));
	print_attributes(model, span->attributes);
	putchar('\n');
	for (uint32_t i = 0; i < range.count; i++) {
		uint32_t es = range.first + i;

		if (i > 0 && model->es[es - 1].end < model->es[es].start)
			print_gap(model, es - 1, es);
		print_elementary(model, i, es);
	}
	putchar('\n');
}

/* ---- dependencies and categories ---- */

static void print_side(const struct clew_model *model, const uint32_t *endpoints, uint32_t count,
		       bool is_origin)
{
	if (count == 0)
		fputs("nothing", stdout);
	for (uint32_t i = 0; i < count; i++) {
		const struct clew_es *es = &model->es[endpoints[i]];

		if (i > 0)
			fputs(", ", stdout);
		print_span_path(model, es->span);
		printf("@%s", MOMENT(model, is_origin ? es->end : es->start));
	}
}

static void print_dependency(const struct clew_model *model, uint32_t number)
{
	static const char *const modes[] = {
		[CLEW_MODE_SINGLE] = "", [CLEW_MODE_AND] = "all of ", [CLEW_MODE_OR] = "any of "};
	const struct clew_dependency *dependency = &model->dependencies[number];

	printf("%6" PRIu32 "  ", number + 1);
	clew_print_safe(stdout, type_name(model, number));
	/* Most types are shorter. */
	printf("%*s  %s",
	       (int)strlen(type_name(model, number)) < TYPE_WIDTH
		       ? TYPE_WIDTH - (int)strlen(type_name(model, number))
		       : 0,
	       "", modes[dependency->mode]);
	print_side(model, model->origins + dependency->origins.first, dependency->origins.count,
		   true);
	fputs(" -> ", stdout);
	print_side(model, model->destinations + dependency->destinations.first,
		   dependency->destinations.count, false);
	print_attributes(model, dependency->attributes);
	putchar('\n');
}

/* Prints the categories and the spans in them. */
static void print_categories(const struct clew_model *model, uint32_t hierarchy)
{
	for (uint32_t i = 0; i < model->category_count; i++) {
		uint32_t count;
		const uint32_t *spans;
		char *path;

		if (model->categories[i].hierarchy != hierarchy)
			continue;
		path = clew_model_category_path(model, i);
		spans = clew_model_category_spans(model, i, &count);
		fputs("  ", stdout);
		clew_print_safe(stdout, path ?: "(no memory for its path)");
		free(path);
		for (uint32_t j = 0; j < count; j++) {
			fputs(j ? ", " : ": ", stdout);
			print_span_path(model, spans[j]);
		}
		putchar('\n');
	}
}

static void print_text(const struct clew_model *model)
{
	static const struct {
		uint32_t unit;
		const char *name;
	} units[] = {{1, "ns"}, {1000, "us"}, {1000000, "ms"}, {1000000000, "s"}};

	for (uint32_t i = 0; i < model->span_count; i++)
		print_span(model, i);
	if (model->dependency_count)
		puts("Dependencies:");
	for (uint32_t i = 0; i < model->dependency_count; i++)
		print_dependency(model, i);
	if (model->dependency_count)
		putchar('\n');
	for (uint32_t i = 0; i < model->hierarchy_count; i++) {
		fputs("Hierarchy ", stdout);
		clew_print_safe(stdout, clew_model_string(model, model->hierarchies[i]));
		puts(":");
		print_categories(model, i);
		putchar('\n');
	}
	printf("%" PRIu32 " spans, %" PRIu32 " elementary spans, %" PRIu32 " dependencies, %" PRIu32
	       " marks; times in ",
	       model->span_count, model->es_count, model->dependency_count, model->mark_count);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (units[i].unit == model->unit)
			puts(units[i].name);
	clew_print_model_truth(stdout, model, CLEW_WHOLE);
}

static void print_json(const struct clew_model *model)
{
	struct clew_json json = {.out = stdout};

	clew_json_answer(&json);
	clew_json_model(&json, model);
	clew_json_model_truth(&json, model, CLEW_WHOLE);
	clew_json_object_end(&json);
	clew_json_end(&json);
}

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
		print_json(model);
	else
		print_text(model);
	clew_model_free(model);
	return CLEW_EXIT_DONE;
}
