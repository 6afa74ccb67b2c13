/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The records of a decoded chunk, in their order. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/chunk.h"

#define JOINED_SIZE (STORE_TAIL_MAX + 1024) /* the longest tail and any record before it */

int store_rows_prepare(const struct store_schema *schema, const struct store_chunk_header *header,
		       const struct store_front *front, struct store_rows *rows)
{
	size_t kinds = (header->rows + 7) & ~(size_t)7, need = kinds, total = 0;
	uint8_t *at;

	for (unsigned i = 0; i < front->count; i++) {
		unsigned number = schema->by_id[front->entries[i].kind];

		if (number == STORE_NONE)
			return -EBADMSG;
		total += front->entries[i].rows;
		if (total > header->rows)
			return -EBADMSG;
		need += (size_t)schema->kinds[number].stride * front->entries[i].rows;
	}
	if (total != header->rows)
		return -EBADMSG;
	if (need > rows->memory_size) {
		free(rows->memory);
		rows->memory = malloc(need);
		rows->memory_size = rows->memory ? need : 0;
		if (!rows->memory)
			return -ENOMEM;
	}
	if (!rows->joined)
		rows->joined = malloc(JOINED_SIZE);
	if (!rows->joined)
		return -ENOMEM;
	memset(rows->memory, 0, need);
	memset(rows->of, 0, sizeof(rows->of));
	rows->kinds = rows->memory;
	rows->rows = header->rows;
	rows->next = 0;
	at = rows->memory + kinds;
	for (unsigned i = 0; i < front->count; i++) {
		const struct store_kind *kind =
			&schema->kinds[schema->by_id[front->entries[i].kind]];

		if (!kind->known)
			continue;
		rows->of[kind->id].records = at;
		rows->of[kind->id].stride = kind->stride;
		rows->of[kind->id].tail_length = store_shape(kind->id)->tail_length;
		at += (size_t)kind->stride * front->entries[i].rows;
	}
	return 0;
}

const struct clew_header *store_rows_next(struct store_rows *rows)
{
	while (rows->next < rows->rows) {
		unsigned kind = rows->kinds[rows->next++];
		uint8_t *record;
		uint16_t length;

		if (kind >= CLEW_KIND_COUNT || !rows->of[kind].stride)
			continue;
		record = rows->of[kind].records + rows->of[kind].at;
		rows->of[kind].at += rows->of[kind].stride;
		if (!rows->of[kind].tail_length)
			return (const struct clew_header *)record;
		memcpy(&length, record + rows->of[kind].tail_length, sizeof(length));
		if (!length)
			return (const struct clew_header *)record;
		memcpy(rows->joined, record, rows->of[kind].stride);
		memcpy(rows->joined + rows->of[kind].stride, rows->tails + rows->of[kind].tail_at,
		       length);
		rows->of[kind].tail_at += length;
		return (const struct clew_header *)rows->joined;
	}
	return NULL;
}

void store_rows_done(struct store_rows *rows)
{
	free(rows->memory);
	free(rows->tails);
	free(rows->joined);
	memset(rows, 0, sizeof(*rows));
}
