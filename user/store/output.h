/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where a capture's bytes go: past the page cache, in whole blocks.
 *
 * The file is settled chunks, then a tail. The tail is where provisional chunks
 * stand until the one that replaces them is written; when enough of it is dead,
 * what lives is first written again behind the tail and only then over it. So
 * at any moment each row that was ever written is in a whole chunk of the file.
 * One thread at a time.
 */
#ifndef CLEW_STORE_OUTPUT_H
#define CLEW_STORE_OUTPUT_H

#include "store/chunk.h"

struct store_output;

/* What the file has stays until it is begun. */
int store_output_open(const char *path, bool sync, struct store_output **ret_output);

/* Empties the file and writes its header: before any chunk. */
int store_output_begin(struct store_output *output);

/* Whether provisional chunks can be replaced: not in a pipe, and not with sync. */
bool store_output_replaces(const struct store_output *output);

/* Writes a list of chunks, which become the output's. */
int store_output_append(struct store_output *output, struct store_chunk *chunks);

/* Settles all, writes the index with these totals and trims the file. */
int store_output_finish(struct store_output *output, const struct store_index_total *totals,
			unsigned total_count);

uint64_t store_output_bytes(const struct store_output *output);

/* Closes without writing anything more. A file that was not begun is as it was: one that was not
 * there is gone. */
int store_output_close(struct store_output *output);

#endif
