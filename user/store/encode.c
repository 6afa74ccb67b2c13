/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Records to a RECORDS chunk: rows to columns, columns to byte planes, planes
 * into one zstd frame. The frame is cut into blocks where a plane is large, so
 * that each has entropy tables of its own, and at the end of each kind, so that
 * the kind's share of the bytes is known. A dense chunk has its columns in a
 * packed stream instead.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "store/chunk.h"
#include "store/columns.h"
#include "store/turn.h"

#define CUT_MIN 1024 /* a plane from that size on has a block of its own */

/* For store_rest(). */
#define STEPS_A_LETTER 8
#define BYTES_A_STEP   8 /* in a frame, bytes for each step */

struct store_encoder {
	const struct store_schema *schema;
	ZSTD_CCtx *zstd;
	struct store_pack *pack; /* made when first needed */
	bool dense;		 /* the current chunk has its numbers in a packed stream */
	struct store_work work;
	const uint8_t *records;
	size_t rows;
	uint32_t *at;			    /* offset in `records` of each row, ordered by kind */
	uint32_t *at_all;		    /* the same in the original order */
	size_t starts[CLEW_KIND_COUNT + 1]; /* where each kind begins in `at` */
	struct store_turned turned;	    /* the current kind */
	uint8_t *body;
	size_t body_size;
	size_t body_capacity;
	uint8_t *packed; /* the frame */
	size_t packed_capacity;
	uint8_t *directory;
	size_t directory_size;
	size_t *cuts;
	size_t cut_count;
	size_t cut_capacity;
};

int store_encoder_new(const struct store_schema *schema, struct store_encoder **ret_encoder)
{
	struct store_encoder *encoder = calloc(1, sizeof(*encoder));

	if (!encoder)
		return -ENOMEM;
	encoder->schema = schema;
	encoder->zstd = ZSTD_createCCtx();
	/* Every column's length takes at most 5 bytes. */
	encoder->directory = malloc(5 * STORE_COLUMNS_MAX * STORE_KINDS_MAX);
	if (!encoder->zstd || !encoder->directory) {
		store_encoder_free(encoder);
		return -ENOMEM;
	}
	*ret_encoder = encoder;
	return 0;
}

void store_encoder_rest(struct store_encoder *encoder, void (*rest)(void *context), void *context)
{
	encoder->work.rest = rest;
	encoder->work.rest_context = context;
}

void store_encoder_free(struct store_encoder *encoder)
{
	if (!encoder)
		return;
	store_work_done(&encoder->work);
	ZSTD_freeCCtx(encoder->zstd);
	store_pack_free(encoder->pack);
	free(encoder->at);
	free(encoder->at_all);
	store_turned_done(&encoder->turned);
	free(encoder->body);
	free(encoder->packed);
	free(encoder->directory);
	free(encoder->cuts);
	free(encoder);
}

static int body_reserve(struct store_encoder *encoder, size_t more)
{
	size_t need = encoder->body_size + more;
	uint8_t *bigger;

	if (need <= encoder->body_capacity)
		return 0;
	bigger = realloc(encoder->body, 2 * need);
	if (!bigger)
		return -ENOMEM;
	encoder->body = bigger;
	encoder->body_capacity = 2 * need;
	return 0;
}

static int cut(struct store_encoder *encoder)
{
	if (encoder->cut_count && encoder->cuts[encoder->cut_count - 1] == encoder->body_size)
		return 0;
	if (encoder->cut_count == encoder->cut_capacity) {
		size_t capacity = encoder->cut_capacity ? 2 * encoder->cut_capacity : 256;
		size_t *bigger = realloc(encoder->cuts, capacity * sizeof(*bigger));

		if (!bigger)
			return -ENOMEM;
		encoder->cuts = bigger;
		encoder->cut_capacity = capacity;
	}
	encoder->cuts[encoder->cut_count++] = encoder->body_size;
	return 0;
}

