/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Chunks in memory: the encoder makes them of records, or of plain bytes, and
 * the decoder turns them back into records. Each chunk can be read by itself.
 */
#ifndef CLEW_STORE_CHUNK_H
#define CLEW_STORE_CHUNK_H

#include "store/capture.h"

#include "store/format.h"
#include "store/schema.h"

/* Levels of zstd: a chunk with its columns in a packed stream has the dense one. */
#define STORE_LEVEL	  1
#define STORE_LEVEL_DENSE 19

/* A finished chunk, ready to be written. */
struct store_chunk {
	struct store_chunk *next;
	bool provisional; /* a later chunk will have its rows too and replace it */
	bool dead;	  /* the chunk that replaces it is in the file */
	bool quick;	  /* its rows are not columns */
	size_t redoes;	  /* 1 + the number of the quick chunk whose rows it has, else 0 */
	size_t size;	  /* header and payload */
	struct store_index_entry entry;
	struct store_index_total totals[CLEW_KIND_COUNT];
	uint8_t data[];
};

/* A chunk around a payload; with `compress` the payload is put into a zstd frame. */
int store_chunk_new(unsigned kind, const void *payload, size_t size, bool compress,
		    struct store_chunk **ret_chunk);

/* Bytes of the columns, or rows, of all kinds. */
static inline uint64_t store_chunk_columns(const struct store_chunk *chunk)
{
	uint64_t bytes = 0;

	for (unsigned kind = 0; kind < CLEW_KIND_COUNT; kind++)
		bytes += chunk->totals[kind].column_bytes;
	return bytes;
}

/* Frees a list of them. */
void store_chunks_free(struct store_chunk *chunks);

/* Appends bytes to a chunk's payload; the chunk is freed on failure. */
int store_chunk_extend(struct store_chunk **chunk, const void *bytes, size_t size);

/* Computes the checksum over a chunk whose header and payload are complete. */
void store_chunk_seal(struct store_chunk *chunk);
uint32_t store_checksum(const struct store_chunk_header *header, const void *payload);

/* A SCHEMA, LEDGER or INDEX payload back into its bytes. The buffer is the caller's to free. */
int store_unframe(const struct store_chunk_header *header, const uint8_t *payload,
		  uint8_t **ret_bytes);

#define STORE_FRONT_PACKED 0x80 /* in its first byte: numbers are in a packed stream */
#define STORE_FRONT_QUICK  0x40 /* rows are not columns: store/quick.h */

/*
 * The head of a RECORDS payload, before its frame: one entry for each record
 * kind.
 */
struct store_front {
	unsigned count;
	bool packed;
	bool quick;
	uint32_t stream_size; /* packed: size of the stream, which is between this head and the
				 frame */
	struct {
		uint8_t kind;
		uint32_t rows;
		uint32_t column_bytes;
	} entries[STORE_KINDS_MAX];
	size_t size; /* bytes it takes */
};
int store_front_parse(const uint8_t *payload, size_t size, struct store_front *ret_front);

struct store_encoder;
int store_encoder_new(const struct store_schema *schema, struct store_encoder **ret_encoder);
void store_encoder_free(struct store_encoder *encoder);

/* From now on the encoder calls `rest` about every 0.1 ms of work. */
void store_encoder_rest(struct store_encoder *encoder, void (*rest)(void *context), void *context);

/*
 * Encodes records that follow each other, each padded to 8 bytes and checked by
 * store_record_size(). `row` is the number of the first. With `dense` the chunk
 * becomes smaller, which costs a microsecond more for each record.
 */
int store_encode(struct store_encoder *encoder, const uint8_t *records, size_t bytes, size_t rows,
		 unsigned stream, uint64_t row, bool dense, struct store_chunk **ret_chunk);

struct store_decoder;
int store_decoder_new(const struct store_schema *schema, struct store_decoder **ret_decoder);
void store_decoder_free(struct store_decoder *decoder);

/* The records of a chunk, read in order. */
struct store_rows {
	size_t rows;
	size_t next;
	uint8_t *kinds; /* of each row */
	struct {
		uint8_t *records; /* stride bytes each */
		size_t at;
		size_t tail_at;	    /* offset of the next one's tail in `tails` */
		size_t stride;	    /* 0: an unknown kind */
		size_t tail_length; /* offset in the record, 0 no tail */
	} of[CLEW_KIND_COUNT];
	uint8_t *memory;
	size_t memory_size;
	uint8_t *tails;
	size_t tails_size;
	size_t tails_capacity;
	uint8_t *joined; /* a record and its tail */
};

/* -EBADMSG: the contents contradict the schema. */
int store_decode(struct store_decoder *decoder, const struct store_chunk_header *header,
		 const uint8_t *payload, struct store_rows *rows);
/*
 * Memory for the rows: their kinds, then the records of each known kind, all
 * zero. Tails are separate.
 */
int store_rows_prepare(const struct store_schema *schema, const struct store_chunk_header *header,
		       const struct store_front *front, struct store_rows *rows);
/*
 * The next record of a known kind, or NULL at the end. It is valid until the
 * next call.
 */
const struct clew_header *store_rows_next(struct store_rows *rows);
void store_rows_done(struct store_rows *rows);

#endif
