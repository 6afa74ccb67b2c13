/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From a finished model back to a maker: names are copied, their indexes are
 * rebuilt, and each span's ESs and marks become sequences again. Endpoints are
 * numbered dependency by dependency, origins before destinations, so those of a
 * side are neighbours.
 */
#include "model/make_internal.h"
#include <stdlib.h>

/* ---- whether the model is one that can be made ---- */

static bool is_span_right(const struct clew_model *model, uint32_t number)
{
	const struct clew_span *span = &model->spans[number];
	struct clew_range range = span->elementary;
	clew_time at = span->start;

	if (!range.count || model->es[range.first].start != at)
		return false;
	for (uint32_t i = range.first; i < range.first + range.count; i++) {
		const struct clew_es *es = &model->es[i];
		struct clew_range marks = clew_model_marks(model, i);
		clew_time moment = es->start;

		if (es->span != number || es->start < at || es->end < es->start)
			return false;
		at = es->end;
		for (uint32_t j = marks.first; j < marks.first + marks.count;
		     moment = model->marks[j++].at)
			if (model->marks[j].at < moment || model->marks[j].at > at)
				return false;
	}
	return at == span->end;
}

static bool are_links_right(const struct clew_model *model, uint32_t number)
{
	const struct clew_dependency *dependency = &model->dependencies[number];
	struct clew_range origins = dependency->origins, destinations = dependency->destinations;

	if (dependency->mode == CLEW_MODE_SINGLE && origins.count > 1)
		return false;
	for (uint32_t i = origins.first; i < origins.first + origins.count; i++)
		if (model->es[model->origins[i]].out != number)
			return false;
	for (uint32_t i = destinations.first; i < destinations.first + destinations.count; i++)
		if (model->es[model->destinations[i]].in != number)
			return false;
	return true;
}

bool make_is_right(const struct clew_model *model)
{
	uint64_t in = 0, out = 0, count = 0, origins = 0, destinations = 0;

	for (uint32_t i = 0; i < model->span_count; i++) {
		if (!is_span_right(model, i))
			return false;
		count += model->spans[i].elementary.count;
	}
	for (uint32_t i = 0; i < model->dependency_count; i++) {
		if (!are_links_right(model, i))
			return false;
		origins += model->dependencies[i].origins.count;
		destinations += model->dependencies[i].destinations.count;
	}
	for (uint32_t i = 0; i < model->es_count; i++) {
		in += model->es[i].in != CLEW_NONE;
		out += model->es[i].out != CLEW_NONE;
	}
	return count == model->es_count && origins == out && destinations == in;
}

/* ---- indexes ---- */

/* If two have the same key, the first is found. */
static int index_first(struct map *map, uint64_t key, uint32_t part, uint64_t value, uint64_t flag)
{
	uint64_t *found = map_get(map, key, part);

	if (!found)
		return map_set(map, key, part, value);
	*found |= flag;
	return 0;
}

static int index_names(struct clew_maker *maker, const struct vector *column, uint32_t kind)
{
	const uint32_t *names = column->data;
	int r = 0;

	for (uint32_t i = 0; i < column->count && r == 0; i++)
		r = index_first(&maker->name_index, names[i], kind, i, 0);
	return r;
}

