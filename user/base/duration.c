/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Numbers with a unit of time. The digits of a fraction are taken from the last one to
 * the first, so that the fraction of a ns is cut off exactly, however many they are.
 */
#include "base/duration.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

static const struct unit {
	const char *name;
	uint64_t ns;
} units[] = {
	/* Where one name begins like another the longer one is first. */
	{"ns", 1},	     {"us", 1000},	{"\xc2\xb5s", 1000}, /* the micro sign */
	{"\xce\xbcs", 1000},					     /* the letter mu */
	{"ms", 1000000},     {"s", 1000000000}, {"m", 60000000000},  {"h", 3600000000000},
};

uint64_t duration_unit(const char *text, size_t size, size_t *ret_length)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t length = strlen(units[i].name);

		if (size >= length && memcmp(text, units[i].name, length) == 0) {
			*ret_length = length;
			return units[i].ns;
		}
	}
	return 0;
}

static bool is_digit(const char *text, size_t size, size_t at)
{
	return at < size && text[at] >= '0' && text[at] <= '9';
}

int duration_part(const char *text, size_t size, uint64_t bare_unit, size_t *at,
		  unsigned __int128 *sum)
{
	size_t begin = *at, whole_end, end, length = 0;
	unsigned __int128 whole = 0, fraction = 0;
	uint64_t unit;

	for (whole_end = begin; is_digit(text, size, whole_end); whole_end++)
		if (whole <= INT64_MAX)
			whole = whole * 10 + (unsigned)(text[whole_end] - '0');
	end = whole_end;
	if (end < size && text[end] == '.')
		for (end++; is_digit(text, size, end); end++)
			;
	if (end - begin <= (whole_end < end))
		return -EINVAL;
	unit = end < size ? duration_unit(text + end, size - end, &length) : bare_unit;
	if (!unit) {
		*at = end;
		return -EINVAL;
	}
	for (size_t digit = end; digit > whole_end + 1; digit--)
		fraction =
			(fraction + (unsigned __int128)unit * (unsigned)(text[digit - 1] - '0')) /
			10;
	*sum += whole * unit + fraction;
	if (whole > INT64_MAX || *sum > INT64_MAX)
		return -ERANGE;
	*at = end + length;
	return 0;
}
