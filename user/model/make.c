/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A maker: its beginning and end, names, categories, attributes, waits.
 * Operations on time are in make_operations.c.
 */
#include "base/hash.h"
#include "model/make_internal.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define LIMIT (CLEW_NONE - 1)

int make_fail(struct clew_maker *maker, int r, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(maker->error, sizeof(maker->error), format, arguments);
	va_end(arguments);
	return r;
}

int make_dead(struct clew_maker *maker)
{
	maker->dead = -ENOMEM;
	return make_fail(maker, -ENOMEM, "not enough memory");
}

int make_begin(struct clew_maker *maker, bool structural)
{
	maker->error[0] = 0;
	if (maker->dead)
		return make_fail(maker, maker->dead,
				 "what was made is not whole: it can only be freed");
	if (structural && maker->bulk)
		return make_fail(maker, -EINVAL,
				 "the trace was made at once: nothing can be added to it");
	return 0;
}

int make_room(struct clew_maker *maker, size_t count, size_t more, const char *what)
{
	if (count <= maker->limit && more <= maker->limit - count)
		return 0;
	return make_fail(maker, -E2BIG, "more than %u %s", maker->limit, what);
}

const char *make_moment(const struct clew_maker *maker, clew_time at, char text[static 32])
{
	return clew_model_moment(maker->model, at, text);
}

const char *clew_maker_error(const struct clew_maker *maker)
{
	return maker->error;
}

static int add_string(struct clew_maker *maker, const char *text, uint32_t *ret_string)
{
	int r = strings_add(model_strings(maker->model), text, ret_string);

	if (r == -E2BIG)
		return make_fail(maker, r, "more than 4 GB of names");
	return r < 0 ? make_dead(maker) : 0;
}

int clew_maker_new(struct clew_maker **ret_maker)
{
	struct clew_maker *maker = calloc(1, sizeof(*maker));
	uint32_t type, none = 0;

	if (!maker)
		return -ENOMEM;
	maker->spans.item = sizeof(struct make_span);
	maker->dependencies.item = sizeof(struct make_dependency);
	maker->endpoints.item = sizeof(struct make_endpoint);
	maker->last_children.item = sizeof(uint32_t);
	maker->last_roots.item = sizeof(uint32_t);
	maker->last_root = CLEW_NONE;
	maker->limit = LIMIT;
	for (int i = 0; i < CLEW_SEGMENT_KIND_COUNT; i++)
		maker->kind_waits[i] = CLEW_NONE;
	maker->model = model_new();
	if (!maker->model ||
	    model_add(model_column(maker->model, COLUMN_ATTRIBUTE_LIST), &none) < 0 ||
	    clew_maker_type(maker, "call", &type) < 0 ||
	    clew_maker_type(maker, "return", &type) < 0) {
		clew_maker_free(maker);
		return -ENOMEM;
	}
	*ret_maker = maker;
	return 0;
}

void clew_maker_free(struct clew_maker *maker)
{
	if (!maker)
		return;
	for (size_t i = 0; i < maker->spans.count; i++) {
		sequence_done(&make_span(maker, (uint32_t)i)->es);
		sequence_done(&make_span(maker, (uint32_t)i)->marks);
	}
	vector_done(&maker->spans);
	vector_done(&maker->dependencies);
	vector_done(&maker->endpoints);
	vector_done(&maker->last_children);
	vector_done(&maker->last_roots);
	map_done(&maker->span_index);
	map_done(&maker->category_index);
	map_done(&maker->name_index);
	map_done(&maker->placement_index);
	map_done(&maker->attribute_index);
	clew_model_free(maker->model);
	free(maker);
}

void clew_maker_set_unit(struct clew_maker *maker, uint32_t unit)
{
	maker->model->unit = unit > 0 && unit <= 1000000000 ? unit : 1;
}

/* ---- names ---- */

static int find_or_add_name(struct clew_maker *maker, const char *name, uint32_t kind,
			    struct vector *column, const char *what, uint32_t limit,
			    uint32_t *ret_number, bool *ret_is_new)
{
	const uint64_t *found;
	uint32_t string;
	int r = add_string(maker, name, &string);

	if (r < 0)
		return r;
	found = map_get(&maker->name_index, string, kind);
	*ret_is_new = !found;
	if (found) {
		*ret_number = (uint32_t)*found;
		return 0;
	}
	if (column->count > limit)
		return make_fail(maker, -E2BIG, "more than %u %s", limit, what);
	if (map_set(&maker->name_index, string, kind, column->count) < 0 ||
	    model_add(column, &string) < 0)
		return make_dead(maker);
	*ret_number = (uint32_t)column->count - 1;
	return 0;
}

