/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Announcements of threads and the listed environment variables of processes,
 * as values of attributes of their spans, and back.
 */
#include "convert/to_trace.h"
#include <clew/kernel/maps.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- from a trace to a model ---- */

/* `number`: among all announcements. It restores their order on the way back,
 * as several may have the same time. */
static void describe_announcement(struct pairs *pairs, const struct clew_announce *announce,
				  uint32_t number)
{
	const char *at = (const char *)(announce + 1), *end = at + announce->size;

	PAIRS_ROW(pairs, ATTRIBUTE_ANNOUNCED, {number}, {announce->header.time}, {announce->token},
		  {announce->event});
	for (; at < end; at += strnlen(at, (size_t)(end - at)) + 1)
		pairs_row_field(pairs, (union attribute_field){.word = at});
}

static uint32_t task_of_announcement(const void *announcements, size_t index)
{
	return ((const struct clew_announce *const *)announcements)[index]->task;
}

int capture_describe_announcements(struct conversion *conversion, uint32_t serial)
{
	struct pairs *pairs = &conversion->pairs;
	size_t count;
	const struct clew_announce *const *announcements =
		clew_trace_announcements(conversion->trace, &count);
	int r = capture_order_by_task(&conversion->announcements, count, task_of_announcement,
				      announcements);

	if (r < 0)
		return r;
	for (size_t i = capture_first_of_task(conversion->announcements, count, serial);
	     i < count && conversion->announcements[i].key == serial; i++) {
		uint32_t number = conversion->announcements[i].index;

		describe_announcement(pairs, announcements[number], number);
	}
	return 0;
}

bool capture_is_environment(uint64_t hash)
{
	return hash >> 48 == CLEW_TEXT_ENVIRONMENT >> 48;
}

void capture_describe_environment(struct conversion *conversion, uint32_t serial)
{
	struct pairs *pairs = &conversion->pairs;

	for (uint64_t number = 0; number < CLEW_ENVIRONMENT_NAMES; number++) {
		const char *value = clew_trace_text(conversion->trace,
						    CLEW_TEXT_ENVIRONMENT | number << 32 | serial);

		if (value)
			PAIRS_ROW(pairs, ATTRIBUTE_ENVIRONMENT, {number}, {.word = value});
	}
}

/* ---- and back ---- */

static int take_announcement(struct back *back, const struct row *row)
{
	const union attribute_field *fields = row_fields(row);
	struct {
		struct clew_announce announce;
		char text[CLEW_ANNOUNCE_TEXT + 1];
	} record = {.announce = {.header.kind = CLEW_KIND_ANNOUNCE,
				 .task = *(const uint32_t *)row->context}};
	size_t size = 0;

	if (fields[0].number > UINT32_MAX || fields[3].number > 1)
		return back_fail_row(back);
	for (size_t i = 4; i < row->count; i++) {
		size_t length = strlen(fields[i].word) + 1;

		if (length > CLEW_ANNOUNCE_TEXT - size)
			return back_fail(back, "announced=.%.39s: no word that was announced",
					 fields[i].word);
		memcpy(record.text + size, fields[i].word, length);
		size += length;
	}
	record.announce.header.time = fields[1].number;
	/* back_order_announcements() sorts by this field, which has no other
	 * use here. */
	record.announce.header.lost = (uint32_t)fields[0].number;
	record.announce.token = fields[2].number;
	record.announce.event = (uint8_t)fields[3].number;
	record.announce.size = (uint16_t)size;
	return trace_take(back->trace, (struct clew_finding){.tag = CLEW_FINDING_IDENTITY,
							     .identity = &record.announce.header});
}

int back_announcements(struct back *back, uint32_t serial, const struct values *values)
{
	return back_rows(back, ATTRIBUTE_ANNOUNCED, values, take_announcement, &serial);
}

static int take_environment(struct back *back, const struct row *row)
{
	const union attribute_field *fields = row_fields(row);
	uint64_t number = fields[0].number;
	struct {
		struct clew_text_record text;
		char value[CLEW_TEXT_SIZE + 1];
	} record = {.text = {.header.kind = CLEW_KIND_TEXT}};

	if (number >= CLEW_ENVIRONMENT_NAMES)
		return back_fail_row(back);
	record.text.hash = CLEW_TEXT_ENVIRONMENT | number << 32 | *(const uint32_t *)row->context;
	record.text.text_size = (uint16_t)strnlen(fields[1].word, CLEW_TEXT_SIZE);
	memcpy(record.value, fields[1].word, record.text.text_size);
	return trace_take(back->trace, (struct clew_finding){.tag = CLEW_FINDING_IDENTITY,
							     .identity = &record.text.header});
}

int back_environment(struct back *back, uint32_t serial, const struct values *values)
{
	return back_rows(back, ATTRIBUTE_ENVIRONMENT, values, take_environment, &serial);
}

static int compare_places(const void *left, const void *right)
{
	const struct clew_announce *a = *(const struct clew_announce *const *)left,
				   *b = *(const struct clew_announce *const *)right;

	return a->header.lost < b->header.lost ? -1 : a->header.lost > b->header.lost;
}

void back_order_announcements(struct back *back)
{
	struct vector *announcements = &back->trace->announcements;

	if (announcements->count)
		qsort(announcements->data, announcements->count, announcements->item,
		      compare_places);
}
