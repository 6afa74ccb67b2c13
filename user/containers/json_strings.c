/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads JSON by RFC 8259, but for numbers, of which only the characters are looked at. */
#include "containers/json_strings.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

struct reader {
	const char *at, *end;
	struct json_place place;
	json_take *take;
	void *context;
	bool done; /* no more is wanted */
};

static void skip_blanks(struct reader *reader)
{
	while (reader->at < reader->end && strchr(" \t\r\n", *reader->at) && *reader->at)
		reader->at++;
}

/* The next character that is no blank; NUL: the text has ended. */
static char peek(struct reader *reader)
{
	skip_blanks(reader);
	return reader->at < reader->end ? *reader->at : '\0';
}

static bool accept(struct reader *reader, char character)
{
	if (peek(reader) != character)
		return false;
	reader->at++;
	return true;
}

static bool read_hex(struct reader *reader, uint32_t *ret_value)
{
	uint32_t value = 0;

	if (reader->end - reader->at < 4)
		return false;
	for (unsigned i = 0; i < 4; i++) {
		const char digit = *reader->at++;

		if (digit >= '0' && digit <= '9')
			value = value << 4 | (uint32_t)(digit - '0');
		else if ((digit | 0x20) >= 'a' && (digit | 0x20) <= 'f')
			value = value << 4 | (uint32_t)((digit | 0x20) - 'a' + 10);
		else
			return false;
	}
	*ret_value = value;
	return true;
}

/* The bytes of UTF-8 of a character. Returns how many. */
static size_t encode(uint32_t character, char bytes[static 4])
{
	if (character < 0x80) {
		bytes[0] = (char)character;
		return 1;
	}
	if (character < 0x800) {
		bytes[0] = (char)(0xc0 | character >> 6);
		bytes[1] = (char)(0x80 | (character & 0x3f));
		return 2;
	}
	if (character < 0x10000) {
		bytes[0] = (char)(0xe0 | character >> 12);
		bytes[1] = (char)(0x80 | (character >> 6 & 0x3f));
		bytes[2] = (char)(0x80 | (character & 0x3f));
		return 3;
	}
	bytes[0] = (char)(0xf0 | character >> 18);
	bytes[1] = (char)(0x80 | (character >> 12 & 0x3f));
	bytes[2] = (char)(0x80 | (character >> 6 & 0x3f));
	bytes[3] = (char)(0x80 | (character & 0x3f));
	return 4;
}

/* The second half of a character beyond U+FFFF has to follow the first one. NUL is left out, as it
 * would end the text. */
static bool read_escaped(struct reader *reader, char bytes[static 4], size_t *ret_length)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *found;
	uint32_t first, second;

	*ret_length = 1;
	if (reader->at == reader->end)
		return false;
	if (*reader->at != 'u') {
		found = *reader->at ? strchr(from, *reader->at) : NULL;
		if (!found)
			return false;
		bytes[0] = to[found - from];
		reader->at++;
		return true;
	}
	reader->at++;
	if (!read_hex(reader, &first))
		return false;
	if (first >= 0xd800 && first < 0xdc00) {
		if (reader->end - reader->at < 6 || reader->at[0] != '\\' || reader->at[1] != 'u')
			return false;
		reader->at += 2;
		if (!read_hex(reader, &second) || second < 0xdc00 || second > 0xdfff)
			return false;
		first = 0x10000 + ((first - 0xd800) << 10 | (second - 0xdc00));
	}
	*ret_length = first ? encode(first, bytes) : 0;
	return true;
}

/* A text that does not fit is cut. */
static bool read_string(struct reader *reader, char *text, size_t size)
{
	size_t used = 0, length;
	char bytes[4];

	if (!accept(reader, '"'))
		return false;
	while (reader->at < reader->end && *reader->at != '"') {
		if ((unsigned char)*reader->at < 0x20)
			return false;
		bytes[0] = *reader->at++;
		length = 1;
		if (bytes[0] == '\\' && !read_escaped(reader, bytes, &length))
			return false;
		if (used + length < size) {
			memcpy(text + used, bytes, length);
			used += length;
		}
	}
	text[used] = '\0';
	if (reader->at == reader->end)
		return false;
	reader->at++;
	return true;
}

/* A number, or one of three words. */
static bool skip_word(struct reader *reader)
{
	static const char *const words[] = {"true", "false", "null"};
	const size_t left = (size_t)(reader->end - reader->at);
	const char *begin = reader->at;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (left >= strlen(words[i]) && !memcmp(begin, words[i], strlen(words[i]))) {
			reader->at += strlen(words[i]);
			return true;
		}
	while (reader->at < reader->end && *reader->at && strchr("+-.0123456789eE", *reader->at))
		reader->at++;
	return reader->at > begin;
}

static bool read_value(struct reader *reader);

/* The members of an object, or the elements of an array, behind its first character. */
static bool read_members(struct reader *reader, bool object)
{
	const char close = object ? '}' : ']';
	const size_t level = reader->place.depth;

	if (level == JSON_DEPTH)
		return false;
	reader->place.depth++;
	for (size_t index = 0; !reader->done; index++) {
		if (!index && accept(reader, close))
			break;
		reader->place.in[level].key[0] = '\0';
		reader->place.in[level].index = object ? 0 : index;
		if (object && (!read_string(reader, reader->place.in[level].key, JSON_KEY_SIZE) ||
			       !accept(reader, ':')))
			return false;
		if (!read_value(reader))
			return false;
		if (reader->done || accept(reader, close))
			break;
		if (!accept(reader, ','))
			return false;
	}
	reader->place.depth = level;
	return true;
}

static bool read_value(struct reader *reader)
{
	char value[JSON_TEXT_SIZE];

	switch (peek(reader)) {
	case '{':
		reader->at++;
		return read_members(reader, true);
	case '[':
		reader->at++;
		return read_members(reader, false);
	case '"':
		if (!read_string(reader, value, sizeof(value)))
			return false;
		reader->done = !reader->take(reader->context, &reader->place, value);
		return true;
	default:
		return skip_word(reader);
	}
}

int json_strings(const char *text, size_t size, json_take *take, void *context)
{
	struct reader reader = {.at = text, .end = text + size, .take = take, .context = context};

	return read_value(&reader) && (reader.done || !peek(&reader)) ? 0 : -EINVAL;
}
