/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pages that a memory limit evicted.
 *
 * Invariant: there are at most CHUNKS_MOST chunks, which is 64 GiB of files. Past that all are
 * forgotten, and reads are told as if for the first time.
 */
#include "builder/evicted.h"

#define PAGE_SHIFT  12
#define CHUNK_SHIFT 6 /* pages */
#define FILE_SHIFT  40
#define CHUNKS_MOST (1u << 18)

void evicted_done(struct evicted *evicted)
{
	map_done(&evicted->files);
	map_done(&evicted->chunks);
	*evicted = (struct evicted){};
}

/* The bits of a chunk's pages from `from` to before `to`, which are in the chunk or beyond it. */
static uint64_t bits_of(uint64_t chunk, uint64_t from, uint64_t to)
{
	uint64_t first = chunk << CHUNK_SHIFT, end = first + (1u << CHUNK_SHIFT);
	uint64_t low = from > first ? from - first : 0, high = (to < end ? to : end) - first;

	return (high == 64 ? UINT64_MAX : (1ull << high) - 1) & ~((1ull << low) - 1);
}

static uint64_t key_of(uint64_t file, uint64_t chunk)
{
	return file << FILE_SHIFT | chunk;
}

int evicted_add(struct evicted *evicted, const struct file_range *range)
{
	uint64_t from = range->offset >> PAGE_SHIFT,
		 to = (range->offset + range->bytes) >> PAGE_SHIFT, number;
	const uint64_t *file = map_get(&evicted->files, range->inode, range->device);
	int r = 0;

	/* In a damaged file a range may be as long as numbers go. */
	if ((to - from) >> CHUNK_SHIFT >= CHUNKS_MOST || to < from)
		return 0;
	if (evicted->chunks.count >= CHUNKS_MOST) {
		evicted_done(evicted);
		file = NULL;
	}
	number = file ? *file : evicted->files.count;
	if (!file)
		r = map_set(&evicted->files, range->inode, range->device, number);
	for (uint64_t chunk = from >> CHUNK_SHIFT; r == 0 && chunk << CHUNK_SHIFT < to; chunk++) {
		uint64_t *bits = map_get(&evicted->chunks, key_of(number, chunk), 0);

		if (bits)
			*bits |= bits_of(chunk, from, to);
		else
			r = map_set(&evicted->chunks, key_of(number, chunk), 0,
				    bits_of(chunk, from, to));
	}
	return r;
}

int evicted_remove(struct evicted *evicted, const struct file_range *range,
		   int (*take)(void *context, uint64_t offset, uint64_t bytes), void *context)
{
	uint64_t from = range->offset >> PAGE_SHIFT,
		 to = (range->offset + range->bytes) >> PAGE_SHIFT, run = 0, begin = from;
	const uint64_t *file = map_get(&evicted->files, range->inode, range->device);
	int r = 0;

	for (uint64_t chunk = from >> CHUNK_SHIFT; file && r == 0 && chunk << CHUNK_SHIFT < to;
	     chunk++) {
		uint64_t key = key_of(*file, chunk), wanted = bits_of(chunk, from, to), found;
		uint64_t *bits = map_get(&evicted->chunks, key, 0);

		found = bits ? *bits & wanted : 0;
		if (bits && !(*bits &= ~wanted))
			map_remove(&evicted->chunks, key, 0);
		for (unsigned i = 0; i < 64 && r == 0; i++) {
			uint64_t page = (chunk << CHUNK_SHIFT) + i;

			if (found >> i & 1) {
				begin = run ? begin : page;
				run++;
			} else if (run) {
				r = take ? take(context, begin << PAGE_SHIFT, run << PAGE_SHIFT)
					 : 0;
				run = 0;
			}
		}
	}
	return run && r == 0 && take ? take(context, begin << PAGE_SHIFT, run << PAGE_SHIFT) : r;
}
