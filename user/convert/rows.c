/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Rows of values by their form, and the parts that they consist of.
 */
#include "convert/rows.h"
#include <errno.h>
#include <string.h>

bool scan_value_number(const char **at, uint64_t *ret_number)
{
	const char *text = *at;
	uint64_t number = 0;

	if (*text < '0' || *text > '9')
		return false;
	for (; *text >= '0' && *text <= '9'; text++)
		if (__builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(*text - '0'), &number))
			return false;
	while (*text == ' ')
		text++;
	*at = text;
	*ret_number = number;
	return true;
}

bool scan_value_word(const char **at, char *word, size_t size)
{
	const char *text = *at;
	size_t length = 0;

	if (!*text || *text == ',')
		return false;
	for (; *text && *text != ' ' && *text != ','; text++) {
		if (*text == '\\' && text[1])
			text++;
		if (length + 1 < size)
			word[length++] = *text;
	}
	word[length] = 0;
	while (*text == ' ')
		text++;
	*at = text;
	return true;
}

bool scan_value_row(const char **at)
{
	if (**at != ',')
		return false;
	++*at;
	return true;
}

bool scan_value_device(const char **at, uint32_t *ret_device)
{
	uint64_t major, minor;

	if (!scan_value_number(at, &major) || **at != ':')
		return false;
	++*at;
	if (!scan_value_number(at, &minor))
		return false;
	*ret_device = (uint32_t)(major << 20 | (minor & 0xfffff));
	return true;
}

/* ---- rows ---- */

void row_init(struct row *row)
{
	*row = (struct row){.items.item = sizeof(union attribute_field), .words.item = 1};
}

void row_done(struct row *row)
{
	vector_done(&row->items);
	vector_done(&row->words);
}

int row_start(struct row *row, enum attribute_key key, const char *name, const char *value)
{
	row->key = key;
	row->name = name;
	row->value = row->at = value;
	row->number = SIZE_MAX;
	row->words.count = 0;
	/* Words never outgrow the value: the NUL of each takes the room of the
	 * separator after it. */
	return vector_reserve(&row->words, strlen(value) + 2);
}

static bool read_word(struct row *row, const char **ret_word)
{
	char *word = (char *)row->words.data + row->words.count;

	if (!scan_value_word(&row->at, word, row->words.capacity - row->words.count))
		return false;
	*ret_word = word;
	row->words.count += strlen(word) + 1;
	return true;
}

static bool read_address(struct row *row, const uint8_t **ret_address)
{
	const char *word;
	uint8_t *bytes;

	if (!read_word(row, &word) || strlen(word) != 2 * ATTRIBUTE_ADDRESS_SIZE ||
	    strspn(word, "0123456789abcdefABCDEF") != 2 * ATTRIBUTE_ADDRESS_SIZE)
		return false;
	/* The bytes overwrite the digits. */
	bytes = (uint8_t *)(uintptr_t)word;
	for (size_t i = 0; i < ATTRIBUTE_ADDRESS_SIZE; i++) {
		unsigned high = (unsigned char)word[2 * i], low = (unsigned char)word[2 * i + 1];

		bytes[i] = (uint8_t)(((high & 15) + (high > '9' ? 9 : 0)) << 4 |
				     ((low & 15) + (low > '9' ? 9 : 0)));
	}
	*ret_address = bytes;
	return true;
}

static bool read_field(struct row *row, char letter, bool comma, union attribute_field *field)
{
	uint32_t device;

	if (comma && !scan_value_row(&row->at))
		return false;
	switch (letter) {
	case '+':
		field->number = *row->at == '+';
		row->at += field->number;
		return true;
	case 'm':
		if (!scan_value_device(&row->at, &device))
			return false;
		field->number = device;
		return true;
	case '.':
		if (*row->at != '.')
			return false;
		row->at++;
		return read_word(row, &field->word) || (field->word = "");
	case 'n':
	case 'w':
		return read_word(row, &field->word) || (comma && (field->word = ""));
	case 'x':
		return read_address(row, &field->address);
	default:
		return scan_value_number(&row->at, &field->number);
	}
}

int row_next(struct row *row)
{
	const struct attribute *attribute = &attribute_table[row->key];
	const char *form = attribute->form;
	char letter;
	bool comma;

	if (row->number != SIZE_MAX && !scan_value_row(&row->at))
		return 0;
	row->number++;
	for (row->count = 0; (letter = attribute_next_field(&form, &comma)); row->count++) {
		if (vector_reserve(&row->items, row->count + 1) < 0)
			return -ENOMEM;
		if (!read_field(row, letter, comma,
				(union attribute_field *)row->items.data + row->count))
			break;
	}
	return row->count < attribute->least ? -EINVAL : 1;
}
