/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Quick chunks to records. Nothing in one is trusted. */
#include "store/quick.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

struct source {
	const uint8_t *at, *end;
};

/* A kind of the chunk. */
struct quick_kind {
	const struct store_kind *kind;
	uint8_t *image;
	size_t size;	 /* of the image; 0: the chunk does not have the kind */
	uint32_t left;	 /* rows that have not come */
	uint8_t *record; /* where the next row goes, NULL: the kind is unknown */
	uint16_t places[STORE_COLUMNS_MAX];
	bool has_tail; /* the kind is known, and so is its tail */
};

struct tail {
	uint8_t kind;
	uint32_t size;
	const uint8_t *bytes;
};

struct quick_chunk {
	const struct store_kind *common;
	uint16_t places[STORE_COLUMNS_MAX];
	struct quick_kind kinds[256];
	uint8_t *images;
	struct vector tails;					       /* struct tail */
	uint64_t shared[STORE_COLUMNS_MAX], values[STORE_COLUMNS_MAX]; /* of the row at hand */
};

static const uint8_t *take(struct source *source, size_t size)
{
	const uint8_t *at = source->at;

	if (size > (size_t)(source->end - at))
		return NULL;
	source->at += size;
	return at;
}

static int take_u16(struct source *source, uint16_t *ret_number)
{
	const uint8_t *at = take(source, sizeof(*ret_number));

	if (!at)
		return -EBADMSG;
	memcpy(ret_number, at, sizeof(*ret_number));
	return 0;
}

static size_t column_size(const struct store_column *column)
{
	return column->type == STORE_BYTES ? column->size : store_type_size(column->type);
}

/* True if a column is in the image. */
static bool has_place(const struct store_column *column, uint16_t place)
{
	return place != STORE_NO_PLACE && column->coding != STORE_TAIL;
}

static bool fits(const struct store_kind *kind, const uint16_t *places, size_t image)
{
	for (unsigned i = 0; i < kind->count; i++)
		if (has_place(&kind->columns[i], places[i]) &&
		    places[i] + column_size(&kind->columns[i]) > image)
			return false;
	return true;
}

static int take_places(struct source *source, const struct store_kind *kind, uint16_t *places)
{
	int r = 0;

	for (unsigned i = 0; i < kind->count && r == 0; i++)
		r = take_u16(source, &places[i]);
	return r;
}

static int begin_kind(struct quick_chunk *chunk, const struct store_schema *schema, unsigned id,
		      uint32_t count, struct source *source, struct store_rows *rows)
{
	struct quick_kind *of = &chunk->kinds[id];
	uint16_t size;
	int r = take_u16(source, &size);

	of->kind = &schema->kinds[schema->by_id[id]];
	if (r == 0)
		r = take_places(source, of->kind, of->places);
	if (r < 0 || !size || size % 4 || size > STORE_IMAGE_MAX ||
	    !fits(of->kind, of->places, size) || !fits(chunk->common, chunk->places, size))
		return -EBADMSG;
	of->size = size;
	of->left = count;
	if (!of->kind->known)
		return 0;
	of->record = rows->of[id].records;
	for (unsigned i = 0; i < of->kind->count; i++)
		of->has_tail |=
			of->kind->columns[i].known && of->kind->columns[i].coding == STORE_TAIL;
	return 0;
}

static int begin(struct quick_chunk *chunk, const struct store_schema *schema,
		 const struct store_front *front, struct source *source, struct store_rows *rows)
{
	int r;

	chunk->common = &schema->kinds[0];
	chunk->tails.item = sizeof(struct tail);
	r = take_places(source, chunk->common, chunk->places);
	for (unsigned i = 0; i < front->count && r == 0; i++)
		r = begin_kind(chunk, schema, front->entries[i].kind, front->entries[i].rows,
			       source, rows);
	if (r < 0)
		return r;
	chunk->images = calloc(front->count + 1, STORE_IMAGE_MAX);
	if (!chunk->images)
		return -ENOMEM;
	for (unsigned i = 0; i < front->count; i++)
		chunk->kinds[front->entries[i].kind].image =
			chunk->images + (size_t)i * STORE_IMAGE_MAX;
	return 0;
}

/* Brings the image to the next row. */
static int take_words(const struct quick_kind *of, struct source *source)
{
	const uint8_t *mask = take(source, (of->size / 4 + 7) / 8);

	if (!mask)
		return -EBADMSG;
	for (size_t word = 0; word < of->size / 4; word++) {
		const uint8_t *bytes;

		if (!(mask[word / 8] >> word % 8 & 1))
			continue;
		bytes = take(source, 4);
		if (!bytes)
			return -EBADMSG;
		memcpy(of->image + 4 * word, bytes, 4);
	}
	return 0;
}

/* Stores a number in its record, in which it may be at a lower offset. */
static void put_number(uint8_t *record, const struct store_column *column, uint64_t value)
{
	unsigned flags = ((const struct clew_header *)record)->flags,
		 pull = flags & column->pull_mask ? 0 : column->pull;

	memcpy(record + column->offset - pull, &value, column->member_size);
}

