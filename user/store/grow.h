/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Arrays that grow by one element at a time. */
#ifndef CLEW_STORE_GROW_H
#define CLEW_STORE_GROW_H

#include <stdlib.h>

/* Makes room for one more element of an array of `count`, whose memory is for a power of two of
 * them. NULL: no memory, and the array is unchanged. */
static inline void *store_one_more(void *array, size_t count, size_t size)
{
	if (count & (count - 1) || count == 0)
		return count ? array : realloc(array, size);
	return realloc(array, 2 * count * size);
}

#endif
