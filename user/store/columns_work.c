/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The arrays that columns are worked on in: which rows have a value, the latest of each row, and
 * the unit that all values are multiples of.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/columns.h"

static int grow(void *array, size_t count, size_t size)
{
	void **at = array, *bigger;

	if (!*at)
		return 0;
	bigger = realloc(*at, count * size);
	if (!bigger)
		return -ENOMEM;
	*at = bigger;
	return 0;
}

int store_work_array(struct store_work *work, uint64_t **array)
{
	if (!*array)
		*array = malloc(work->capacity * sizeof(**array));
	return *array ? 0 : -ENOMEM;
}

int store_work_reserve(struct store_work *work, size_t rows)
{
	size_t capacity = work->capacity ? work->capacity : 4096;
	int r = 0;

	if (rows <= work->capacity)
		return 0;
	while (capacity < rows)
		capacity *= 2;

	/* RECENT may have an extra residual for each row. */
	free(work->residuals);
	work->residuals = malloc(2 * capacity * sizeof(*work->residuals));
	free(work->identity);
	work->identity = malloc(capacity * sizeof(*work->identity));
	free(work->values);
	work->values = malloc(capacity * sizeof(*work->values));
	free(work->keys);
	work->keys = malloc(capacity * sizeof(*work->keys));
	free(work->last);
	work->last = malloc(2 * capacity * sizeof(*work->last));
	free(work->pairs);
	work->pairs = malloc(capacity * sizeof(*work->pairs));
	free(work->left);
	work->left = calloc(capacity, sizeof(*work->left));
	free(work->present);
	work->present = malloc(capacity * sizeof(*work->present));
	free(work->hash);
	work->hash_size = 2 * capacity;
	work->hash = malloc(work->hash_size * sizeof(*work->hash));
	for (unsigned i = 0; i < STORE_COLUMNS_MAX && r == 0; i++) {
		r = grow(&work->full[i], capacity, sizeof(uint64_t));
		if (r == 0)
			r = grow(&work->common[i], capacity, sizeof(uint64_t));
	}
	for (unsigned i = 0; i < STORE_KEYS && r == 0; i++) {
		r = grow(&work->slots[i].of, capacity, sizeof(uint32_t));
		if (r == 0)
			r = grow(&work->sources[i].of, capacity, sizeof(uint32_t));
	}
	if (r < 0 || !work->residuals || !work->identity || !work->values || !work->keys ||
	    !work->last || !work->pairs || !work->present || !work->hash || !work->left) {
		store_work_done(work);
		return -ENOMEM;
	}
	for (size_t i = 0; i < capacity; i++)
		work->identity[i] = i;
	work->capacity = capacity;
	return 0;
}

void store_work_begin(struct store_work *work)
{
	work->present_condition = STORE_NONE;
	for (unsigned i = 0; i < STORE_KEYS; i++)
		work->slots[i].count = work->sources[i].count = 0;
	work->next_slots = work->next_sources = 0;
}

void store_work_done(struct store_work *work)
{
	free(work->values);
	free(work->residuals);
	free(work->keys);
	free(work->last);
	free(work->pairs);
	free(work->identity);
	free(work->present);
	free(work->left);
	free(work->hash);
	for (unsigned i = 0; i < STORE_COLUMNS_MAX; i++) {
		free(work->full[i]);
		free(work->common[i]);
	}
	for (unsigned i = 0; i < STORE_KEYS; i++) {
		free(work->slots[i].of);
		free(work->sources[i].of);
	}
	memset(work, 0, sizeof(*work));
}

void store_present(struct store_work *work, struct store_job *job)
{
	const struct store_column *column = job->column;
	const uint64_t *flags;
	size_t count = 0;

	if (column->condition == STORE_NONE) {
		job->present = work->identity;
		job->count = job->rows;
		return;
	}
	job->present = work->present;
	/* Columns of one condition mostly come one after the other. */
	if (work->present_condition != column->condition || work->present_mask != column->mask) {
		flags = store_column_of(work, column->condition);
		for (size_t i = 0; i < job->rows; i++) {
			work->present[count] = i;
			count += (flags[i] & column->mask) != 0;
		}
		work->present_condition = column->condition;
		work->present_mask = column->mask;
		work->present_count = count;
	}
	job->count = work->present_count;
}

/* Gives where a column's values of all rows are kept; NULL if no other column refers to them. */
static int full_of(struct store_work *work, const struct store_job *job, uint64_t **ret_full)
{
	int r = job->column->referenced ? store_work_array(work, &work->full[job->number]) : 0;

	*ret_full = job->column->referenced && r >= 0 ? work->full[job->number] : NULL;
	return r;
}

int store_keep(struct store_work *work, const struct store_job *job)
{
	uint64_t *full;
	int r = full_of(work, job, &full);

	if (r < 0 || !full)
		return r;
	if (job->count < job->rows)
		memset(full, 0, job->rows * sizeof(*full));
	for (size_t i = 0; i < job->count; i++)
		full[job->present[i]] = work->values[i];
	return 0;
}

int store_latest(struct store_work *work, const struct store_job *job, const uint32_t *at,
		 const uint64_t *other, const uint32_t *other_at, size_t other_rows)
{
	uint64_t *full, value = 0;
	size_t next = 0;
	int r = full_of(work, job, &full);

	if (r < 0 || !full)
		return r;
	for (size_t i = 0; i < job->rows; i++) {
		while (next < other_rows && other_at[next] < at[i])
			value = other[next++];
		full[i] = value & store_mask_of(job->column->type);
	}
	return 0;
}

uint64_t store_tail_hash(const uint8_t *bytes, size_t size)
{
	uint64_t hash = 14695981039346656037ull;

	for (size_t i = 0; i < STORE_HASHED; i += 8) {
		uint64_t word = 0;

		if (i < size)
			memcpy(&word, bytes + i, size - i < 8 ? size - i : 8);
		hash = (hash ^ word) * 1099511628211ull;
	}
	return hash;
}

bool store_has_unit(const struct store_column *column)
{
	return column->type != STORE_I32 && column->type != STORE_BYTES &&
	       column->coding != STORE_RECENT && column->coding != STORE_STREAM;
}

void store_find_unit(const struct store_work *work, struct store_job *job)
{
	uint64_t all = store_has_unit(job->column) ? store_bits_of(work->values, job->count) : 0;

	job->unit = all ? __builtin_ctzll(all) : 0;
}

void store_to_units(struct store_work *work, const struct store_job *job)
{
	for (size_t i = 0; job->unit && i < job->count; i++)
		work->values[i] >>= job->unit;
}

void store_from_units(struct store_work *work, const struct store_job *job)
{
	uint64_t mask = store_mask_of(job->column->type);

	for (size_t i = 0; job->unit && i < job->count; i++)
		work->values[i] = work->values[i] << job->unit & mask;
}