static void put_length(struct store_encoder *encoder, size_t length)
{
	for (; length >= 0x80; length >>= 7)
		encoder->directory[encoder->directory_size++] = length | 0x80;
	encoder->directory[encoder->directory_size++] = length;
}

static int put_planes(struct store_encoder *encoder, const uint64_t *residuals, size_t count,
		      unsigned width)
{
	int r;

	r = body_reserve(encoder, count * width);
	if (r < 0)
		return r;
	store_planes_put(encoder->body + encoder->body_size, residuals, count, width);
	if (count < CUT_MIN) {
		encoder->body_size += count * width;
		return 0;
	}
	for (unsigned plane = 0; plane < width && r == 0; plane++) {
		r = cut(encoder);
		encoder->body_size += count;
	}
	return r < 0 ? r : cut(encoder);
}

static void gather(uint64_t *values, const uint8_t *from, const uint32_t *at, size_t count,
		   unsigned size)
{
	switch (size) {
	case 1:
		for (size_t i = 0; i < count; i++)
			values[i] = from[at[i]];
		break;
	case 2:
		for (size_t i = 0; i < count; i++)
			values[i] = *(const uint16_t *)(from + at[i]);
		break;
	case 4:
		for (size_t i = 0; i < count; i++)
			values[i] = *(const uint32_t *)(from + at[i]);
		break;
	case 8:
		for (size_t i = 0; i < count; i++)
			values[i] = *(const uint64_t *)(from + at[i]);
		break;
	}
}

static int residuals_in_units(struct store_work *work, const struct store_job *job,
			      size_t *ret_extra, unsigned *ret_width)
{
	int r;

	store_to_units(work, job);
	r = store_residuals(work, job, ret_extra);
	*ret_width = store_planes_width(work->residuals, job->count);
	return r;
}

/*
 * True if zeros have residuals of 0 whatever the values of other columns are.
 */
static bool zeros_are_nothing(const struct store_job *job)
{
	const struct store_column *column = job->column;

	return column->coding == STORE_PLAIN ||
	       (column->coding == STORE_KEYED && column->third == STORE_NONE) ||
	       (column->coding == STORE_PREVIOUS && column->reference == job->number);
}

static int put_numbers(struct store_encoder *encoder, struct store_job *job,
		       const struct store_kind *kind, const uint32_t *at)
{
	struct store_work *work = &encoder->work;
	const struct store_column *column = job->column;
	unsigned width = 0;
	size_t extra, before;
	int r;

	store_turn(&encoder->turned, kind, job, encoder->records, at);
	/* Most columns have only zeros. */
	if (!encoder->turned.bits[job->number] && !column->referenced && zeros_are_nothing(job)) {
		put_length(encoder, 0);
		return 0;
	}
	store_turned_values(&encoder->turned, job, work->values);
	r = store_keep(work, job);
	if (r == 0 && encoder->dense)
		store_find_unit(work, job);
	if (r == 0)
		r = residuals_in_units(work, job, &extra, &width);
	/* A column of zeros has no unit. */
	if (r == 0 && !width && job->unit) {
		store_from_units(work, job);
		job->unit = 0;
		r = residuals_in_units(work, job, &extra, &width);
	}
	if (r < 0)
		return r;
	if (column->coding == STORE_RECENT && job->count)
		width = 1;
	if (encoder->dense) {
		put_length(encoder, width ? 1 + job->unit : 0);
		return width ? store_pack_residuals(work, job, encoder->pack) : 0;
	}
	before = encoder->body_size;
	r = put_planes(encoder, work->residuals, job->count, width);
	if (r == 0 && extra)
		r = put_planes(encoder, work->residuals + job->count, extra,
			       store_planes_width(work->residuals + job->count, extra));
	put_length(encoder, encoder->body_size - before);
	return r;
}

static size_t bytes_length(const struct store_column *column, const uint8_t *record,
			   size_t length_at)
{
	size_t length = column->size;

	if (column->coding == STORE_TAIL)
		return *(const uint16_t *)(record + length_at);
	while (length && !record[column->offset + length - 1])
		length--;
	return length;
}

