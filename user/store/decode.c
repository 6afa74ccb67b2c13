/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A RECORDS chunk back to records, by the file's own schema. Nothing in a chunk
 * is trusted before it is checked: a checksum proves that the bytes were
 * written so, not by whom.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "store/chunk.h"
#include "store/columns.h"
#include "store/quick.h"

struct store_decoder {
	const struct store_schema *schema;
	ZSTD_DCtx *zstd;
	struct store_pack *pack; /* made when first needed */
	uint8_t *texts;		 /* texts of the current column, if packed */
	int64_t text_left;	 /* how many more bytes of texts the chunk may have */
	struct store_work work;
	uint8_t *frame;
	size_t frame_capacity;
	size_t capacity;		     /* rows for which the arrays below have room */
	uint32_t *positions;		     /* numbers of the current kind's rows in the chunk */
	uint64_t *common[STORE_COLUMNS_MAX]; /* values of the common columns, by row of the chunk */
	struct followed {
		uint32_t *positions; /* of the kind's rows */
		uint64_t *values;    /* of the column */
		size_t rows;
	} followed[STORE_FOLLOWED_MAX]; /* columns that LATEST columns follow */
};

/* The current position in the frame. */
struct cursor {
	const uint8_t *directory;
	const uint8_t *directory_end;
	const uint8_t *body;
	const uint8_t *end;
	struct store_pack *pack; /* the stream of a packed chunk, or NULL */
};

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
	store_pack_free(decoder->pack);
	free(decoder->texts);
	free(decoder->frame);
	free(decoder->positions);
	for (unsigned i = 0; i < STORE_COLUMNS_MAX; i++)
		free(decoder->common[i]);
	for (unsigned i = 0; i < STORE_FOLLOWED_MAX; i++) {
		free(decoder->followed[i].positions);
		free(decoder->followed[i].values);
	}
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
		for (unsigned i = 0; i < decoder->schema->followed_count; i++) {
			struct followed *followed = &decoder->followed[i];

			free(followed->positions);
			free(followed->values);
			followed->positions = malloc(rows * sizeof(*followed->positions));
			followed->values = malloc(rows * sizeof(*followed->values));
			if (!followed->positions || !followed->values)
				return -ENOMEM;
		}
		decoder->capacity = rows;
	}
	return store_work_reserve(&decoder->work, rows);
}

/* True if a packed chunk has the column in its stream. */
static bool in_stream(const struct store_column *column)
{
	return column->type && column->type <= STORE_BYTES && column->coding < STORE_CODING_COUNT &&
	       column->coding != STORE_LATEST;
}

/*
 * Takes the next column's bytes. For a column in the stream there are none;
 * *ret_size is not 0 if it is present.
 */
