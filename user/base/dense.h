/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Numbers by an index without large gaps; 0 where none was set. A map would take ten times as much
 * memory, and a miss of the cache for each look. */
#ifndef CLEW_BASE_DENSE_H
#define CLEW_BASE_DENSE_H

#include <stdint.h>

#include "base/vector.h"

struct dense {
	struct vector of; /* uint64_t */
};

static inline uint64_t dense_get(const struct dense *dense, size_t index)
{
	return index < dense->of.count ? ((const uint64_t *)dense->of.data)[index] : 0;
}

/* 0 or -ENOMEM. */
static inline int dense_set(struct dense *dense, size_t index, uint64_t number)
{
	int r;

	dense->of.item = sizeof(uint64_t);
	r = vector_reserve(&dense->of, index + 1);
	if (r < 0)
		return r;
	if (index >= dense->of.count)
		dense->of.count = index + 1;
	((uint64_t *)dense->of.data)[index] = number;
	return 0;
}

static inline void dense_done(struct dense *dense)
{
	vector_done(&dense->of);
}

#endif
