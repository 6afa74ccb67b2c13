/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Rows to columns. A chunk's records do not fit in the near caches, so reading
 * them once for each column would take longest of all. Columns that the same
 * rows have are therefore made together, one block of rows after the other.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/turn.h"

#define BLOCK_ROWS 128 /* rows that fit in the nearest cache */

static size_t column_size(const struct store_column *column, size_t rows)
{
	return (rows * column->member_size + 7) & ~(size_t)7;
}

int store_turned_begin(struct store_turned *turned, const struct store_kind *kind, size_t rows)
{
	size_t need = 0;
	uint8_t *at;

	for (unsigned i = 0; i < kind->count; i++)
		need += column_size(&kind->columns[i], rows);
	if (need > turned->capacity) {
		free(turned->memory);
		turned->memory = malloc(need);
		turned->capacity = turned->memory ? need : 0;
		if (!turned->memory)
			return -ENOMEM;
	}
	at = turned->memory;
	for (unsigned i = 0; i < kind->count; i++) {
		turned->columns[i] = at;
		turned->bits[i] = 0;
		turned->done[i] = false;
		at += column_size(&kind->columns[i], rows);
	}
	return 0;
}

void store_turned_done(struct store_turned *turned)
{
	free(turned->memory);
}

/*
 * Copies one member of each row of a block. Returns the bits that are set in
 * any of them.
 */
static uint64_t turn_block(uint8_t *to, const uint8_t *const *records, size_t offset, size_t count,
			   unsigned size)
{
	uint64_t bits = 0;

	switch (size) {
	case 1:
		for (size_t i = 0; i < count; i++)
			bits |= to[i] = records[i][offset];
		break;
	case 2:
		for (size_t i = 0; i < count; i++)
			bits |= ((uint16_t *)to)[i] = *(const uint16_t *)(records[i] + offset);
		break;
	case 4:
		for (size_t i = 0; i < count; i++)
			bits |= ((uint32_t *)to)[i] = *(const uint32_t *)(records[i] + offset);
		break;
	case 8:
		for (size_t i = 0; i < count; i++)
			bits |= ((uint64_t *)to)[i] = *(const uint64_t *)(records[i] + offset);
		break;
	}
	return bits;
}

static bool is_alike(const struct store_column *a, const struct store_column *b)
{
	return a->condition == b->condition && a->mask == b->mask && a->pull == b->pull &&
	       a->pull_mask == b->pull_mask;
}

void store_turn(struct store_turned *turned, const struct store_kind *kind,
		const struct store_job *job, const uint8_t *records, const uint32_t *at)
{
	const struct store_column *first = job->column, *column;
	const uint8_t *block[BLOCK_ROWS];

	if (turned->done[job->number])
		return;
	for (size_t from = 0; from < job->count; from += BLOCK_ROWS) {
		size_t count = job->count - from < BLOCK_ROWS ? job->count - from : BLOCK_ROWS;

		for (size_t i = 0; i < count; i++) {
			block[i] = records + at[job->present[from + i]];
			/*
			 * Members that are at a lower offset in some records.
			 */
			if (first->pull &&
			    !(((const struct clew_header *)block[i])->flags & first->pull_mask))
				block[i] -= first->pull;
		}
		for (unsigned i = job->number; i < kind->count; i++) {
			column = &kind->columns[i];
			if (column->member_size && is_alike(first, column))
				turned->bits[i] |= turn_block(
					turned->columns[i] + from * column->member_size, block,
					column->offset, count, column->member_size);
		}
	}
	for (unsigned i = job->number; i < kind->count; i++)
		turned->done[i] |= is_alike(first, &kind->columns[i]);
}

void store_turned_values(const struct store_turned *turned, const struct store_job *job,
			 uint64_t *values)
{
	const uint8_t *from = turned->columns[job->number];

	switch (job->column->member_size) {
	case 1:
		for (size_t i = 0; i < job->count; i++)
			values[i] = from[i];
		break;
	case 2:
		for (size_t i = 0; i < job->count; i++)
			values[i] = ((const uint16_t *)from)[i];
		break;
	case 4:
		for (size_t i = 0; i < job->count; i++)
			values[i] = ((const uint32_t *)from)[i];
		break;
	case 8:
		memcpy(values, from, job->count * sizeof(*values));
		break;
	}
}
