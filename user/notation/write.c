/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Writes a trace as notation, by its plan (plan.h).
 */
#include "base/vector.h"
#include "notation/names.h"
#include "notation/plan.h"
#include "notation/text.h"
#include <clew/notation.h>
#include <clew/tokens.h>
#include <errno.h>
#include <stdlib.h>

struct writer {
	const struct clew_model *model;
	struct plan plan;
	uint32_t *numbers; /* of each span among those of its parent and name, from 1; NULL: all are
			      1 */
	struct vector ancestors; /* uint32_t, while a path is written */
	bool places_apart; /* root spans are in categories in another order than they were made */
	struct text text;
};

static void write_name(struct writer *writer, uint32_t string)
{
	text_name(&writer->text, clew_model_string(writer->model, string), "");
}

static void write_number_of(struct writer *writer, uint32_t span)
{
	if (!writer->numbers || writer->numbers[span] == 1)
		return;
	text_byte(&writer->text, '[');
	text_number(&writer->text, writer->numbers[span]);
	text_byte(&writer->text, ']');
}

/* `is_new`: the line makes the span, so its own number is not written. */
static int write_path(struct writer *writer, uint32_t span, bool is_new)
{
	const struct clew_span *spans = writer->model->spans;
	uint32_t *ancestors;

	if (spans[span].parent != CLEW_NONE) {
		writer->ancestors.count = 0;
		for (uint32_t at = spans[span].parent; at != CLEW_NONE; at = spans[at].parent) {
			if (vector_reserve(&writer->ancestors, writer->ancestors.count + 1) < 0)
				return -ENOMEM;
			ancestors = writer->ancestors.data;
			ancestors[writer->ancestors.count++] = at;
		}
		ancestors = writer->ancestors.data;
		for (size_t i = writer->ancestors.count; i-- > 0;) {
			write_name(writer, spans[ancestors[i]].name);
			write_number_of(writer, ancestors[i]);
			text_byte(&writer->text, '/');
		}
	}
	write_name(writer, spans[span].name);
	if (!is_new)
		write_number_of(writer, span);
	return 0;
}

static void write_attributes(struct writer *writer, uint32_t list)
{
	const struct clew_model *model = writer->model;

	if (list == CLEW_NONE)
		return;
	for (uint32_t i = model->attribute_lists[list]; i < model->attribute_lists[list + 1]; i++) {
		text_byte(&writer->text, ' ');
		text_name(&writer->text, clew_model_string(model, model->attributes[i].key), ":=");
		text_byte(&writer->text, '=');
		text_value(&writer->text, clew_model_string(model, model->attributes[i].value));
	}
}

/* ---- declarations ---- */

static void write_unit(struct writer *writer)
{
	switch (writer->model->unit) {
	case 1000:
		text_words(&writer->text, "unit us\n");
		break;
	case 1000000:
		text_words(&writer->text, "unit ms\n");
		break;
	case 1000000000:
		text_words(&writer->text, "unit s\n");
		break;
	}
}

static void write_hierarchies(struct writer *writer)
{
	if (!writer->model->hierarchy_count)
		return;
	text_words(&writer->text, "hierarchy");
	for (uint32_t i = 0; i < writer->model->hierarchy_count; i++) {
		text_byte(&writer->text, ' ');
		write_name(writer, writer->model->hierarchies[i]);
	}
	text_byte(&writer->text, '\n');
}

/* Needed only if the first uses of types are in another order. */
static void write_types(struct writer *writer)
{
	const struct clew_model *model = writer->model;
	uint32_t known = CLEW_DEPENDENCY_RETURN + 1;

	for (uint32_t i = 0; i < model->dependency_count && known <= model->type_count; i++) {
		if (model->dependencies[i].type == known)
			known++;
		else if (model->dependencies[i].type > known)
			break;
	}
	if (known == model->type_count)
		return;
	text_words(&writer->text, "type");
	for (uint32_t i = CLEW_DEPENDENCY_RETURN + 1; i < model->type_count; i++) {
		text_byte(&writer->text, ' ');
		write_name(writer, model->types[i]);
	}
	text_byte(&writer->text, '\n');
}

