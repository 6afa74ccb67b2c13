/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The words of a line of notation. */
#include "base/scan.h"
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const uint8_t scan_class[256] = {
	[' '] = SCAN_BLANK | SCAN_SPECIAL | SCAN_QUOTED,
	['\t'] = SCAN_BLANK | SCAN_SPECIAL | SCAN_QUOTED,
	['\r'] = SCAN_BLANK | SCAN_SPECIAL | SCAN_QUOTED,
	['\n'] = SCAN_END | SCAN_SPECIAL | SCAN_QUOTED,
	['\v'] = SCAN_SPECIAL | SCAN_QUOTED,
	['\f'] = SCAN_SPECIAL | SCAN_QUOTED,
	['#'] = SCAN_END | SCAN_SPECIAL | SCAN_QUOTED,
	['/'] = SCAN_SPECIAL,
	['@'] = SCAN_SPECIAL,
	['{'] = SCAN_SPECIAL,
	['}'] = SCAN_SPECIAL,
	[','] = SCAN_SPECIAL,
	['('] = SCAN_SPECIAL,
	[')'] = SCAN_SPECIAL,
	['['] = SCAN_SPECIAL,
	[']'] = SCAN_SPECIAL,
	['\\'] = SCAN_SPECIAL | SCAN_QUOTED,
	['"'] = SCAN_QUOTED,
	[0] = SCAN_SPECIAL | SCAN_QUOTED,
	['0' ... '9'] = SCAN_DIGIT,
};

void scan_begin(struct scanner *scanner)
{
	scanner->unit = 1;
	scanner->words = (struct vector){.item = 1};
}

void scan_text(struct scanner *scanner, const char *text, size_t length)
{
	scanner->at = scanner->begin = text;
	scanner->end = text + length;
}

void scan_text_end(struct scanner *scanner)
{
	const char *feed = scanner->begin;

	for (; feed < scanner->end && (feed = memchr(feed, '\n', (size_t)(scanner->end - feed)));
	     feed++)
		scanner->lines_before++;
	scanner->at = scanner->begin = scanner->end = "";
}

void scan_done(struct scanner *scanner)
{
	vector_done(&scanner->words);
}

void scan_next_line(struct scanner *scanner)
{
	const char *feed = scanner->end > scanner->at
				   ? memchr(scanner->at, '\n', (size_t)(scanner->end - scanner->at))
				   : NULL;

	scanner->at = feed ? feed + 1 : scanner->end;
}

int scan_fail(struct scanner *scanner, const char *where, const char *format, ...)
{
	const char *line = scanner->begin;
	size_t number = scanner->lines_before + 1;
	va_list arguments;
	int used;

	for (const char *feed; (feed = memchr(line, '\n', (size_t)(where - line))); line = feed + 1)
		number++;
	used = snprintf(scanner->message, scanner->message_size, "%s:%zu:%zu: ", scanner->name,
			number, (size_t)(where - line) + 1);
	if (used < 0 || (size_t)used >= scanner->message_size)
		return -EINVAL;
	va_start(arguments, format);
	vsnprintf(scanner->message + used, scanner->message_size - (size_t)used, format, arguments);
	va_end(arguments);
	return -EINVAL;
}

int scan_byte(struct scanner *scanner, char byte)
{
	if (scan_if(scanner, byte))
		return 0;
	return scan_fail(scanner, scanner->at, "'%c' is missing here", byte);
}

/* Adds a byte to the word. */
static inline int put(struct scanner *scanner, size_t *used, char byte)
{
	if (*used == scanner->words.capacity && vector_grow(&scanner->words, *used + 1) < 0)
		return -ENOMEM;
	((char *)scanner->words.data)[(*used)++] = byte;
	return 0;
}

static int end_word(struct scanner *scanner, size_t used)
{
	size_t begin = scanner->words.count;

	if (put(scanner, &used, 0) < 0)
		return -ENOMEM;
	scanner->word = (char *)scanner->words.data + begin;
	scanner->word_length = used - 1 - begin;
	return 0;
}

int scan_name(struct scanner *scanner, char stop, const char *what)
{
	const char *begin = scanner->at, *at = begin, *end = scanner->end;
	size_t used = scanner->words.count;

	for (; at < end; at++) {
		char byte = *at;

		if (byte == stop && stop)
			break;
		if (scan_is(byte, SCAN_SPECIAL)) {
			if (byte == '\0')
				return scan_fail(scanner, at, "a NUL byte, which is no text");
			if (byte != '\\')
				break;
			if (++at == end)
				return scan_fail(scanner, at - 1,
						 "a backslash with nothing behind it");
			byte = *at;
			if (byte == '\0')
				return scan_fail(scanner, at, "a NUL byte, which is no text");
		}
		if (put(scanner, &used, byte) < 0)
			return -ENOMEM;
	}
	if (used == scanner->words.count) {
		if (at == end || scan_is(*at, SCAN_BLANK | SCAN_END) || (*at == stop && stop))
			return scan_fail(scanner, at, "%s is missing here", what);
		return scan_fail(scanner, at, "%s is missing before '%c' (in a name, write \\%c)",
				 what, *at, *at);
	}
	scanner->at = at;
	return end_word(scanner, used);
}

