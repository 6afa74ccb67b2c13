/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Durations and moments of options. */
#include "format/position.h"

#include "base/duration.h"
#include <errno.h>
#include <string.h>
#include <time.h>

int clew_parse_duration(const char *text, uint64_t bare_unit, uint64_t *ret_ns)
{
	size_t size = strlen(text), whole = strspn(text, "0123456789"), at = 0, length = 0;
	const char *end = text + whole;
	unsigned __int128 sum = 0;
	int r;

	/* A number needs digits on both sides of its point here, and one unit ends the text. */
	if (*end == '.')
		end += 1 + strspn(end + 1, "0123456789");
	if (!whole || end == text + whole + 1 ||
	    (*end && (!duration_unit(end, strlen(end), &length) || end[length])))
		return -EINVAL;
	r = duration_part(text, size, bare_unit, &at, &sum);
	if (r == 0)
		*ret_ns = (uint64_t)sum;
	return r;
}

#define SECOND UINT64_C(1000000000)
#define DAY    (86400 * SECOND)

/* Reads a number of exactly `digits` digits, and steps over it. */
static bool take_digits(const char **text, int digits, unsigned *ret)
{
	unsigned value = 0;

	for (int i = 0; i < digits; i++, (*text)++) {
		if (**text < '0' || **text > '9')
			return false;
		value = value * 10 + (unsigned)(**text - '0');
	}
	*ret = value;
	return true;
}

/* "2026-11-25", as days since 1970. */
static bool take_date(const char **text, int64_t *ret_days)
{
	struct tm date = {};
	unsigned year, month, day;
	time_t seconds;

	if (!take_digits(text, 4, &year) || *(*text)++ != '-' || !take_digits(text, 2, &month) ||
	    *(*text)++ != '-' || !take_digits(text, 2, &day))
		return false;
	date.tm_year = (int)year - 1900;
	date.tm_mon = (int)month - 1;
	date.tm_mday = (int)day;
	seconds = timegm(&date);
	/* timegm() turns the 31st of a short month into the 1st of the next one. */
	if (year < 1970 || date.tm_mon != (int)month - 1 || date.tm_mday != (int)day)
		return false;
	*ret_days = seconds / 86400;
	return true;
}

/* "10:32", "10:32:07", "10:32:07.5", as ns since midnight, and then Z for UTC; the text ends there.
 */
static bool take_time_of_day(const char *text, uint64_t *ret_ns, bool *ret_utc)
{
	unsigned hour, minute, second = 0;
	uint64_t fraction = 0, unit = SECOND;

	if (!take_digits(&text, 2, &hour) || *text++ != ':' || !take_digits(&text, 2, &minute))
		return false;
	if (*text == ':' && (text++, !take_digits(&text, 2, &second)))
		return false;
	/* Logs write "10:32:07.5" or "10:32:07,512". */
	if (*text == '.' || *text == ',') {
		size_t digits = strspn(++text, "0123456789");

		if (!digits)
			return false;
		for (; digits > 0; digits--, text++) {
			unit /= 10;
			fraction += (uint64_t)(*text - '0') * unit;
		}
	}
	*ret_utc = *text == 'Z';
	text += *ret_utc;
	if (*text || hour > 23 || minute > 59 || second > 60)
		return false;
	*ret_ns = (hour * 3600 + minute * 60 + second) * SECOND + fraction;
	return true;
}

/* Local time or UTC. -EINVAL: the text has not that form. */
static int parse_wall(const char *text, const struct clew_time_base *base, uint64_t *ret_ns)
{
	bool has_date = strlen(text) > 10 && text[4] == '-', utc;
	int64_t days = 0, there, wall, start;
	uint64_t time_of_day;

	if (has_date && (!take_date(&text, &days) || (*text != ' ' && *text != 'T')))
		return -EINVAL;
	if (!take_time_of_day(text + has_date, &time_of_day, &utc))
		return -EINVAL;
	if (!base->has_wall)
		return -ENODATA;
	wall = base->wall - (utc ? base->zone : 0);
	start = (int64_t)base->start + wall;
	if (has_date) {
		there = days * (int64_t)DAY + (int64_t)time_of_day;
	} else {
		there = start / (int64_t)DAY * (int64_t)DAY + (int64_t)time_of_day;
		if (there + (int64_t)SECOND <= start)
			there += (int64_t)DAY;
	}
	if (there < wall)
		return -ERANGE;
	*ret_ns = (uint64_t)(there - wall);
	return 0;
}

int clew_parse_moment(const char *text, const struct clew_time_base *base, uint64_t *ret_ns)
{
	uint64_t ns;
	int r;

	if (text[0] && strspn(text, "0123456789") == strlen(text))
		return clew_parse_duration(text, 1, ret_ns);
	if (strchr(text, ':'))
		return parse_wall(text, base, ret_ns);
	r = clew_parse_duration(text + (text[0] == '-'), 0, &ns);
	if (r < 0)
		return r;
	if (text[0] == '-') {
		if (ns > base->end)
			return -ERANGE;
		ns = base->end - ns;
	} else if (__builtin_add_overflow(base->start, ns, &ns) || ns > INT64_MAX) {
		return -ERANGE;
	}
	*ret_ns = ns;
	return 0;
}