static void write_category_path(struct writer *writer, uint32_t category)
{
	const struct clew_category *categories = writer->model->categories;
	uint32_t depth = 0;

	for (uint32_t at = category; at != CLEW_NONE; at = categories[at].parent)
		depth++;
	/* Trees are small and flat, so each name climbs to its ancestor
	 * anew. */
	while (depth-- > 0) {
		uint32_t at = category;

		for (uint32_t i = 0; i < depth; i++)
			at = categories[at].parent;
		write_name(writer, categories[at].name);
		if (depth)
			text_byte(&writer->text, '/');
	}
}

/* The line of its first child makes a category if it comes next. */
static void write_categories(struct writer *writer)
{
	const struct clew_model *model = writer->model;

	for (uint32_t i = 0; i < model->category_count; i++) {
		if (i + 1 < model->category_count && model->categories[i + 1].parent == i)
			continue;
		text_words(&writer->text, "category ");
		write_name(writer, model->hierarchies[model->categories[i].hierarchy]);
		text_byte(&writer->text, ' ');
		write_category_path(writer, i);
		text_byte(&writer->text, '\n');
	}
}

/* HIERARCHY:PATH */
static void write_placement(struct writer *writer, uint32_t category)
{
	const struct clew_model *model = writer->model;

	/* A colon before any equals sign distinguishes it from an attribute. */
	text_name(
		&writer->text,
		clew_model_string(model, model->hierarchies[model->categories[category].hierarchy]),
		":=");
	text_byte(&writer->text, ':');
	write_category_path(writer, category);
}

/* ---- spans ---- */

static void write_interval(struct writer *writer, clew_time start, clew_time end)
{
	text_byte(&writer->text, '[');
	text_moment(&writer->text, start);
	text_byte(&writer->text, ',');
	text_moment(&writer->text, end);
	text_byte(&writer->text, ']');
}

static int write_span_line(struct writer *writer, uint32_t number)
{
	const struct clew_model *model = writer->model;
	const struct clew_span *span = &model->spans[number];
	bool is_placed = false;
	int r;

	text_words(&writer->text, "span ");
	r = write_path(writer, number, true);
	if (r < 0)
		return r;
	text_byte(&writer->text, ' ');
	write_interval(writer, span->start, span->end);
	if (span->parent != CLEW_NONE && writer->plan.calls[number] == CLEW_NONE)
		text_words(&writer->text, " no-call");
	for (uint32_t i = 0;
	     span->parent == CLEW_NONE && !writer->places_apart && i < model->hierarchy_count;
	     i++) {
		uint32_t category = clew_model_category_of(model, number, i);

		if (category == CLEW_NONE)
			continue;
		if (!is_placed)
			text_words(&writer->text, " in");
		text_byte(&writer->text, ' ');
		write_placement(writer, category);
		is_placed = true;
	}
	write_attributes(writer, span->attributes);
	text_byte(&writer->text, '\n');
	return 0;
}

static int write_gap(struct writer *writer, uint32_t before, uint32_t behind)
{
	const struct clew_model *model = writer->model;
	uint32_t wait = model->es[behind].wait;
	int r;

	if (wait == CLEW_NONE)
		text_words(&writer->text, "suspend ");
	else
		text_words(&writer->text, "wait ");
	r = write_path(writer, model->es[behind].span, false);
	text_byte(&writer->text, ' ');
	text_moment(&writer->text, model->es[before].end);
	text_words(&writer->text, "..");
	text_moment(&writer->text, model->es[behind].start);
	if (wait != CLEW_NONE) {
		const char *kind = clew_wait_kind_name(model->waits[wait].kind);

		text_byte(&writer->text, ' ');
		text_bytes(&writer->text, kind, strlen(kind));
		write_attributes(writer, model->waits[wait].attributes);
	}
	text_byte(&writer->text, '\n');
	return r;
}

/* A split for each boundary between ESs that abut; it divides the last ES
 * there. */
static int write_splits(struct writer *writer, uint32_t number)
{
	const struct clew_model *model = writer->model;
	struct clew_range range = model->spans[number].elementary;
	bool is_begun = false;
	int r = 0;

	for (uint32_t i = range.first + 1; i < range.first + range.count && r == 0; i++) {
		if (model->es[i - 1].end != model->es[i].start)
			continue;
		if (!is_begun) {
			text_words(&writer->text, "split ");
			r = write_path(writer, number, false);
			is_begun = true;
		}
		text_byte(&writer->text, ' ');
		text_moment(&writer->text, model->es[i].start);
	}
	if (is_begun)
		text_byte(&writer->text, '\n');
	return r;
}

