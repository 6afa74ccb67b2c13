/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Options that take a word of a list. */
#include "cli/front/words.h"

#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "cli/front/fail.h"

int clew_fail_word(const char *option, const char *word, size_t length, const char *const *known,
		   size_t count)
{
	char typed[64], list[512] = "";
	struct word_nearest nearest = {.typed = typed};
	size_t used = 0;

	snprintf(typed, sizeof(typed), "%.*s", (int)length, word);
	for (size_t i = 0; i < count && used < sizeof(list); i++) {
		if (!known[i])
			continue;
		word_nearest_try(&nearest, known[i]);
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "",
					 known[i]);
	}
	if (nearest.best)
		return clew_fail(CLEW_EXIT_INPUT,
				 "--%s: there is no '%s': did you mean %s? It is one of %s", option,
				 typed, nearest.best, list);
	return clew_fail(CLEW_EXIT_INPUT, "--%s: there is no '%s': give one of %s", option, typed,
			 list);
}

int clew_take_word(const struct clew_option *option, const char *argument, const char *const *known,
		   size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (known[i] && !strcmp(argument, known[i]))
			return (int)i;
	clew_fail_word(option->name, argument, strlen(argument), known, count);
	return -1;
}