int clew_maker_type(struct clew_maker *maker, const char *name, uint32_t *ret_type)
{
	struct vector *types = model_column(maker->model, COLUMN_TYPE);
	bool is_new;
	int r = make_begin(maker, false);

	/* A dependency has 24 bits for its type. */
	return r < 0 ? r
		     : find_or_add_name(maker, name, MAKE_TYPE, types, "dependency types",
					(1u << 24) - 1, ret_type, &is_new);
}

int clew_maker_hierarchy(struct clew_maker *maker, const char *name, uint32_t *ret_hierarchy)
{
	struct vector *hierarchies = model_column(maker->model, COLUMN_HIERARCHY);
	uint32_t none = CLEW_NONE;
	bool is_new;
	int r = make_begin(maker, false);

	if (r == 0)
		r = find_or_add_name(maker, name, MAKE_HIERARCHY, hierarchies, "hierarchies",
				     maker->limit, ret_hierarchy, &is_new);
	if (r < 0)
		return r;
	if (!is_new)
		return make_fail(maker, -EEXIST, "there is a hierarchy '%.80s' already", name);
	if (model_add(model_column(maker->model, COLUMN_ROOT_CATEGORY), &none) < 0 ||
	    model_add(&maker->last_roots, &none) < 0)
		return make_dead(maker);
	return 0;
}

int clew_maker_category(struct clew_maker *maker, uint32_t hierarchy, uint32_t parent,
			const char *name, uint32_t *ret_category)
{
	struct vector *categories = model_column(maker->model, COLUMN_CATEGORY);
	struct clew_category category = {.hierarchy = hierarchy,
					 .parent = parent,
					 .first_child = CLEW_NONE,
					 .next_sibling = CLEW_NONE};
	uint32_t number = (uint32_t)categories->count, none = CLEW_NONE, *first, *last;
	struct clew_category *all;
	const uint64_t *found;
	int r = make_begin(maker, false);

	if (r < 0)
		return r;
	all = categories->data;
	if (hierarchy >= model_column(maker->model, COLUMN_HIERARCHY)->count)
		return make_fail(maker, -ENOENT, "there is no such hierarchy");
	if (parent != CLEW_NONE &&
	    (parent >= categories->count || all[parent].hierarchy != hierarchy))
		return make_fail(maker, -ENOENT,
				 "there is no such parent category in the hierarchy");
	r = add_string(maker, name, &category.name);
	if (r < 0)
		return r;
	found = map_get(&maker->category_index, (uint64_t)parent << 32 | category.name, hierarchy);
	if (found) {
		*ret_category = (uint32_t)*found;
		return 0;
	}
	r = make_room(maker, categories->count, 1, "categories");
	if (r < 0)
		return r;
	if (map_set(&maker->category_index, (uint64_t)parent << 32 | category.name, hierarchy,
		    number) < 0 ||
	    model_add(categories, &category) < 0 || model_add(&maker->last_children, &none) < 0)
		return make_dead(maker);
	all = categories->data;
	first = parent == CLEW_NONE
			? (uint32_t *)model_column(maker->model, COLUMN_ROOT_CATEGORY)->data +
				  hierarchy
			: &all[parent].first_child;
	last = parent == CLEW_NONE ? (uint32_t *)maker->last_roots.data + hierarchy
				   : (uint32_t *)maker->last_children.data + parent;
	if (*last == CLEW_NONE)
		*first = number;
	else
		all[*last].next_sibling = number;
	*last = number;
	*ret_category = number;
	return 0;
}

int clew_maker_place(struct clew_maker *maker, uint32_t root_span, uint32_t category)
{
	struct vector *placements = model_column(maker->model, COLUMN_PLACEMENT);
	const struct clew_category *categories = model_column(maker->model, COLUMN_CATEGORY)->data;
	struct model_placement placement = {.span = root_span, .category = category};
	int r = make_begin(maker, false);

	if (r < 0)
		return r;
	if (root_span >= model_column(maker->model, COLUMN_SPAN)->count)
		return make_fail(maker, -ENOENT, "there is no such span");
	if (category >= model_column(maker->model, COLUMN_CATEGORY)->count)
		return make_fail(maker, -ENOENT, "there is no such category");
	if (make_model_span(maker, root_span)->parent != CLEW_NONE)
		return make_fail(maker, -EINVAL,
				 "only a root span is in a category: its children are with it");
	placement.hierarchy = categories[category].hierarchy;
	if (map_get(&maker->placement_index, root_span, placement.hierarchy))
		return make_fail(maker, -EEXIST,
				 "the span is in a category of that hierarchy already");
	r = make_room(maker, placements->count, 1, "placements");
	if (r < 0)
		return r;
	if (map_set(&maker->placement_index, root_span, placement.hierarchy, category) < 0 ||
	    model_add(placements, &placement) < 0)
		return make_dead(maker);
	return 0;
}

