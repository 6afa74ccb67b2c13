/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Text for people. */
#include "format/text.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Characters that move the cursor, start an escape sequence or turn the direction of writing. */
static bool disturbs(uint32_t character)
{
	return character < 0x20 || (character >= 0x7f && character <= 0x9f) ||
	       character == 0x200e || character == 0x200f ||
	       (character >= 0x2028 && character <= 0x202e) ||
	       (character >= 0x2066 && character <= 0x2069);
}

void clew_print_safe(FILE *out, const char *text)
{
	while (*text) {
		uint32_t character;
		size_t length = clew_utf8_length(text, &character);

		if (length && !disturbs(character)) {
			fwrite(text, 1, length, out);
			text += length;
			continue;
		}
		for (size_t i = 0; i < (length ?: 1); i++)
			fprintf(out, "\\x%02x", (unsigned char)*text++);
	}
}

char *clew_text_of(clew_text_print *print, const void *context)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	print(out, context);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

static void print_text(FILE *out, const void *context)
{
	clew_print_safe(out, context);
}

char *clew_safe(const char *text)
{
	return clew_text_of(print_text, text);
}

void clew_print_cut(FILE *out, const char *text, size_t most)
{
	size_t length = strlen(text), kept = 0, next;
	uint32_t character;
	char *start;

	if (length <= most) {
		clew_print_safe(out, text);
		return;
	}
	while ((next = clew_utf8_length(text + kept, &character) ?: 1) && kept + next <= most)
		kept += next;
	start = strndup(text, kept);
	clew_print_safe(out, start ?: "");
	fputs("..", out);
	free(start);
}

void clew_print_dot(FILE *out, const char *text)
{
	uint32_t character;

	while (*text) {
		size_t length = clew_utf8_length(text, &character);

		if (!length)
			fputs("\xef\xbf\xbd", out);
		else if (character == '"' || character == '\\')
			fprintf(out, "\\%c", (char)character);
		else if (character == '&')
			fputs("&amp;", out);
		else if (character < 0x20 || (character >= 0x7f && character < 0xa0) ||
			 character == 0xfffe || character == 0xffff)
			putc(' ', out);
		else
			fwrite(text, 1, length, out);
		text += length ? length : 1;
	}
}

/* Columns of a word: bytes that do not continue a character. */
static size_t columns_of(const char *word, size_t size)
{
	size_t columns = 0;

	for (size_t i = 0; i < size; i++)
		columns += ((unsigned char)word[i] & 0xc0) != 0x80;
	return columns;
}

void clew_print_folded(FILE *out, const char *text)
{
	enum { WIDTH = 80, INDENT = 2 };
	size_t column = 0;
	bool begun = false;

	for (;;) {
		size_t blanks = strspn(text, " "), size = strcspn(text + blanks, " "),
		       columns = columns_of(text + blanks, size);

		if (!size)
			break;
		if (begun && column + blanks + columns > WIDTH) {
			fprintf(out, "\n%*s", INDENT, "");
			column = INDENT;
			blanks = 0;
			text += strspn(text, " ");
		}
		fwrite(text, 1, blanks + size, out);
		column += blanks + columns;
		text += blanks + size;
		begun = true;
	}
	putc('\n', out);
}

void clew_print_folds(FILE *out, const char *format, ...)
{
	va_list arguments;
	char *text = NULL;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) >= 0)
		clew_print_folded(out, text);
	va_end(arguments);
	free(text);
}

/* Three digits at least, as many decimals as that takes. */
static const char *format_scaled(double value, const char *unit, char *buffer, size_t size)
{
	int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;

	snprintf(buffer, size, "%.*f %s", decimals, value, unit);
	return buffer;
}

const char *clew_format_duration(uint64_t ns, char *buffer, size_t size)
{
	if (ns < 1000)
		snprintf(buffer, size, "%u ns", (unsigned)ns);
	else if (ns < 999500)
		format_scaled(ns / 1e3, "us", buffer, size);
	else if (ns < 999500000)
		format_scaled(ns / 1e6, "ms", buffer, size);
	else
		snprintf(buffer, size, "%.3f s", ns / 1e9);
	return buffer;
}

const char *clew_format_offset(uint64_t ns, uint64_t length, char *buffer, size_t size)
{
	if (length < 1000000)
		snprintf(buffer, size, "%.3f us", ns / 1e3);
	else if (length < 1000000000)
		snprintf(buffer, size, "%.3f ms", ns / 1e6);
	else
		snprintf(buffer, size, "%.6f s", ns / 1e9);
	return buffer;
}

const char *clew_format_bytes(uint64_t bytes, char *buffer, size_t size)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double value = bytes / 1024.0;
	unsigned unit = 0;

	if (bytes < 1024) {
		snprintf(buffer, size, "%u B", (unsigned)bytes);
		return buffer;
	}
	while (value >= 1023.5 && unit < 5) {
		value /= 1024;
		unit++;
	}
	return format_scaled(value, units[unit], buffer, size);
}

void clew_print_part(FILE *out, uint64_t ns, uint64_t whole)
{
	fprintf(out, "  %5.1f %%  %9s  ", whole ? 100.0 * (double)ns / (double)whole : 0,
		CLEW_DURATION(ns));
}
