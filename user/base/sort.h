/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sorting of many keys with what belongs to them: stable, in linear time.
 */
#ifndef CLEW_BASE_SORT_H
#define CLEW_BASE_SORT_H

#include <stddef.h>
#include <stdint.h>

struct sort_key {
	uint64_t key;
	uint32_t index;
	uint32_t tag; /* goes along */
};

/* Sorts by key, stable; `spare` has room for as many. The result is in `keys`. */
void sort_keys(struct sort_key *keys, struct sort_key *spare, size_t count);

#endif
