/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The schema chunk that is made of the table of columns, and what a file's columns are in it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/schema_table.h"

static const struct table_kind *table_find(unsigned id)
{
	for (size_t i = 0; i < store_table_count; i++)
		if (store_table[i].id == id)
			return &store_table[i];
	return NULL;
}

static uint8_t table_reference(const struct table_kind *kind, const char *name)
{
	if (!name)
		return STORE_NONE;
	for (unsigned i = 0; i < kind->count; i++)
		if (strcmp(kind->columns[i].name, name) == 0)
			return i;
	for (unsigned i = 0; i < store_table[0].count; i++)
		if (strcmp(store_table[0].columns[i].name, name) == 0)
			return STORE_COMMON | i;
	return STORE_NONE;
}

static const struct table_kind *table_named(const char *name)
{
	for (size_t i = 0; i < store_table_count; i++)
		if (strcmp(store_table[i].name, name) == 0)
			return &store_table[i];
	return NULL;
}

static uint8_t *put_name(uint8_t *to, const char *name)
{
	size_t length = strlen(name);

	*to++ = length;
	memcpy(to, name, length);
	return to + length;
}

static uint8_t *put_number(uint8_t *to, uint32_t value, unsigned size)
{
	memcpy(to, &value, size);
	return to + size;
}

int store_schema_write(uint8_t **ret_bytes, size_t *ret_size)
{
	size_t columns = 0;
	uint8_t *bytes, *p;

	for (size_t i = 0; i < store_table_count; i++)
		columns += store_table[i].count;
	bytes = p = malloc(2 + store_table_count * (STORE_NAME_MAX + 3) +
			   columns * (STORE_NAME_MAX + 14));
	if (!bytes)
		return -ENOMEM;

	p = put_number(p, store_table_count, 2);
	for (size_t i = 0; i < store_table_count; i++) {
		const struct table_kind *kind = &store_table[i];

		p = put_number(p, kind->id, 1);
		p = put_name(p, kind->name);
		p = put_number(p, kind->count, 1);
		for (unsigned j = 0; j < kind->count; j++) {
			const struct table_column *column = &kind->columns[j];
			const struct table_kind *other =
				column->coding == STORE_LATEST ? table_named(column->second) : NULL;

			p = put_name(p, column->name);
			p = put_number(p, column->type, 1);
			p = put_number(p, column->coding, 1);
			p = put_number(p, table_reference(other ? other : kind, column->reference),
				       1);
			p = put_number(p, other ? other->id : table_reference(kind, column->second),
				       1);
			p = put_number(p, table_reference(kind, column->third), 1);
			p = put_number(p,
				       column->context || i
					       ? table_reference(kind, column->context
									       ? column->context
									       : "flags")
					       : STORE_NONE,
				       1);
			p = put_number(
				p, column->mask ? table_reference(kind, "flags") : STORE_NONE, 1);
			p = put_number(p, column->mask, 4);
			p = put_number(p, column->size, 2);
		}
	}
	*ret_bytes = bytes;
	*ret_size = p - bytes;
	return 0;
}

bool store_kind_known(unsigned id)
{
	return table_find(id);
}

void store_bind(const struct store_kind *kind, struct store_column *column)
{
	const struct table_kind *ours = table_find(kind->id);
	const struct store_shape *shape = store_shape(kind->id);
	const struct table_column *member = NULL;

	for (unsigned i = 0; ours && i < ours->count && !member; i++)
		if (strcmp(ours->columns[i].name, column->name) == 0)
			member = &ours->columns[i];
	if (!member || column->coding == STORE_LATEST ||
	    (member->type == STORE_BYTES) != (column->type == STORE_BYTES))
		return;
	if (column->type == STORE_BYTES) {
		/* The parser refuses needed columns with unknown codings. */
		column->known = column->coding >= STORE_CODING_COUNT;
		if (member->coding != column->coding || column->size > member->size)
			return;
		/*
		 * Records are found by the length in them, so the tail has to
		 * go by that member.
		 */
		if (column->coding == STORE_TAIL &&
		    (!kind->columns[column->reference].known ||
		     kind->columns[column->reference].offset != shape->tail_length))
			return;
	}
	column->known = true;
	column->offset = member->offset;
	/* The cause is behind the wait, or in its place. */
	if (shape->cause_flags && member->offset >= shape->size + sizeof(struct clew_wait)) {
		column->pull = sizeof(struct clew_wait);
		column->pull_mask = shape->wait_flags;
	}
	column->member_size = store_type_size(member->type);
}
