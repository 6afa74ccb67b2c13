/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Chooses the keyframe at which a reader begins. */
#include "store/keyframe.h"

#define PACKED_ROWS 20

/* The number of keyframes that begin at `time` or before. */
static size_t count_until(const struct store_metadata *metadata, uint64_t time)
{
	size_t low = 0, high = metadata->keyframe_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (metadata->keyframes[middle].from <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The chunk is packed, most likely. */
static bool is_slow(const struct store_index_entry *entry)
{
	return entry->last_time > entry->first_time &&
	       (entry->last_time - entry->first_time) / entry->rows >= STORE_SLOW_NS;
}

/* Records between two moments: those of all chunks that have any. One of a packed chunk counts as
 * so many as are decoded in its time. */
static uint64_t rows_between(const struct store_file *file, uint64_t from, uint64_t to)
{
	uint64_t rows = 0;

	for (size_t i = file->records; i < file->count; i++) {
		const struct store_index_entry *entry = &file->entries[i];

		if (entry->last_time >= from && entry->first_time <= to)
			rows += entry->rows * (is_slow(entry) ? PACKED_ROWS : 1ull);
	}
	return rows;
}

const struct clew_keyframe *store_keyframe_choose(const struct store_metadata *metadata,
						  const struct store_file *file,
						  uint64_t whole_until, uint64_t time,
						  uint64_t rows)
{
	const struct clew_keyframe *keyframes = metadata->keyframes;
	size_t count = count_until(metadata, time), low = 0;

	while (count && keyframes[count - 1].until > whole_until)
		count--;
	if (!count)
		return NULL;
	/* From an earlier keyframe on there are more records. */
	for (size_t high = count - 1; low < high;) {
		size_t middle = low + (high - low) / 2;

		if (rows_between(file, keyframes[middle].from, time) <= rows)
			high = middle;
		else
			low = middle + 1;
	}
	return &keyframes[low];
}

const struct clew_keyframe *store_keyframe_at(const struct store_metadata *metadata, uint64_t time)
{
	size_t count = count_until(metadata, time);
	const struct clew_keyframe *last = count ? &metadata->keyframes[count - 1] : NULL;

	return last && time <= last->until ? last : NULL;
}
