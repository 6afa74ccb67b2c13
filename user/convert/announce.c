/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What threads announced, and of processes the environment variables that were
 * listed, as values of attributes of their spans, and back.
 */
#include "convert/back.h"
#include <clew/kernel/maps.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- from a trace to a model ---- */

static int order_announcements(struct conversion *conversion,
			       const struct clew_announce *const *announcements, size_t count)
{
	struct sort_key *keys = conversion->announcements;

	if (keys || count == 0)
		return 0;
	keys = conversion->announcements = malloc(2 * count * sizeof(*keys));
	if (!keys)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		keys[i] = (struct sort_key){.key = announcements[i]->task, .index = (uint32_t)i};
	sort_keys(keys, keys + count, count);
	return 0;
}

static void add_number(struct pairs *pairs, uint64_t number)
{
	pairs_number(pairs, number);
	pairs_byte(pairs, ' ');
}

/* Its place among all, as times may be the same; then what it is, and its words, each behind a
 * point: one may be empty. */
static void describe_announcement(struct pairs *pairs, const struct clew_announce *announce,
				  uint32_t place)
{
	const char *at = (const char *)(announce + 1), *end = at + announce->size;

	add_number(pairs, place);
	add_number(pairs, announce->header.time);
	add_number(pairs, announce->token);
	pairs_number(pairs, announce->event);
	for (; at < end; at += strnlen(at, (size_t)(end - at)) + 1) {
		pairs_text(pairs, " .");
		pairs_word(pairs, at);
	}
}

int capture_describe_announcements(struct conversion *conversion, uint32_t serial)
{
	struct pairs *pairs = &conversion->pairs;
	size_t count, low = 0, high;
	const struct clew_announce *const *announcements =
		clew_trace_announcements(conversion->trace, &count);
	int r = order_announcements(conversion, announcements, count);
	bool first = true;

	if (r < 0)
		return r;
	for (high = count; low < high;) {
		size_t middle = low + (high - low) / 2;

		if (conversion->announcements[middle].key < serial)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < count && conversion->announcements[low].key == serial; low++, first = false) {
		uint32_t place = conversion->announcements[low].index;

		if (first)
			pairs_begin(pairs, capture_key_words[CAPTURE_ANNOUNCED]);
		else
			pairs_byte(pairs, ',');
		describe_announcement(pairs, announcements[place], place);
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
	bool first = true;

	for (uint64_t number = 0; number < CLEW_ENVIRONMENT_NAMES; number++) {
		const char *value = clew_trace_text(conversion->trace,
						    CLEW_TEXT_ENVIRONMENT | number << 32 | serial);

		if (!value)
			continue;
		if (first)
			pairs_begin(pairs, capture_key_words[CAPTURE_ENVIRONMENT]);
		else
			pairs_byte(pairs, ',');
		first = false;
		pairs_number(pairs, number);
		pairs_text(pairs, " .");
		pairs_word(pairs, value);
	}
}

/* ---- and back ---- */

static int take_announcement(struct back *back, uint32_t serial, const char **rows)
{
	struct {
		struct clew_announce announce;
		char text[CLEW_ANNOUNCE_TEXT + 1];
	} record = {.announce = {.header.kind = CLEW_KIND_ANNOUNCE, .task = serial}};
	uint64_t place, time, token, event;
	char word[CLEW_ANNOUNCE_TEXT + 2];
	size_t size = 0;

	if (!scan_value_number(rows, &place) || !scan_value_number(rows, &time) ||
	    !scan_value_number(rows, &token) || !scan_value_number(rows, &event) ||
	    place > UINT32_MAX || event > 1)
		return back_fail(
			back,
			"announced=%.40s: a row is a place, a time, a token, 0 or 1, and words",
			*rows);
	while (scan_value_word(rows, word, sizeof(word))) {
		size_t length = strlen(word);

		if (word[0] != '.' || length > CLEW_ANNOUNCE_TEXT - size)
			return back_fail(back, "announced=%.40s: no word that was announced", word);
		memcpy(record.text + size, word + 1, length);
		size += length;
	}
	record.announce.header.time = time;
	/* Until all are there and in order. */
	record.announce.header.lost = (uint32_t)place;
	record.announce.token = token;
	record.announce.event = (uint8_t)event;
	record.announce.size = (uint16_t)size;
	return trace_take(back->trace, (struct clew_finding){.tag = CLEW_FINDING_IDENTITY,
							     .identity = &record.announce.header});
}

int back_announcements(struct back *back, uint32_t serial, const char *rows)
{
	int r = 0;

	if (!rows)
		return 0;
	do
		r = take_announcement(back, serial, &rows);
	while (r == 0 && scan_value_row(&rows));
	return r;
}

int back_environment(struct back *back, uint32_t serial, const char *rows)
{
	int r = 0;

	if (!rows)
		return 0;
	do {
		struct {
			struct clew_text_record text;
			char value[CLEW_TEXT_SIZE + 2];
		} record = {.text = {.header.kind = CLEW_KIND_TEXT}};
		uint64_t number;

		if (!scan_value_number(&rows, &number) || number >= CLEW_ENVIRONMENT_NAMES ||
		    !scan_value_word(&rows, record.value, sizeof(record.value)) ||
		    record.value[0] != '.')
			return back_fail(back, "environment=%.40s: a row is a number and a value",
					 rows);
		record.text.hash = CLEW_TEXT_ENVIRONMENT | number << 32 | serial;
		record.text.text_size = (uint16_t)(strlen(record.value) - 1);
		memmove(record.value, record.value + 1, record.text.text_size + 1u);
		r = trace_take(back->trace, (struct clew_finding){.tag = CLEW_FINDING_IDENTITY,
								  .identity = &record.text.header});
	} while (r == 0 && scan_value_row(&rows));
	return r;
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
