/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Makes quick chunks. Each kind has an image: the members of its record and of what may follow it,
 * each always at the same place. A row stores the words of its image that differ from the row of
 * its kind before; words of a part that it does not have are left as they were.
 */
#include "store/quick.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX (STORE_IMAGE_MAX / sizeof(uint32_t))
#define MASK_MAX  ((WORDS_MAX + 7) / 8)

/* The rows of a kind so far. */
struct image {
	uint32_t *words; /* NULL: there was no row */
	size_t count;
	uint32_t rows;
	uint32_t bytes; /* that they take */
};

/* The parts of a row, as places in its image. */
struct part {
	const uint8_t *from;
	size_t word, count;
};

static unsigned find_parts(const struct store_shape *shape, const struct clew_header *header,
			   struct part parts[3])
{
	const uint8_t *at = (const uint8_t *)header;
	size_t wait = shape->wait_flags ? sizeof(struct clew_wait) : 0;
	unsigned count = 0;

	parts[count++] = (struct part){at, 0, shape->size / 4};
	at += shape->size;
	if (header->flags & shape->wait_flags) {
		parts[count++] = (struct part){at, shape->size / 4, wait / 4};
		at += wait;
	}
	if (header->flags & shape->cause_flags)
		parts[count++] =
			(struct part){at, (shape->size + wait) / 4, sizeof(struct clew_cause) / 4};
	return count;
}

/* Puts the words of a part that differ from the image; returns the end of what was put. */
static uint8_t *put_part(uint8_t *to, uint8_t *mask, uint32_t *words, const struct part *part)
{
	for (size_t i = 0, at = part->word; i < part->count; i++, at++) {
		uint32_t word;
		bool differs;

		memcpy(&word, part->from + 4 * i, sizeof(word));
		differs = word != words[at];
		words[at] = word;
		/* Without a branch, as the CPU cannot foresee it. */
		memcpy(to, &word, sizeof(word));
		to += differs ? sizeof(word) : 0;
		mask[at / 8] |= differs << at % 8;
	}
	return to;
}

/* Returns the bytes of the row at `to`; `size`: of the record. */
static size_t put_row(uint8_t *to, struct image *image, const struct clew_header *header,
		      size_t size)
{
	const struct store_shape *shape = store_shape(header->kind);
	size_t mask_size = (image->count + 7) / 8, fixed = 0;
	uint8_t *mask = to + 1, *at = mask + mask_size;
	struct part parts[3];
	unsigned count = find_parts(shape, header, parts);

	*to = header->kind;
	memset(mask, 0, mask_size);
	for (unsigned i = 0; i < count; i++) {
		at = put_part(at, mask, image->words, &parts[i]);
		fixed += 4 * parts[i].count;
	}
	if (shape->tail_length) {
		memcpy(at, (const uint8_t *)header + fixed, size - fixed);
		at += size - fixed;
	}
	image->rows++;
	image->bytes += at - to;
	return at - to;
}

static int reserve(struct store_quick *quick, size_t size)
{
	if (size <= quick->capacity)
		return 0;
	free(quick->bytes);
	quick->bytes = malloc(size);
	quick->capacity = quick->bytes ? size : 0;
	return quick->bytes ? 0 : -ENOMEM;
}

/* Puts all rows into the memory. *ret_last: the time of the last one. */
static size_t put_rows(struct store_quick *quick, struct image *images, const uint8_t *records,
		       size_t rows, uint64_t *ret_last)
{
	static _Thread_local uint32_t words[CLEW_KIND_COUNT][WORDS_MAX];
	size_t size = 0;

	for (size_t i = 0; i < rows; i++) {
		const struct clew_header *header = (const struct clew_header *)records;
		struct image *image = &images[header->kind];
		size_t taken = store_record_size(header, SIZE_MAX);

		if (!image->words) {
			image->words = words[header->kind];
			image->count = store_record_stride(header->kind) / 4;
			memset(image->words, 0, 4 * image->count);
		}
		size += put_row(quick->bytes + size, image, header, taken);
		*ret_last = header->time;
		records += (taken + 7) & ~(size_t)7;
	}
	return size;
}

static void put_number(uint8_t **to, uint64_t number, size_t size)
{
	memcpy(*to, &number, size);
	*to += size;
}

/* Where a kind's columns are in its image. */
static void put_places(uint8_t **to, const struct store_kind *kind)
{
	for (unsigned i = 0; i < kind->count; i++) {
		const struct store_column *column = &kind->columns[i];

		put_number(to,
			   column->coding == STORE_LATEST || column->coding == STORE_TAIL
				   ? STORE_NO_PLACE
				   : column->offset,
			   2);
	}
}

/* The chunk's front and its places, with what they say of the kinds that there are. */
static void put_head(const struct store_schema *schema, const struct image *images,
		     struct store_chunk *chunk, uint8_t **to)
{
	uint8_t *front = *to;

	*front = STORE_FRONT_QUICK;
	(*to)++;
	for (unsigned kind = 1; kind < CLEW_KIND_COUNT; kind++) {
		if (!images[kind].rows)
			continue;
		++*front;
		put_number(to, kind, 1);
		put_number(to, images[kind].rows, 4);
		put_number(to, images[kind].bytes, 4);
		chunk->totals[kind] =
			(struct store_index_total){images[kind].rows, images[kind].bytes};
		chunk->entry.kinds |= store_index_kinds(clew_kind_bit(kind));
	}
	put_places(to, &schema->kinds[0]);
	for (unsigned kind = 1; kind < CLEW_KIND_COUNT; kind++) {
		if (!images[kind].rows)
			continue;
		put_number(to, 4 * images[kind].count, 2);
		put_places(to, &schema->kinds[schema->by_id[kind]]);
	}
}

int store_quick_encode(struct store_quick *quick, const struct store_schema *schema,
		       const uint8_t *records, size_t bytes, size_t rows, unsigned stream,
		       uint64_t row, struct store_chunk **ret_chunk)
{
	struct store_chunk_header header = {.kind = STORE_CHUNK_RECORDS,
					    .stream = stream,
					    .rows = rows,
					    .row = row,
					    .first_time =
						    ((const struct clew_header *)records)->time};
	struct image images[CLEW_KIND_COUNT] = {0};
	size_t most = sizeof(header) + 1 + CLEW_KIND_COUNT * (11 + 2 * STORE_COLUMNS_MAX), size;
	struct store_chunk *chunk;
	uint8_t *at;

	if (!rows || bytes > STORE_PAYLOAD_MAX / 2)
		return -EINVAL;
	/* A row takes its kind and a mask more than its record, and one word is put in vain. */
	if (reserve(quick, bytes + rows * (1 + MASK_MAX) + 4) < 0)
		return -ENOMEM;
	size = put_rows(quick, images, records, rows, &header.last_time);
	chunk = malloc(sizeof(*chunk) + most + size);
	if (!chunk)
		return -ENOMEM;
	memset(chunk, 0, sizeof(*chunk));
	memcpy(chunk->data, &header, sizeof(header));
	at = chunk->data + sizeof(header);
	put_head(schema, images, chunk, &at);
	memcpy(at, quick->bytes, size);
	chunk->size = at + size - chunk->data;
	chunk->quick = true;
	store_chunk_seal(chunk);
	*ret_chunk = chunk;
	return 0;
}

void store_quick_done(struct store_quick *quick)
{
	free(quick->bytes);
	*quick = (struct store_quick){0};
}
