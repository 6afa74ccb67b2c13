/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Text in columns of a terminal. */
#include "format/wrap.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#define HANG 2
/* Later lines of a narrow terminal are set in less, so that this much is left for words. */
#define LEAST_ROOM 24

struct range {
	uint32_t first, last;
};

static bool is_in(const struct range *ranges, size_t count, uint32_t character)
{
	for (size_t i = 0; i < count; i++)
		if (ranges[i].first <= character && character <= ranges[i].last)
			return true;
	return false;
}

/* Marks on the letter before them take no column, East Asian characters and pictures two. */
static size_t columns_of(uint32_t character)
{
	static const struct range none[] = {{0x300, 0x36f},
					    {0x483, 0x489},
					    {0x200b, 0x200d},
					    {0x20d0, 0x20ff},
					    {0xfe00, 0xfe0f}};
	static const struct range two[] = {
		{0x1100, 0x115f},   {0x2e80, 0xa4cf},	{0xac00, 0xd7a3},  {0xf900, 0xfaff},
		{0xfe30, 0xfe6f},   {0xff00, 0xff60},	{0xffe0, 0xffe6},  {0x1f300, 0x1f64f},
		{0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};

	if (is_in(none, sizeof(none) / sizeof(none[0]), character))
		return 0;
	return is_in(two, sizeof(two) / sizeof(two[0]), character) ? 2 : 1;
}

/* The length of the character or escape sequence at `text`, and its columns. */
static size_t next(const char *text, size_t size, size_t *ret_columns)
{
	uint32_t character;
	size_t length;

	if (size > 1 && text[0] == '\x1b' && text[1] == '[') {
		for (length = 2; length < size && (text[length] < '@' || text[length] > '~');)
			length++;
		*ret_columns = 0;
		return length + (length < size);
	}
	length = clew_utf8_length(text, &character);
	if (!length || length > size) {
		*ret_columns = 1;
		return 1;
	}
	*ret_columns = columns_of(character);
	return length;
}

size_t clew_columns(const char *text, size_t size)
{
	size_t sum = 0, columns;

	for (size_t i = 0; i < size; sum += columns)
		i += next(text + i, size - i, &columns);
	return sum;
}

/* The bytes of a text's first word; a number and its unit are one word. */
static size_t word_length(const char *text)
{
	static const char *const units[] = {" ns", " us", " ms", " s", " m", " h", " %"};
	size_t length = strcspn(text, " ");

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t unit = strlen(units[i]);

		if (length && strchr("0123456789.", text[length - 1]) &&
		    strncmp(text + length, units[i], unit) == 0 &&
		    !strchr("abcdefghijklmnopqrstuvwxyz", text[length + unit] ?: ' '))
			return length + unit + strcspn(text + length + unit, " ");
	}
	return length;
}

/* The bytes of a word that fit into `room` columns, at least one character, up to a slash if
 * there is one in the second half of them. */
static size_t fitting(const char *word, size_t length, size_t room)
{
	size_t used = 0, size = 0, slash = 0, columns;

	while (size < length) {
		size_t bytes = next(word + size, length - size, &columns);

		if (size && used + columns > room)
			break;
		size += bytes;
		used += columns;
		if (word[size - 1] == '/' && used * 2 > room)
			slash = size;
	}
	return size < length && slash ? slash : size;
}

static size_t new_line(FILE *out, size_t indent)
{
	fprintf(out, "\n%*s", (int)indent, "");
	return indent;
}

void clew_print_wrapped(FILE *out, const char *text, size_t column, size_t indent, size_t width)
{
	bool first = true;

	for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
		size_t length = word_length(text), columns = clew_columns(text, length);

		if (!first && column + 1 + columns > width) {
			column = new_line(out, indent);
		} else if (!first) {
			fputc(' ', out);
			column++;
		}
		while (column + columns > width && column < width) {
			size_t part = fitting(text, length, width - column);

			if (part == length)
				break;
			fwrite(text, 1, part, out);
			text += part;
			length -= part;
			columns = clew_columns(text, length);
			column = new_line(out, indent);
		}
		fwrite(text, 1, length, out);
		column += columns;
		text += length;
		first = false;
	}
	fputc('\n', out);
}

/* Where the words of a line begin: behind the last run of several blanks in its left half. */
static size_t words_begin(const char *line, size_t size, size_t width)
{
	size_t begin = 0, blanks = 0, columns;

	for (size_t i = 0, column = 0; i < size && column < width / 2 + HANG; column += columns) {
		size_t at = i;

		i += next(line + i, size - i, &columns);
		/* A colour that ends between blanks. */
		if (line[at] == '\x1b')
			continue;
		if (line[at] != ' ' && blanks > 1)
			begin = at;
		blanks = line[at] == ' ' ? blanks + 1 : 0;
	}
	return begin;
}

void clew_print_line(FILE *out, const char *line, size_t size, size_t width)
{
	size_t begin, column, indent;
	char *words;

	if (clew_columns(line, size) <= width) {
		fwrite(line, 1, size, out);
		fputc('\n', out);
		return;
	}
	begin = words_begin(line, size, width);
	words = strndup(line + begin, size - begin);
	if (!words) {
		fwrite(line, 1, size, out);
		fputc('\n', out);
		return;
	}
	column = clew_columns(line, begin);
	indent = column + HANG;
	if (indent + LEAST_ROOM > width)
		indent = width > LEAST_ROOM + HANG ? width - LEAST_ROOM : HANG;
	fwrite(line, 1, begin, out);
	clew_print_wrapped(out, words, column, indent, width);
	free(words);
}

void clew_print_column(FILE *out, const char *text, size_t width)
{
	size_t size = strlen(text), columns = clew_columns(text, size);

	if (columns > width) {
		size = width > 2 ? fitting(text, size, width - 2) : 0;
		columns = clew_columns(text, size);
		fprintf(out, "%.*s%.*s", (int)size, text, (int)(width - columns), "..");
		columns = width - columns > 2 ? columns + 2 : width;
	} else {
		fputs(text, out);
	}
	fprintf(out, "%*s", (int)(width - columns), "");
}
