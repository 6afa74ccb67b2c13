/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ranges of files that requests carry, and what tasks did with files in the page
 * cache.
 */
#include "trace/internal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ns: acts that follow each other this closely are joined. */
#define TOUCH_NEAR 10000000ull

int trace_add_pages(struct clew_trace *trace, const struct clew_page_extent *extent)
{
	struct vector *vector = &trace->page_extents;
	struct clew_page_extent *place, *last;
	size_t bytes = extent->writer_count * sizeof(*extent->writers);
	int r = vector_reserve(vector, vector->count + 1);

	if (r < 0)
		return r;
	place = (struct clew_page_extent *)vector->data + vector->count;
	last = vector->count ? place - 1 : NULL;
	*place = *extent;
	place->writers = NULL;
	if (last && bytes && last->writer_count == extent->writer_count &&
	    !memcmp(last->writers, extent->writers, bytes)) {
		place->writers = last->writers;
	} else if (bytes) {
		uint32_t *writers = arena_take(&trace->arena, bytes);

		if (!writers)
			return -ENOMEM;
		place->writers = memcpy(writers, extent->writers, bytes);
	}
	vector->count++;
	return 0;
}

/* True if `next` has the same writers as `last` and begins where that ends. */
static bool continues(const struct clew_page_extent *last, const struct clew_page_extent *next)
{
	return last->request == next->request && last->inode == next->inode &&
	       last->device == next->device && last->offset + last->bytes == next->offset &&
	       last->sector + (last->bytes >> 9) == next->sector && last->known == next->known &&
	       last->evidence == next->evidence && last->writer_count == next->writer_count &&
	       last->later_count == next->later_count && last->above == next->above &&
	       (last->writer_count == 0 ||
		!memcmp(last->writers, next->writers, last->writer_count * sizeof(*last->writers)));
}

int trace_finish_pages(struct clew_trace *trace, const uint32_t *place_of, size_t numbers)
{
	struct clew_page_extent *all = trace->page_extents.data, *sorted;
	struct clew_trace_request *requests = trace->requests.data;
	size_t count = trace->page_extents.count, used = 0, kept = 0;
	struct sort_key *keys;

	if (count == 0)
		return 0;
	keys = malloc(2 * count * sizeof(*keys));
	sorted = malloc(count * sizeof(*sorted));
	if (!keys || !sorted) {
		free(keys);
		free(sorted);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++) {
		all[i].request = all[i].request < numbers ? place_of[all[i].request] : UINT32_MAX;
		if (all[i].request != UINT32_MAX)
			keys[used++] =
				(struct sort_key){.key = all[i].sector, .index = (uint32_t)i};
	}
	sort_keys(keys, keys + count, used);
	for (size_t i = 0; i < used; i++)
		keys[i].key = all[keys[i].index].request;
	sort_keys(keys, keys + count, used);
	for (size_t i = 0; i < used; i++) {
		const struct clew_page_extent *next = &all[keys[i].index];

		if (kept && continues(&sorted[kept - 1], next)) {
			sorted[kept - 1].bytes += next->bytes;
			if (next->dirtied &&
			    (!sorted[kept - 1].dirtied || next->dirtied < sorted[kept - 1].dirtied))
				sorted[kept - 1].dirtied = next->dirtied;
			continue;
		}
		sorted[kept++] = *next;
	}
	memcpy(all, sorted, kept * sizeof(*all));
	trace->page_extents.count = kept;
	for (size_t i = 0; i < kept; i++) {
		struct clew_trace_request *request = &requests[all[i].request];

		if (request->page_count++ == 0)
			request->pages = &all[i];
	}
	free(keys);
	free(sorted);
	return 0;
}

/* ns: an extent of what was asked for is emitted before it is older. */
#define ASKED_MOST	(CLEW_EXTENT_AGE + 4000000)
#define CLEW_PAGE_SHIFT 12

int trace_join_touch(const struct clew_trace *trace, struct trace_touches *touches,
		     const struct clew_touch *touch)
{
	struct clew_file_key key =
		clew_trace_file_key(trace, touch->device, touch->inode, touch->begin);
	const uint64_t *file = map_get(&touches->files, key.number, key.device), *known;
	struct vector *all = touches->all;
	struct clew_touch *last;
	uint64_t number = file ? *file : touches->files.count;

	if (!file && map_set(&touches->files, key.number, key.device, number) < 0)
		return -ENOMEM;
	known = map_get(&touches->last, number << 32 | touch->task, touch->event);
	last = known ? (struct clew_touch *)all->data + *known : NULL;
	/* Each range that was read again is kept: requests are compared with them. */
	if (last && touch->event == CLEW_TOUCH_AGAIN &&
	    (touch->offset != last->offset + last->bytes || touch->begin > last->end))
		last = NULL;
	if (last && touch->begin <= last->end + TOUCH_NEAR && touch->event != CLEW_TOUCH_SYNC) {
		last->end = touch->end > last->end ? touch->end : last->end;
		last->offset = touch->offset < last->offset ? touch->offset : last->offset;
		last->bytes += touch->bytes;
		return 0;
	}
	if (vector_reserve(all, all->count + 1) < 0 ||
	    map_set(&touches->last, number << 32 | touch->task, touch->event, all->count) < 0)
		return -ENOMEM;
	((struct clew_touch *)all->data)[all->count++] = *touch;
	return 0;
}

int trace_add_touch(struct clew_trace *trace, const struct clew_touch *touch)
{
	trace->joined.all = &trace->touches;
	return trace_join_touch(trace, &trace->joined, touch);
}

void trace_touches_done(struct trace_touches *touches)
{
	map_done(&touches->files);
	map_done(&touches->last);
}

int trace_finish_touches(struct clew_trace *trace)
{
	struct clew_touch *all = trace->touches.data, *sorted;
	size_t count = trace->touches.count;
	struct sort_key *keys;

	trace_touches_done(&trace->joined);
	if (count < 2)
		return 0;
	keys = malloc(2 * count * sizeof(*keys));
	sorted = malloc(count * sizeof(*sorted));
	if (!keys || !sorted) {
		free(keys);
		free(sorted);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++)
		keys[i] = (struct sort_key){.key = all[i].begin, .index = (uint32_t)i};
	sort_keys(keys, keys + count, count);
	for (size_t i = 0; i < count; i++)
		sorted[i] = all[keys[i].index];
	memcpy(all, sorted, count * sizeof(*all));
	free(keys);
	free(sorted);
	return 0;
}

bool clew_trace_read_again(const struct clew_trace *trace, const struct clew_block_request *request)
{
	const struct clew_touch *touches = trace->touches.data;
	uint64_t from = request->index << CLEW_PAGE_SHIFT, to = from + request->bytes;
	size_t low = 0, high = trace->touches.count;
	uint64_t since = request->queued > ASKED_MOST ? request->queued - ASKED_MOST : 0;

	if (!request->inode || request->index == UINT64_MAX || !request->queued)
		return false;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (touches[middle].begin < since)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < trace->touches.count && touches[low].begin <= request->queued; low++)
		if (touches[low].event == CLEW_TOUCH_AGAIN &&
		    touches[low].inode == request->inode &&
		    touches[low].device == request->file_device && touches[low].offset < to &&
		    touches[low].offset + touches[low].bytes > from)
			return true;
	return false;
}

const struct clew_touch *clew_trace_touches(const struct clew_trace *trace, size_t *ret_count)
{
	*ret_count = trace->touches.count;
	return trace->touches.data;
}
