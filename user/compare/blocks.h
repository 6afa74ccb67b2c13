/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Blocks of time of a class, into which its operations are put by their begin. */
#ifndef CLEW_COMPARE_BLOCKS_H
#define CLEW_COMPARE_BLOCKS_H

#include "compare/compare.h"

/* The operations of a class, by side, capture and begin. */
struct class_operations {
	struct compare_operation *operations;
	size_t count;
	uint64_t total; /* operations, of sums as many as they are of */
};

/* The blocks of a side. Blocks without operations are left out. */
struct class_blocks {
	uint32_t *capture;    /* of each block, by number from 0 */
	uint64_t *operations; /* of each block */
	size_t count;
	uint32_t captures;
	uint32_t *block_of; /* of each operation of the side, its block */
};

/* Sorts all operations by class, then as above. */
void blocks_sort(const struct compare *compare);
/* Blocks of operations of one class and side. blocks_done() in any case. 0 or -ENOMEM. */
int blocks_make(const struct class_operations *operations, struct class_blocks *ret_blocks);
void blocks_done(struct class_blocks *blocks);

#endif
