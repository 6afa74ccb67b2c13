/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The words and numbers of a runtime's description.
 */
#include "relate/runtime_read.h"

#include <errno.h>
#include <string.h>

static bool is_letter(char byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_' ||
	       (byte >= '0' && byte <= '9');
}

size_t runtime_word_length(const struct scanner *scanner)
{
	const char *at = scanner->at;

	while (at < scanner->end && is_letter(*at))
		at++;
	return (size_t)(at - scanner->at);
}

int runtime_word(struct runtime_reading *reading, const char *what, const char **ret_word)
{
	struct scanner *scanner = reading->scanner;
	size_t length = runtime_word_length(scanner);

	if (length == 0)
		return scan_fail(scanner, scanner->at, "%s is missing here", what);
	*ret_word = arena_copy(reading->arena, scanner->at, length);
	scanner->at += length;
	return *ret_word ? 0 : -ENOMEM;
}

int runtime_number(struct runtime_reading *reading, uint64_t most, uint64_t *ret_number)
{
	struct scanner *scanner = reading->scanner;
	const char *begin = scanner->at;
	bool hexadecimal = scanner->end - begin > 2 && begin[0] == '0' && begin[1] == 'x';
	unsigned base = hexadecimal ? 16 : 10;
	const char *first = begin + (hexadecimal ? 2 : 0);

	*ret_number = 0;
	for (scanner->at = first; scanner->at < scanner->end; scanner->at++) {
		char byte = *scanner->at;
		unsigned digit = byte >= '0' && byte <= '9'   ? (unsigned)(byte - '0')
				 : byte >= 'a' && byte <= 'f' ? (unsigned)(byte - 'a' + 10)
							      : 16;

		if (digit >= base)
			break;
		if (*ret_number > (most - digit) / base)
			return scan_fail(scanner, begin, "the number is too large: at most %llu",
					 (unsigned long long)most);
		*ret_number = *ret_number * base + digit;
	}
	return scanner->at == first ? scan_fail(scanner, begin, "a number is missing here") : 0;
}

void *runtime_add(struct vector *vector)
{
	return vector_reserve(vector, vector->count + 1) < 0
		       ? NULL
		       : memset((char *)vector->data + vector->count++ * vector->item, 0,
				vector->item);
}

int runtime_text(struct runtime_reading *reading, const char *what, const char **ret)
{
	struct scanner *scanner = reading->scanner;
	const char *begin = scanner->at;

	while (scanner->at < scanner->end && !scan_is(*scanner->at, SCAN_BLANK | SCAN_END))
		scanner->at++;
	if (scanner->at == begin)
		return scan_fail(scanner, begin, "%s is missing here", what);
	*ret = arena_copy(reading->arena, begin, (size_t)(scanner->at - begin));
	return *ret ? 0 : -ENOMEM;
}
