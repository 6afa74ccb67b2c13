/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Writing JSON. The only state is whether a comma is due; the caller closes
 * what it opened.
 */
#include "format/json.h"

#include <inttypes.h>
#include <math.h>

#include "format/text.h"

/* No thread but the caller writes to the stream, which therefore needs no lock. */
static void write_text(FILE *out, const char *text, size_t length)
{
	fwrite_unlocked(text, 1, length, out);
}

static void write_character(FILE *out, char character)
{
	putc_unlocked(character, out);
}

static bool is_plain(unsigned char character)
{
	return character >= 0x20 && character < 0x7f && character != '"' && character != '\\';
}

/* Writes the first character, which is not plain. Returns its length. */
static size_t write_special(FILE *out, const char *text)
{
	uint32_t character;
	size_t length = clew_utf8_length(text, &character);

	if (!length) {
		fputs("\\ufffd", out);
		return 1;
	}
	if (character == '"' || character == '\\')
		fprintf(out, "\\%c", (char)character);
	else if (character == '\n')
		fputs("\\n", out);
	else if (character == '\t')
		fputs("\\t", out);
	else if (character < 0x20 || (character >= 0x7f && character < 0xa0) ||
		 character == 0x2028 || character == 0x2029)
		fprintf(out, "\\u%04x", (unsigned)character);
	else
		write_text(out, text, length);
	return length;
}

static void write_string(FILE *out, const char *text)
{
	write_character(out, '"');
	while (*text) {
		size_t plain = 0;

		while (is_plain((unsigned char)text[plain]))
			plain++;
		write_text(out, text, plain);
		text += plain;
		if (*text)
			text += write_special(out, text);
	}
	write_character(out, '"');
}

static void write_unsigned(FILE *out, uint64_t value)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	write_text(out, digits + at, sizeof(digits) - at);
}

/* Writes a comma where one is due, and the key. */
static void begin_value(struct clew_json *json, const char *key)
{
	if (json->follows)
		write_character(json->out, ',');
	/*
	 * Elements of outer arrays get a line each, so that people can read the
	 * document.
	 */
	if (json->follows && !key && json->depth == 2 && !json->one_line)
		write_character(json->out, '\n');
	json->follows = true;
	if (key) {
		write_string(json->out, key);
		write_character(json->out, ':');
	}
}

static void open_value(struct clew_json *json, const char *key, char bracket)
{
	begin_value(json, key);
	write_character(json->out, bracket);
	json->depth++;
	json->follows = false;
}

static void close_value(struct clew_json *json, char bracket)
{
	write_character(json->out, bracket);
	json->depth--;
	json->follows = true;
}

void clew_json_answer(struct clew_json *json)
{
	clew_json_object(json, NULL);
	clew_json_unsigned(json, "format", CLEW_JSON_FORMAT);
}

void clew_json_object(struct clew_json *json, const char *key)
{
	open_value(json, key, '{');
}

void clew_json_object_end(struct clew_json *json)
{
	close_value(json, '}');
}

void clew_json_array(struct clew_json *json, const char *key)
{
	open_value(json, key, '[');
}

void clew_json_array_end(struct clew_json *json)
{
	close_value(json, ']');
}

void clew_json_written(struct clew_json *json, const char *value)
{
	begin_value(json, NULL);
	fputs(value, json->out);
}

void clew_json_string(struct clew_json *json, const char *key, const char *value)
{
	begin_value(json, key);
	if (value)
		write_string(json->out, value);
	else
		fputs("null", json->out);
}

void clew_json_unsigned(struct clew_json *json, const char *key, uint64_t value)
{
	begin_value(json, key);
	write_unsigned(json->out, value);
}

void clew_json_signed(struct clew_json *json, const char *key, int64_t value)
{
	begin_value(json, key);
	if (value < 0)
		write_character(json->out, '-');
	write_unsigned(json->out, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void clew_json_number(struct clew_json *json, const char *key, double value)
{
	begin_value(json, key);
	if (isfinite(value))
		fprintf(json->out, "%.6g", value);
	else
		fputs("null", json->out);
}

void clew_json_microseconds(struct clew_json *json, const char *key, uint64_t ns)
{
	begin_value(json, key);
	fprintf(json->out, "%" PRIu64 ".%03" PRIu64, ns / 1000, ns % 1000);
}

void clew_json_bool(struct clew_json *json, const char *key, bool value)
{
	begin_value(json, key);
	fputs(value ? "true" : "false", json->out);
}

void clew_json_null(struct clew_json *json, const char *key)
{
	clew_json_string(json, key, NULL);
}

void clew_json_maybe(struct clew_json *json, const char *key, bool known, uint64_t value)
{
	if (known)
		clew_json_unsigned(json, key, value);
	else
		clew_json_null(json, key);
}

void clew_json_known(struct clew_json *json, const char *key, uint64_t value, uint64_t unknown)
{
	clew_json_maybe(json, key, value != unknown, value);
}

void clew_json_end(struct clew_json *json)
{
	putc('\n', json->out);
}
