/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The memory of a model: its columns as vectors, its strings, its placements.
 */
#ifndef CLEW_MODEL_INTERNAL_H
#define CLEW_MODEL_INTERNAL_H

#include "base/vector.h"
#include "model/strings.h"
#include <clew/model.h>
#include <errno.h>
#include <string.h>

struct model_placement {
	uint32_t span, hierarchy, category;
};

enum model_column {
	COLUMN_ES,
	COLUMN_SPAN,
	COLUMN_DEPENDENCY,
	COLUMN_ORIGIN,
	COLUMN_DESTINATION,
	COLUMN_MARK,
	COLUMN_WAIT,
	COLUMN_CATEGORY,
	COLUMN_HIERARCHY,
	COLUMN_TYPE,
	COLUMN_ATTRIBUTE_LIST,
	COLUMN_ATTRIBUTE,
	COLUMN_ROOT_CATEGORY, /* of each hierarchy, uint32_t */
	COLUMN_PLACEMENT, /* in order of placement while it is made, then by span and hierarchy */
	COLUMN_CATEGORY_BEGIN, /* category c's spans are numbers begin[c] .. begin[c + 1] of the
				  next column */
	COLUMN_CATEGORY_SPAN,
	COLUMN_COUNT,
};

struct model_inside {
	struct vector column[COLUMN_COUNT];
	struct strings strings;
};

static inline struct vector *model_column(const struct clew_model *model, enum model_column column)
{
	return &((struct model_inside *)model->inside)->column[column];
}

static inline struct strings *model_strings(const struct clew_model *model)
{
	return &((struct model_inside *)model->inside)->strings;
}

/* Adds an item at the end. 0 or -ENOMEM. */
static inline int model_add(struct vector *column, const void *item)
{
	if (vector_reserve(column, column->count + 1) < 0)
		return -ENOMEM;
	memcpy((char *)column->data + column->count * column->item, item, column->item);
	column->count++;
	return 0;
}

/* A model of empty columns. NULL: no memory. */
struct clew_model *model_new(void);
/* Sorts placements and points the model at its columns. 0 or -ENOMEM. */
int model_seal(struct clew_model *model);
/*
 * clew_model_from_arrays(). `es` is NULL, or the vector that holds arrays->es:
 * then the model takes over its memory and leaves it empty.
 */
int model_from_arrays(const struct clew_model *like, const struct clew_model *arrays,
		      struct vector *es, struct clew_model **ret_model);
/* An unsealed copy of a model without ESs, dependencies and marks. 0 or
 * -ENOMEM. */
int model_copy_names(const struct clew_model *like, struct clew_model **ret_model);

#endif
