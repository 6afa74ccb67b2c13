/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Decoding ahead: while the reader hands out records, one thread decodes the
 * chunks that it needs next, a few in all however many streams there are.
 *
 * What comes of a chunk does not depend on who decodes it nor on when: its result
 * is told when the reader comes to it, and what the thread has not begun by then
 * is left to the reader.
 */
#ifndef CLEW_STORE_AHEAD_H
#define CLEW_STORE_AHEAD_H

#include "store/scan.h"

struct store_ahead;

/* From the file's first records on. File and schema are not changed, and outlive it. 0 or -errno.
 */
int store_ahead_new(const struct store_file *file, const struct store_schema *schema,
		    struct store_ahead **ret_ahead);

/*
 * Asks for a chunk's rows, each chunk's once, in any order. True: *ret_result is what reading and
 * decoding it gave; if that is 0 `rows` has them, in memory that is the caller's, and what it had
 * before was taken in return. False: the caller reads it.
 */
bool store_ahead_take(struct store_ahead *ahead, const struct store_index_entry *entry,
		      struct store_rows *rows, int *ret_result);

/* Ends the thread, at any time. NULL is nothing. */
void store_ahead_free(struct store_ahead *ahead);

#endif
