/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The pairs of a blame: each sums what one span cost another for one resource.
 */
#include "analyse/blame/internal.h"

/* The number of a resource, or -ENOMEM. */
static int64_t resource_of(struct blame *blame, uint32_t kind, const char *resource)
{
	const uint64_t *known = map_get(&blame->resources, (uint64_t)(uintptr_t)resource, kind);
	int r;

	if (known)
		return (int64_t)*known;
	r = map_set(&blame->resources, (uint64_t)(uintptr_t)resource, kind, blame->resource_count);
	return r < 0 ? r : (int64_t)blame->resource_count++;
}

/* The pair of a charge, as the index of `pairs`; -ENOENT: its spans were not chosen; -ENOMEM. */
static int64_t pair_of(struct blame *blame, uint32_t victim, uint32_t antagonist, uint32_t kind,
		       const char *resource)
{
	uint64_t both = (uint64_t)victim << 32 | antagonist;
	const uint64_t *place;
	int64_t number;

	if (victim == antagonist || !blame->victims[victim] ||
	    !(antagonist == CLEW_NONE ? blame->limits : blame->antagonists[antagonist]))
		return -ENOENT;
	number = resource_of(blame, kind, resource);
	if (number < 0)
		return -ENOMEM;
	place = map_get(&blame->index, both, (uint32_t)number);
	if (place)
		return (int64_t)*place;
	if (blame->count == blame->capacity) {
		size_t capacity = blame->capacity ? 2 * blame->capacity : 64;
		struct clew_blame_pair *grown =
			reallocarray(blame->pairs, capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		blame->pairs = grown;
		blame->capacity = capacity;
	}
	if (map_set(&blame->index, both, (uint32_t)number, blame->count) < 0)
		return -ENOMEM;
	blame->pairs[blame->count] = (struct clew_blame_pair){.victim = victim,
							      .antagonist = antagonist,
							      .kind = kind,
							      .number = (uint32_t)blame->count,
							      .resource = resource};
	return (int64_t)blame->count++;
}

int blame_charge(struct blame *blame, uint32_t victim, uint32_t antagonist, clew_time ns,
		 uint32_t kind, const char *resource)
{
	int64_t pair = ns > 0 ? pair_of(blame, victim, antagonist, kind, resource) : -ENOENT;

	if (pair >= 0)
		blame->pairs[pair].ns += ns;
	return pair == -ENOMEM ? -ENOMEM : 0;
}

int blame_charge_stretch(struct blame *blame, uint32_t victim, uint32_t antagonist,
			 struct stretch stretch, uint32_t kind, const char *resource)
{
	const struct clew_blame_options *options = blame->options;
	clew_time ns = stretch.to - stretch.from;
	int64_t pair = ns > 0 ? pair_of(blame, victim, antagonist, kind, resource) : -ENOENT;

	if (pair < 0)
		return pair == -ENOMEM ? -ENOMEM : 0;
	blame->pairs[pair].ns += ns;
	return options->charged ? options->charged(options->context, &blame->pairs[pair],
						   stretch.from, stretch.to)
				: 0;
}
