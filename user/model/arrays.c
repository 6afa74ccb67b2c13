/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Makes a model of arrays that the caller has filled. Only the indexes are
 * checked, so that it is safe to read and check such a model.
 */
#include "model/internal.h"
#include <clew/model_make.h>
#include <clew/tokens.h>

/* Also true for CLEW_NONE, which plus 1 is 0. */
static inline bool fits(uint32_t index, uint32_t count)
{
	return index + 1 <= count;
}

static bool range_fits(struct clew_range range, uint32_t count)
{
	return range.first <= count && range.count <= count - range.first;
}

/* The source of a new model's columns. */
static void choose(const struct clew_model *like, const struct clew_model *arrays,
		   struct clew_model *ret_chosen)
{
	*ret_chosen = *arrays;
	if (!arrays->waits) {
		ret_chosen->waits = like->waits;
		ret_chosen->wait_count = like->wait_count;
	}
	if (!arrays->types) {
		ret_chosen->types = like->types;
		ret_chosen->type_count = like->type_count;
	}
	if (!arrays->attribute_lists) {
		ret_chosen->attribute_lists = like->attribute_lists;
		ret_chosen->attribute_list_count = like->attribute_list_count;
		ret_chosen->attributes = like->attributes;
		ret_chosen->attribute_count = like->attribute_count;
	}
	if (!arrays->categories) {
		ret_chosen->categories = like->categories;
		ret_chosen->category_count = like->category_count;
		ret_chosen->hierarchies = like->hierarchies;
		ret_chosen->hierarchy_count = like->hierarchy_count;
	}
}

/* Nearly all are valid: the conditions are combined without branches. */
static bool do_es_fit(const struct clew_model *model)
{
	bool wrong = false;

	for (uint32_t i = 0; i < model->es_count; i++) {
		const struct clew_es *es = &model->es[i];
		uint32_t mark_end = i + 1 < model->es_count ? es[1].mark : model->mark_count;

		wrong |= es->span >= model->span_count;
		wrong |= !fits(es->in, model->dependency_count);
		wrong |= !fits(es->out, model->dependency_count);
		wrong |= !fits(es->wait, model->wait_count);
		wrong |= es->mark > mark_end;
	}
	return !wrong;
}

static bool do_times_fit(const struct clew_model *model)
{
	if (!do_es_fit(model))
		return false;
	for (uint32_t i = 0; i < model->dependency_count; i++) {
		const struct clew_dependency *dependency = &model->dependencies[i];

		if (dependency->type >= model->type_count || dependency->mode > CLEW_MODE_OR ||
		    !fits(dependency->attributes, model->attribute_list_count) ||
		    !range_fits(dependency->origins, model->origin_count) ||
		    !range_fits(dependency->destinations, model->destination_count))
			return false;
	}
	for (uint32_t i = 0; i < model->origin_count; i++)
		if (model->origins[i] >= model->es_count)
			return false;
	for (uint32_t i = 0; i < model->destination_count; i++)
		if (model->destinations[i] >= model->es_count)
			return false;
	return model->es_count > 0 ? model->mark_count <= CLEW_NONE - 1 : model->mark_count == 0;
}

static bool do_names_fit(const struct clew_model *model, uint32_t string_count)
{
	for (uint32_t i = 0; i < model->span_count; i++) {
		const struct clew_span *span = &model->spans[i];

		if (span->name >= string_count ||
		    (span->parent != CLEW_NONE && span->parent >= i) ||
		    span->elementary.count == 0 || !range_fits(span->elementary, model->es_count) ||
		    !fits(span->attributes, model->attribute_list_count))
			return false;
	}
	for (uint32_t i = 0; i < model->mark_count; i++)
		if (model->marks[i].label >= string_count)
			return false;
	for (uint32_t i = 0; i < model->wait_count; i++)
		if (model->waits[i].kind >= CLEW_SEGMENT_KIND_COUNT ||
		    !fits(model->waits[i].attributes, model->attribute_list_count))
			return false;
	for (uint32_t i = 0; i < model->type_count; i++)
		if (model->types[i] >= string_count)
			return false;
	for (uint32_t i = 0; i < model->hierarchy_count; i++)
		if (model->hierarchies[i] >= string_count)
			return false;
	for (uint32_t i = 0; i < model->category_count; i++) {
		const struct clew_category *category = &model->categories[i];

		if (category->name >= string_count ||
		    category->hierarchy >= model->hierarchy_count ||
		    (category->parent != CLEW_NONE &&
		     (category->parent >= i ||
		      model->categories[category->parent].hierarchy != category->hierarchy)))
			return false;
	}
	return true;
}

static bool do_attributes_fit(const struct clew_model *model, uint32_t string_count)
{
	for (uint32_t i = 0; i < model->attribute_list_count; i++)
		if (model->attribute_lists[i] > model->attribute_lists[i + 1])
			return false;
	if (model->attribute_lists[model->attribute_list_count] > model->attribute_count)
		return false;
	for (uint32_t i = 0; i < model->attribute_count; i++)
		if (model->attributes[i].key >= string_count ||
		    model->attributes[i].value >= string_count)
			return false;
	return true;
}

static int copy(struct clew_model *model, enum model_column number, const void *data, size_t count)
{
	struct vector *column = model_column(model, number);

	if (vector_reserve(column, count) < 0)
		return -ENOMEM;
	if (count)
		memcpy(column->data, data, count * column->item);
	column->count = count;
	return 0;
}

/* The model takes over the memory of the ESs. */
static void swap_es(struct clew_model *model, const struct clew_model *from, struct vector *es)
{
	struct vector *column = model_column(model, COLUMN_ES), empty = *column;

	*column = *es;
	column->count = from->es_count;
	*es = empty;
}

