/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Arrays that may be large and are gone through in no simple order: in huge pages,
 * so that an access does not cost a walk through the page tables as well.
 */
#ifndef CLEW_BASE_BIG_H
#define CLEW_BASE_BIG_H

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

/* Room for `count` items, not zeroed, to be given to free(); NULL: no memory. */
static inline void *big_alloc(size_t count, size_t item)
{
	const size_t page = 2u << 20;
	size_t bytes;
	void *data;

	if (__builtin_mul_overflow(count + 1, item, &bytes) || bytes > SIZE_MAX / 2)
		return NULL;
	if (bytes < 4 * page)
		return malloc(bytes);
	bytes = (bytes + page - 1) / page * page;
	data = aligned_alloc(page, bytes);
	if (data)
		madvise(data, bytes, MADV_HUGEPAGE);
	return data;
}

#endif
