/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Histograms of a few buckets, each of which ends at 1.7 times the end of the one before. */
#include <errno.h>

#include "compare/compare.h"

#define FIRST_END 1000.0 /* ns */
#define GROWTH	  1.7

unsigned compare_length_bucket(uint64_t ns)
{
	double end = FIRST_END;
	unsigned bucket = 0;

	for (; bucket + 1 < COMPARE_LENGTHS && (double)ns >= end; bucket++)
		end *= GROWTH;
	return bucket;
}

int compare_length_add(struct compare *compare, enum compare_side_name side, uint32_t class,
		       unsigned bucket, uint64_t count)
{
	const uint64_t *known = map_get(&compare->lengths_of, class, side);
	struct vector *all = &compare->lengths;
	size_t place = known ? *known : all->count;

	if (!known) {
		if (vector_reserve(all, all->count + 1) < 0 ||
		    map_set(&compare->lengths_of, class, side, place) < 0)
			return -ENOMEM;
		((struct compare_lengths *)all->data)[all->count++] = (struct compare_lengths){};
	}
	((struct compare_lengths *)all->data)[place].counts[bucket] += count;
	return 0;
}

uint64_t compare_length_of(const struct compare *compare, enum compare_side_name side,
			   uint32_t class, double share)
{
	const uint64_t *known = map_get(&compare->lengths_of, class, side);
	const uint64_t *counts;
	uint64_t all = 0, so_far = 0;
	double end = FIRST_END;

	if (!known)
		return 0;
	counts = ((const struct compare_lengths *)compare->lengths.data)[*known].counts;
	for (unsigned i = 0; i < COMPARE_LENGTHS; i++)
		all += counts[i];
	for (unsigned i = 0; i < COMPARE_LENGTHS; i++) {
		so_far += counts[i];
		if ((double)so_far >= share * (double)all)
			break;
		end *= GROWTH;
	}
	return (uint64_t)end;
}
