/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A file's SCHEMA chunk, parsed, checked and bound to the records of this
 * program. Decoding needs no further checks of a schema that passes here.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/schema.h"

struct cursor {
	const uint8_t *at;
	size_t left;
	bool bad;
};

static uint32_t get_number(struct cursor *cursor, unsigned size)
{
	uint32_t value = 0;

	if (cursor->left < size) {
		cursor->bad = true;
		return 0;
	}
	memcpy(&value, cursor->at, size);
	cursor->at += size;
	cursor->left -= size;
	return value;
}

static void get_name(struct cursor *cursor, char name[STORE_NAME_MAX + 1])
{
	uint32_t length = get_number(cursor, 1);

	if (length > STORE_NAME_MAX || cursor->left < length) {
		cursor->bad = true;
		return;
	}
	memcpy(name, cursor->at, length);
	name[length] = 0;
	cursor->at += length;
	cursor->left -= length;
}

/* True if this program can decode the column. */
static bool column_decodable(const struct store_column *column)
{
	return column->coding < STORE_CODING_COUNT && column->type && column->type <= STORE_BYTES;
}

/*
 * The column that a reference or condition names: an earlier one that can be
 * decoded.
 */
static struct store_column *column_named(struct store_schema *schema, struct store_kind *kind,
					 unsigned number, uint8_t reference)
{
	struct store_column *target = NULL;

	if (reference & STORE_COMMON) {
		if (kind != &schema->kinds[0] &&
		    (reference & ~STORE_COMMON) < schema->kinds[0].count)
			target = &schema->kinds[0].columns[reference & ~STORE_COMMON];
	} else if (reference < number) {
		target = &kind->columns[reference];
	}
	return target && column_decodable(target) ? target : NULL;
}

/* The same, but only a column of numbers. */
static struct store_column *column_target(struct store_schema *schema, struct store_kind *kind,
					  unsigned number, uint8_t reference)
{
	struct store_column *target = column_named(schema, kind, number, reference);

	return target && target->type != STORE_BYTES ? target : NULL;
}

/*
 * The column that a LATEST column follows: of an earlier kind, and all its rows
 * have it.
 */
static struct store_column *column_followed(struct store_schema *schema,
					    const struct store_kind *kind,
					    const struct store_column *column)
{
	struct store_column *target;
	struct store_kind *other;

	if (schema->by_id[column->second] == STORE_NONE || !column->second ||
	    column->second == kind->id)
		return NULL;
	other = &schema->kinds[schema->by_id[column->second]];
	if (column->reference >= other->count ||
	    !column_decodable(&other->columns[column->reference]))
		return NULL;
	target = &other->columns[column->reference];
	if (!target->followed) {
		if (schema->followed_count == STORE_FOLLOWED_MAX)
			return NULL;
		target->followed = ++schema->followed_count;
	}
	return target;
}

/* Marks a column that predicts another one; there may be none. */
static bool column_hint(struct store_schema *schema, struct store_kind *kind, unsigned number,
			uint8_t reference)
{
	struct store_column *target;

	if (reference == STORE_NONE)
		return true;
	target = column_target(schema, kind, number, reference);
	if (target)
		target->referenced = true;
	return target;
}

/*
 * True if a column's coding is valid; its references have to be to earlier
 * columns.
 */
