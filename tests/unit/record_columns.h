/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Records by the columns of the schema that clew writes, so that tests need not know each kind:
 * where a column's value is in a record, and whether the record has it.
 */
#ifndef RECORD_COLUMNS_H
#define RECORD_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "store/schema.h"

/* The schema as a writer uses it. It lives as long as the test. */
static inline const struct store_schema *own_schema(void)
{
	static struct store_schema *schema;
	char what[STORE_NAME_MAX + 1];
	uint8_t *bytes;
	size_t size;

	if (schema)
		return schema;
	if (store_schema_write(&bytes, &size) < 0 ||
	    store_schema_parse(bytes, size, &schema, what) < 0)
		abort();
	free(bytes);
	return schema;
}

static inline const struct store_kind *own_kind(unsigned kind)
{
	const struct store_schema *schema = own_schema();

	return &schema->kinds[schema->by_id[kind]];
}

/* True if the record has the column, by its flags. */
static inline bool column_present(const struct store_column *column,
				  const struct clew_header *header)
{
	return column->coding != STORE_LATEST &&
	       (column->condition == STORE_NONE || header->flags & column->mask);
}

/* Where the column is in the record; of a tail, where it begins. */
static inline size_t column_offset(const struct store_column *column,
				   const struct clew_header *header)
{
	if (column->coding == STORE_TAIL)
		return store_record_stride(header->kind);
	return column->pull && !(header->flags & column->pull_mask) ? column->offset - column->pull
								    : column->offset;
}

static inline uint64_t column_value(const struct store_column *column,
				    const struct clew_header *header)
{
	uint64_t value = 0;

	memcpy(&value, (const uint8_t *)header + column_offset(column, header),
	       column->member_size);
	return value;
}

/* A value that does not fit is cut. */
static inline void column_set(const struct store_column *column, struct clew_header *header,
			      uint64_t value)
{
	memcpy((uint8_t *)header + column_offset(column, header), &value, column->member_size);
}

#endif
