/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Collects the keys and values of an attribute list. Errors are kept until
 * pairs_make().
 */
#include "convert/pairs.h"
#include <clew/kernel/records.h>
#include <errno.h>
#include <string.h>

void pairs_init(struct pairs *pairs)
{
	*pairs = (struct pairs){.text.item = 1,
				.offsets.item = sizeof(uint32_t),
				.texts.item = sizeof(const char *),
				.rows_key = ATTRIBUTE_COUNT};
}

void pairs_done(struct pairs *pairs)
{
	vector_done(&pairs->text);
	vector_done(&pairs->offsets);
	vector_done(&pairs->texts);
}

void pairs_clear(struct pairs *pairs)
{
	pairs->text.count = pairs->offsets.count = 0;
	pairs->rows_key = ATTRIBUTE_COUNT;
}

static void put(struct pairs *pairs, const char *bytes, size_t size)
{
	if (pairs->failed || vector_reserve(&pairs->text, pairs->text.count + size + 1) < 0) {
		pairs->failed = true;
		return;
	}
	memcpy((char *)pairs->text.data + pairs->text.count, bytes, size);
	pairs->text.count += size;
}

/* Ends the last text and begins the next one. */
static void begin_text(struct pairs *pairs)
{
	if (pairs->offsets.count)
		put(pairs, "", 1);
	if (pairs->failed || pairs->text.count > UINT32_MAX ||
	    vector_reserve(&pairs->offsets, pairs->offsets.count + 1) < 0) {
		pairs->failed = true;
		return;
	}
	((uint32_t *)pairs->offsets.data)[pairs->offsets.count++] = (uint32_t)pairs->text.count;
}

void pairs_begin(struct pairs *pairs, const char *key)
{
	begin_text(pairs);
	put(pairs, key, strlen(key));
	begin_text(pairs);
	pairs->rows_key = ATTRIBUTE_COUNT;
}

void pairs_text(struct pairs *pairs, const char *text)
{
	put(pairs, text, strlen(text));
}

void pairs_byte(struct pairs *pairs, char byte)
{
	put(pairs, &byte, 1);
}

void pairs_word(struct pairs *pairs, const char *word)
{
	for (; *word; word++) {
		if (*word == ' ' || *word == ',' || *word == '\\')
			pairs_byte(pairs, '\\');
		pairs_byte(pairs, *word);
	}
}

void pairs_number(struct pairs *pairs, uint64_t number)
{
	char text[20];
	size_t at = sizeof(text);

	do {
		text[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	put(pairs, text + at, sizeof(text) - at);
}

void pairs_add(struct pairs *pairs, enum attribute_key key, const char *value)
{
	pairs_begin(pairs, attribute_table[key].key);
	pairs_text(pairs, value);
}

void pairs_add_number(struct pairs *pairs, enum attribute_key key, uint64_t number)
{
	pairs_begin(pairs, attribute_table[key].key);
	pairs_number(pairs, number);
}

/* ---- rows ---- */

void pairs_row_begin(struct pairs *pairs, enum attribute_key key, const char *rest)
{
	if (pairs->rows_key == key && !*rest) {
		pairs_byte(pairs, ',');
	} else {
		begin_text(pairs);
		pairs_text(pairs, attribute_table[key].key);
		pairs_text(pairs, rest);
		begin_text(pairs);
		pairs->rows_key = key;
	}
	pairs->form = attribute_table[key].form;
	pairs->blank = false;
}

static void put_address(struct pairs *pairs, const uint8_t *address)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < ATTRIBUTE_ADDRESS_SIZE; i++) {
		pairs_byte(pairs, digits[address[i] >> 4]);
		pairs_byte(pairs, digits[address[i] & 15]);
	}
}

void pairs_row_field(struct pairs *pairs, union attribute_field field)
{
	bool comma;
	char letter = attribute_next_field(&pairs->form, &comma);

	if (comma || pairs->blank)
		pairs_byte(pairs, comma ? ',' : ' ');
	pairs->blank = letter != '+';
	switch (letter) {
	case '+':
		pairs_text(pairs, field.number ? "+" : "");
		break;
	case 'm':
		pairs_number(pairs, CLEW_DEVICE_MAJOR(field.number));
		pairs_byte(pairs, ':');
		pairs_number(pairs, CLEW_DEVICE_MINOR(field.number));
		break;
	case '.':
		pairs_byte(pairs, '.');
		pairs_word(pairs, field.word);
		break;
	case 'n':
	case 'w':
		pairs_word(pairs, field.word);
		break;
	case 'x':
		put_address(pairs, field.address);
		break;
	default:
		pairs_number(pairs, field.number);
	}
}

void pairs_row_fields(struct pairs *pairs, const union attribute_field *fields, size_t count)
{
	for (size_t i = 0; i < count; i++)
		pairs_row_field(pairs, fields[i]);
}

const char *pairs_value(const struct pairs *pairs)
{
	if (pairs->failed || pairs->offsets.count == 0)
		return "";
	((char *)pairs->text.data)[pairs->text.count] = 0;
	return (const char *)pairs->text.data +
	       ((const uint32_t *)pairs->offsets.data)[pairs->offsets.count - 1];
}

int pairs_make(struct pairs *pairs, struct clew_maker *maker, uint32_t *ret_attributes)
{
	size_t count = pairs->offsets.count;
	const char **texts;
	int r;

	*ret_attributes = CLEW_NONE;
	if (pairs->failed || vector_reserve(&pairs->texts, count) < 0)
		return -ENOMEM;
	if (count == 0)
		return 0;
	put(pairs, "", 1);
	texts = pairs->texts.data;
	for (size_t i = 0; i < count; i++)
		texts[i] =
			(const char *)pairs->text.data + ((const uint32_t *)pairs->offsets.data)[i];
	r = pairs->failed ? -ENOMEM
			  : clew_maker_attributes(maker, texts, count / 2, ret_attributes);
	pairs_clear(pairs);
	return r;
}
