/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Writing JSON. The only state is whether a comma is due; the caller closes
 * what it opened.
 */
#include "format/json.h"

#include <inttypes.h>
#include <math.h>

#include "format/text.h"

static void write_string(FILE *out, const char *text)
{
	putc('"', out);
	while (*text) {
		uint32_t character;
		size_t length = clew_utf8_length(text, &character);

		if (!length) {
			fputs("\\ufffd", out);
			text++;
			continue;
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
			fwrite(text, 1, length, out);
		text += length;
	}
	putc('"', out);
}

/* Writes a comma where one is due, and the key. */
static void begin_value(struct clew_json *json, const char *key)
{
	if (json->follows)
		putc(',', json->out);
	/*
	 * Elements of outer arrays get a line each, so that people can read the
	 * document.
	 */
	if (json->follows && !key && json->depth == 2 && !json->one_line)
		putc('\n', json->out);
	json->follows = true;
	if (key) {
		write_string(json->out, key);
		putc(':', json->out);
	}
}

static void open_value(struct clew_json *json, const char *key, char bracket)
{
	begin_value(json, key);
	putc(bracket, json->out);
	json->depth++;
	json->follows = false;
}

static void close_value(struct clew_json *json, char bracket)
{
	putc(bracket, json->out);
	json->depth--;
	json->follows = true;
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
	fprintf(json->out, "%" PRIu64, value);
}

void clew_json_signed(struct clew_json *json, const char *key, int64_t value)
{
	begin_value(json, key);
	fprintf(json->out, "%" PRId64, value);
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

void clew_json_known(struct clew_json *json, const char *key, uint64_t value, uint64_t unknown)
{
	if (value == unknown)
		clew_json_null(json, key);
	else
		clew_json_unsigned(json, key, value);
}

void clew_json_end(struct clew_json *json)
{
	putc('\n', json->out);
}