static int next_column(struct cursor *cursor, const struct store_column *column,
		       const uint8_t **ret_bytes, size_t *ret_size)
{
	uint64_t size = 0;

	for (unsigned shift = 0;; shift += 7) {
		uint8_t byte;

		if (shift > 28 || cursor->directory == cursor->directory_end)
			return -EBADMSG;
		byte = *cursor->directory++;
		size |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			break;
	}
	*ret_bytes = cursor->body;
	*ret_size = size;
	if (cursor->pack && in_stream(column))
		return size <= (store_has_unit(column) ? 8 * store_type_size(column->type) : 1)
			       ? 0
			       : -EBADMSG;
	if (size > (size_t)(cursor->end - cursor->body))
		return -EBADMSG;
	cursor->body += size;
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

/* True if a column without bytes has only zeros. */
static bool zeros_take_nothing(const struct store_column *column)
{
	return column->coding == STORE_PLAIN ||
	       (column->coding == STORE_KEYED && column->third == STORE_NONE);
}

/* `pack`: the stream that has the numbers, or NULL: `bytes` have them. */
static int get_numbers(struct store_work *work, struct store_job *job, const uint8_t *bytes,
		       size_t size, struct store_pack *pack)
{
	size_t extra = 0;
	int r;

	if (!size && zeros_take_nothing(job->column)) {
		memset(work->values, 0, job->count * sizeof(*work->values));
		return store_keep(work, job);
	}
	if (pack && size) {
		job->unit = size - 1;
		r = store_unpack_residuals(work, job, pack, &extra);
	} else if (pack) {
		memset(work->residuals, 0, job->count * sizeof(*work->residuals));
		r = job->column->coding == STORE_RECENT && job->count ? -EBADMSG : 0;
	} else if (job->column->coding == STORE_RECENT) {
		if (size < job->count)
			return -EBADMSG;
		for (size_t i = 0; i < job->count; i++) {
			work->residuals[i] = bytes[i];
			extra += !bytes[i];
		}
		r = get_planes(work->residuals + job->count, extra, bytes + job->count,
			       size - job->count);
	} else {
		r = get_planes(work->residuals, job->count, bytes, size);
	}
	if (r == 0)
		r = store_values(work, job, extra);
	if (r == 0)
		store_from_units(work, job);
	return r < 0 ? r : store_keep(work, job);
}

/* Stores values in records, which are zero so far. */
static void scatter(uint8_t *to, size_t stride, const uint32_t *present, const uint64_t *values,
		    size_t count, unsigned size)
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

/*
 * For members that are at a lower offset in some records, by flags that are
 * decoded already.
 */
static void scatter_pulled(uint8_t *records, size_t stride, const struct store_job *job,
			   const uint64_t *values)
{
	const struct store_column *column = job->column;

	for (size_t i = 0; i < job->count; i++) {
		uint8_t *record = records + job->present[i] * stride;
		unsigned pull = ((const struct clew_header *)record)->flags & column->pull_mask
					? 0
					: column->pull;

		memcpy(record + column->offset - pull, &values[i], column->member_size);
	}
}

/*
 * Decodes a packed column's texts into the decoder's memory; their lengths are
 * in work->residuals.
 */
static int unpack_texts(struct store_decoder *decoder, const struct store_job *job,
			const uint8_t **ret_bytes, size_t *ret_size)
{
	const struct store_column *column = job->column;
	const uint64_t *lengths = decoder->work.residuals;
	const uint64_t *contexts = column->context == STORE_NONE
					   ? NULL
					   : store_column_of(&decoder->work, column->context);
	size_t limit = column->coding == STORE_TAIL ? STORE_TAIL_MAX : column->size, size = 0,
	       at = 0;
	uint8_t *bigger;
	int r = 0;

	for (size_t i = 0; i < job->count; i++) {
		if (lengths[i] > limit)
			return -EBADMSG;
		size += lengths[i];
	}
	decoder->text_left -= size;
	if (decoder->text_left < 0)
		return -EBADMSG;
	bigger = realloc(decoder->texts, size + 1);
	if (!bigger)
		return -ENOMEM;
	decoder->texts = bigger;
	for (size_t i = 0; i < job->count && r == 0; i++) {
		r = store_unpack_text(decoder->pack, contexts ? contexts[job->present[i]] : 0,
				      bigger + at, lengths[i]);
		at += lengths[i];
	}
	*ret_bytes = bigger;
	*ret_size = size;
	return r;
}

/* Copies bytes into the records; their lengths are in work->residuals. */
static int place_trimmed(const struct store_work *work, const struct store_job *job,
			 uint8_t *records, size_t stride, const uint8_t *bytes, const uint8_t *end)
{
	for (size_t i = 0; i < job->count; i++) {
		size_t length = work->residuals[i];

		if (length > job->column->size || length > (size_t)(end - bytes))
			return -EBADMSG;
		if (records)
			memcpy(records + job->present[i] * stride + job->column->offset, bytes,
			       length);
		bytes += length;
	}
	return bytes == end ? 0 : -EBADMSG;
}

static int get_trimmed(struct store_decoder *decoder, const struct store_job *job, uint8_t *records,
		       size_t stride, const uint8_t *bytes, size_t size, bool packed)
{
	struct store_work *work = &decoder->work;
	size_t extra;
	int r;

	if (!size)
		return 0;
	if (packed) {
		r = store_unpack_residuals(work, job, decoder->pack, &extra);
		if (r == 0)
			r = unpack_texts(decoder, job, &bytes, &size);
		return r < 0 ? r : place_trimmed(work, job, records, stride, bytes, bytes + size);
	}
	if (size < job->count)
		return -EBADMSG;
	for (size_t i = 0; i < job->count; i++)
		work->residuals[i] = bytes[i];
	return place_trimmed(work, job, records, stride, bytes + job->count, bytes + size);
}

/*
 * Tails stay together here; a record is joined with its tail when it is
 * returned.
 */
static int get_tail(struct store_decoder *decoder, const struct store_job *job,
		    const uint8_t **bytes, size_t *size, bool packed)
{
	struct store_work *work = &decoder->work;
	const uint64_t *lengths = work->full[job->column->reference];
	const uint8_t *at;
	size_t total = 0;
	int r;

	for (size_t i = 0; i < job->count; i++) {
		work->residuals[i] = lengths[job->present[i]];
		if (work->residuals[i] > STORE_TAIL_MAX)
			return -EBADMSG;
		total += work->residuals[i];
	}
	if (packed) {
		r = unpack_texts(decoder, job, bytes, size);
		if (r < 0)
			return r;
	}
	if (total != *size)
		return -EBADMSG;
	if (!job->column->referenced)
		return 0;
	r = store_work_array(work, &work->full[job->number]);
	if (r < 0)
		return r;
	memset(work->full[job->number], 0, job->rows * sizeof(uint64_t));
	at = *bytes;
	for (size_t i = 0; i < job->count; i++) {
		work->full[job->number][job->present[i]] = store_tail_hash(at, work->residuals[i]);
		at += work->residuals[i];
	}
	return 0;
}

/* Appends the tails of all rows of a kind. */
static int keep_tails(struct store_rows *rows, unsigned kind, const uint8_t *bytes, size_t size)
{
	size_t need = rows->tails_size + size;

	if (need > rows->tails_capacity) {
		uint8_t *bigger = realloc(rows->tails, 2 * need);

		if (!bigger)
			return -ENOMEM;
		rows->tails = bigger;
		rows->tails_capacity = 2 * need;
	}
	if (size)
		memcpy(rows->tails + rows->tails_size, bytes, size);
	rows->of[kind].tail_at = rows->tails_size;
	rows->tails_size = need;
	return 0;
}

static int decode_common(struct store_decoder *decoder, const struct store_chunk_header *header,
			 struct cursor *cursor, struct store_rows *rows)
{
	const struct store_kind *common = &decoder->schema->kinds[0];
	struct store_work *work = &decoder->work;
	int r = 0;

	store_work_begin(work);
	memset(work->left, 0, header->rows * sizeof(*work->left));
	for (unsigned i = 0; i < common->count && r == 0; i++) {
		const struct store_column *column = &common->columns[i];
		struct store_job job = {.column = column,
					.number = i,
					.rows = header->rows,
					.first_time = header->first_time,
					.stream = header->stream};
		const uint8_t *bytes;
		size_t size;

		r = next_column(cursor, column, &bytes, &size);
		if (r < 0 || column->type == STORE_BYTES ||
		    !(column->known || column->referenced || (cursor->pack && in_stream(column))))
			continue;
		store_present(work, &job);
		r = get_numbers(work, &job, bytes, size, cursor->pack);
		if (r == 0)
			memcpy(decoder->common[i], work->values, header->rows * sizeof(uint64_t));
	}
	for (size_t i = 0; i < header->rows && r == 0; i++)
		rows->kinds[i] = decoder->common[0][i];
	return r;
}

/*
 * Copies the common columns of this kind's rows into its records (NULL: none),
 * and to where its columns refer to them.
 */
static int share_common(struct store_decoder *decoder, uint8_t *records, size_t stride,
			size_t count)
{
	const struct store_kind *common = &decoder->schema->kinds[0];
	struct store_work *work = &decoder->work;
	int r = 0;

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
			scatter(records + column->offset, stride, work->identity, work->values,
				count, column->member_size);
	}
	return r;
}