/* Keeps the hashes of tails for columns that refer to them. */
static int keep_hashes(struct store_encoder *encoder, const struct store_job *job, size_t length_at,
		       const uint32_t *at)
{
	const struct store_column *column = job->column;
	uint64_t *hashes;
	int r;

	r = store_work_array(&encoder->work, &encoder->work.full[job->number]);
	if (r < 0)
		return r;
	hashes = encoder->work.full[job->number];
	memset(hashes, 0, job->rows * sizeof(*hashes));
	for (size_t i = 0; i < job->count; i++) {
		const uint8_t *record = encoder->records + at[job->present[i]];

		hashes[job->present[i]] = store_tail_hash(record + column->offset,
							  bytes_length(column, record, length_at));
	}
	return 0;
}

/*
 * Puts texts into the stream: first all lengths, unless another column has
 * them.
 */
static int pack_bytes(struct store_encoder *encoder, const struct store_job *job, size_t length_at,
		      const uint32_t *at)
{
	const struct store_column *column = job->column;
	const uint64_t *contexts = column->context == STORE_NONE
					   ? NULL
					   : store_column_of(&encoder->work, column->context);
	int r = 0;

	put_length(encoder, 1);
	for (size_t i = 0; i < job->count; i++)
		encoder->work.residuals[i] =
			bytes_length(column, encoder->records + at[job->present[i]], length_at);
	if (column->coding == STORE_TRIMMED)
		r = store_pack_residuals(&encoder->work, job, encoder->pack);
	for (size_t i = 0; i < job->count && r == 0; i++) {
		uint32_t row = job->present[i];

		r = store_pack_text(encoder->pack, contexts ? contexts[row] : 0,
				    encoder->records + at[row] + column->offset,
				    encoder->work.residuals[i]);
		store_rest(&encoder->work, STEPS_A_LETTER * encoder->work.residuals[i]);
	}
	return r;
}

static int put_bytes(struct store_encoder *encoder, const struct store_job *job,
		     const struct store_kind *kind, const uint32_t *at)
{
	const struct store_column *column = job->column;
	bool trimmed = column->coding == STORE_TRIMMED, any = false;
	size_t length_at = trimmed ? 0 : kind->columns[column->reference].offset;
	size_t start;
	int r;

	if (column->referenced) {
		r = keep_hashes(encoder, job, length_at, at);
		if (r < 0)
			return r;
	}
	if (encoder->dense)
		return pack_bytes(encoder, job, length_at, at);
	if (trimmed) {
		r = body_reserve(encoder, job->count * (1 + (size_t)column->size));
		if (r < 0)
			return r;
	}
	start = encoder->body_size;
	if (trimmed)
		encoder->body_size += job->count;
	for (size_t i = 0; i < job->count; i++) {
		const uint8_t *record = encoder->records + at[job->present[i]];
		size_t length = bytes_length(column, record, length_at);

		if (trimmed) {
			encoder->body[start + i] = length;
			any |= length > 0;
		} else {
			r = body_reserve(encoder, length);
			if (r < 0)
				return r;
		}
		memcpy(encoder->body + encoder->body_size, record + column->offset, length);
		encoder->body_size += length;
	}
	if (trimmed && !any)
		encoder->body_size = start;
	put_length(encoder, encoder->body_size - start);
	return 0;
}

/* The values of a LATEST column. */
static int follow(struct store_encoder *encoder, const struct store_job *job, const uint32_t *at)
{
	unsigned id = job->column->second;
	const struct store_column *source =
		&encoder->schema->kinds[encoder->schema->by_id[id]].columns[job->column->reference];
	const uint32_t *other_at = encoder->at + encoder->starts[id];
	size_t rows = encoder->starts[id + 1] - encoder->starts[id];

	gather(encoder->work.values, encoder->records + source->offset, other_at, rows,
	       source->member_size);
	return store_latest(&encoder->work, job, at, encoder->work.values, other_at, rows);
}