static int hex_digit(char byte)
{
	if (byte >= '0' && byte <= '9')
		return byte - '0';
	if (byte >= 'a' && byte <= 'f')
		return byte - 'a' + 10;
	if (byte >= 'A' && byte <= 'F')
		return byte - 'A' + 10;
	return -1;
}

/* Reads an escape in quotes, behind its backslash. Returns the byte it means, or -1. */
static int scan_escape(struct scanner *scanner, const char **at)
{
	int high, low;

	switch (**at) {
	case 'n':
		return '\n';
	case 't':
		return '\t';
	case 'r':
		return '\r';
	case 'x':
		high = scanner->end - *at > 2 ? hex_digit((*at)[1]) : -1;
		low = high >= 0 ? hex_digit((*at)[2]) : -1;
		if (low < 0 || high * 16 + low == 0)
			return -1;
		*at += 2;
		return high * 16 + low;
	default:
		return (unsigned char)**at;
	}
}

static int scan_quoted(struct scanner *scanner)
{
	const char *at = scanner->at + 1;
	size_t used = scanner->words.count;

	for (;; at++) {
		int byte;

		if (at == scanner->end || *at == '\n')
			return scan_fail(scanner, scanner->at, "the closing quote is missing");
		if (*at == '"')
			break;
		byte = (unsigned char)*at;
		if (byte == '\\') {
			const char *escape = at++;

			byte = at == scanner->end || *at == '\n' ? -1 : scan_escape(scanner, &at);
			if (byte < 0)
				return scan_fail(scanner, escape,
						 "a backslash before nothing it can stand before");
		}
		if (byte == 0)
			return scan_fail(scanner, at, "a NUL byte, which is no text");
		if (put(scanner, &used, (char)byte) < 0)
			return -ENOMEM;
	}
	scanner->at = at + 1;
	if (!scan_line_is_over(scanner) && scanner->at == at + 1)
		return scan_fail(scanner, scanner->at,
				 "a blank is missing behind the closing quote");
	return end_word(scanner, used);
}

int scan_value(struct scanner *scanner)
{
	const char *at = scanner->at, *end = scanner->end;
	size_t used = scanner->words.count;

	if (at < end && *at == '"')
		return scan_quoted(scanner);
	for (; at < end && !scan_is(*at, SCAN_BLANK | SCAN_END); at++) {
		if (*at == '\\' && ++at == end)
			return scan_fail(scanner, at - 1, "a backslash with nothing behind it");
		if (*at == '\0')
			return scan_fail(scanner, at, "a NUL byte, which is no text");
		if (put(scanner, &used, *at) < 0)
			return -ENOMEM;
	}
	if (used == scanner->words.count)
		return scan_fail(scanner, at, "a value is missing here (\"\" is an empty one)");
	scanner->at = at;
	return end_word(scanner, used);
}

size_t scan_keep(struct scanner *scanner)
{
	size_t begin = scanner->words.count;

	scanner->words.count += scanner->word_length + 1;
	return begin;
}

int scan_moment(struct scanner *scanner, int64_t *ret_at)
{
	const char *begin = scanner->at, *at = begin, *end = scanner->end;
	bool negative = false;
	int64_t value = 0;
	uint32_t scale = scanner->unit;

	if (at < end && (*at == '-' || *at == '+'))
		negative = *at++ == '-';
	if (at == end || !scan_is(*at, SCAN_DIGIT))
		return scan_fail(scanner, begin, "a number is missing here");
	for (; at < end && scan_is(*at, SCAN_DIGIT); at++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, *at - '0', &value))
			return scan_fail(scanner, begin, "the number is too large");
	if (__builtin_mul_overflow(value, (int64_t)scale, &value))
		return scan_fail(scanner, begin, "the number is too large");
	/* 20..60 is an interval. */
	if (end - at > 1 && at[0] == '.' && scan_is(at[1], SCAN_DIGIT)) {
		for (at++; at < end && scan_is(*at, SCAN_DIGIT); at++) {
			scale /= 10;
			if (__builtin_add_overflow(value, (int64_t)scale * (*at - '0'), &value))
				return scan_fail(scanner, begin, "the number is too large");
		}
	}
	*ret_at = negative ? -value : value;
	scanner->at = at;
	return 0;
}

bool scan_word_if(struct scanner *scanner, const char *word, const char *enders)
{
	size_t length = strlen(word);
	const char *behind = scanner->at + length;

	if ((size_t)(scanner->end - scanner->at) < length || memcmp(scanner->at, word, length) != 0)
		return false;
	if (behind < scanner->end && !scan_is(*behind, SCAN_BLANK | SCAN_END) &&
	    (!*behind || !strchr(enders, *behind)))
		return false;
	scanner->at = behind;
	return true;
}
