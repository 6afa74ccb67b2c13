/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Numbers, each as often as it occurs. */
#include "base/multiset.h"

#include <errno.h>
#include <stdlib.h>

#define NUMBER_MOST 10 /* bytes of a packed number */
#define LEAST	    16 /* bytes of a set */

/* Where a set is read. */
struct place {
	const uint8_t *at, *end;
	uint64_t number, times;
};

static uint64_t unpack(const uint8_t **at)
{
	uint64_t number = 0;
	unsigned shift = 0;

	do {
		number |= (uint64_t)(**at & 0x7f) << shift;
		shift += 7;
	} while (*(*at)++ & 0x80);
	return number;
}

static size_t pack(uint8_t *at, uint64_t number)
{
	size_t size = 0;

	for (; number >= 0x80; number >>= 7)
		at[size++] = (uint8_t)(number | 0x80);
	at[size++] = (uint8_t)number;
	return size;
}

static struct place begin(const struct multiset *set)
{
	return (struct place){.at = set->bytes, .end = set->bytes + set->size};
}

/* False: there are no more. */
static bool next(struct place *place)
{
	if (place->at == place->end)
		return false;
	place->number += unpack(&place->at);
	place->times = unpack(&place->at);
	return true;
}

int multiset_add(struct multiset *set, uint64_t number, uint64_t times)
{
	if (set->capacity - set->size < 2 * NUMBER_MOST) {
		size_t capacity = 2 * set->capacity + LEAST + NUMBER_MOST;
		uint8_t *bytes = realloc(set->bytes, capacity);

		if (!bytes)
			return -ENOMEM;
		set->bytes = bytes;
		set->capacity = capacity;
	}
	set->size += pack(set->bytes + set->size, number - set->greatest);
	set->size += pack(set->bytes + set->size, times);
	set->greatest = number;
	set->count += times;
	return 0;
}

int multiset_join(struct multiset *set, const struct multiset *other)
{
	struct place a = begin(set), b = begin(other);
	bool in_a = next(&a), in_b = next(&b);
	struct multiset joined = {};
	int r = 0;

	while (r == 0 && (in_a || in_b)) {
		bool take_a = in_a && (!in_b || a.number <= b.number),
		     take_b = in_b && (!in_a || b.number <= a.number);

		r = multiset_add(&joined, take_a ? a.number : b.number,
				 (take_a ? a.times : 0) + (take_b ? b.times : 0));
		in_a = take_a ? next(&a) : in_a;
		in_b = take_b ? next(&b) : in_b;
	}
	multiset_done(r < 0 ? &joined : set);
	if (r == 0)
		*set = joined;
	return r;
}

uint64_t multiset_at(const struct multiset *set, uint64_t rank)
{
	struct place place = begin(set);

	while (next(&place)) {
		if (rank < place.times)
			break;
		rank -= place.times;
	}
	return place.number;
}

void multiset_done(struct multiset *set)
{
	free(set->bytes);
	*set = (struct multiset){};
}
