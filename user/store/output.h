/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Writes a capture's bytes around the page cache, in whole blocks.
 *
 * The file consists of settled chunks and a tail. Provisional chunks stay in
 * the tail until the chunk that replaces them is written. When enough of the
 * tail is dead, its live chunks are first written again behind the tail and
 * only then over it. So at any moment each row that was ever written is in a
 * whole chunk of the file. For one thread at a time.
 */
#ifndef CLEW_STORE_OUTPUT_H
#define CLEW_STORE_OUTPUT_H

#include "store/chunk.h"

struct store_output;

/* The contents of the file stay until store_output_begin(). 0, -errno, or a refusal of target.h. */
int store_output_open(const char *path, bool sync, struct store_output **ret_output);

/* Truncates the file and writes its header; has to come before any chunk. */
int store_output_begin(struct store_output *output);

/* True if provisional chunks can be replaced: not in a pipe, and not with sync. */
bool store_output_replaces(const struct store_output *output);

/* Writes a list of chunks, which belong to the output from then on. */
int store_output_append(struct store_output *output, struct store_chunk *chunks);

/*
 * From now on chunks that were written can be read; has to come before store_output_next_quick().
 * *ret_room: bytes of the file system that are free; 0 where they are memory. 0 or -errno.
 */
int store_output_reads(struct store_output *output, uint64_t *ret_room);

/*
 * The next quick chunk, as its bytes, which are the caller's to free, and the number that the chunk
 * of columns with its rows has to have in `redoes`. If only the tail has some, they are settled. 1,
 * 0: there is none, or -errno.
 */
int store_output_next_quick(struct store_output *output, uint8_t **ret_bytes, size_t *ret_redoes);

/*
 * Moves chunks to where quick chunks were, if there were any and the rows of all of them are
 * columns.
 */
int store_output_squeeze(struct store_output *output);

/* Settles everything, writes the index with these totals and trims the file. */
int store_output_finish(struct store_output *output, const struct store_index_total *totals,
			unsigned total_count);

uint64_t store_output_bytes(const struct store_output *output);

/*
 * Closes the file without writing anything more. A file that was not begun is
 * unchanged, or removed if it was not there before.
 */
int store_output_close(struct store_output *output);

#endif
