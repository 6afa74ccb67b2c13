/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A RECORDS chunk back to records, by the file's own schema. Nothing in a chunk
 * is believed before it is checked: a checksum says that the bytes are those
 * that were written, not who wrote them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "chunk.h"
#include "columns.h"

#define JOINED_SIZE (STORE_TAIL_MAX + 1024) /* the longest tail and any record before it */

struct store_decoder {
	const struct store_schema *schema;
	ZSTD_DCtx *zstd;
	struct store_work work;
	uint8_t *frame;
	size_t frame_capacity;
	size_t capacity;		     /* of the arrays below, in rows */
	uint32_t *positions;		     /* of a kind's rows in the chunk */
	uint64_t *common[STORE_COLUMNS_MAX]; /* values of the common columns, by row of the chunk */
};

/* Where decoding stands in the frame. */
struct place {
	const uint8_t *directory;
	const uint8_t *directory_end;
	const uint8_t *body;
	const uint8_t *end;
};

int store_unframe(const struct store_chunk_header *header, const uint8_t *payload, uint8_t **ret_bytes)
{
	uint8_t *bytes;
	size_t size;

	if (!header->raw_size || header->raw_size > STORE_PAYLOAD_MAX)
		return -EBADMSG;
	bytes = malloc(header->raw_size);
	if (!bytes)
		return -ENOMEM;
	size = ZSTD_decompress(bytes, header->raw_size, payload, header->size);
	if (ZSTD_isError(size) || size != header->raw_size) {
		free(bytes);
		return -EBADMSG;
	}
	*ret_bytes = bytes;
	return 0;
}

int store_front_parse(const uint8_t *payload, size_t size, struct store_front *ret_front)
{
	struct store_front front = {0};

	if (!size)
		return -EBADMSG;
	front.count = payload[0];
	front.size = 1 + 9 * (size_t)front.count;
	if (front.count > STORE_KINDS_MAX || size < front.size)
		return -EBADMSG;
	for (unsigned i = 0; i < front.count; i++) {
		const uint8_t *entry = payload + 1 + 9 * (size_t)i;

		front.entries[i].kind = entry[0];
		memcpy(&front.entries[i].rows, entry + 1, 4);
		memcpy(&front.entries[i].column_bytes, entry + 5, 4);
		if (!entry[0] || (i && entry[0] <= front.entries[i - 1].kind))
			return -EBADMSG;
	}
	*ret_front = front;
	return 0;
}

int store_decoder_new(const struct store_schema *schema, struct store_decoder **ret_decoder)
{
	struct store_decoder *decoder = calloc(1, sizeof(*decoder));

	if (!decoder)
		return -ENOMEM;
	decoder->schema = schema;
	decoder->zstd = ZSTD_createDCtx();
	if (!decoder->zstd) {
		free(decoder);
		return -ENOMEM;
	}
	*ret_decoder = decoder;
	return 0;
}

void store_decoder_free(struct store_decoder *decoder)
{
	if (!decoder)
		return;
	store_work_done(&decoder->work);
	ZSTD_freeDCtx(decoder->zstd);
	free(decoder->frame);
	free(decoder->positions);
	for (unsigned i = 0; i < STORE_COLUMNS_MAX; i++)
		free(decoder->common[i]);
	free(decoder);
}

static int decoder_reserve(struct store_decoder *decoder, size_t rows, size_t raw_size)
{
	if (raw_size > decoder->frame_capacity) {
		free(decoder->frame);
		decoder->frame = malloc(raw_size);
		decoder->frame_capacity = decoder->frame ? raw_size : 0;
		if (!decoder->frame)
			return -ENOMEM;
	}
	if (rows > decoder->capacity) {
		const struct store_kind *common = &decoder->schema->kinds[0];

		decoder->capacity = 0;
		free(decoder->positions);
		decoder->positions = malloc(rows * sizeof(*decoder->positions));
		if (!decoder->positions)
			return -ENOMEM;
		for (unsigned i = 0; i < common->count; i++) {
			free(decoder->common[i]);
			decoder->common[i] = malloc(rows * sizeof(uint64_t));
			if (!decoder->common[i])
				return -ENOMEM;
		}
		decoder->capacity = rows;
	}
	return store_work_reserve(&decoder->work, rows);
}

