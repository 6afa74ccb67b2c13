/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The memory that user space and the programs in the kernel share for unwind tables. */
#ifndef CLEW_RECORD_STACKS_UNWIND_HEAP_H
#define CLEW_RECORD_STACKS_UNWIND_HEAP_H

#include <stddef.h>
#include <stdint.h>

#include "symbol/unwind/unwind.h"

struct clew_unwind_heap {
	uint32_t *words;
	size_t size; /* words */
	size_t used;
};

/* Maps a map of `blocks` blocks (struct clew_unwind_block). 0 or -errno. */
int clew_unwind_heap_open(int map, size_t blocks, struct clew_unwind_heap *ret_heap);
void clew_unwind_heap_close(struct clew_unwind_heap *heap);
/*
 * Copies a table into the heap and sets where it is in *image, which then may be published. 0, or
 * -ENOSPC: there is no room.
 */
int clew_unwind_heap_add(struct clew_unwind_heap *heap, const struct clew_unwind_table *table,
			 struct clew_image *image);

#endif
