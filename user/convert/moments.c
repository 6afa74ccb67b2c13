/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Moments of threads at points of runtimes, and the names of the functions that these refer to, as
 * values of attributes of their spans, and back. Logical spans are derived from these again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <clew/kernel/maps.h>

#include "base/sort.h"
#include "convert/to_model.h"
#include "convert/to_trace.h"

static uint32_t task_of_moment(const void *moments, size_t index)
{
	return ((const struct clew_moment *const *)moments)[index]->task;
}

/* The values in hexadecimal, "-" without any. */
static void describe_moment(struct pairs *pairs, const struct clew_moment *moment, uint32_t number)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *values = (const uint8_t *)(moment + 1);
	char text[2 * CLEW_MOMENT_ROOM + 2] = "-";

	for (unsigned i = 0; i < moment->size && i < CLEW_MOMENT_ROOM; i++) {
		text[2 * i] = digits[values[i] >> 4];
		text[2 * i + 1] = digits[values[i] & 15];
		text[2 * i + 2] = '\0';
	}
	PAIRS_ROW(pairs, ATTRIBUTE_MOMENTS, {number}, {moment->header.time}, {moment->stack},
		  {moment->point}, {moment->header.flags}, {.word = text});
}

static int by_address(const void *left, const void *right)
{
	const struct map_slot *a = *(const struct map_slot *const *)left,
			      *b = *(const struct map_slot *const *)right;

	return a->key < b->key ? -1 : a->key > b->key;
}

/* The functions of a process that moments refer to. */
static int describe_codes(struct conversion *conversion, uint32_t serial)
{
	const struct map *codes = &conversion->trace->codes;
	const struct map_slot **slots;
	size_t count = 0;

	if (!codes->count)
		return 0;
	slots = malloc(codes->count * sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < codes->capacity; i++)
		if (codes->slots[i].used && codes->slots[i].part == serial)
			slots[count++] = &codes->slots[i];
	if (count)
		qsort(slots, count, sizeof(*slots), by_address);
	for (size_t i = 0; i < count; i++)
		PAIRS_ROW(&conversion->pairs, ATTRIBUTE_CODES, {slots[i]->key},
			  {.word = (const char *)(uintptr_t)slots[i]->value});
	free(slots);
	return 0;
}

int capture_describe_moments(struct conversion *conversion, uint32_t serial)
{
	size_t count;
	const struct clew_moment *const *moments = clew_trace_moments(conversion->trace, &count);
	int r = capture_order_by_task(&conversion->moments, count, task_of_moment, moments);

	if (r < 0)
		return r;
	for (size_t i = capture_first_of_task(conversion->moments, count, serial);
	     i < count && conversion->moments[i].key == serial; i++) {
		uint32_t number = conversion->moments[i].index;

		describe_moment(&conversion->pairs, moments[number], number);
	}
	return describe_codes(conversion, serial);
}

/* ---- and back ---- */

static int digit_of(char byte)
{
	return byte >= '0' && byte <= '9'   ? byte - '0'
	       : byte >= 'a' && byte <= 'f' ? byte - 'a' + 10
					    : -1;
}

static int take_moment(struct back *back, const struct row *row)
{
	const union attribute_field *fields = row_fields(row);
	struct {
		struct clew_moment moment;
		uint8_t values[CLEW_MOMENT_ROOM + 1];
	} record = {.moment = {.header.kind = CLEW_KIND_MOMENT,
			       .task = *(const uint32_t *)row->context}};
	const char *at = fields[5].word;

	if (fields[0].number > UINT32_MAX || fields[3].number > UINT16_MAX ||
	    fields[4].number > UINT8_MAX || strlen(at) > 2 * CLEW_MOMENT_ROOM)
		return back_fail_row(back);
	for (; strcmp(fields[5].word, "-") && *at; at += 2) {
		int high = digit_of(at[0]), low = digit_of(at[1]);

		if (high < 0 || low < 0)
			return back_fail_row(back);
		record.values[record.moment.size++] = (uint8_t)(high << 4 | low);
	}
	record.moment.header.time = fields[1].number;
	/* back_order_moments() sorts by this field, which has no other use here. */
	record.moment.header.lost = (uint32_t)fields[0].number;
	record.moment.header.flags = (uint8_t)fields[4].number;
	record.moment.stack = fields[2].number;
	record.moment.point = (uint16_t)fields[3].number;
	return trace_take(back->trace, (struct clew_finding){.tag = CLEW_FINDING_IDENTITY,
							     .identity = &record.moment.header});
}

static int take_code(struct back *back, const struct row *row)
{
	const union attribute_field *fields = row_fields(row);
	size_t length = strlen(fields[1].word);
	char *name = arena_copy(&back->trace->arena, fields[1].word, length);

	return name ? map_set(&back->trace->codes, fields[0].number,
			      *(const uint32_t *)row->context, (uintptr_t)name)
		    : -ENOMEM;
}

int back_moments(struct back *back, uint32_t serial, const struct values *values)
{
	int r = back_rows(back, ATTRIBUTE_MOMENTS, values, take_moment, &serial);

	return r < 0 ? r : back_rows(back, ATTRIBUTE_CODES, values, take_code, &serial);
}

static int compare_places(const void *left, const void *right)
{
	const struct clew_moment *a = *(const struct clew_moment *const *)left,
				 *b = *(const struct clew_moment *const *)right;

	return a->header.lost < b->header.lost ? -1 : a->header.lost > b->header.lost;
}

void back_order_moments(struct back *back)
{
	struct vector *moments = &back->trace->moments;

	if (moments->count)
		qsort(moments->data, moments->count, moments->item, compare_places);
}