/* Takes the next column's bytes. */
static int next_column(struct place *place, const uint8_t **ret_bytes, size_t *ret_size)
{
	uint64_t size = 0;

	for (unsigned shift = 0;; shift += 7) {
		uint8_t byte;

		if (shift > 28 || place->directory == place->directory_end)
			return -EBADMSG;
		byte = *place->directory++;
		size |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			break;
	}
	if (size > (size_t)(place->end - place->body))
		return -EBADMSG;
	*ret_bytes = place->body;
	*ret_size = size;
	place->body += size;
	return 0;
}

static int get_planes(uint64_t *residuals, size_t count, const uint8_t *bytes, size_t size)
{
	if (!count)
		return size ? -EBADMSG : 0;
	if (size % count || size / count > 8)
		return -EBADMSG;
	store_planes_get(residuals, bytes, count, size / count);
	return 0;
}

static int get_numbers(struct store_work *work, const struct store_job *job, const uint8_t *bytes, size_t size)
{
	size_t extra = 0;
	int r;

	/* The commonest column of all is one of zeros. */
	if (!size && (job->column->coding == STORE_PLAIN || job->column->coding == STORE_KEYED)) {
		memset(work->values, 0, job->count * sizeof(*work->values));
		return store_keep(work, job);
	}
	if (job->column->coding == STORE_RECENT) {
		if (size < job->count)
			return -EBADMSG;
		for (size_t i = 0; i < job->count; i++) {
			work->residuals[i] = bytes[i];
			extra += !bytes[i];
		}
		r = get_planes(work->residuals + job->count, extra, bytes + job->count, size - job->count);
	} else {
		r = get_planes(work->residuals, job->count, bytes, size);
	}
	if (r == 0)
		r = store_values(work, job, extra);
	return r < 0 ? r : store_keep(work, job);
}

/* Stores values in records that were all zero. */
static void scatter(uint8_t *to, size_t stride, const uint32_t *present, const uint64_t *values, size_t count, unsigned size)
{
	if (!store_planes_width(values, count))
		return;
	switch (size) {
	case 1:
		for (size_t i = 0; i < count; i++)
			to[present[i] * stride] = values[i];
		break;
	case 2:
		for (size_t i = 0; i < count; i++)
			*(uint16_t *)(to + present[i] * stride) = values[i];
		break;
	case 4:
		for (size_t i = 0; i < count; i++)
			*(uint32_t *)(to + present[i] * stride) = values[i];
		break;
	case 8:
		for (size_t i = 0; i < count; i++)
			*(uint64_t *)(to + present[i] * stride) = values[i];
		break;
	}
}

/* For members that come earlier in some records; the flags of those are there already. */
static void scatter_pulled(uint8_t *records, size_t stride, const struct store_job *job, const uint64_t *values)
{
	const struct store_column *column = job->column;

	for (size_t i = 0; i < job->count; i++) {
		uint8_t *record = records + job->present[i] * stride;
		unsigned pull = ((const struct clew_header *)record)->flags & column->pull_mask ? 0 : column->pull;

		memcpy(record + column->offset - pull, &values[i], column->member_size);
	}
}

static int get_trimmed(const struct store_job *job, uint8_t *records, size_t stride, const uint8_t *bytes, size_t size)
{
	const uint8_t *lengths = bytes, *end = bytes + size;

	if (!size)
		return 0;
	if (size < job->count)
		return -EBADMSG;
	bytes += job->count;
	for (size_t i = 0; i < job->count; i++) {
		if (lengths[i] > job->column->size || lengths[i] > end - bytes)
			return -EBADMSG;
		if (records)
			memcpy(records + job->present[i] * stride + job->column->offset, bytes, lengths[i]);
		bytes += lengths[i];
	}
	return bytes == end ? 0 : -EBADMSG;
}

