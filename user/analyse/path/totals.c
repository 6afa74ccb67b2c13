/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sums of path segments by kind, thread, function and object. Each segment counts
 * once in a dimension, if it has a place there.
 */
#include "base/map.h"
#include <clew/tokens.h>
#include <string.h>

#include "analyse/path/internal.h"

struct clew_path_totals {
	const struct clew_model *model;
	struct map index; /* (what, dimension and kind) -> place in rows */
	struct clew_path_total *rows;
	size_t count, capacity;
	bool sorted;
};

int clew_path_totals_new(const struct clew_model *model, struct clew_path_totals **ret_totals)
{
	*ret_totals = calloc(1, sizeof(**ret_totals));
	if (!*ret_totals)
		return -ENOMEM;
	(*ret_totals)->model = model;
	return 0;
}

void clew_path_totals_free(struct clew_path_totals *totals)
{
	if (!totals)
		return;
	map_done(&totals->index);
	free(totals->rows);
	free(totals);
}

static int add(struct clew_path_totals *totals, uint64_t what, struct clew_path_total row)
{
	uint32_t part = row.dimension << 16 | row.kind;
	const uint64_t *place = map_get(&totals->index, what, part);

	if (!place) {
		int r;

		if (totals->count == totals->capacity) {
			size_t capacity = totals->capacity ? 2 * totals->capacity : 32;
			struct clew_path_total *grown =
				reallocarray(totals->rows, capacity, sizeof(*grown));

			if (!grown)
				return -ENOMEM;
			totals->rows = grown;
			totals->capacity = capacity;
		}
		r = map_set(&totals->index, what, part, totals->count);
		if (r < 0)
			return r;
		totals->rows[totals->count++] = row;
		return 0;
	}
	totals->rows[*place].ns += row.ns;
	totals->rows[*place].segments += row.segments;
	return 0;
}

static uint64_t key_of(const struct clew_path_total *row)
{
	return row->dimension == CLEW_BY_THREAD ? row->span : (uint64_t)(uintptr_t)row->name;
}

/* Listing has moved the rows. */
static int index_again(struct clew_path_totals *totals)
{
	map_done(&totals->index);
	totals->index = (struct map){};
	totals->sorted = false;
	for (size_t i = 0; i < totals->count; i++) {
		const struct clew_path_total *row = &totals->rows[i];
		int r = map_set(&totals->index, key_of(row), row->dimension << 16 | row->kind, i);

		if (r < 0)
			return r;
	}
	return 0;
}

/* Requests are named for where they are on the disk; what they do there is what many share. */
static const char *function_of(const struct clew_model *model,
			       const struct clew_path_segment *segment)
{
	const char *operation = NULL;

	if (segment->kind == CLEW_SEGMENT_DEVICE || segment->kind == CLEW_SEGMENT_QUEUED)
		operation =
			clew_model_attribute(model, model->spans[segment->span].attributes, "op");
	return operation ?: clew_model_string(model, model->spans[segment->span].name);
}

int clew_path_totals_merge(struct clew_path_totals *totals, const struct clew_path_total *row)
{
	int r = totals->sorted ? index_again(totals) : 0;

	return r < 0 ? r : add(totals, key_of(row), *row);
}

int clew_path_totals_add(struct clew_path_totals *totals, const struct clew_path_segment *segments,
			 size_t count)
{
	const struct clew_model *model = totals->model;
	int r = totals->sorted ? index_again(totals) : 0;

	for (size_t i = 0; i < count && r == 0; i++) {
		const struct clew_path_segment *segment = &segments[i];
		clew_time ns = segment->end - segment->start;
		const char *object = clew_path_segment_object(model, segment), *name;
		uint32_t root = segment->span;

		r = add(totals, 0,
			(struct clew_path_total){.ns = ns,
						 .segments = 1,
						 .dimension = CLEW_BY_KIND,
						 .kind = segment->kind,
						 .span = CLEW_NONE});
		if (r == 0 && object)
			r = add(totals, (uint64_t)(uintptr_t)object,
				(struct clew_path_total){.ns = ns,
							 .segments = 1,
							 .dimension = CLEW_BY_OBJECT,
							 .kind = segment->kind,
							 .span = CLEW_NONE,
							 .name = object});
		if (root == CLEW_NONE)
			continue;
		while (model->spans[root].parent != CLEW_NONE)
			root = model->spans[root].parent;
		if (r == 0)
			r = add(totals, root,
				(struct clew_path_total){.ns = ns,
							 .segments = 1,
							 .dimension = CLEW_BY_THREAD,
							 .span = root});
		if (r == 0 && root != segment->span) {
			name = function_of(model, segment);
			r = add(totals, (uint64_t)(uintptr_t)name,
				(struct clew_path_total){.ns = ns,
							 .segments = 1,
							 .dimension = CLEW_BY_FUNCTION,
							 .span = CLEW_NONE,
							 .name = name});
		}
	}
	return r;
}

static int compare(const void *a, const void *b)
{
	const struct clew_path_total *x = a, *y = b;

	if (x->dimension != y->dimension)
		return x->dimension < y->dimension ? -1 : 1;
	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->name && y->name)
		return strcmp(x->name, y->name);
	return x->span < y->span ? -1 : x->span > y->span;
}

const struct clew_path_total *clew_path_totals_list(struct clew_path_totals *totals,
						    size_t *ret_count)
{
	if (totals->count)
		qsort(totals->rows, totals->count, sizeof(*totals->rows), compare);
	totals->sorted = true;
	*ret_count = totals->count;
	return totals->rows;
}
