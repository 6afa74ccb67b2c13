/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Decoding ahead: while the reader emits records, one thread decodes the chunks
 * that it needs next. They are a few in all, however many streams there are.
 *
 * Invariant: the result of a chunk does not depend on the thread. The reader
 * gets it, an error too, when it asks for the chunk, and decodes itself what
 * the thread has not begun by then.
 */
#ifndef CLEW_STORE_AHEAD_H
#define CLEW_STORE_AHEAD_H

#include "store/scan.h"

struct store_ahead;

/*
 * Starts with the file's first chunk that has records from `from` (ns) on. File and schema must not
 * change, and must outlive the thread. 0 or -errno.
 */
int store_ahead_new(const struct store_file *file, const struct store_schema *schema, uint64_t from,
		    struct store_ahead **ret_ahead);

/*
 * Asks for a chunk's rows: once for each chunk, in any order. True: *ret_result
 * is the result of reading and decoding it. If that is 0, `rows` gets the rows,
 * whose memory belongs to the caller, and its old memory is taken in exchange.
 * False: the caller has to read the chunk itself.
 */
bool store_ahead_take(struct store_ahead *ahead, const struct store_index_entry *entry,
		      struct store_rows *rows, int *ret_result);

/* Ends the thread, at any time. NULL is ignored. */
void store_ahead_free(struct store_ahead *ahead);

#endif
