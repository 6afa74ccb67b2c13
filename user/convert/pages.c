/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pages of files that requests carried, and touches of files by threads, as
 * values of attributes, and back.
 */
#include "convert/to_trace.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- from a trace to a model ---- */

void capture_describe_pages(struct conversion *conversion, const struct clew_trace_request *request)
{
	struct pairs *pairs = &conversion->pairs;

	if (request->block.reason)
		pairs_add(pairs, ATTRIBUTE_REASON, clew_request_reason_name(request->block.reason));
	if (request->block.swap)
		pairs_add_number(pairs, ATTRIBUTE_SWAP, 1);
	if (request->block.reason_task)
		pairs_add(pairs, ATTRIBUTE_REASON_BY,
			  capture_name_of(conversion, request->block.reason_task));
	for (uint32_t i = 0; i < request->page_count; i++) {
		const struct clew_page_extent *extent = &request->pages[i];

		PAIRS_ROW(pairs, ATTRIBUTE_PAGES, {extent->device}, {extent->inode},
			  {extent->offset}, {extent->bytes}, {extent->sector}, {extent->dirtied},
			  {extent->later_count},
			  {extent->known && extent->above ? extent->above + 1ull : extent->known},
			  {.word = clew_evidence_name(extent->evidence)});
		for (uint32_t k = 0; k < extent->writer_count; k++)
			pairs_row_field(pairs, (union attribute_field){
						       .word = capture_name_of(
							       conversion, extent->writers[k])});
	}
}

static uint32_t task_of_touch(const void *touches, size_t index)
{
	return ((const struct clew_touch *)touches)[index].task;
}

int capture_describe_touches(struct conversion *conversion, uint32_t serial)
{
	struct pairs *pairs = &conversion->pairs;
	size_t count;
	const struct clew_touch *touches = clew_trace_touches(conversion->trace, &count);
	int r = capture_order_by_task(&conversion->touches, count, task_of_touch, touches);

	if (r < 0)
		return r;
	for (size_t i = capture_first_of_task(conversion->touches, count, serial);
	     i < count && conversion->touches[i].key == serial; i++) {
		const struct clew_touch *touch = &touches[conversion->touches[i].index];

		PAIRS_ROW(pairs, ATTRIBUTE_TOUCHES, {touch->device}, {touch->inode}, {touch->event},
			  {touch->begin}, {touch->end}, {touch->offset}, {touch->bytes});
	}
	return 0;
}

/* ---- and back ---- */

static int take_extent(struct back *back, const struct row *row)
{
	const union attribute_field *fields = row_fields(row);
	struct clew_page_extent extent = {
		.request = *(const uint32_t *)row->context,
		.device = (uint32_t)fields[0].number,
		.inode = fields[1].number,
		.offset = fields[2].number,
		.bytes = fields[3].number,
		.sector = fields[4].number,
		.dirtied = fields[5].number,
		.known = fields[7].number != 0,
		.above = fields[7].number > 1 ? (uint32_t)(fields[7].number - 1) : 0};
	int evidence = back_word(fields[8].word, clew_evidence_name, CLEW_EVIDENCE_COUNT);
	uint32_t *writers;

	extent.evidence = evidence < 0 ? 0 : (uint8_t)evidence;
	extent.writer_count = (uint32_t)(row->count - 9);
	if (vector_reserve(&back->writers, extent.writer_count) < 0)
		return -ENOMEM;
	extent.writers = writers = back->writers.data;
	for (uint32_t i = 0; i < extent.writer_count; i++)
		writers[i] = back_serial(back, fields[9 + i].word);
	if (fields[6].number > extent.writer_count)
		return back_fail(back, "pages: %llu of %u writers were late",
				 (unsigned long long)fields[6].number, extent.writer_count);
	extent.later_count = (uint32_t)fields[6].number;
	return trace_take(back->trace,
			  (struct clew_finding){.tag = CLEW_FINDING_PAGES, .pages = &extent});
}

int back_pages(struct back *back, uint32_t request, const struct values *values)
{
	return back_rows(back, ATTRIBUTE_PAGES, values, take_extent, &request);
}

static int take_touch(struct back *back, const struct row *row)
{
	const union attribute_field *fields = row_fields(row);
	struct clew_touch touch = {.task = *(const uint32_t *)row->context,
				   .device = (uint32_t)fields[0].number,
				   .inode = fields[1].number,
				   .event = (uint8_t)fields[2].number,
				   .begin = fields[3].number,
				   .end = fields[4].number,
				   .offset = fields[5].number,
				   .bytes = fields[6].number};

	if (fields[2].number >= CLEW_TOUCH_COUNT || touch.end < touch.begin)
		return back_fail_row(back);
	return trace_take(back->trace,
			  (struct clew_finding){.tag = CLEW_FINDING_TOUCH, .touch = &touch});
}

int back_touches(struct back *back, uint32_t serial, const struct values *values)
{
	return back_rows(back, ATTRIBUTE_TOUCHES, values, take_touch, &serial);
}