/* Keeps the values of a column that LATEST columns follow. */
static void follow(struct store_decoder *decoder, const struct store_column *column, size_t count)
{
	struct followed *followed = &decoder->followed[column->followed - 1];

	memcpy(followed->positions, decoder->positions, count * sizeof(*followed->positions));
	memcpy(followed->values, decoder->work.values, count * sizeof(*followed->values));
	followed->rows = count;
}

/* The rows of a kind, which have to be `count`, in decoder->positions. */
static int find_rows(struct store_decoder *decoder, const struct store_rows *rows, unsigned kind,
		     size_t count)
{
	size_t found = 0;

	for (size_t i = 0; i < rows->rows; i++) {
		if (rows->kinds[i] != kind)
			continue;
		if (found == count)
			return -EBADMSG;
		decoder->positions[found++] = i;
	}
	return found == count ? 0 : -EBADMSG;
}

/* The values of a LATEST column, which takes no bytes. */
static int get_latest(struct store_decoder *decoder, const struct store_job *job, size_t size)
{
	const struct store_column *column = job->column;
	const struct store_kind *other =
		&decoder->schema->kinds[decoder->schema->by_id[column->second]];
	const struct followed *followed =
		&decoder->followed[other->columns[column->reference].followed - 1];

	return size ? -EBADMSG
		    : store_latest(&decoder->work, job, decoder->positions, followed->values,
				   followed->positions, followed->rows);
}