static int write_span(struct writer *writer, uint32_t number)
{
	const struct clew_model *model = writer->model;
	struct clew_range range = model->spans[number].elementary;
	int r = write_span_line(writer, number);

	for (uint32_t i = range.first + 1; i < range.first + range.count && r == 0; i++)
		if (model->es[i - 1].end < model->es[i].start &&
		    !(writer->plan.es[i] & PLAN_ES_GAP_IMPLIED))
			r = write_gap(writer, i - 1, i);
	return r == 0 && writer->plan.is_exact[number] ? write_splits(writer, number) : r;
}

/* ---- dependencies and marks ---- */

/* The number of an ES among those that touch a moment at which it begins or
 * ends. */
static uint32_t number_at(const struct clew_model *model, uint32_t es, clew_time at)
{
	uint32_t first = es, begin = model->spans[model->es[es].span].elementary.first;

	while (first > begin && model->es[first - 1].end == at)
		first--;
	return es - first;
}

static int write_endpoint(struct writer *writer, uint32_t number, bool is_origin)
{
	const struct clew_es *es = &writer->model->es[number];
	clew_time at = is_origin ? es->end : es->start;
	int r = write_path(writer, es->span, false);

	text_byte(&writer->text, '@');
	text_moment(&writer->text, at);
	if (writer->plan.is_exact[es->span]) {
		text_byte(&writer->text, ':');
		text_number(&writer->text, number_at(writer->model, number, at));
	} else if (is_origin && (writer->plan.es[number] & PLAN_ES_EARLY)) {
		text_words(&writer->text, ":early");
	} else if (!is_origin && (writer->plan.es[number] & PLAN_ES_LATE)) {
		text_words(&writer->text, ":late");
	}
	return r;
}

static int write_side(struct writer *writer, const uint32_t *endpoints, uint32_t count,
		      bool is_origin, bool in_braces)
{
	int r = 0;

	if (count == 0) {
		text_byte(&writer->text, '-');
		return 0;
	}
	if (in_braces)
		text_byte(&writer->text, '{');
	for (uint32_t i = 0; i < count && r == 0; i++) {
		if (i > 0)
			text_words(&writer->text, ", ");
		r = write_endpoint(writer, endpoints[i], is_origin);
	}
	if (in_braces)
		text_byte(&writer->text, '}');
	return r;
}

static int write_dependency(struct writer *writer, uint32_t number)
{
	const struct clew_model *model = writer->model;
	const struct clew_dependency *dependency = &model->dependencies[number];
	bool in_braces = dependency->origins.count > 1 ||
			 (dependency->mode != CLEW_MODE_SINGLE && dependency->origins.count == 1);
	int r;

	text_words(&writer->text, "dep ");
	write_name(writer, model->types[dependency->type]);
	if (dependency->mode == CLEW_MODE_AND)
		text_words(&writer->text, " and ");
	else if (dependency->mode == CLEW_MODE_OR)
		text_words(&writer->text, " or ");
	else
		text_byte(&writer->text, ' ');
	r = write_side(writer, model->origins + dependency->origins.first,
		       dependency->origins.count, true, in_braces);
	if (r < 0)
		return r;
	text_words(&writer->text, " -> ");
	r = write_side(writer, model->destinations + dependency->destinations.first,
		       dependency->destinations.count, false, dependency->destinations.count > 1);
	write_attributes(writer, dependency->attributes);
	text_byte(&writer->text, '\n');
	return r;
}

/* Marks of one moment are in order from the newest, and must be read from the
 * oldest. */
static int write_mark(struct writer *writer, uint32_t number, const struct clew_mark *mark)
{
	const struct clew_model *model = writer->model;
	const struct clew_es *es = &model->es[number];
	uint32_t place = mark->at == es->start || mark->at == es->end
				 ? number_at(model, number, mark->at)
				 : 0;
	int r;

	text_words(&writer->text, "mark ");
	r = write_path(writer, es->span, false);
	text_byte(&writer->text, ' ');
	write_name(writer, mark->label);
	text_byte(&writer->text, '@');
	text_moment(&writer->text, mark->at);
	if (place > 0) {
		text_byte(&writer->text, ':');
		text_number(&writer->text, place);
	} else if (es->start == es->end && es->in == CLEW_NONE && es->out == CLEW_NONE) {
		/* Simplifying may have removed its ES. */
		text_words(&writer->text, " split-gap");
	}
	text_byte(&writer->text, '\n');
	return r;
}