static int copy_names(struct clew_model *model, const struct clew_model *from)
{
	int r = copy(model, COLUMN_SPAN, from->spans, from->span_count);

	if (r == 0)
		r = copy(model, COLUMN_WAIT, from->waits, from->wait_count);
	if (r == 0)
		r = copy(model, COLUMN_TYPE, from->types, from->type_count);
	if (r == 0)
		r = copy(model, COLUMN_ATTRIBUTE, from->attributes, from->attribute_count);
	if (r == 0)
		r = copy(model, COLUMN_ATTRIBUTE_LIST, from->attribute_lists,
			 (size_t)from->attribute_list_count + 1);
	if (r == 0)
		r = copy(model, COLUMN_CATEGORY, from->categories, from->category_count);
	return r < 0 ? r : copy(model, COLUMN_HIERARCHY, from->hierarchies, from->hierarchy_count);
}

static int copy_times(struct clew_model *model, const struct clew_model *from, struct vector *es)
{
	int r = 0;

	if (es)
		swap_es(model, from, es);
	else
		r = copy(model, COLUMN_ES, from->es, from->es_count);
	if (r == 0)
		r = copy(model, COLUMN_DEPENDENCY, from->dependencies, from->dependency_count);
	if (r == 0)
		r = copy(model, COLUMN_ORIGIN, from->origins, from->origin_count);
	if (r == 0)
		r = copy(model, COLUMN_DESTINATION, from->destinations, from->destination_count);
	return r < 0 ? r : copy(model, COLUMN_MARK, from->marks, from->mark_count);
}

/* From the last to the first: each becomes the first child so far. */
static void join_spans(struct clew_model *model)
{
	struct clew_span *spans = model_column(model, COLUMN_SPAN)->data;
	uint32_t count = (uint32_t)model_column(model, COLUMN_SPAN)->count;

	for (uint32_t i = 0; i < count; i++)
		spans[i].first_child = CLEW_NONE;
	for (uint32_t i = count; i-- > 0;) {
		uint32_t *first = spans[i].parent == CLEW_NONE
					  ? &model->first_root
					  : &spans[spans[i].parent].first_child;

		spans[i].next_sibling = *first;
		*first = i;
	}
}

static int join_categories(struct clew_model *model)
{
	struct clew_category *categories = model_column(model, COLUMN_CATEGORY)->data;
	uint32_t count = (uint32_t)model_column(model, COLUMN_CATEGORY)->count, *roots,
		 none = CLEW_NONE;
	struct vector *root_column = model_column(model, COLUMN_ROOT_CATEGORY);

	for (size_t i = 0; i < model_column(model, COLUMN_HIERARCHY)->count; i++)
		if (model_add(root_column, &none) < 0)
			return -ENOMEM;
	roots = root_column->data;
	for (uint32_t i = 0; i < count; i++)
		categories[i].first_child = CLEW_NONE;
	for (uint32_t i = count; i-- > 0;) {
		uint32_t parent = categories[i].parent;
		uint32_t *first = parent == CLEW_NONE ? &roots[categories[i].hierarchy]
						      : &categories[parent].first_child;

		categories[i].next_sibling = *first;
		*first = i;
	}
	return 0;
}

/* Keeps the order of the spans in each category of `like`. */
static int copy_placements(struct clew_model *model, const struct clew_model *like)
{
	struct vector *placements = model_column(model, COLUMN_PLACEMENT);

	for (uint32_t category = 0; category < like->category_count; category++) {
		uint32_t count;
		const uint32_t *spans = clew_model_category_spans(like, category, &count);

		for (uint32_t i = 0; i < count; i++) {
			const struct model_placement placement = {
				.span = spans[i],
				.hierarchy = like->categories[category].hierarchy,
				.category = category};

			if (spans[i] >= model_column(model, COLUMN_SPAN)->count)
				return -EINVAL;
			if (model_add(placements, &placement) < 0)
				return -ENOMEM;
		}
	}
	return 0;
}

/* `placed`: root spans are in the same categories as in `like`. */
static int join(struct clew_model *model, const struct clew_model *like, bool placed)
{
	int r = strings_copy(model_strings(model), model_strings(like));

	model->unit = like->unit;
	if (r < 0)
		return r;
	join_spans(model);
	r = join_categories(model);
	return r < 0 || !placed ? r : copy_placements(model, like);
}

int model_copy_names(const struct clew_model *like, struct clew_model **ret_model)
{
	struct clew_model *model = model_new();
	int r = model ? copy_names(model, like) : -ENOMEM;

	if (r == 0)
		r = join(model, like, true);
	if (r < 0)
		clew_model_free(model);
	else
		*ret_model = model;
	return r;
}

int model_from_arrays(const struct clew_model *like, const struct clew_model *arrays,
		      struct vector *es, struct clew_model **ret_model)
{
	uint32_t string_count = (uint32_t)model_strings(like)->offsets.count;
	struct clew_model chosen, *model;
	int r;

	choose(like, arrays, &chosen);
	if (!do_attributes_fit(&chosen, string_count) || !do_names_fit(&chosen, string_count) ||
	    !do_times_fit(&chosen))
		return -EINVAL;
	model = model_new();
	if (!model)
		return -ENOMEM;
	r = copy_times(model, &chosen, es);
	if (r == 0)
		r = copy_names(model, &chosen);
	if (r == 0)
		r = join(model, like, !arrays->categories);
	if (r == 0)
		r = model_seal(model);
	if (r < 0) {
		clew_model_free(model);
		return r;
	}
	*ret_model = model;
	return 0;
}

int clew_model_from_arrays(const struct clew_model *like, const struct clew_model *arrays,
			   struct clew_model **ret_model)
{
	return model_from_arrays(like, arrays, NULL, ret_model);
}
