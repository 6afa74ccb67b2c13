/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Durations with a sign, in one or more parts.
 */
#include <clew/query.h>

#include "base/duration.h"
#include <errno.h>

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
		r = duration_part(text, size, 0, &at, &sum);
		if (r < 0) {
			*ret_offset = at;
			return r;
		}
	} while (at < size);
	*ret_duration = negative ? -(clew_time)sum : (clew_time)sum;
	return 0;
}
