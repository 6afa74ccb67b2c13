/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Numbers as one stream of bits that an adaptive model makes short: a range
 * coder whose probabilities are mixed from those learnt in several contexts.
 *
 * It costs about a microsecond for each record, ten times as much as byte
 * planes under zstd, so it is for slow streams. docs/file-format.md specifies
 * every step, as both sides have to compute the same to the bit.
 */
#ifndef CLEW_STORE_PACK_H
#define CLEW_STORE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STORE_CONTEXTS 4 /* contexts of each number */

struct store_pack;

/* One object serves both directions, for one chunk after the other. */
int store_pack_new(struct store_pack **ret_pack);
void store_pack_free(struct store_pack *pack);

/*
 * Resets the model and begins to write a stream, for a chunk of that many rows.
 */
void store_pack_begin(struct store_pack *pack, size_t rows);
/* Begins to read a stream; bytes behind `size` read as zeros. */
void store_unpack_begin(struct store_pack *pack, size_t rows, const uint8_t *bytes, size_t size);

/* Begins the next column, which has `rows` numbers. */
void store_pack_column(struct store_pack *pack, size_t rows);

/*
 * One number and its contexts, which may be any values; equal values are the
 * same context.
 */
int store_pack_number(struct store_pack *pack, const uint64_t contexts[STORE_CONTEXTS],
		      uint64_t number);
uint64_t store_unpack_number(struct store_pack *pack, const uint64_t contexts[STORE_CONTEXTS]);

/* A text and its context, which may be any value. */
int store_pack_text(struct store_pack *pack, uint64_t context, const uint8_t *bytes, size_t size);
int store_unpack_text(struct store_pack *pack, uint64_t context, uint8_t *bytes, size_t size);

/* The size of the stream so far. */
size_t store_pack_size(const struct store_pack *pack);
/* Ends the stream; the bytes are valid until the next one begins. */
int store_pack_end(struct store_pack *pack, const uint8_t **ret_bytes, size_t *ret_size);

#endif