/* One column of a kind, which goes to `records` unless that is NULL. */
static int decode_column(struct store_decoder *decoder, struct store_job *job, uint8_t *records,
			 const struct store_kind *kind, const uint8_t *bytes, size_t size,
			 struct cursor *cursor, struct store_rows *rows)
{
	const struct store_column *column = job->column;
	struct store_work *work = &decoder->work;
	size_t stride = kind->stride;
	int r;

	/* Most columns have only zeros, and so have the records. */
	if (!size && zeros_take_nothing(column) && !column->referenced && !column->followed)
		return 0;
	store_present(work, job);
	switch (column->coding) {
	case STORE_LATEST:
		return get_latest(decoder, job, size);
	case STORE_TRIMMED:
		return get_trimmed(decoder, job, records, stride, bytes, size, cursor->pack);
	case STORE_TAIL:
		r = get_tail(decoder, job, &bytes, &size, cursor->pack);
		return r == 0 && records ? keep_tails(rows, kind->id, bytes, size) : r;
	}
	r = get_numbers(work, job, bytes, size, cursor->pack);
	if (r < 0)
		return r;
	if (records && column->pull)
		scatter_pulled(records, stride, job, work->values);
	else if (records)
		scatter(records + column->offset, stride, job->present, work->values, job->count,
			column->member_size);
	if (column->followed)
		follow(decoder, column, job->rows);
	return 0;
}

static int decode_kind(struct store_decoder *decoder, const struct store_chunk_header *header,
		       const struct store_kind *kind, size_t count, struct cursor *cursor,
		       struct store_rows *rows)
{
	struct store_work *work = &decoder->work;
	uint8_t *records = kind->known ? rows->of[kind->id].records : NULL;
	size_t stride = kind->stride;
	bool tail = false;
	int r;

	r = find_rows(decoder, rows, kind->id, count);
	if (r < 0)
		return r;
	store_work_begin(work);
	memset(work->left, 0, count * sizeof(*work->left));
	r = share_common(decoder, records, stride, count);
	for (unsigned i = 0; i < kind->count && r == 0; i++) {
		const struct store_column *column = &kind->columns[i];
		struct store_job job = {.column = column,
					.number = i,
					.rows = count,
					.first_time = header->first_time,
					.stream = header->stream};
		bool ours = records && column->known;
		const uint8_t *bytes;
		size_t size;

		r = next_column(cursor, column, &bytes, &size);
		if (r < 0 || !(ours || column->referenced || column->followed ||
			       (cursor->pack && in_stream(column))))
			continue;
		r = decode_column(decoder, &job, ours ? records : NULL, kind, bytes, size, cursor,
				  rows);
		tail |= ours && column->coding == STORE_TAIL;
	}
	/* A tail that the file lacks: its length has to be 0. */
	for (size_t i = 0;
	     r == 0 && records && rows->of[kind->id].tail_length && !tail && i < count; i++)
		memset(records + i * stride + rows->of[kind->id].tail_length, 0, 2);
	return r;
}

