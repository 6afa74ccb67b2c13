/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Times and sizes. */
#include "base/amount.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"

/* Reads one of the two. False: it is neither. */
static bool take_one(const char *text, struct clew_amount *amount)
{
	char *end;
	unsigned long long number = strtoull(text, &end, 10);
	unsigned shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
	unsigned __int128 ns = 0;
	size_t at = 0;

	if (end != text && shift && !end[1] && number && number < 1ull << 30 && !amount->bytes) {
		amount->bytes = number << shift;
		return true;
	}
	if (amount->ns || duration_part(text, strlen(text), 0, &at, &ns) || text[at] || !ns)
		return false;
	amount->ns = (uint64_t)ns;
	return true;
}

int amount_parse(const char *text, struct clew_amount *ret_amount)
{
	size_t length = strlen(text);
	char copy[64], *save = NULL;

	*ret_amount = (struct clew_amount){0};
	if (!length || length >= sizeof(copy) || strstr(text, ",,") || text[0] == ',' ||
	    text[length - 1] == ',')
		return -EINVAL;
	strcpy(copy, text);
	for (char *word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save))
		if (!take_one(word, ret_amount))
			return -EINVAL;
	return 0;
}