static bool column_valid(struct store_schema *schema, struct store_kind *kind, unsigned number)
{
	struct store_column *column = &kind->columns[number];
	struct store_column *target;

	if (column->condition != STORE_NONE) {
		if (kind == &schema->kinds[0])
			return false;
		target = column_target(schema, kind, number, column->condition);
		if (!target)
			return false;
		target->referenced = true;
	}
	/* An unknown coding is skipped by its length. */
	if (!column_decodable(column))
		return true;
	if ((column->type == STORE_BYTES) !=
	    (column->coding == STORE_TRIMMED || column->coding == STORE_TAIL))
		return false;

	if (!column_hint(schema, kind, number, column->context) ||
	    !column_hint(schema, kind, number, column->third))
		return false;
	switch (column->coding) {
	case STORE_LATEST:
		target = column_followed(schema, kind, column);
		return target && column->condition == STORE_NONE &&
		       target->condition == STORE_NONE && target->type != STORE_BYTES &&
		       target->coding != STORE_LATEST;
	case STORE_PLAIN:
	case STORE_TIME:
	case STORE_STREAM:
		return column_hint(schema, kind, number, column->reference);
	case STORE_TRIMMED:
		return column->size <= 255 && column_hint(schema, kind, number, column->reference);
	case STORE_PREVIOUS:
	case STORE_RECENT:
		if (column->reference == number)
			return true;
		break;
	}
	target = column_named(schema, kind, number, column->reference);
	/* A tail has a number too, in the rows that have it. */
	if (!target || (target->type == STORE_BYTES &&
			(target->coding != STORE_TAIL || column->coding != STORE_SAME)))
		return false;
	if (column->coding == STORE_TAIL &&
	    ((column->reference & STORE_COMMON) || target->condition != column->condition ||
	     target->mask != column->mask))
		return false;
	target->referenced = true;
	if (column->coding == STORE_NEXT && column->third == STORE_NONE)
		return false;
	if ((column->coding != STORE_KEYED && column->coding != STORE_NEAR &&
	     column->coding != STORE_NEXT) ||
	    column->second == STORE_NONE)
		return true;
	target = column_target(schema, kind, number, column->second);
	if (target)
		target->referenced = true;
	return target;
}

static int parse_kind(struct store_schema *schema, struct cursor *cursor,
		      char what[STORE_NAME_MAX + 1])
{
	struct store_kind *kind = &schema->kinds[schema->count];

	kind->id = get_number(cursor, 1);
	get_name(cursor, kind->name);
	kind->count = get_number(cursor, 1);
	if (cursor->bad || kind->count > STORE_COLUMNS_MAX ||
	    schema->by_id[kind->id] != STORE_NONE || (kind->id == 0) != (schema->count == 0))
		return -EINVAL;
	kind->known = store_kind_known(kind->id);
	kind->stride = store_record_stride(kind->id);
	schema->by_id[kind->id] = schema->count++;

	for (unsigned i = 0; i < kind->count; i++) {
		struct store_column *column = &kind->columns[i];

		get_name(cursor, column->name);
		column->type = get_number(cursor, 1);
		column->coding = get_number(cursor, 1);
		column->reference = get_number(cursor, 1);
		column->second = get_number(cursor, 1);
		column->third = get_number(cursor, 1);
		column->context = get_number(cursor, 1);
		column->condition = get_number(cursor, 1);
		column->mask = get_number(cursor, 4);
		column->size = get_number(cursor, 2);
		for (unsigned j = 0; j < i; j++)
			if (strcmp(kind->columns[j].name, column->name) == 0)
				return -EINVAL;
		if (cursor->bad || !column_valid(schema, kind, i))
			return -EINVAL;
		store_bind(kind, column);
		if (column->known && !column_decodable(column)) {
			memcpy(what, column->name, STORE_NAME_MAX + 1);
			return -EPROTONOSUPPORT;
		}
	}
	return 0;
}

int store_schema_parse(const uint8_t *bytes, size_t size, struct store_schema **ret_schema,
		       char ret_what[STORE_NAME_MAX + 1])
{
	struct cursor cursor = {bytes, size, false};
	struct store_schema *schema = calloc(1, sizeof(*schema));
	unsigned count;
	int r = 0;

	if (!schema)
		return -ENOMEM;
	memset(schema->by_id, STORE_NONE, sizeof(schema->by_id));
	count = get_number(&cursor, 2);
	if (cursor.bad || !count || count > STORE_KINDS_MAX)
		r = -EINVAL;
	for (unsigned i = 0; i < count && r == 0; i++)
		r = parse_kind(schema, &cursor, ret_what);
	/* Everything else depends on the kind of each row. */
	if (r == 0 &&
	    (!schema->kinds[0].count || strcmp(schema->kinds[0].columns[0].name, "kind") != 0 ||
	     schema->kinds[0].columns[0].coding != STORE_PLAIN ||
	     schema->kinds[0].columns[0].type != STORE_U8 ||
	     schema->kinds[0].columns[0].condition != STORE_NONE))
		r = -EINVAL;
	if (r < 0) {
		free(schema);
		return r;
	}
	*ret_schema = schema;
	return 0;
}