/* ---- attributes and waits ---- */

uint64_t make_hash_attributes(const struct clew_attribute *attributes, size_t count)
{
	uint64_t hash = count;

	for (size_t i = 0; i < count; i++)
		hash = hash_mix(hash, (uint64_t)attributes[i].key << 32 | attributes[i].value);
	return hash;
}

/* Removes the attributes of a list that was not made. */
static int drop_attributes(struct clew_maker *maker, size_t count, int r)
{
	model_column(maker->model, COLUMN_ATTRIBUTE)->count = count;
	return r;
}

int clew_maker_attributes(struct clew_maker *maker, const char *const *pairs, size_t pair_count,
			  uint32_t *ret_attributes)
{
	struct vector *attributes = model_column(maker->model, COLUMN_ATTRIBUTE);
	struct vector *lists = model_column(maker->model, COLUMN_ATTRIBUTE_LIST);
	size_t first = attributes->count;
	const uint64_t *found;
	uint64_t hash;
	uint32_t end;
	int r = make_begin(maker, false);

	if (r == 0)
		r = make_room(maker, first, pair_count, "attributes");
	if (r < 0)
		return r;
	*ret_attributes = CLEW_NONE;
	if (pair_count == 0)
		return 0;
	for (size_t i = 0; i < pair_count; i++) {
		struct clew_attribute attribute;

		r = add_string(maker, pairs[2 * i], &attribute.key);
		if (r == 0)
			r = add_string(maker, pairs[2 * i + 1], &attribute.value);
		if (r == 0 && model_add(attributes, &attribute) < 0)
			r = make_dead(maker);
		if (r < 0)
			return drop_attributes(maker, first, r);
	}
	hash = make_hash_attributes((struct clew_attribute *)attributes->data + first, pair_count);
	found = map_get(&maker->attribute_index, hash, (uint32_t)pair_count);
	if (found) {
		const struct clew_attribute *all = attributes->data;
		uint32_t begin = ((const uint32_t *)lists->data)[*found];

		/* If two lists have the same hash, only the first is found
		 * again. */
		if (memcmp(all + begin, all + first, pair_count * sizeof(*all)) == 0) {
			*ret_attributes = (uint32_t)*found;
			return drop_attributes(maker, first, 0);
		}
	} else if (map_set(&maker->attribute_index, hash, (uint32_t)pair_count, lists->count - 1) <
		   0) {
		return make_dead(maker);
	}
	end = (uint32_t)attributes->count;
	if (model_add(lists, &end) < 0)
		return make_dead(maker);
	*ret_attributes = (uint32_t)lists->count - 2;
	return 0;
}

static int check_attributes(struct clew_maker *maker, uint32_t attributes)
{
	if (attributes != CLEW_NONE &&
	    attributes >= model_column(maker->model, COLUMN_ATTRIBUTE_LIST)->count - 1)
		return make_fail(maker, -ENOENT, "there is no such attribute list");
	return 0;
}

int make_wait(struct clew_maker *maker, uint32_t kind, uint32_t attributes, uint32_t *ret_wait)
{
	struct vector *waits = model_column(maker->model, COLUMN_WAIT);
	struct clew_model_wait wait = {.kind = kind, .attributes = attributes};
	int r;

	*ret_wait = CLEW_NONE;
	if (kind == CLEW_NONE)
		return attributes == CLEW_NONE
			       ? 0
			       : make_fail(maker, -EINVAL, "a wait with attributes has a kind");
	if (kind >= CLEW_SEGMENT_KIND_COUNT)
		return make_fail(maker, -EINVAL, "there is no such kind of wait");
	r = check_attributes(maker, attributes);
	if (r < 0)
		return r;
	if (attributes == CLEW_NONE && maker->kind_waits[kind] != CLEW_NONE) {
		*ret_wait = maker->kind_waits[kind];
		return 0;
	}
	r = make_room(maker, waits->count, 1, "waits");
	if (r < 0)
		return r;
	*ret_wait = (uint32_t)waits->count;
	if (model_add(waits, &wait) < 0)
		return make_dead(maker);
	if (attributes == CLEW_NONE)
		maker->kind_waits[kind] = *ret_wait;
	return 0;
}

int clew_maker_set_span_attributes(struct clew_maker *maker, uint32_t span, uint32_t attributes)
{
	int r = make_begin(maker, false);

	if (r == 0)
		r = check_attributes(maker, attributes);
	if (r < 0)
		return r;
	if (span >= model_column(maker->model, COLUMN_SPAN)->count)
		return make_fail(maker, -ENOENT, "there is no such span");
	make_model_span(maker, span)->attributes = attributes;
	return 0;
}
