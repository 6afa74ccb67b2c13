/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where a keyed column finds its predictions: for each row the earlier one
 * whose value it is likely to have. This depends on the keys only, so columns
 * with the same keys and condition share it. All positions here are among the
 * rows that have the column.
 */
#include <stdlib.h>
#include <string.h>

#include "store/columns.h"

static bool is_for(const struct store_keys *keys, const struct store_job *job, uint8_t reference,
		   uint8_t second)
{
	return keys->reference == reference && keys->second == second &&
	       keys->condition == job->column->condition &&
	       (keys->condition == STORE_NONE || keys->mask == job->column->mask);
}

/*
 * Finds the cached results for these keys, or a free place, whose count is then
 * 0. NULL: no memory.
 */
static struct store_keys *find(const struct store_work *work, struct store_keys *all,
			       unsigned *next, const struct store_job *job, uint8_t reference,
			       uint8_t second)
{
	struct store_keys *keys;

	for (unsigned i = 0; i < STORE_KEYS; i++)
		if (all[i].count && is_for(&all[i], job, reference, second))
			return &all[i];
	keys = &all[(*next)++ % STORE_KEYS];
	if (!keys->of)
		keys->of = malloc(work->capacity * sizeof(*keys->of));
	if (!keys->of)
		return NULL;
	keys->reference = reference;
	keys->second = second;
	keys->condition = job->column->condition;
	keys->mask = job->column->mask;
	keys->count = 0;
	return keys;
}

/*
 * Gives equal keys equal numbers, from 0 in the order of their first rows. No
 * key is larger than `most`. Returns how many numbers there are.
 */
static uint32_t number_keys(struct store_work *work, const uint64_t *keys, uint64_t most,
			    size_t count, uint32_t *slots)
{
	uint32_t *table = work->hash, found = 0;
	size_t size = 64;

	while (size < 2 * count)
		size *= 2;
	if (most < size) {
		/* Small keys, as most are, need no hash. */
		memset(table, 0xff, (most + 1) * sizeof(*table));
		for (size_t i = 0; i < count; i++) {
			uint32_t slot = table[keys[i]];

			if (slot == UINT32_MAX)
				slot = table[keys[i]] = found++;
			slots[i] = slot;
		}
		return found;
	}
	memset(table, 0xff, size * sizeof(*table));
	for (size_t i = 0; i < count; i++) {
		size_t at = (keys[i] * 0x9e3779b97f4a7c15ull >> 32) & (size - 1);

		/* The table has the first row of each key. */
		while (table[at] != UINT32_MAX && keys[table[at]] != keys[i])
			at = (at + 1) & (size - 1);
		if (table[at] == UINT32_MAX) {
			table[at] = i;
			slots[i] = found++;
		} else {
			slots[i] = slots[table[at]];
		}
	}
	return found;
}

static const struct store_keys *column_slots(struct store_work *work, const struct store_job *job,
					     uint8_t reference)
{
	struct store_keys *slots =
		find(work, work->slots, &work->next_slots, job, reference, STORE_NONE);
	const uint64_t *column = store_column_of(work, reference);

	if (!slots || slots->count)
		return slots;
	if (job->count < job->rows) {
		for (size_t i = 0; i < job->count; i++)
			work->keys[i] = column[job->present[i]];
		column = work->keys;
	}
	slots->count =
		number_keys(work, column, store_bits_of(column, job->count), job->count, slots->of);
	return slots;
}

const uint32_t *store_sources(struct store_work *work, const struct store_job *job,
			      uint8_t reference, uint8_t second)
{
	struct store_keys *sources =
		find(work, work->sources, &work->next_sources, job, reference, second);
	const struct store_keys *first_slots, *second_slots;
	uint32_t *last = work->last, *last_second, count;
	const uint32_t *slots;

	if (!sources || sources->count || !job->count)
		return sources ? sources->of : NULL;
	first_slots = second_slots = column_slots(work, job, reference);
	if (first_slots && second != STORE_NONE)
		second_slots = column_slots(work, job, second);
	if (!first_slots || !second_slots)
		return NULL;
	slots = first_slots->of;
	count = first_slots->count;
	if (second != STORE_NONE) {
		for (size_t i = 0; i < job->count; i++)
			work->keys[i] = (uint64_t)first_slots->of[i] * second_slots->count +
					second_slots->of[i];
		count = number_keys(work, work->keys,
				    (uint64_t)first_slots->count * second_slots->count - 1,
				    job->count, work->pairs);
		slots = work->pairs;
	}
	last_second = last + count;
	memset(last, 0xff, (count + second_slots->count) * sizeof(*last));
	for (size_t i = 0; i < job->count; i++) {
		uint32_t source = last[slots[i]];

		if (source == UINT32_MAX)
			source = last_second[second_slots->of[i]];
		if (source == UINT32_MAX)
			source = (i ? i - 1 : 0) | STORE_SOURCE_NEW;
		sources->of[i] = source;
		last[slots[i]] = last_second[second_slots->of[i]] = i;
	}
	sources->count = job->count;
	return sources->of;
}