static int put_kind(struct store_encoder *encoder, const struct store_kind *kind,
		    const uint32_t *at, size_t rows, unsigned stream, uint64_t first_time)
{
	struct store_work *work = &encoder->work;
	const struct store_kind *common = &encoder->schema->kinds[0];
	int r = 0;

	store_work_begin(work);
	r = store_turned_begin(&encoder->turned, kind, rows);
	if (encoder->dense)
		memset(work->left, 0, rows * sizeof(*work->left));
	for (unsigned i = 0; kind != common && i < common->count && r == 0; i++) {
		if (!common->columns[i].referenced)
			continue;
		r = store_work_array(work, &work->common[i]);
		if (r == 0)
			gather(work->common[i], encoder->records + common->columns[i].offset, at,
			       rows, common->columns[i].member_size);
	}
	for (unsigned i = 0; i < kind->count && r == 0; i++) {
		struct store_job job = {.column = &kind->columns[i],
					.number = i,
					.rows = rows,
					.first_time = first_time,
					.stream = stream};

		store_present(work, &job);
		if (job.column->coding == STORE_LATEST) {
			put_length(encoder, 0);
			r = follow(encoder, &job, at);
		} else if (job.column->type == STORE_BYTES) {
			r = put_bytes(encoder, &job, kind, at);
		} else {
			r = put_numbers(encoder, &job, kind, at);
		}
		store_rest(work, rows);
	}
	return r < 0 || encoder->dense ? r : cut(encoder);
}

/*
 * Compresses directory and body as one frame; `ends` gets the position in the
 * output after each piece.
 */
static int compress_frame(struct store_encoder *encoder, uint8_t *to, size_t capacity, size_t *ends,
			  size_t *ret_size)
{
	ZSTD_outBuffer out = {to, capacity, 0};
	size_t total = encoder->directory_size + encoder->body_size, from = 0;

	ZSTD_CCtx_reset(encoder->zstd, ZSTD_reset_session_only);
	if (ZSTD_isError(
		    ZSTD_CCtx_setParameter(encoder->zstd, ZSTD_c_compressionLevel,
					   encoder->dense ? STORE_LEVEL_DENSE : STORE_LEVEL)) ||
	    ZSTD_isError(ZSTD_CCtx_setPledgedSrcSize(encoder->zstd, total)))
		return -ENOMEM;
	for (size_t i = 0; i <= encoder->cut_count; i++) {
		size_t end = i ? encoder->cuts[i - 1] : 0;
		/* All columns of a chunk may be constant: then there is no body. */
		ZSTD_inBuffer in = {i ? (encoder->body ? encoder->body + from : NULL)
				      : encoder->directory,
				    i ? end - from : encoder->directory_size, 0};
		bool whole = encoder->dense && i < encoder->cut_count;
		size_t left;

		left = ZSTD_compressStream2(encoder->zstd, &out, &in,
					    i == encoder->cut_count ? ZSTD_e_end
					    : whole		    ? ZSTD_e_continue
								    : ZSTD_e_flush);
		if (ZSTD_isError(left) || (left && !whole))
			return -ENOMEM;
		ends[i] = out.pos;
		store_rest(&encoder->work, in.size / BYTES_A_STEP);
		from = end;
	}
	*ret_size = out.pos;
	return 0;
}

