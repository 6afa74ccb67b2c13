/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sorts keys by digits of eleven bits, from the lowest up, over as many digits as
 * the span of the keys has; a few keys, by insertion.
 */
#include "base/sort.h"
#include <stdbool.h>
#include <string.h>

#define DIGIT_BITS 11
#define DIGITS	   (1u << DIGIT_BITS)
#define FEW	   48 /* where counting digits costs more than moving keys */

static void sort_few(struct sort_key *keys, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		struct sort_key key = keys[i];
		size_t at = i;

		for (; at > 0 && keys[at - 1].key > key.key; at--)
			keys[at] = keys[at - 1];
		keys[at] = key;
	}
}

void sort_keys(struct sort_key *keys, struct sort_key *spare, size_t count)
{
	struct sort_key *from = keys, *to = spare, *swap;
	uint64_t low = UINT64_MAX, high = 0;
	bool sorted = true;

	if (count <= FEW) {
		sort_few(keys, count);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		sorted = sorted && (i == 0 || keys[i - 1].key <= keys[i].key);
		low = keys[i].key < low ? keys[i].key : low;
		high = keys[i].key > high ? keys[i].key : high;
	}
	if (sorted)
		return;
	for (unsigned shift = 0; shift < 64 && (high - low) >> shift; shift += DIGIT_BITS) {
		size_t places[DIGITS] = {0}, place = 0;

		for (size_t i = 0; i < count; i++)
			places[(from[i].key - low) >> shift & (DIGITS - 1)]++;
		for (size_t digit = 0; digit < DIGITS; digit++) {
			size_t size = places[digit];

			places[digit] = place;
			place += size;
		}
		for (size_t i = 0; i < count; i++)
			to[places[(from[i].key - low) >> shift & (DIGITS - 1)]++] = from[i];
		swap = from;
		from = to;
		to = swap;
	}
	if (from != keys)
		memcpy(keys, from, count * sizeof(*keys));
}
