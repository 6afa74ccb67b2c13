/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Durations and moments of options. See position.h.
 */
#include "words/position.h"

#include "base/duration.h"
#include <errno.h>
#include <string.h>

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