/* Only checks: the bytes stay together and are handed out one record after the other. */
static int check_tail(const struct store_work *work, const struct store_job *job, size_t size)
{
	const uint64_t *lengths = work->full[job->column->reference];
	size_t total = 0;

	for (size_t i = 0; i < job->count; i++) {
		if (lengths[job->present[i]] > STORE_TAIL_MAX)
			return -EBADMSG;
		total += lengths[job->present[i]];
	}
	return total == size ? 0 : -EBADMSG;
}

static int decode_common(struct store_decoder *decoder, const struct store_chunk_header *header, struct place *place,
			 struct store_rows *rows)
{
	const struct store_kind *common = &decoder->schema->kinds[0];
	struct store_work *work = &decoder->work;
	int r = 0;

	store_work_begin(work);
	for (unsigned i = 0; i < common->count && r == 0; i++) {
		const struct store_column *column = &common->columns[i];
		struct store_job job = {
			.column = column, .number = i, .rows = header->rows, .first_time = header->first_time, .stream = header->stream};
		const uint8_t *bytes;
		size_t size;

		r = next_column(place, &bytes, &size);
		if (r < 0 || column->type == STORE_BYTES || (!column->known && !column->referenced))
			continue;
		store_present(work, &job);
		r = get_numbers(work, &job, bytes, size);
		if (r == 0)
			memcpy(decoder->common[i], work->values, header->rows * sizeof(uint64_t));
	}
	for (size_t i = 0; i < header->rows && r == 0; i++)
		rows->kinds[i] = decoder->common[0][i];
	return r;
}

static int decode_kind(struct store_decoder *decoder, const struct store_chunk_header *header, const struct store_kind *kind, size_t count,
		       struct place *place, struct store_rows *rows)
{
	const struct store_kind *common = &decoder->schema->kinds[0];
	struct store_work *work = &decoder->work;
	uint8_t *records = kind->known ? rows->of[kind->id].records : NULL;
	size_t stride = kind->stride, found = 0;
	bool tail = false;
	int r = 0;

	for (size_t i = 0; i < header->rows; i++) {
		if (rows->kinds[i] != kind->id)
			continue;
		if (found == count)
			return -EBADMSG;
		decoder->positions[found++] = i;
	}
	if (found != count)
		return -EBADMSG;

	store_work_begin(work);
	for (unsigned i = 0; i < common->count && r == 0; i++) {
		const struct store_column *column = &common->columns[i];

		if (column->referenced)
			r = store_work_array(work, &work->common[i]);
		if (r < 0 || (!column->referenced && !(records && column->known)))
			continue;
		for (size_t j = 0; j < count; j++)
			work->values[j] = decoder->common[i][decoder->positions[j]];
		if (column->referenced)
			memcpy(work->common[i], work->values, count * sizeof(uint64_t));
		if (records && column->known)
			scatter(records + column->offset, stride, work->identity, work->values, count, column->member_size);
	}

	for (unsigned i = 0; i < kind->count && r == 0; i++) {
		const struct store_column *column = &kind->columns[i];
		struct store_job job = {
			.column = column, .number = i, .rows = count, .first_time = header->first_time, .stream = header->stream};
		bool ours = records && column->known;
		const uint8_t *bytes;
		size_t size;

		r = next_column(place, &bytes, &size);
		if (r < 0 || (!ours && !column->referenced))
			continue;
		store_present(work, &job);
		if (column->coding == STORE_TRIMMED) {
			r = get_trimmed(&job, records, stride, bytes, size);
		} else if (column->coding == STORE_TAIL) {
			r = check_tail(work, &job, size);
			if (r < 0)
				break;
			memcpy(rows->tails + rows->tails_size, bytes, size);
			rows->of[kind->id].tails = rows->tails + rows->tails_size;
			rows->tails_size += size;
			tail = true;
		} else {
			r = get_numbers(work, &job, bytes, size);
			if (r == 0 && ours && column->pull)
				scatter_pulled(records, stride, &job, work->values);
			else if (r == 0 && ours)
				scatter(records + column->offset, stride, job.present, work->values, job.count, column->member_size);
		}
	}
	/* Lengths without what they are the lengths of. */
	for (size_t i = 0; r == 0 && records && rows->of[kind->id].tail_length && !tail && i < count; i++)
		memset(records + i * stride + rows->of[kind->id].tail_length, 0, 2);
	return r;
}

