/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Attributes of a capture's trace under another clock. A value that does not
 * have the form of its key stays as it is.
 */
#include "convert/shift.h"
#include <clew/tokens.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void capture_shift_begin(struct capture_shift *shift)
{
	pairs_init(&shift->value);
	pairs_init(&shift->label);
	row_init(&shift->row);
}

void capture_shift_done(struct capture_shift *shift)
{
	pairs_done(&shift->value);
	pairs_done(&shift->label);
	row_done(&shift->row);
}

static const char *text_of(const struct pairs *pairs)
{
	return pairs->failed ? NULL : pairs_value(pairs);
}

static uint64_t shift_moment(const struct capture_shift *shift, uint64_t at)
{
	__int128 moved = (__int128)at + shift->offset +
			 clew_shift_gained(shift->rate, shift->zero, (clew_time)at);

	return moved < 0 ? 0 : moved > INT64_MAX ? INT64_MAX : (uint64_t)moved;
}

static void put_row(struct capture_shift *shift)
{
	const char *form = attribute_table[shift->row.key].form;

	pairs_row_begin(&shift->value, shift->row.key, "");
	for (size_t i = 0; i < shift->row.count; i++) {
		union attribute_field field = row_fields(&shift->row)[i];
		bool comma, renamed = false;

		switch (attribute_next_field(&form, &comma)) {
		case 't':
			field.number = field.number ? shift_moment(shift, field.number) : 0;
			break;
		case 'c':
			field.number += field.number < UINT16_MAX ? shift->cpus : 0;
			break;
		case 'r':
			field.number += shift->requests;
			break;
		case 'f':
			field.number += shift->functions;
			break;
		case 'e':
			field.number += shift->ends;
			break;
		case 'n':
			renamed = shift->is_renamed(shift->context, field.word);
			break;
		default:
			break;
		}
		if (renamed) {
			pairs_row_field(&shift->value,
					(union attribute_field){.word = shift->prefix});
			pairs_word(&shift->value, field.word);
		} else {
			pairs_row_field(&shift->value, field);
		}
	}
}

/* 0; -EINVAL: the value has another form; -ENOMEM. */
static int put_rows(struct capture_shift *shift, enum attribute_key key, const char *value)
{
	int r = row_start(&shift->row, key, attribute_table[key].key, value);

	if (r < 0)
		return r;
	while ((r = row_next(&shift->row)) > 0)
		put_row(shift);
	return r == 0 && *shift->row.at ? -EINVAL : r;
}

const char *capture_shift_value(struct capture_shift *shift, const char *key, const char *value)
{
	enum attribute_key number = attribute_find(key);
	const char *form = number == ATTRIBUTE_COUNT ? "" : attribute_table[number].form;
	int r;

	if (number == ATTRIBUTE_CAPTURE && shift->has_extent) {
		pairs_clear(&shift->value);
		PAIRS_ROW(&shift->value, ATTRIBUTE_CAPTURE,
			  {shift->start < 0 ? 0 : (uint64_t)shift->start},
			  {shift->end < 0 ? 0 : (uint64_t)shift->end});
		return text_of(&shift->value);
	}
	if (!strpbrk(form, "tcrfenN"))
		return value;
	pairs_clear(&shift->value);
	if (*form == 'N') {
		if (!shift->is_renamed(shift->context, value))
			return value;
		pairs_add(&shift->value, number, shift->prefix);
		pairs_text(&shift->value, value);
		return text_of(&shift->value);
	}
	r = put_rows(shift, number, value);
	return r == -ENOMEM ? NULL : r < 0 ? value : text_of(&shift->value);
}

/* "wait KIND KEY=VALUE ..": a sleep of no length. */
static const char *shift_sleep(struct capture_shift *shift, const char *label)
{
	const char *at = label + strlen("wait ");
	size_t size = strlen(label) + 1;
	char *word = malloc(size);

	if (!word)
		return NULL;
	if (!scan_value_word(&at, word, size) || clew_wait_kind_from_name(word) < 0) {
		free(word);
		return label;
	}
	pairs_clear(&shift->label);
	pairs_begin(&shift->label, "mark");
	pairs_text(&shift->label, "wait ");
	pairs_word(&shift->label, word);
	while (scan_value_word(&at, word, size)) {
		char *value = strchr(word, '=');
		const char *shifted = NULL;

		if (value) {
			*value++ = '\0';
			shifted = capture_shift_value(shift, word, value);
			shift->label.failed |= !shifted;
		}
		pairs_byte(&shift->label, ' ');
		pairs_word(&shift->label, word);
		if (shifted) {
			pairs_byte(&shift->label, '=');
			pairs_word(&shift->label, shifted);
		}
	}
	free(word);
	return text_of(&shift->label);
}

const char *capture_shift_label(struct capture_shift *shift, const char *label, bool on_cpu)
{
	if (!strncmp(label, "wait ", strlen("wait ")))
		return shift_sleep(shift, label);
	if (!on_cpu || !shift->is_renamed(shift->context, label))
		return label;
	pairs_clear(&shift->label);
	pairs_begin(&shift->label, "mark");
	pairs_text(&shift->label, shift->prefix);
	pairs_text(&shift->label, label);
	return text_of(&shift->label);
}