/* Sorts the rows by kind, in order: at[starts[kind]..] are their offsets. */
static int sort_rows(struct store_encoder *encoder)
{
	size_t *starts = encoder->starts, fill[CLEW_KIND_COUNT], offset = 0;
	uint32_t *at;

	at = realloc(encoder->at, encoder->rows * sizeof(*at));
	if (!at)
		return -ENOMEM;
	encoder->at = at;
	at = realloc(encoder->at_all, encoder->rows * sizeof(*at));
	if (!at)
		return -ENOMEM;
	encoder->at_all = at;

	memset(starts, 0, sizeof(encoder->starts));
	for (size_t i = 0; i < encoder->rows; i++) {
		const struct clew_header *header =
			(const struct clew_header *)(encoder->records + offset);

		encoder->at_all[i] = offset;
		starts[header->kind + 1]++;
		offset += (store_record_size(header, SIZE_MAX) + 7) & ~(size_t)7;
	}
	for (unsigned i = 0; i < CLEW_KIND_COUNT; i++)
		starts[i + 1] += starts[i];
	memcpy(fill, starts, sizeof(fill));
	for (size_t i = 0; i < encoder->rows; i++) {
		unsigned kind =
			encoder->records[encoder->at_all[i] + offsetof(struct clew_header, kind)];

		encoder->at[fill[kind]++] = encoder->at_all[i];
	}
	return 0;
}

/* Positions behind the columns of a kind. */
struct mark {
	size_t cut;
	size_t body;
	size_t stream;
};

static struct mark mark(const struct store_encoder *encoder)
{
	return (struct mark){encoder->cut_count, encoder->body_size,
			     encoder->dense ? store_pack_size(encoder->pack) : 0};
}

/*
 * The bytes of the columns between two marks: their pieces of the frame, or, in
 * a dense chunk, their part of the stream and a share of the frame.
 */
static size_t spent(const struct store_encoder *encoder, const size_t *ends, size_t size,
		    struct mark from, struct mark to)
{
	if (!encoder->dense)
		return ends[to.cut] - ends[from.cut];
	return to.stream - from.stream +
	       size * (to.body - from.body) / (encoder->directory_size + encoder->body_size);
}

/*
 * Counts each kind's bytes: its own, and by its rows a share of the common
 * ones.
 */
static void account(const struct store_encoder *encoder, struct store_chunk *chunk,
		    const size_t *ends, size_t size, const struct mark marks[STORE_KINDS_MAX])
{
	uint8_t *front = chunk->data + sizeof(struct store_chunk_header);
	size_t common = spent(encoder, ends, size, (struct mark){0}, marks[0]), n = 0;

	if (!encoder->dense)
		common = ends[marks[0].cut];
	for (unsigned kind = 1; kind < CLEW_KIND_COUNT; kind++) {
		unsigned number = encoder->schema->by_id[kind];
		uint32_t count = encoder->starts[kind + 1] - encoder->starts[kind], bytes;

		if (!count)
			continue;
		bytes = spent(encoder, ends, size, marks[number - 1], marks[number]) +
			common * count / encoder->rows;
		front[1 + 9 * n] = kind;
		memcpy(front + 1 + 9 * n + 1, &count, 4);
		memcpy(front + 1 + 9 * n + 5, &bytes, 4);
		chunk->totals[kind] = (struct store_index_total){count, bytes};
		chunk->entry.kinds |= store_index_kinds(clew_kind_bit(kind));
		n++;
	}
	front[0] = n | (encoder->dense ? STORE_FRONT_PACKED : 0);
}

/* Puts all columns; `marks` gets the position behind each kind. */
static int put_columns(struct store_encoder *encoder, unsigned stream, uint64_t first_time,
		       struct mark marks[STORE_KINDS_MAX])
{
	const struct store_schema *schema = encoder->schema;
	const size_t *starts = encoder->starts;
	int r;

	encoder->body_size = encoder->directory_size = encoder->cut_count = 0;
	if (encoder->dense) {
		r = encoder->pack ? 0 : store_pack_new(&encoder->pack);
		if (r < 0)
			return r;
		store_pack_begin(encoder->pack, encoder->rows);
	}
	r = put_kind(encoder, &schema->kinds[0], encoder->at_all, encoder->rows, stream,
		     first_time);
	marks[0] = mark(encoder);
	for (unsigned i = 1; i < schema->count && r == 0; i++) {
		unsigned kind = schema->kinds[i].id;

		if (starts[kind + 1] > starts[kind])
			r = put_kind(encoder, &schema->kinds[i], encoder->at + starts[kind],
				     starts[kind + 1] - starts[kind], stream, first_time);
		marks[i] = mark(encoder);
	}
	return r < 0 ? r : cut(encoder);
}

