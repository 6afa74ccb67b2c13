/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names, values and numbers as notation writes them. */
#include "notation/text.h"
#include "base/scan.h"

void text_flush(struct text *text)
{
	fwrite(text->bytes, 1, text->used, text->out);
	text->used = 0;
}

void text_bytes(struct text *text, const char *bytes, size_t count)
{
	while (count) {
		size_t room = TEXT_ROOM - text->used, some = count < room ? count : room;

		memcpy(text->bytes + text->used, bytes, some);
		text->used += some;
		bytes += some;
		count -= some;
		if (text->used == TEXT_ROOM)
			text_flush(text);
	}
}

void text_name(struct text *text, const char *name, const char *also)
{
	for (; *name; name++) {
		if (scan_is(*name, SCAN_SPECIAL) || (*also && strchr(also, *name)))
			text_byte(text, '\\');
		text_byte(text, *name);
	}
}

static bool needs_quotes(const char *value)
{
	if (!*value)
		return true;
	for (; *value; value++)
		if (scan_is(*value, SCAN_QUOTED))
			return true;
	return false;
}

void text_value(struct text *text, const char *value)
{
	if (!needs_quotes(value)) {
		text_bytes(text, value, strlen(value));
		return;
	}
	text_byte(text, '"');
	for (; *value; value++) {
		if (*value == '\n' || *value == '\r' || *value == '\t') {
			text_byte(text, '\\');
			text_byte(text, *value == '\n' ? 'n' : *value == '\r' ? 'r' : 't');
			continue;
		}
		if (*value == '"' || *value == '\\')
			text_byte(text, '\\');
		text_byte(text, *value);
	}
	text_byte(text, '"');
}

void text_number(struct text *text, uint64_t number)
{
	char digits[24];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	text_bytes(text, digits + at, sizeof(digits) - at);
}

void text_moment(struct text *text, clew_time at)
{
	uint64_t magnitude = at < 0 ? -(uint64_t)at : (uint64_t)at, rest;

	if (at < 0)
		text_byte(text, '-');
	if (text->unit == 1) {
		text_number(text, magnitude);
		return;
	}
	text_number(text, magnitude / text->unit);
	rest = magnitude % text->unit;
	if (rest)
		text_byte(text, '.');
	for (uint32_t scale = text->unit / 10; rest; scale /= 10) {
		text_byte(text, (char)('0' + rest / scale));
		rest %= scale;
	}
}