static int take_tail(struct quick_chunk *chunk, const struct quick_kind *of,
		     const struct store_column *column, struct source *source)
{
	struct tail tail = {.kind = of->kind->id,
			    .size = (uint32_t)chunk->values[column->reference]};

	if (chunk->values[column->reference] > STORE_TAIL_MAX)
		return -EBADMSG;
	tail.bytes = take(source, tail.size);
	if (!tail.bytes)
		return -EBADMSG;
	if (!of->record || !column->known || !tail.size)
		return 0;
	if (vector_reserve(&chunk->tails, chunk->tails.count + 1) < 0)
		return -ENOMEM;
	((struct tail *)chunk->tails.data)[chunk->tails.count++] = tail;
	return 0;
}

/* True if the row has the column, and this clew knows how it is stored. */
static bool is_present(const struct quick_chunk *chunk, const struct store_kind *kind,
		       const struct store_column *column, const uint64_t *values)
{
	uint8_t reference = column->condition;

	if (!column->type || column->type > STORE_BYTES || column->coding >= STORE_CODING_COUNT ||
	    (kind == chunk->common && column->type == STORE_BYTES))
		return false;
	return reference == STORE_NONE ||
	       (reference & STORE_COMMON ? chunk->shared[reference & ~STORE_COMMON]
					 : values[reference]) &
		       column->mask;
}

/* Takes the columns of a row out of its image. */
static int take_columns(struct quick_chunk *chunk, const struct quick_kind *of,
			const struct store_kind *kind, const uint16_t *places, uint64_t *values,
			struct source *source)
{
	int r = 0;

	for (unsigned i = 0; i < kind->count && r == 0; i++) {
		const struct store_column *column = &kind->columns[i];
		bool ours = of->record && column->known;

		values[i] = 0;
		if (!is_present(chunk, kind, column, values))
			continue;
		if (column->coding == STORE_TAIL) {
			r = take_tail(chunk, of, column, source);
		} else if (!has_place(column, places[i])) {
			continue;
		} else if (column->type == STORE_BYTES) {
			if (ours)
				memcpy(of->record + column->offset, of->image + places[i],
				       column->size);
		} else {
			memcpy(&values[i], of->image + places[i], column_size(column));
			if (ours)
				put_number(of->record, column, values[i]);
		}
	}
	return r;
}

static int take_row(struct quick_chunk *chunk, struct source *source, uint8_t *ret_kind)
{
	const uint8_t *id = take(source, 1);
	struct quick_kind *of;
	int r;

	if (!id)
		return -EBADMSG;
	of = &chunk->kinds[*id];
	if (!of->left)
		return -EBADMSG;
	of->left--;
	r = take_words(of, source);
	if (r == 0)
		r = take_columns(chunk, of, chunk->common, chunk->places, chunk->shared, source);
	/* The kind is in front of each row, and in the image. */
	if (r == 0 && chunk->shared[0] != *id)
		r = -EBADMSG;
	if (r == 0)
		r = take_columns(chunk, of, of->kind, of->places, chunk->values, source);
	if (r == 0 && of->record) {
		/* A tail that the file lacks: its length has to be 0. */
		if (store_shape(*id)->tail_length && !of->has_tail)
			memset(of->record + store_shape(*id)->tail_length, 0, 2);
		of->record += of->kind->stride;
	}
	*ret_kind = *id;
	return r;
}

/* Puts the tails of each kind together. */
static int place_tails(const struct quick_chunk *chunk, struct store_rows *rows)
{
	const struct tail *tails = chunk->tails.data;
	size_t at[CLEW_KIND_COUNT] = {0}, size = 0;
	uint8_t *bigger;

	for (size_t i = 0; i < chunk->tails.count; i++) {
		at[tails[i].kind] += tails[i].size;
		size += tails[i].size;
	}
	if (size > rows->tails_capacity) {
		bigger = realloc(rows->tails, size);
		if (!bigger)
			return -ENOMEM;
		rows->tails = bigger;
		rows->tails_capacity = size;
	}
	rows->tails_size = 0;
	for (unsigned kind = 0; kind < CLEW_KIND_COUNT; kind++) {
		rows->of[kind].tail_at = rows->tails_size;
		rows->tails_size += at[kind];
		at[kind] = rows->of[kind].tail_at;
	}
	for (size_t i = 0; i < chunk->tails.count; i++) {
		memcpy(rows->tails + at[tails[i].kind], tails[i].bytes, tails[i].size);
		at[tails[i].kind] += tails[i].size;
	}
	return 0;
}

int store_quick_decode(const struct store_schema *schema, const struct store_front *front,
		       const uint8_t *body, size_t size, struct store_rows *rows)
{
	struct quick_chunk *chunk = calloc(1, sizeof(*chunk));
	struct source source = {body, body + size};
	int r = chunk ? begin(chunk, schema, front, &source, rows) : -ENOMEM;

	for (size_t i = 0; i < rows->rows && r == 0; i++)
		r = take_row(chunk, &source, &rows->kinds[i]);
	if (r == 0 && source.at != source.end)
		r = -EBADMSG;
	if (r == 0)
		r = place_tails(chunk, rows);
	if (r < 0)
		rows->rows = 0;
	if (chunk) {
		free(chunk->images);
		vector_done(&chunk->tails);
	}
	free(chunk);
	return r;
}
