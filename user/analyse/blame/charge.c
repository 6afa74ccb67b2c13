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

static int add(struct blame *blame, uint32_t victim, uint32_t antagonist, clew_time ns,
	       uint32_t kind, const char *resource)
{
	uint64_t both = (uint64_t)victim << 32 | antagonist;
	const uint64_t *place;
	int64_t number;
	int r;

	number = resource_of(blame, kind, resource);
	if (number < 0)
		return -ENOMEM;
	place = map_get(&blame->index, both, (uint32_t)number);
	if (place) {
		blame->pairs[*place].ns += ns;
		return 0;
	}
	if (blame->count == blame->capacity) {
		size_t capacity = blame->capacity ? 2 * blame->capacity : 64;
		struct clew_blame_pair *grown =
			reallocarray(blame->pairs, capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		blame->pairs = grown;
		blame->capacity = capacity;
	}
	r = map_set(&blame->index, both, (uint32_t)number, blame->count);
	if (r < 0)
		return r;
	blame->pairs[blame->count++] = (struct clew_blame_pair){.ns = ns,
								.victim = victim,
								.antagonist = antagonist,
								.kind = kind,
								.resource = resource};
	return 0;
}

int blame_charge(struct blame *blame, uint32_t victim, uint32_t antagonist, clew_time ns,
		 uint32_t kind, const char *resource)
{
	return ns > 0 && is_asked(blame, victim, antagonist)
		       ? add(blame, victim, antagonist, ns, kind, resource)
		       : 0;
}

int blame_charge_during(struct blame *blame, uint32_t victim, uint32_t antagonist, clew_time from,
			clew_time to, uint32_t kind, const char *resource)
{
	int r = 0;

	if (!blame->innermost)
		return blame_charge(blame, victim, antagonist, to - from, kind, resource);
	if (!is_asked(blame, victim, antagonist))
		return 0;
	while (from < to && r == 0) {
		clew_time until;
		uint32_t call = blame_innermost(blame, antagonist, from, &until);

		until = until < to ? until : to;
		r = add(blame, victim, call, until - from, kind, resource);
		from = until;
	}
	return r;
}