static int index_categories(struct clew_maker *maker)
{
	const struct vector *column = model_column(maker->model, COLUMN_CATEGORY);
	size_t hierarchies = model_column(maker->model, COLUMN_HIERARCHY)->count;
	const struct clew_category *categories = column->data;
	uint32_t *last_children, *last_roots;

	if (vector_reserve(&maker->last_children, column->count) < 0 ||
	    vector_reserve(&maker->last_roots, hierarchies) < 0)
		return -ENOMEM;
	maker->last_children.count = column->count;
	maker->last_roots.count = hierarchies;
	last_children = maker->last_children.data;
	last_roots = maker->last_roots.data;
	for (size_t i = 0; i < hierarchies; i++)
		last_roots[i] = CLEW_NONE;
	for (uint32_t i = 0; i < column->count; i++) {
		uint32_t parent = categories[i].parent;
		uint64_t key = (uint64_t)parent << 32 | categories[i].name;

		last_children[i] = CLEW_NONE;
		*(parent == CLEW_NONE ? &last_roots[categories[i].hierarchy]
				      : &last_children[parent]) = i;
		if (index_first(&maker->category_index, key, categories[i].hierarchy, i, 0) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int index_placements(struct clew_maker *maker)
{
	const struct vector *column = model_column(maker->model, COLUMN_PLACEMENT);
	const struct model_placement *placements = column->data;
	int r = 0;

	for (size_t i = 0; i < column->count && r == 0; i++)
		r = map_set(&maker->placement_index, placements[i].span, placements[i].hierarchy,
			    placements[i].category);
	return r;
}

static int index_attributes(struct clew_maker *maker)
{
	size_t count = model_column(maker->model, COLUMN_ATTRIBUTE_LIST)->count - 1;
	const uint32_t *lists = model_column(maker->model, COLUMN_ATTRIBUTE_LIST)->data;
	const struct clew_attribute *attributes =
		model_column(maker->model, COLUMN_ATTRIBUTE)->data;
	const struct vector *waits = model_column(maker->model, COLUMN_WAIT);
	int r = 0;

	/* A model of arrays may have attributes after the last list. A new list
	 * overwrites them. */
	model_column(maker->model, COLUMN_ATTRIBUTE)->count = lists[count];
	for (size_t i = 0; i < count && r == 0; i++) {
		uint32_t pairs = lists[i + 1] - lists[i];

		r = index_first(&maker->attribute_index,
				make_hash_attributes(attributes + lists[i], pairs), pairs, i, 0);
	}
	for (uint32_t i = 0; i < waits->count; i++) {
		const struct clew_model_wait *wait =
			(const struct clew_model_wait *)waits->data + i;

		if (wait->attributes == CLEW_NONE && maker->kind_waits[wait->kind] == CLEW_NONE)
			maker->kind_waits[wait->kind] = i;
	}
	return r;
}

static int index_all(struct clew_maker *maker)
{
	int r = index_names(maker, model_column(maker->model, COLUMN_TYPE), MAKE_TYPE);

	if (r == 0)
		r = index_names(maker, model_column(maker->model, COLUMN_HIERARCHY),
				MAKE_HIERARCHY);
	if (r == 0)
		r = index_categories(maker);
	if (r == 0)
		r = index_placements(maker);
	return r < 0 ? r : index_attributes(maker);
}

/* ---- ESs, marks and endpoints ---- */

/* Adds the endpoints of one side of a dependency; `of`: ES -> its endpoint. */
static void take_endpoints(struct clew_maker *maker, uint32_t dependency, const uint32_t *es,
			   uint32_t count, uint32_t *of, uint32_t *ret_first, uint32_t *ret_last)
{
	uint32_t first = (uint32_t)maker->endpoints.count;

	*ret_first = count ? first : CLEW_NONE;
	*ret_last = count ? first + count - 1 : CLEW_NONE;
	maker->endpoints.count += count;
	for (uint32_t i = 0; i < count; i++) {
		*make_endpoint(maker, first + i) =
			(struct make_endpoint){.next = i + 1 < count ? first + i + 1 : CLEW_NONE,
					       .dependency = dependency};
		of[es[i]] = first + i;
	}
}

/* `in`, `out`: ES -> its endpoint. */
static int take_dependencies(struct clew_maker *maker, const struct clew_model *model, uint32_t *in,
			     uint32_t *out)
{
	size_t ends = (size_t)model->origin_count + model->destination_count;

	if (vector_reserve(&maker->dependencies, model->dependency_count) < 0 ||
	    vector_reserve(&maker->endpoints, ends) < 0)
		return -ENOMEM;
	maker->dependencies.count = model->dependency_count;
	for (uint32_t i = 0; i < model->dependency_count; i++) {
		const struct clew_dependency *from = &model->dependencies[i];
		struct make_dependency *to = (struct make_dependency *)maker->dependencies.data + i;

		*to = (struct make_dependency){.type = from->type,
					       .mode = from->mode,
					       .attributes = from->attributes,
					       .origin_count = from->origins.count,
					       .destination_count = from->destinations.count};
		take_endpoints(maker, i, model->origins + from->origins.first, from->origins.count,
			       out, &to->first_origin, &to->last_origin);
		take_endpoints(maker, i, model->destinations + from->destinations.first,
			       from->destinations.count, in, &to->first_destination,
			       &to->last_destination);
		if (from->origins.count)
			to->trigger_at = model->es[model->origins[from->origins.first]].end;
	}
	return 0;
}

static int take_span(struct clew_maker *maker, const struct clew_model *model, uint32_t number,
		     const uint32_t *in, const uint32_t *out, struct vector *scratch)
{
	struct clew_range range = model->spans[number].elementary;
	const struct clew_es *from = model->es + range.first;
	struct clew_range marks = clew_model_marks(model, range.first + range.count - 1);
	uint32_t mark_end = marks.first + marks.count;
	const struct make_span made = {
		.last_child = CLEW_NONE,
		.last_mark = mark_end > from->mark ? model->marks[mark_end - 1].at : INT64_MIN,
		.es.item = sizeof(struct make_es),
		.marks.item = sizeof(struct make_mark)};
	uint32_t parent = model->spans[number].parent;
	struct clew_es *es;

	if (vector_reserve(scratch, range.count) < 0 || model_add(&maker->spans, &made) < 0)
		return -ENOMEM;
	es = scratch->data;
	memcpy(es, from, range.count * sizeof(*es));
	for (uint32_t i = 0; i < range.count; i++) {
		es[i].in = es[i].in == CLEW_NONE ? CLEW_NONE : in[range.first + i];
		es[i].out = es[i].out == CLEW_NONE ? CLEW_NONE : out[range.first + i];
	}
	*(parent == CLEW_NONE ? &maker->last_root : &make_span(maker, parent)->last_child) = number;
	if (index_first(&maker->span_index, (uint64_t)parent << 32 | model->spans[number].name, 0,
			number, MAKE_AMBIGUOUS) < 0)
		return -ENOMEM;
	return make_take_back(make_span(maker, number), es, range.count, model->marks, mark_end);
}

static int take_all(struct clew_maker *maker, const struct clew_model *model)
{
	struct vector scratch = {.item = sizeof(struct clew_es)};
	uint32_t *in = malloc(((size_t)model->es_count + 1) * sizeof(*in)),
		 *out = malloc(((size_t)model->es_count + 1) * sizeof(*out));
	int r = in && out ? take_dependencies(maker, model, in, out) : -ENOMEM;

	if (r == 0 && vector_reserve(&maker->spans, model->span_count) < 0)
		r = -ENOMEM;
	for (uint32_t i = 0; i < model->span_count && r == 0; i++)
		r = take_span(maker, model, i, in, out, &scratch);
	maker->mark_count = model->mark_count;
	vector_done(&scratch);
	free(in);
	free(out);
	return r;
}

int clew_maker_from_model(const struct clew_model *model, struct clew_maker **ret_maker)
{
	struct clew_maker *maker;
	struct clew_model *names;
	int r;

	if (!make_is_right(model))
		return -EINVAL;
	r = clew_maker_new(&maker);
	if (r < 0)
		return r;
	r = model_copy_names(model, &names);
	if (r == 0) {
		clew_model_free(maker->model);
		maker->model = names;
		map_done(&maker->name_index);
		r = index_all(maker);
	}
	if (r == 0)
		r = take_all(maker, model);
	if (r < 0)
		clew_maker_free(maker);
	else
		*ret_maker = maker;
	return r;
}
