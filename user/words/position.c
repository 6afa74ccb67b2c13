/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Durations and moments, read without floating point.
 */
#include "words/position.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

/* 10^18 fits, and so does its product with an hour in 128 bits. */
#define MOST_FRACTION_DIGITS 18

static const struct unit {
	const char *name;
	uint64_t ns;
} units[] = {
	{"ns", 1},
	{"us", 1000},
	{"\xc2\xb5s", 1000}, /* the micro sign */
	{"\xce\xbcs", 1000}, /* the letter mu */
	{"ms", 1000000},
	{"s", 1000000000},
	{"m", UINT64_C(60000000000)},
	{"h", UINT64_C(3600000000000)},
};

static uint64_t unit_of(const char *name, uint64_t bare_unit)
{
	if (!name[0])
		return bare_unit;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(units[i].name, name))
			return units[i].ns;
	return 0;
}

int clew_parse_duration(const char *text, uint64_t bare_unit, uint64_t *ret_ns)
{
	size_t whole_digits = strspn(text, "0123456789");
	const char *fraction = text + whole_digits;
	size_t fraction_digits = 0;
	unsigned __int128 numerator = 0;
	uint64_t unit, denominator = 1, ns = 0;

	if (*fraction == '.')
		fraction_digits = strspn(++fraction, "0123456789");
	unit = unit_of(fraction + fraction_digits, bare_unit);
	if (!whole_digits || (fraction > text + whole_digits && !fraction_digits) || !unit)
		return -EINVAL;
	for (size_t i = 0; i < whole_digits; i++)
		if (__builtin_mul_overflow(ns, 10, &ns) ||
		    __builtin_add_overflow(ns, (uint64_t)(text[i] - '0'), &ns))
			return -ERANGE;
	if (__builtin_mul_overflow(ns, unit, &ns))
		return -ERANGE;
	for (size_t i = 0; i < fraction_digits && i < MOST_FRACTION_DIGITS; i++) {
		numerator = numerator * 10 + (uint64_t)(fraction[i] - '0');
		denominator *= 10;
	}
	if (__builtin_add_overflow(ns, (uint64_t)(numerator * unit / denominator), &ns))
		return -ERANGE;
	if (ns > INT64_MAX)
		return -ERANGE;
	*ret_ns = ns;
	return 0;
}

int clew_parse_moment(const char *text, uint64_t start, uint64_t *ret_ns)
{
	uint64_t ns;
	int r;

	if (text[0] && strspn(text, "0123456789") == strlen(text))
		return clew_parse_duration(text, 1, ret_ns);
	r = clew_parse_duration(text, 0, &ns);
	if (r < 0)
		return r;
	if (__builtin_add_overflow(start, ns, &ns) || ns > INT64_MAX)
		return -ERANGE;
	*ret_ns = ns;
	return 0;
}
