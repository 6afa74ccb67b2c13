/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Takes the rows of quick chunks back out of the file and has columns made of them. For the thread
 * that has the output.
 */
#ifndef CLEW_STORE_REDO_H
#define CLEW_STORE_REDO_H

#include "store/encoding.h"
#include "store/output.h"

struct store_redo;

/* All that is passed stays the caller's, and where it is. `buffer_size`: bytes of a buffer. 0 or
 * -errno.
 */
int store_redo_new(const struct store_schema *schema, struct store_buffers *buffers,
		   size_t buffer_size, struct store_redo **ret_redo);
void store_redo_free(struct store_redo *redo);

/*
 * Gives the rows of the next quick chunk to the encoding; *ret_front is what the chunk says of
 * them. 1, 0: all were given, or -errno.
 */
int store_redo_next(struct store_redo *redo, struct store_output *output,
		    struct store_encoding *encoding, struct store_front *ret_front);

#endif
