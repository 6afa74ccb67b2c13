/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The output's state, and how blocks get to the file: its files share this. */
#ifndef CLEW_STORE_OUTPUT_STATE_H
#define CLEW_STORE_OUTPUT_STATE_H

#include "store/output.h"

#define STORE_BLOCK_MASK ((uint64_t)STORE_BLOCK - 1)

struct store_output {
	int fd;
	int reading; /* the same file, -1: it cannot be read */
	char *made; /* the file's path if it did not exist before and has no contents yet, else NULL
		     */
	bool regular;
	bool direct;
	bool sync;
	bool compacts;
	uint64_t settled; /* where the tail begins */
	uint64_t end;
	uint8_t settled_block[STORE_BLOCK]; /* contents of the block at `settled`, up to there */
	uint8_t end_block[STORE_BLOCK];
	struct store_chunk *tail;
	struct store_chunk **tail_end;
	uint64_t live;
	uint64_t dead;
	uint8_t *image; /* aligned; the bytes that are being written */
	size_t image_size;
	size_t image_capacity;
	struct store_index_entry *entries; /* by offset; padding: its rows are in another chunk */
	size_t entry_count;
	size_t entry_capacity;
	size_t quick_next; /* the first entry that was not looked at for quick chunks */
	size_t quick_left; /* settled quick chunks whose rows are not columns .. */
	size_t quick_gone; /* .. and those whose rows are */
	bool *quick;	   /* by entry, as many as entry_capacity */
};

/* Updates the copy of the last block, for `size` bytes that are written at `at`. */
void store_block_push(uint8_t *block, uint64_t at, const uint8_t *bytes, size_t size);

/* The bytes that are to be written, from `at` on: `block` has those before it. */
int store_image_start(struct store_output *output, const uint8_t *block, uint64_t at);
int store_image_add(struct store_output *output, const void *bytes, size_t size);
int store_image_write(struct store_output *output, uint64_t at);

/* Settles what no other chunk will replace. */
int store_output_settle_final(struct store_output *output);
/* Writes the tail from `settled` on, where it is whole only if another copy of it is in the file.
 */
int store_output_rewrite(struct store_output *output);

int store_output_trim(struct store_output *output, uint64_t size);

#endif
