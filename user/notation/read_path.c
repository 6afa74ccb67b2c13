/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads paths of spans, and hints at spans of the same name if an operation
 * fails.
 */
#include "notation/read.h"
#include <errno.h>

/* The span of the scanner's last word and of the number in brackets after it,
 * if any. */
static int resolve(struct reader *reader, uint32_t parent, const char *where, uint32_t *ret_span)
{
	struct scanner *scanner = &reader->scanner;
	const char *at = scanner->at + 1;
	uint64_t number = 1;
	uint32_t count;

	if (scanner->at < scanner->end && *scanner->at == '[') {
		uint64_t written = 0;

		for (; at < scanner->end && scan_is(*at, SCAN_DIGIT) && written < UINT32_MAX; at++)
			written = written * 10 + (uint64_t)(*at - '0');
		if (at < scanner->end && *at == ']' && written > 0) {
			number = written;
			scanner->at = at + 1;
		}
	}
	*ret_span = number > UINT32_MAX
			    ? CLEW_NONE
			    : names_find(&reader->names, parent, scanner->word,
					 scanner->word_length, (uint32_t)number, &count);
	if (*ret_span != CLEW_NONE)
		return 0;
	if (number > 1)
		return scan_fail(scanner, where, "there are not so many spans '%s' here",
				 scanner->word);
	if (parent == CLEW_NONE)
		return scan_fail(scanner, where, "there is no root span '%s' so far",
				 scanner->word);
	return scan_fail(scanner, where, "its parent has no span '%s' so far", scanner->word);
}

int read_span(struct reader *reader, uint32_t *ret_span)
{
	struct scanner *scanner = &reader->scanner;
	uint32_t span = CLEW_NONE;

	scan_blanks(scanner);
	do {
		const char *where = scanner->at;
		int r = scan_name(scanner, 0, "the name of a span");

		if (r == 0)
			r = resolve(reader, span, where, &span);
		if (r < 0)
			return r;
	} while (scan_if(scanner, '/'));
	*ret_span = span;
	return 0;
}

int read_new_span(struct reader *reader, uint32_t *ret_parent)
{
	struct scanner *scanner = &reader->scanner;

	*ret_parent = CLEW_NONE;
	scan_blanks(scanner);
	for (;;) {
		const char *where = scanner->at, *behind;
		uint32_t span;
		int r = scan_name(scanner, 0, "the name of a span");

		if (r < 0)
			return r;
		behind = scanner->at;
		if (behind == scanner->end || (*behind != '/' && *behind != '['))
			return 0;
		r = resolve(reader, *ret_parent, where, &span);
		/* The bracket may begin the interval. */
		if (!scan_if(scanner, '/')) {
			scanner->at = behind;
			return 0;
		}
		if (r < 0)
			return r;
		*ret_parent = span;
	}
}

/* The number of spans that share the name in the path at `where`. */
static uint32_t count_meant(struct reader *reader, const char *where)
{
	struct scanner *scanner = &reader->scanner;
	uint32_t parent = CLEW_NONE, most = 1;

	scanner->at = where;
	while (scan_name(scanner, 0, "") == 0) {
		uint32_t count;

		if (scanner->at == scanner->end || *scanner->at != '[') {
			parent = names_find(&reader->names, parent, scanner->word,
					    scanner->word_length, 1, &count);
			most = count > most ? count : most;
		} else if (resolve(reader, parent, where, &parent) < 0) {
			break;
		}
		if (parent == CLEW_NONE || !scan_if(scanner, '/'))
			break;
	}
	return most;
}

int read_result(struct reader *reader, const char *where, int r)
{
	struct scanner *scanner = &reader->scanner;
	uint32_t meant;

	if (r >= 0 || r == -ENOMEM)
		return r < 0 ? r : 0;
	meant = count_meant(reader, where);
	if (meant > 1)
		return scan_fail(
			scanner, where,
			"%s (%u spans have that name: this means the first, NAME[2] the second)",
			clew_maker_error(reader->maker), meant);
	return scan_fail(scanner, where, "%s", clew_maker_error(reader->maker));
}

int read_number(struct reader *reader, unsigned *place)
{
	struct scanner *scanner = &reader->scanner;
	const char *where = scanner->at;
	unsigned number = 0;

	while (scanner->at < scanner->end && scan_is(*scanner->at, SCAN_DIGIT) &&
	       number <= CLEW_PLACE_NUMBER_MOST)
		number = number * 10 + (unsigned)(*scanner->at++ - '0');
	if (scanner->at == where || number > CLEW_PLACE_NUMBER_MOST)
		return scan_fail(scanner, where,
				 "no such place: the number of an elementary span, from 0");
	*place |= CLEW_PLACE_NUMBER(number);
	return 0;
}
