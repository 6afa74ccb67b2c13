/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What requests carry of files and what threads did with files, as values of
 * attributes, and back.
 */
#include "convert/back.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- from a trace to a model ---- */

void capture_describe_pages(struct conversion *conversion, const struct clew_trace_request *request)
{
	struct pairs *pairs = &conversion->pairs;

	if (request->block.reason)
		pairs_add(pairs, CAPTURE_REASON, clew_request_reason_name(request->block.reason));
	if (request->block.swap)
		pairs_add_number(pairs, CAPTURE_SWAP, 1);
	if (request->block.reason_task)
		pairs_add(pairs, CAPTURE_REASON_BY,
			  capture_name_of(conversion, request->block.reason_task));
	for (uint32_t i = 0; i < request->page_count; i++) {
		const struct clew_page_extent *extent = &request->pages[i];
		const uint64_t numbers[] = {extent->inode,  extent->offset,  extent->bytes,
					    extent->sector, extent->dirtied, extent->later_count,
					    extent->known};

		if (i)
			pairs_byte(pairs, ',');
		else
			pairs_begin(pairs, capture_key_words[CAPTURE_PAGES]);
		pairs_device(pairs, extent->device);
		for (size_t k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++) {
			pairs_byte(pairs, ' ');
			pairs_number(pairs, numbers[k]);
		}
		pairs_byte(pairs, ' ');
		pairs_word(pairs, clew_evidence_name(extent->evidence));
		for (uint32_t k = 0; k < extent->writer_count; k++) {
			pairs_byte(pairs, ' ');
			pairs_word(pairs, capture_name_of(conversion, extent->writers[k]));
		}
	}
}

/* The trace's touches by task, and by time within it. */
static int order_touches(struct conversion *conversion, const struct clew_touch *touches,
			 size_t count)
{
	struct sort_key *keys = conversion->touches;

	if (keys || count == 0)
		return 0;
	keys = conversion->touches = malloc(2 * count * sizeof(*keys));
	if (!keys)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		keys[i] = (struct sort_key){.key = touches[i].task, .index = (uint32_t)i};
	sort_keys(keys, keys + count, count);
	return 0;
}

int capture_describe_touches(struct conversion *conversion, uint32_t serial)
{
	struct pairs *pairs = &conversion->pairs;
	size_t count, low = 0, high;
	const struct clew_touch *touches = clew_trace_touches(conversion->trace, &count);
	int r = order_touches(conversion, touches, count);
	bool first = true;

	if (r < 0)
		return r;
	for (high = count; low < high;) {
		size_t middle = low + (high - low) / 2;

		if (conversion->touches[middle].key < serial)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < count && conversion->touches[low].key == serial; low++, first = false) {
		const struct clew_touch *touch = &touches[conversion->touches[low].index];
		const uint64_t numbers[] = {touch->inode, touch->event,	 touch->begin,
					    touch->end,	  touch->offset, touch->bytes};

		if (first)
			pairs_begin(pairs, capture_key_words[CAPTURE_TOUCHES]);
		else
			pairs_byte(pairs, ',');
		pairs_device(pairs, touch->device);
		for (size_t k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++) {
			pairs_byte(pairs, ' ');
			pairs_number(pairs, numbers[k]);
		}
	}
	return 0;
}

/* ---- and back ---- */

static bool take_numbers(const char **at, uint64_t *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!scan_value_number(at, &numbers[i]))
			return false;
	return true;
}

static int take_extent(struct back *back, uint32_t request, const char **rows,
		       struct vector *writers)
{
	struct clew_page_extent extent = {.request = request};
	char word[CLEW_COMM_SIZE + 64];
	uint64_t numbers[7];

	if (!scan_value_device(rows, &extent.device) || !take_numbers(rows, numbers, 7) ||
	    !scan_value_word(rows, word, sizeof(word)))
		return back_fail(back,
				 "pages=%.40s: a row is a device, an inode, place, bytes, sector, "
				 "time, two numbers and an evidence",
				 *rows);
	extent.inode = numbers[0];
	extent.offset = numbers[1];
	extent.bytes = numbers[2];
	extent.sector = numbers[3];
	extent.dirtied = numbers[4];
	extent.known = numbers[6] != 0;
	for (unsigned i = 0; i < CLEW_EVIDENCE_COUNT; i++)
		if (!strcmp(word, clew_evidence_name(i)))
			extent.evidence = (uint8_t)i;
	writers->count = 0;
	while (scan_value_word(rows, word, sizeof(word))) {
		if (vector_reserve(writers, writers->count + 1) < 0)
			return -ENOMEM;
		((uint32_t *)writers->data)[writers->count++] = back_serial(back, word);
	}
	extent.writers = writers->data;
	extent.writer_count = (uint32_t)writers->count;
	if (numbers[5] > extent.writer_count)
		return back_fail(back, "pages: %llu of %u writers were late",
				 (unsigned long long)numbers[5], extent.writer_count);
	extent.later_count = (uint32_t)numbers[5];
	return trace_take(back->trace,
			  (struct clew_finding){.tag = CLEW_FINDING_PAGES, .pages = &extent});
}

int back_pages(struct back *back, uint32_t request, const char *rows)
{
	struct vector writers = {.item = sizeof(uint32_t)};
	int r = 0;

	if (rows) {
		do
			r = take_extent(back, request, &rows, &writers);
		while (r == 0 && scan_value_row(&rows));
	}
	vector_done(&writers);
	return r;
}

int back_touches(struct back *back, uint32_t serial, const char *rows)
{
	int r = 0;

	if (!rows)
		return 0;
	do {
		struct clew_touch touch = {.task = serial};
		uint64_t numbers[6];

		if (!scan_value_device(&rows, &touch.device) || !take_numbers(&rows, numbers, 6) ||
		    numbers[1] >= CLEW_TOUCH_COUNT || numbers[3] < numbers[2])
			return back_fail(back,
					 "touches=%.40s: a row is a device, an inode, what was "
					 "done, begin, end, place and bytes",
					 rows);
		touch.inode = numbers[0];
		touch.event = (uint8_t)numbers[1];
		touch.begin = numbers[2];
		touch.end = numbers[3];
		touch.offset = numbers[4];
		touch.bytes = numbers[5];
		r = trace_take(back->trace,
			       (struct clew_finding){.tag = CLEW_FINDING_TOUCH, .touch = &touch});
	} while (r == 0 && scan_value_row(&rows));
	return r;
}
