/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A finished model: its columns, strings, categories and paths. Nothing here
 * changes a sealed model, so any number of threads may read it.
 */
#include "model/internal.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

static const size_t item_size[COLUMN_COUNT] = {
	[COLUMN_ES] = sizeof(struct clew_es),
	[COLUMN_SPAN] = sizeof(struct clew_span),
	[COLUMN_DEPENDENCY] = sizeof(struct clew_dependency),
	[COLUMN_ORIGIN] = sizeof(uint32_t),
	[COLUMN_DESTINATION] = sizeof(uint32_t),
	[COLUMN_MARK] = sizeof(struct clew_mark),
	[COLUMN_WAIT] = sizeof(struct clew_model_wait),
	[COLUMN_CATEGORY] = sizeof(struct clew_category),
	[COLUMN_HIERARCHY] = sizeof(uint32_t),
	[COLUMN_TYPE] = sizeof(uint32_t),
	[COLUMN_ATTRIBUTE_LIST] = sizeof(uint32_t),
	[COLUMN_ATTRIBUTE] = sizeof(struct clew_attribute),
	[COLUMN_ROOT_CATEGORY] = sizeof(uint32_t),
	[COLUMN_PLACEMENT] = sizeof(struct model_placement),
	[COLUMN_CATEGORY_BEGIN] = sizeof(uint32_t),
	[COLUMN_CATEGORY_SPAN] = sizeof(uint32_t),
};

_Static_assert(sizeof(struct clew_es) == 40, "an elementary span takes 40 bytes");
_Static_assert(sizeof(struct clew_dependency) == 24, "a dependency takes 24 bytes");

struct clew_model *model_new(void)
{
	struct clew_model *model = calloc(1, sizeof(*model));
	struct model_inside *inside = calloc(1, sizeof(*inside));

	if (!model || !inside) {
		free(model);
		free(inside);
		return NULL;
	}
	for (int i = 0; i < COLUMN_COUNT; i++)
		inside->column[i].item = item_size[i];
	strings_begin(&inside->strings);
	model->inside = inside;
	model->first_root = CLEW_NONE;
	model->unit = 1;
	return model;
}

void clew_model_free(struct clew_model *model)
{
	if (!model)
		return;
	for (int i = 0; i < COLUMN_COUNT; i++)
		vector_done(model_column(model, i));
	strings_done(model_strings(model));
	free(model->inside);
	free(model);
}

size_t clew_model_memory(const struct clew_model *model)
{
	size_t bytes =
		sizeof(*model) + sizeof(struct model_inside) + strings_memory(model_strings(model));

	for (int i = 0; i < COLUMN_COUNT; i++)
		bytes += model_column(model, i)->count * item_size[i];
	return bytes;
}

static int compare_placements(const void *one, const void *other)
{
	const struct model_placement *a = one, *b = other;

	if (a->span != b->span)
		return a->span < b->span ? -1 : 1;
	return a->hierarchy < b->hierarchy ? -1 : a->hierarchy > b->hierarchy;
}

/* The spans of each category in order of placement, then placements in the
 * order of look-ups. */
static int index_placements(struct clew_model *model)
{
	struct vector *placements = model_column(model, COLUMN_PLACEMENT),
		      *begins = model_column(model, COLUMN_CATEGORY_BEGIN);
	struct vector *spans = model_column(model, COLUMN_CATEGORY_SPAN);
	size_t categories = model_column(model, COLUMN_CATEGORY)->count;
	const struct model_placement *placement = placements->data;
	uint32_t *begin, *span;

	if (vector_reserve(begins, categories + 2) < 0 ||
	    vector_reserve(spans, placements->count) < 0)
		return -ENOMEM;
	begin = begins->data;
	span = spans->data;
	memset(begin, 0, (categories + 2) * sizeof(*begin));
	for (size_t i = 0; i < placements->count; i++)
		begin[placement[i].category + 2]++;
	for (size_t i = 2; i < categories + 2; i++)
		begin[i] += begin[i - 1];
	for (size_t i = 0; i < placements->count; i++)
		span[begin[placement[i].category + 1]++] = placement[i].span;
	begins->count = categories + 1;
	spans->count = placements->count;
	if (placements->count)
		qsort(placements->data, placements->count, sizeof(struct model_placement),
		      compare_placements);
	return 0;
}

int model_seal(struct clew_model *model)
{
	const struct vector *column = model_column(model, 0);
	int r = index_placements(model);

	if (r < 0)
		return r;
	model->es = column[COLUMN_ES].data;
	model->spans = column[COLUMN_SPAN].data;
	model->dependencies = column[COLUMN_DEPENDENCY].data;
	model->origins = column[COLUMN_ORIGIN].data;
	model->destinations = column[COLUMN_DESTINATION].data;
	model->marks = column[COLUMN_MARK].data;
	model->waits = column[COLUMN_WAIT].data;
	model->categories = column[COLUMN_CATEGORY].data;
	model->hierarchies = column[COLUMN_HIERARCHY].data;
	model->types = column[COLUMN_TYPE].data;
	model->attribute_lists = column[COLUMN_ATTRIBUTE_LIST].data;
	model->attributes = column[COLUMN_ATTRIBUTE].data;
	model->es_count = (uint32_t)column[COLUMN_ES].count;
	model->span_count = (uint32_t)column[COLUMN_SPAN].count;
	model->dependency_count = (uint32_t)column[COLUMN_DEPENDENCY].count;
	model->origin_count = (uint32_t)column[COLUMN_ORIGIN].count;
	model->destination_count = (uint32_t)column[COLUMN_DESTINATION].count;
	model->mark_count = (uint32_t)column[COLUMN_MARK].count;
	model->wait_count = (uint32_t)column[COLUMN_WAIT].count;
	model->category_count = (uint32_t)column[COLUMN_CATEGORY].count;
	model->hierarchy_count = (uint32_t)column[COLUMN_HIERARCHY].count;
	model->type_count = (uint32_t)column[COLUMN_TYPE].count;
	model->attribute_list_count = (uint32_t)column[COLUMN_ATTRIBUTE_LIST].count - 1;
	model->attribute_count = (uint32_t)column[COLUMN_ATTRIBUTE].count;
	return 0;
}

