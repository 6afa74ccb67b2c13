/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Brings locks together whose name one side lacks, as its file had no symbols. */
#include "compare/named.h"

#include <errno.h>
#include <stdlib.h>

/* By cause: the sides that have it, as bits. */
static uint8_t *find_sides(const struct compare *compare)
{
	const struct compare_operation *operations = compare->operations.data;
	const struct compare_share *shares = compare->shares.data;
	uint8_t *sides = calloc(compare->causes.list.count + 1, sizeof(*sides));

	for (size_t i = 0; sides && i < compare->operations.count; i++)
		for (uint32_t k = 0; k < operations[i].share_count; k++)
			sides[shares[operations[i].first_share + k].cause] |=
				(uint8_t)(1 << operations[i].side);
	return sides;
}

/* By cause: the one with a name that it is; UINT32_MAX: none, or several may be. */
static uint32_t *find_named(const struct compare *compare, const uint8_t *sides)
{
	const uint8_t both = 1 << COMPARE_BEFORE | 1 << COMPARE_AFTER;
	size_t count = compare->causes.list.count;
	uint32_t *named = malloc((count + 1) * sizeof(*named));
	bool *several = calloc(count + 1, sizeof(*several));

	for (size_t i = 0; named && i < count; i++)
		named[i] = UINT32_MAX;
	for (uint32_t i = 0; named && several && i < count; i++) {
		uint32_t other = compare_name_at(&compare->causes, i)->unnamed;

		if (other == UINT32_MAX || !sides[i])
			continue;
		several[other] |= named[other] != UINT32_MAX;
		named[other] = i;
	}
	for (size_t i = 0; named && several && i < count; i++)
		if (named[i] != UINT32_MAX && (several[i] || (sides[i] ^ sides[named[i]]) != both))
			named[i] = UINT32_MAX;
	if (!several) {
		free(named);
		named = NULL;
	}
	free(several);
	return named;
}

int named_join(const struct compare *compare)
{
	struct compare_share *shares = compare->shares.data;
	uint8_t *sides = find_sides(compare);
	uint32_t *named = sides ? find_named(compare, sides) : NULL;
	int r = named ? 0 : -ENOMEM;

	for (size_t i = 0; named && i < compare->shares.count; i++)
		if (named[shares[i].cause] != UINT32_MAX)
			shares[i].cause = named[shares[i].cause];
	free(sides);
	free(named);
	return r;
}
