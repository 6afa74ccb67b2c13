/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Durations with a sign, in one or more parts. Each part's fraction of a ns is cut
 * off exactly: digits are taken from the last one to the first.
 */
#include <clew/query.h>

#include <errno.h>
#include <string.h>

static const struct unit {
	const char *name;
	int64_t ns;
} units[] = {
	/* Where one begins like another the longer one is first. */
	{"ns", 1},	 {"us", 1000},	    {"\xc2\xb5s", 1000}, {"\xce\xbcs", 1000},
	{"ms", 1000000}, {"s", 1000000000}, {"m", 60000000000},	 {"h", 3600000000000},
};

static bool is_digit(const char *text, size_t size, size_t at)
{
	return at < size && text[at] >= '0' && text[at] <= '9';
}

static const struct unit *unit_at(const char *text, size_t size, size_t at)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t length = strlen(units[i].name);

		if (size - at >= length && memcmp(text + at, units[i].name, length) == 0)
			return &units[i];
	}
	return NULL;
}

/* One number with its unit; its ns are added to *sum, of which no more than 2^63 is let through. */
static int parse_part(const char *text, size_t size, size_t *at, unsigned __int128 *sum)
{
	size_t begin = *at, whole_end, end;
	unsigned __int128 whole = 0, fraction = 0;
	const struct unit *unit;

	for (whole_end = begin; is_digit(text, size, whole_end); whole_end++)
		if (whole <= INT64_MAX)
			whole = whole * 10 + (unsigned)(text[whole_end] - '0');
	end = whole_end;
	if (end < size && text[end] == '.')
		for (end++; is_digit(text, size, end); end++)
			;
	if (end - begin <= (whole_end < end)) {
		*at = begin;
		return -EINVAL;
	}
	unit = end < size ? unit_at(text, size, end) : NULL;
	if (!unit) {
		*at = end;
		return -EINVAL;
	}
	for (size_t digit = end; digit > whole_end + 1; digit--)
		fraction = (fraction +
			    (unsigned __int128)unit->ns * (unsigned)(text[digit - 1] - '0')) /
			   10;
	*sum += whole * (unsigned __int128)unit->ns + fraction;
	if (whole > INT64_MAX || *sum > (unsigned __int128)INT64_MAX) {
		*at = begin;
		return -ERANGE;
	}
	*at = end + strlen(unit->name);
	return 0;
}

int clew_duration_parse(const char *text, size_t size, clew_time *ret_duration, size_t *ret_offset)
{
	unsigned __int128 sum = 0;
	bool negative = size > 0 && text[0] == '-';
	size_t at = negative || (size > 0 && text[0] == '+');
	int r;

	if (size - at == 1 && text[at] == '0') {
		*ret_duration = 0;
		return 0;
	}
	do {
		r = parse_part(text, size, &at, &sum);
		if (r < 0) {
			*ret_offset = at;
			return r;
		}
	} while (at < size);
	*ret_duration = negative ? -(clew_time)sum : (clew_time)sum;
	return 0;
}
