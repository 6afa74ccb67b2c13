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

/* True if a victim's time may be charged to an antagonist: both were chosen, and are not one. */
static bool is_asked(const struct blame *blame, uint32_t victim, uint32_t antagonist)
{
	if (!blame->victims[victim])
		return false;
	if (antagonist == CLEW_NONE)
		return blame->limits;
	return blame->antagonists[antagonist] &&
	       blame->threads[victim] != blame->threads[antagonist];
}

/* The pair of a charge, as the index of `pairs`; -ENOMEM. */
static int64_t pair_of(struct blame *blame, uint32_t victim, uint32_t antagonist,
		       const struct charge *charge)
{
	uint64_t both = (uint64_t)victim << 32 | antagonist;
	const uint64_t *place;
	int64_t number;

	number = resource_of(blame, charge->kind, charge->resource);
	if (number < 0)
		return -ENOMEM;
	number = 2 * number + (charge->evidence == CLEW_EVIDENCE_CANDIDATE);
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
							      .kind = charge->kind,
							      .number = (uint32_t)blame->count,
							      .resource = charge->resource,
							      .evidence = charge->evidence};
	return (int64_t)blame->count++;
}

/* Adds to the pair of a charge. Returns its index, or -ENOMEM. */
static int64_t add(struct blame *blame, uint32_t victim, uint32_t antagonist,
		   const struct charge *charge)
{
	int64_t pair = pair_of(blame, victim, antagonist, charge);

	if (pair < 0)
		return pair;
	blame->pairs[pair].ns += charge->ns;
	if (charge->evidence > blame->pairs[pair].evidence)
		blame->pairs[pair].evidence = charge->evidence;
	return pair;
}

int blame_charge(struct blame *blame, uint32_t victim, uint32_t antagonist,
		 const struct charge *charge)
{
	int64_t pair = charge->ns > 0 && is_asked(blame, victim, antagonist)
			       ? add(blame, victim, antagonist, charge)
			       : 0;

	return pair < 0 ? (int)pair : 0;
}

int blame_charge_stretch(struct blame *blame, uint32_t victim, uint32_t antagonist,
			 struct stretch stretch, struct charge charge)
{
	const struct clew_blame_options *options = blame->options;
	int r = 0;

	if (!is_asked(blame, victim, antagonist))
		return 0;
	stretch = blame_part_of(blame, stretch);
	while (stretch.from < stretch.to && r == 0) {
		clew_time until = stretch.to;
		uint32_t who = blame->innermost
				       ? blame_innermost(blame, antagonist, stretch.from, &until)
				       : antagonist;
		int64_t pair;

		until = until < stretch.to ? until : stretch.to;
		charge.ns = until - stretch.from;
		pair = add(blame, victim, who, &charge);
		if (pair < 0)
			return (int)pair;
		if (options->charged)
			r = options->charged(options->context, &blame->pairs[pair], stretch.from,
					     until);
		stretch.from = until;
	}
	return r;
}