/* Compresses the columns into encoder->packed; *ret_ends, the caller's to free, as of
 * compress_frame(). */
static int pack_frame(struct store_encoder *encoder, size_t **ret_ends, size_t *ret_size)
{
	size_t capacity = ZSTD_compressBound(encoder->directory_size + encoder->body_size) +
			  16 * (encoder->cut_count + 1);
	size_t *ends;
	int r;

	if (capacity > encoder->packed_capacity) {
		free(encoder->packed);
		encoder->packed = malloc(capacity);
		encoder->packed_capacity = encoder->packed ? capacity : 0;
	}
	ends = malloc((encoder->cut_count + 1) * sizeof(*ends));
	r = encoder->packed && ends
		    ? compress_frame(encoder, encoder->packed, capacity, ends, ret_size)
		    : -ENOMEM;
	if (r < 0) {
		free(ends);
		return r;
	}
	*ret_ends = ends;
	return 0;
}

/* The chunk of the columns and, if it is dense, their stream. */
static int join_chunk(struct store_encoder *encoder, struct store_chunk_header *header,
		      const struct mark marks[STORE_KINDS_MAX], const uint8_t *stream,
		      uint32_t stream_size, struct store_chunk **ret_chunk)
{
	size_t front = 1, size, *ends;
	struct store_chunk *chunk;
	uint8_t *at;
	int r;

	for (unsigned kind = 1; kind < CLEW_KIND_COUNT; kind++)
		front += encoder->starts[kind + 1] > encoder->starts[kind] ? 9 : 0;
	r = pack_frame(encoder, &ends, &size);
	if (r < 0)
		return r;
	chunk = calloc(1, sizeof(*chunk) + sizeof(*header) + front + sizeof(stream_size) +
				  stream_size + size);
	if (!chunk) {
		free(ends);
		return -ENOMEM;
	}
	at = chunk->data + sizeof(*header) + front;
	if (encoder->dense) {
		memcpy(at, &stream_size, sizeof(stream_size));
		memcpy(at + sizeof(stream_size), stream, stream_size);
		at += sizeof(stream_size) + stream_size;
	}
	memcpy(at, encoder->packed, size);
	account(encoder, chunk, ends, size, marks);
	free(ends);
	header->raw_size = encoder->directory_size + encoder->body_size;
	memcpy(chunk->data, header, sizeof(*header));
	chunk->size = at + size - chunk->data;
	store_chunk_seal(chunk);
	*ret_chunk = chunk;
	return 0;
}

int store_encode(struct store_encoder *encoder, const uint8_t *records, size_t bytes, size_t rows,
		 unsigned stream, uint64_t row, bool dense, struct store_chunk **ret_chunk)
{
	const struct clew_header *first = (const struct clew_header *)records, *last;
	struct store_chunk_header header = {
		.kind = STORE_CHUNK_RECORDS, .stream = stream, .rows = rows, .row = row};
	struct mark marks[STORE_KINDS_MAX];
	const uint8_t *packed = NULL;
	size_t packed_size = 0;
	int r;

	if (!rows || bytes > UINT32_MAX)
		return -EINVAL;
	encoder->records = records;
	encoder->rows = rows;
	encoder->dense = dense && rows <= STORE_PACKED_ROWS_MAX && bytes <= STORE_PACKED_TEXT_MAX;
	r = store_work_reserve(&encoder->work, rows);
	if (r == 0)
		r = sort_rows(encoder);
	if (r == 0)
		r = put_columns(encoder, stream, first->time, marks);
	if (r == 0 && encoder->dense)
		r = store_pack_end(encoder->pack, &packed, &packed_size);
	if (r < 0)
		return r;
	last = (const struct clew_header *)(records + encoder->at_all[rows - 1]);
	header.first_time = first->time;
	header.last_time = last->time;
	return join_chunk(encoder, &header, marks, packed, packed_size, ret_chunk);
}
