/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Numbers as one stream of bits that an adaptive model makes short: a range coder
 * whose probabilities are mixed from what was seen in several contexts.
 *
 * It costs about a microsecond a record, ten times what byte planes under zstd do,
 * so it is for streams that are slow. docs/file-format.md specifies every step,
 * for the two sides have to compute the same to the bit.
 */
#ifndef CLEW_STORE_PACK_H
#define CLEW_STORE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STORE_CONTEXTS 4 /* a number is looked at in so many ways */

struct store_pack;

/* Both directions are one object, used for one chunk after the other. */
int store_pack_new(struct store_pack **ret_pack);
void store_pack_free(struct store_pack *pack);

/* Forgets everything and begins a stream to be written, for a chunk of so many rows. */
void store_pack_begin(struct store_pack *pack, size_t rows);
/* The same, to be read; what is missing behind `size` bytes reads as zeros. */
void store_unpack_begin(struct store_pack *pack, size_t rows, const uint8_t *bytes, size_t size);

/* The next column's numbers follow, `rows` of them. */
void store_pack_column(struct store_pack *pack, size_t rows);

/* One number, seen in its contexts: any values, of which equal ones mean the same. */
int store_pack_number(struct store_pack *pack, const uint64_t contexts[STORE_CONTEXTS],
		      uint64_t number);
uint64_t store_unpack_number(struct store_pack *pack, const uint64_t contexts[STORE_CONTEXTS]);

/* A text; `context`: any value that says something of it. */
int store_pack_text(struct store_pack *pack, uint64_t context, const uint8_t *bytes, size_t size);
int store_unpack_text(struct store_pack *pack, uint64_t context, uint8_t *bytes, size_t size);

/* How long the stream is so far. */
size_t store_pack_size(const struct store_pack *pack);
/* Ends the stream; the bytes are the object's until the next one begins. */
int store_pack_end(struct store_pack *pack, const uint8_t **ret_bytes, size_t *ret_size);

#endif