/* Memory for the rows: kinds, then each known kind's records, all zero; tails apart. */
static int rows_prepare(struct store_decoder *decoder, const struct store_chunk_header *header, const struct store_front *front,
			struct store_rows *rows)
{
	size_t kinds = (header->rows + 7) & ~(size_t)7, need = kinds, total = 0;
	uint8_t *at;

	for (unsigned i = 0; i < front->count; i++) {
		unsigned number = decoder->schema->by_id[front->entries[i].kind];

		if (number == STORE_NONE)
			return -EBADMSG;
		total += front->entries[i].rows;
		if (total > header->rows)
			return -EBADMSG;
		need += (size_t)decoder->schema->kinds[number].stride * front->entries[i].rows;
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
		const struct store_kind *kind = &decoder->schema->kinds[decoder->schema->by_id[front->entries[i].kind]];

		if (!kind->known)
			continue;
		rows->of[kind->id].records = at;
		rows->of[kind->id].stride = kind->stride;
		rows->of[kind->id].tail_length = store_tail_length_offset(kind->id);
		at += (size_t)kind->stride * front->entries[i].rows;
	}
	return 0;
}

int store_decode(struct store_decoder *decoder, const struct store_chunk_header *header, const uint8_t *payload, struct store_rows *rows)
{
	struct store_front front;
	struct place place;
	size_t size, columns;
	int r;

	rows->rows = rows->next = 0;
	if (!header->rows || header->rows > STORE_ROWS_MAX || !header->raw_size || header->raw_size > STORE_PAYLOAD_MAX)
		return -EBADMSG;
	r = store_front_parse(payload, header->size, &front);
	if (r == 0)
		r = decoder_reserve(decoder, header->rows, header->raw_size);
	if (r < 0)
		return r;
	size = ZSTD_decompressDCtx(decoder->zstd, decoder->frame, header->raw_size, payload + front.size, header->size - front.size);
	if (ZSTD_isError(size) || size != header->raw_size)
		return -EBADMSG;
	r = rows_prepare(decoder, header, &front, rows);
	if (r < 0)
		return r;

	/* The directory's own length is known when its last entry is read: one a column. */
	columns = decoder->schema->kinds[0].count;
	for (unsigned i = 0; i < front.count; i++)
		columns += decoder->schema->kinds[decoder->schema->by_id[front.entries[i].kind]].count;
	place = (struct place){.directory = decoder->frame, .body = decoder->frame, .end = decoder->frame + size};
	for (; columns && place.body < place.end; place.body++)
		columns -= !(*place.body & 0x80);
	if (columns)
		return -EBADMSG;
	place.directory_end = place.body;

	rows->tails_size = 0;
	if ((size_t)(place.end - place.body) > rows->tails_capacity || !rows->tails) {
		free(rows->tails);
		rows->tails_capacity = place.end - place.body + 4096;
		rows->tails = malloc(rows->tails_capacity);
	}
	if (!rows->tails)
		return -ENOMEM;
	r = decode_common(decoder, header, &place, rows);
	for (unsigned i = 0; i < front.count && r == 0; i++)
		r = decode_kind(decoder, header, &decoder->schema->kinds[decoder->schema->by_id[front.entries[i].kind]],
				front.entries[i].rows, &place, rows);
	if (r == 0 && place.body != place.end)
		r = -EBADMSG;
	if (r < 0)
		rows->rows = 0;
	return r;
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
		memcpy(rows->joined + rows->of[kind].stride, rows->of[kind].tails + rows->of[kind].tail_at, length);
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