const char *clew_model_string(const struct clew_model *model, uint32_t string)
{
	const struct strings *strings = model_strings(model);

	return string < strings->offsets.count ? strings_get(strings, string) : "";
}

uint32_t clew_model_find_string(const struct clew_model *model, const char *text)
{
	return strings_find(model_strings(model), text);
}

const char *clew_model_moment(const struct clew_model *model, clew_time at, char text[static 32])
{
	uint64_t magnitude = at < 0 ? -(uint64_t)at : (uint64_t)at, unit = model->unit;
	/* The unit is a power of ten, a second at most. */
	unsigned fraction = (unsigned)(magnitude % unit * (1000000000 / unit));
	int length = snprintf(text, 32, "%s%llu.%09u", at < 0 ? "-" : "",
			      (unsigned long long)(magnitude / unit), fraction);

	while (text[length - 1] == '0')
		length--;
	text[text[length - 1] == '.' ? length - 1 : length] = 0;
	return text;
}

uint32_t clew_model_category_of(const struct clew_model *model, uint32_t root_span,
				uint32_t hierarchy)
{
	const struct vector *placements = model_column(model, COLUMN_PLACEMENT);
	const struct model_placement wanted = {.span = root_span, .hierarchy = hierarchy},
				     *found = NULL;

	if (placements->count)
		found = bsearch(&wanted, placements->data, placements->count, sizeof(wanted),
				compare_placements);
	return found ? found->category : CLEW_NONE;
}

const uint32_t *clew_model_category_spans(const struct clew_model *model, uint32_t category,
					  uint32_t *ret_count)
{
	const uint32_t *begin = model_column(model, COLUMN_CATEGORY_BEGIN)->data;
	const uint32_t *spans = model_column(model, COLUMN_CATEGORY_SPAN)->data;

	*ret_count = begin[category + 1] - begin[category];
	return *ret_count ? spans + begin[category] : NULL;
}

uint32_t clew_model_root_category(const struct clew_model *model, uint32_t hierarchy)
{
	const uint32_t *roots = model_column(model, COLUMN_ROOT_CATEGORY)->data;

	return roots[hierarchy];
}

const char *clew_model_attribute(const struct clew_model *model, uint32_t attribute_list,
				 const char *key)
{
	uint32_t string;

	if (attribute_list == CLEW_NONE)
		return NULL;
	string = clew_model_find_string(model, key);
	if (string == CLEW_NONE)
		return NULL;
	for (uint32_t i = model->attribute_lists[attribute_list];
	     i < model->attribute_lists[attribute_list + 1]; i++)
		if (model->attributes[i].key == string)
			return clew_model_string(model, model->attributes[i].value);
	return NULL;
}

size_t clew_model_escape(const char *name, char *out)
{
	char *at = out;

	for (; *name; name++) {
		if (isspace((unsigned char)*name) || strchr("/@{},()[]#\\", *name))
			*at++ = '\\';
		*at++ = *name;
	}
	*at = 0;
	return (size_t)(at - out);
}

struct lineage {
	uint32_t parent, name;
};

static struct lineage span_lineage(const struct clew_model *model, uint32_t span)
{
	return (struct lineage){model->spans[span].parent, model->spans[span].name};
}

static struct lineage category_lineage(const struct clew_model *model, uint32_t category)
{
	return (struct lineage){model->categories[category].parent,
				model->categories[category].name};
}

/* The first pass measures, the second one writes the names from the end to the
 * front. */
static char *path_of(const struct clew_model *model, uint32_t element,
		     struct lineage (*lineage)(const struct clew_model *, uint32_t))
{
	size_t room = 1, end, longest = 0;
	char *path, *name;

	for (uint32_t i = element; i != CLEW_NONE; i = lineage(model, i).parent) {
		size_t length = 2 * strlen(clew_model_string(model, lineage(model, i).name)) + 1;

		longest = length > longest ? length : longest;
		room += length;
	}
	path = malloc(room + longest);
	if (!path)
		return NULL;
	name = path + room;
	end = room - 1;
	path[end] = 0;
	for (uint32_t i = element; i != CLEW_NONE; i = lineage(model, i).parent) {
		size_t length =
			clew_model_escape(clew_model_string(model, lineage(model, i).name), name);

		if (i != element)
			path[--end] = '/';
		end -= length;
		memcpy(path + end, name, length);
	}
	memmove(path, path + end, room - end);
	return path;
}

char *clew_model_span_path(const struct clew_model *model, uint32_t span)
{
	return path_of(model, span, span_lineage);
}

char *clew_model_category_path(const struct clew_model *model, uint32_t category)
{
	return path_of(model, category, category_lineage);
}

uint32_t clew_model_es_at(const struct clew_model *model, uint32_t span, clew_time at)
{
	uint32_t low = model->spans[span].elementary.first,
		 end = low + model->spans[span].elementary.count, high = end;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (model->es[middle].end < at)
			low = middle + 1;
		else
			high = middle;
	}
	return low < end ? low : CLEW_NONE;
}