static int write_marks(struct writer *writer)
{
	const struct clew_model *model = writer->model;
	int r = 0;

	for (uint32_t i = 0; model->mark_count && i < model->es_count && r == 0; i++) {
		struct clew_range range = clew_model_marks(model, i);
		const struct clew_mark *marks = model->marks + range.first;

		for (uint32_t from = 0, to; from < range.count && r == 0; from = to) {
			for (to = from + 1; to < range.count && marks[to].at == marks[from].at;)
				to++;
			for (uint32_t j = to; j-- > from && r == 0;)
				r = write_mark(writer, i, &marks[j]);
		}
	}
	return r;
}

/* ---- all of it ---- */

/* Numbers of spans that share their name with a sibling made before. */
static int number_spans(struct writer *writer)
{
	const struct clew_model *model = writer->model;
	struct names names;
	bool all_first = true;
	int r = 0;

	writer->numbers = malloc((model->span_count + 1) * sizeof(*writer->numbers));
	if (!writer->numbers)
		return -ENOMEM;
	names_begin(&names);
	for (uint32_t i = 0; i < model->span_count && r == 0; i++) {
		const char *name = (const char *)&model->spans[i].name;

		r = names_add(&names, model->spans[i].parent, name, sizeof(model->spans[i].name), i,
			      &writer->numbers[i]);
		all_first = all_first && r == 0 && writer->numbers[i] == 1;
	}
	names_done(&names);
	if (all_first) {
		free(writer->numbers);
		writer->numbers = NULL;
	}
	return r;
}

static bool is_placed_in_order(const struct clew_model *model)
{
	for (uint32_t i = 0; i < model->category_count; i++) {
		uint32_t count;
		const uint32_t *spans = clew_model_category_spans(model, i, &count);

		for (uint32_t j = 1; j < count; j++)
			if (spans[j] < spans[j - 1])
				return false;
	}
	return true;
}

static int write_places(struct writer *writer)
{
	const struct clew_model *model = writer->model;
	int r = 0;

	for (uint32_t i = 0; writer->places_apart && i < model->category_count; i++) {
		uint32_t count;
		const uint32_t *spans = clew_model_category_spans(model, i, &count);

		for (uint32_t j = 0; j < count && r == 0; j++) {
			text_words(&writer->text, "place ");
			r = write_path(writer, spans[j], false);
			text_words(&writer->text, " in ");
			write_placement(writer, i);
			text_byte(&writer->text, '\n');
		}
	}
	return r;
}

/* Dependencies from *next up to `end`, except those that lines of spans
 * make. */
static int write_dependencies(struct writer *writer, uint32_t *next, uint32_t end)
{
	int r = 0;

	for (; *next < end && r == 0; ++*next)
		if (!writer->plan.is_made[*next])
			r = write_dependency(writer, *next);
	return r;
}

static int write_all(struct writer *writer)
{
	const struct clew_model *model = writer->model;
	uint32_t next = 0;
	int r = 0;

	write_unit(writer);
	write_hierarchies(writer);
	write_types(writer);
	write_categories(writer);
	for (uint32_t i = 0; i < model->span_count && r == 0; i++) {
		if (writer->plan.calls[i] != CLEW_NONE)
			r = write_dependencies(writer, &next, writer->plan.calls[i]);
		if (r == 0)
			r = write_span(writer, i);
	}
	if (r == 0)
		r = write_places(writer);
	if (r == 0)
		r = write_dependencies(writer, &next, model->dependency_count);
	if (r == 0 && writer->plan.simplify)
		text_words(&writer->text, "simplify\n");
	return r < 0 ? r : write_marks(writer);
}

int clew_notation_write(const struct clew_model *model, FILE *out, char *message,
			size_t message_size)
{
	struct writer *writer = calloc(1, sizeof(*writer));
	int r;

	if (message_size)
		message[0] = '\0';
	if (!writer)
		return -ENOMEM;
	writer->model = model;
	writer->ancestors.item = sizeof(uint32_t);
	writer->text.out = out;
	writer->text.unit = model->unit;
	writer->places_apart = !is_placed_in_order(model);
	r = plan_make(&writer->plan, model, message, message_size);
	if (r == 0) {
		r = number_spans(writer);
		if (r == 0)
			r = write_all(writer);
		text_flush(&writer->text);
		plan_done(&writer->plan);
	}
	free(writer->numbers);
	vector_done(&writer->ancestors);
	free(writer);
	return r;
}