/* Finds the directory and the columns in the frame, and the stream of a packed chunk. */
static int open_columns(struct store_decoder *decoder, const struct store_chunk_header *header,
			const struct store_front *front, const uint8_t *payload,
			struct cursor *ret_cursor)
{
	size_t columns = decoder->schema->kinds[0].count;
	struct cursor cursor = {.directory = decoder->frame,
				.body = decoder->frame,
				.end = decoder->frame + header->raw_size};
	int r;

	/* The directory has an entry for each column: it ends with the last of them. */
	for (unsigned i = 0; i < front->count; i++)
		columns += decoder->schema->kinds[decoder->schema->by_id[front->entries[i].kind]]
				   .count;
	for (; columns && cursor.body < cursor.end; cursor.body++)
		columns -= !(*cursor.body & 0x80);
	if (columns)
		return -EBADMSG;
	cursor.directory_end = cursor.body;
	if (front->packed) {
		r = decoder->pack ? 0 : store_pack_new(&decoder->pack);
		if (r < 0)
			return r;
		store_unpack_begin(decoder->pack, header->rows, payload + front->size,
				   front->stream_size);
		cursor.pack = decoder->pack;
	}
	*ret_cursor = cursor;
	return 0;
}

static int decode_quick(struct store_decoder *decoder, const struct store_chunk_header *header,
			const struct store_front *front, const uint8_t *payload,
			struct store_rows *rows)
{
	int r = header->raw_size ? -EBADMSG
				 : store_rows_prepare(decoder->schema, header, front, rows);

	return r < 0 ? r
		     : store_quick_decode(decoder->schema, front, payload + front->size,
					  header->size - front->size, rows);
}

int store_decode(struct store_decoder *decoder, const struct store_chunk_header *header,
		 const uint8_t *payload, struct store_rows *rows)
{
	struct store_front front;
	struct cursor cursor;
	size_t size, at;
	int r;

	rows->rows = rows->next = 0;
	if (!header->rows || header->rows > STORE_ROWS_MAX || header->raw_size > STORE_PAYLOAD_MAX)
		return -EBADMSG;
	r = store_front_parse(payload, header->size, &front);
	if (r == 0 && front.quick)
		return decode_quick(decoder, header, &front, payload, rows);
	if (r == 0 && !header->raw_size)
		r = -EBADMSG;
	if (r == 0)
		r = decoder_reserve(decoder, header->rows, header->raw_size);
	if (r < 0)
		return r;
	if (front.packed && header->rows > STORE_PACKED_ROWS_MAX)
		return -EBADMSG;
	at = front.size + front.stream_size;
	size = ZSTD_decompressDCtx(decoder->zstd, decoder->frame, header->raw_size, payload + at,
				   header->size - at);
	if (ZSTD_isError(size) || size != header->raw_size)
		return -EBADMSG;
	r = store_rows_prepare(decoder->schema, header, &front, rows);
	if (r < 0)
		return r;

	r = open_columns(decoder, header, &front, payload, &cursor);
	if (r < 0)
		return r;
	rows->tails_size = 0;
	decoder->text_left = STORE_PACKED_TEXT_MAX;
	for (unsigned i = 0; i < STORE_FOLLOWED_MAX; i++)
		decoder->followed[i].rows = 0;
	r = decode_common(decoder, header, &cursor, rows);
	for (unsigned i = 1; i < decoder->schema->count && r == 0; i++)
		for (unsigned j = 0; j < front.count; j++)
			if (front.entries[j].kind == decoder->schema->kinds[i].id)
				r = decode_kind(decoder, header, &decoder->schema->kinds[i],
						front.entries[j].rows, &cursor, rows);
	if (r == 0 && cursor.body != cursor.end)
		r = -EBADMSG;
	if (r < 0)
		rows->rows = 0;
	return r;
}
