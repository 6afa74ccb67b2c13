/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Options that lists share. */
#include "cli/operand/view.h"

#include <string.h>

#include "cli/front/fail.h"
#include "cli/front/words.h"

static const char *const sort_names[] = {
	[CLEW_SORT_LENGTH] = "length",
	[CLEW_SORT_START] = "start",
};

int clew_take_sort(const struct clew_option *option, const char *argument, void *value)
{
	int found = clew_take_word(option, argument, sort_names,
				   sizeof(sort_names) / sizeof(sort_names[0]));

	if (found < 0)
		return CLEW_EXIT_INPUT;
	*(enum clew_sort *)value = (enum clew_sort)found;
	return 0;
}

int clew_take_by(const struct clew_option *option, const char *argument, void *value)
{
	const char *known[CLEW_SUM_BY_COUNT];
	int found;

	for (enum clew_sum_by by = 0; by < CLEW_SUM_BY_COUNT; by++)
		known[by] = clew_sum_by_name(by);
	found = clew_take_word(option, argument, known, CLEW_SUM_BY_COUNT);
	if (found < 0)
		return CLEW_EXIT_INPUT;
	*(enum clew_sum_by *)value = (enum clew_sum_by)found;
	return 0;
}
