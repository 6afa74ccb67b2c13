/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* An interval in windows. */
#include "cli/export/split.h"

#include <stdio.h>
#include <string.h>

uint64_t clew_window_count(const struct clew_window *window, uint64_t length)
{
	uint64_t whole = window->to - window->from;

	return whole ? (whole - 1) / length + 1 : 1;
}

void clew_window_at(const struct clew_window *window, uint64_t length, uint64_t index,
		    uint64_t *ret_from, uint64_t *ret_to)
{
	*ret_from = window->from + index * length;
	*ret_to = window->to - *ret_from > length ? *ret_from + length - 1 : window->to;
}

char *clew_window_file(const char *output, uint64_t index, uint64_t count)
{
	const char *slash = strrchr(output, '/'), *base = slash ? slash + 1 : output;
	const char *end = strrchr(base, '.');
	char *name;
	int digits = snprintf(NULL, 0, "%llu", (unsigned long long)count);

	/* "pb.gz" stays together; a name that begins with a dot has no other extension. */
	if (end && !strcmp(end, ".gz")) {
		const char *before = memrchr(base, '.', (size_t)(end - base));

		end = before ?: end;
	}
	if (!end || end == base)
		end = base + strlen(base);
	return asprintf(&name, "%.*s.%0*llu%s", (int)(end - output), output, digits,
			(unsigned long long)index + 1, end) < 0
		       ? NULL
		       : name;
}
