/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * All of a causal trace. As text: a span with its elementary spans and the
 * waits between them, then dependencies, then categories.
 */
#include <clew/tokens.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "answers/model/model.h"
#include "answers/path/model_json.h"
#include "format/text.h"
#include "words/truth.h"

#define TYPE_WIDTH	  9
#define MOMENT(model, at) clew_model_moment(model, at, (char[32]){0})

static void print_span_path(FILE *out, const struct clew_model *model, uint32_t span)
{
	char *path = clew_model_span_path(model, span);

	clew_print_safe(out, path ?: "(no memory for its path)");
	free(path);
}

static void print_attributes(FILE *out, const struct clew_model *model, uint32_t list)
{
	if (list == CLEW_NONE)
		return;
	for (uint32_t i = model->attribute_lists[list]; i < model->attribute_lists[list + 1]; i++) {
		fputc(' ', out);
		clew_print_safe(out, clew_model_string(model, model->attributes[i].key));
		fputc('=', out);
		clew_print_safe(out, clew_model_string(model, model->attributes[i].value));
	}
}

static const char *type_name(const struct clew_model *model, uint32_t dependency)
{
	return clew_model_string(model, model->types[model->dependencies[dependency].type]);
}

static void print_gap(FILE *out, const struct clew_model *model, uint32_t before, uint32_t behind)
{
	uint32_t wait = model->es[behind].wait;

	fprintf(out, "        %s..%s ", MOMENT(model, model->es[before].end),
		MOMENT(model, model->es[behind].start));
	if (wait == CLEW_NONE) {
		fputs("suspended\n", out);
		return;
	}
	fprintf(out, "waits: %s", clew_wait_kind_name(model->waits[wait].kind));
	print_attributes(out, model, model->waits[wait].attributes);
	fputc('\n', out);
}

static void print_link(FILE *out, const struct clew_model *model, const char *arrow,
		       uint32_t dependency)
{
	if (dependency == CLEW_NONE)
		return;
	fprintf(out, "  %s %" PRIu32 " ", arrow, dependency + 1);
	clew_print_safe(out, type_name(model, dependency));
}

static void print_elementary(FILE *out, const struct clew_model *model, uint32_t number,
			     uint32_t es)
{
	struct clew_range marks = clew_model_marks(model, es);

	fprintf(out, "  %4" PRIu32 "  [%s,%s]", number, MOMENT(model, model->es[es].start),
		MOMENT(model, model->es[es].end));
	print_link(out, model, "<-", model->es[es].in);
	print_link(out, model, "->", model->es[es].out);
	for (uint32_t i = marks.first; i < marks.first + marks.count; i++) {
		fputs("  {", out);
		clew_print_safe(out, clew_model_string(model, model->marks[i].label));
		fprintf(out, "@%s}", MOMENT(model, model->marks[i].at));
	}
	fputc('\n', out);
}

static void print_span(FILE *out, const struct clew_model *model, uint32_t number)
{
	const struct clew_span *span = &model->spans[number];
	struct clew_range range = span->elementary;

	print_span_path(out, model, number);
	fprintf(out, " [%s,%s]", MOMENT(model, span->start), MOMENT(model, span->end));
	print_attributes(out, model, span->attributes);
	fputc('\n', out);
	for (uint32_t i = 0; i < range.count; i++) {
		uint32_t es = range.first + i;

		if (i > 0 && model->es[es - 1].end < model->es[es].start)
			print_gap(out, model, es - 1, es);
		print_elementary(out, model, i, es);
	}
	fputc('\n', out);
}

static void print_side(FILE *out, const struct clew_model *model, const uint32_t *endpoints,
		       uint32_t count, bool is_origin)
{
	if (count == 0)
		fputs("nothing", out);
	for (uint32_t i = 0; i < count; i++) {
		const struct clew_es *es = &model->es[endpoints[i]];

		if (i > 0)
			fputs(", ", out);
		print_span_path(out, model, es->span);
		fprintf(out, "@%s", MOMENT(model, is_origin ? es->end : es->start));
	}
}

static void print_dependency(FILE *out, const struct clew_model *model, uint32_t number)
{
	static const char *const modes[] = {
		[CLEW_MODE_SINGLE] = "", [CLEW_MODE_AND] = "all of ", [CLEW_MODE_OR] = "any of "};
	const struct clew_dependency *dependency = &model->dependencies[number];

	fprintf(out, "%6" PRIu32 "  ", number + 1);
	clew_print_safe(out, type_name(model, number));
	/* Most types are shorter. */
	fprintf(out, "%*s  %s",
		(int)strlen(type_name(model, number)) < TYPE_WIDTH
			? TYPE_WIDTH - (int)strlen(type_name(model, number))
			: 0,
		"", modes[dependency->mode]);
	print_side(out, model, model->origins + dependency->origins.first,
		   dependency->origins.count, true);
	fputs(" -> ", out);
	print_side(out, model, model->destinations + dependency->destinations.first,
		   dependency->destinations.count, false);
	print_attributes(out, model, dependency->attributes);
	fputc('\n', out);
}

/* Prints the categories and the spans in them. */
static void print_categories(FILE *out, const struct clew_model *model, uint32_t hierarchy)
{
	for (uint32_t i = 0; i < model->category_count; i++) {
		uint32_t count;
		const uint32_t *spans;
		char *path;

		if (model->categories[i].hierarchy != hierarchy)
			continue;
		path = clew_model_category_path(model, i);
		spans = clew_model_category_spans(model, i, &count);
		fputs("  ", out);
		clew_print_safe(out, path ?: "(no memory for its path)");
		free(path);
		for (uint32_t j = 0; j < count; j++) {
			fputs(j ? ", " : ": ", out);
			print_span_path(out, model, spans[j]);
		}
		fputc('\n', out);
	}
}

void clew_print_dump(FILE *out, const struct clew_model *model)
{
	static const struct {
		uint32_t unit;
		const char *name;
	} units[] = {{1, "ns"}, {1000, "us"}, {1000000, "ms"}, {1000000000, "s"}};

	for (uint32_t i = 0; i < model->span_count; i++)
		print_span(out, model, i);
	if (model->dependency_count)
		fputs("Dependencies:\n", out);
	for (uint32_t i = 0; i < model->dependency_count; i++)
		print_dependency(out, model, i);
	if (model->dependency_count)
		fputc('\n', out);
	for (uint32_t i = 0; i < model->hierarchy_count; i++) {
		fputs("Hierarchy ", out);
		clew_print_safe(out, clew_model_string(model, model->hierarchies[i]));
		fputs(":\n", out);
		print_categories(out, model, i);
		fputc('\n', out);
	}
	fprintf(out,
		"%" PRIu32 " spans, %" PRIu32 " elementary spans, %" PRIu32
		" dependencies, %" PRIu32 " marks; times in ",
		model->span_count, model->es_count, model->dependency_count, model->mark_count);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (units[i].unit == model->unit)
			fprintf(out, "%s\n", units[i].name);
	clew_print_model_truth(out, model, CLEW_WHOLE);
}

void clew_json_dump(FILE *out, const struct clew_model *model)
{
	struct clew_json json = {.out = out};

	clew_json_answer(&json);
	clew_json_model(&json, model);
	clew_json_model_truth(&json, model, CLEW_WHOLE);
	clew_json_object_end(&json);
	clew_json_end(&json);
}
