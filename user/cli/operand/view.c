/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Options that lists share. See view.h. */
#include "cli/operand/view.h"

#include <string.h>

#include "cli/front/fail.h"

static const char *const sort_names[] = {
	[CLEW_SORT_LENGTH] = "length",
	[CLEW_SORT_START] = "start",
};

int clew_take_sort(const struct clew_option *option, const char *argument, void *value)
{
	for (size_t i = 0; i < sizeof(sort_names) / sizeof(sort_names[0]); i++)
		if (!strcmp(sort_names[i], argument)) {
			*(enum clew_sort *)value = (enum clew_sort)i;
			return 0;
		}
	return clew_fail(CLEW_EXIT_INPUT, "--%s: there is no '%s': use length or start",
			 option->name, argument);
}

int clew_take_by(const struct clew_option *option, const char *argument, void *value)
{
	for (enum clew_sum_by by = CLEW_SUM_BY_NONE + 1; by < CLEW_SUM_BY_COUNT; by++)
		if (!strcmp(clew_sum_by_name(by), argument)) {
			*(enum clew_sum_by *)value = by;
			return 0;
		}
	return clew_fail(CLEW_EXIT_INPUT,
			 "--%s: there is no '%s': use object, kind, task, call or holder",
			 option->name, argument);
}
