/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Takes volatile numbers out of names. The result is never longer than the text. */
#include "compare/normal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CHOSEN_PORT 32768
#define LEAST_DIGITS	  4

static size_t digits_at(const char *text)
{
	size_t count = 0;

	while (isdigit((unsigned char)text[count]))
		count++;
	return count;
}

static bool ends_word(char byte)
{
	return !isalnum((unsigned char)byte) && byte != '_';
}

/* The length of a hexadecimal number at `text`, with its 0x; 0: there is none. */
static size_t hexadecimal_at(const char *text)
{
	size_t count = 2;

	if (text[0] != '0' || text[1] != 'x' || !isxdigit((unsigned char)text[2]))
		return 0;
	while (isxdigit((unsigned char)text[count]))
		count++;
	return count;
}

/* True if a number stands where an address has its port. */
static bool is_port(const char *text, size_t at)
{
	return at >= 2 && text[at - 1] == ':' &&
	       (isalnum((unsigned char)text[at - 2]) || text[at - 2] == ']' || text[at - 2] == '*');
}

static bool is_volatile(const char *text, size_t at, size_t count, bool numbered)
{
	char before = at ? text[at - 1] : ' ', behind = text[at + count];

	if (before == '[' && behind == ']')
		return true;
	if (is_port(text, at) && ends_word(behind))
		return count >= LEAST_DIGITS + 1 && atol(text + at) >= FIRST_CHOSEN_PORT;
	if (numbered && before == '-' && at >= 2 && ends_word(behind))
		return true;
	return count >= LEAST_DIGITS;
}

void normal_text(char *text, bool numbered)
{
	char *out = text;

	for (size_t at = 0; text[at];) {
		size_t count = hexadecimal_at(text + at);
		bool replaced = count > 0;

		if (!replaced) {
			count = digits_at(text + at);
			replaced = count && is_volatile(text, at, count, numbered);
		}
		if (replaced) {
			*out++ = '*';
		} else {
			count = count ?: 1;
			memmove(out, text + at, count);
			out += count;
		}
		at += count;
	}
	*out = '\0';
}
