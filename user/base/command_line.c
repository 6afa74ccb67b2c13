/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Command lines that no shell reads. */
#include "base/command_line.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS " \t"

static int add(char ***words, size_t *count, const char *text, size_t length)
{
	char **grown = realloc(*words, (*count + 2) * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	*words = grown;
	grown[*count] = strndup(text, length);
	if (!grown[*count])
		return -ENOMEM;
	grown[++*count] = NULL;
	return 0;
}

int command_line_add_word(char ***words, size_t *count, const char *text)
{
	return add(words, count, text, strlen(text));
}

int command_line_add(char ***words, size_t *count, const char *text)
{
	int r = 0;

	for (text += strspn(text, BLANKS); *text && r == 0; text += strspn(text, BLANKS)) {
		size_t length = strcspn(text, BLANKS);

		r = add(words, count, text, length);
		text += length;
	}
	return r;
}

/* Replaces the name in the next braces behind *at, and moves *at behind its value. */
static int fill_next(char **word, size_t *at, const char *const *values, bool *ret_found)
{
	const char *brace = strchr(*word + *at, '{');

	*ret_found = brace != NULL;
	if (!brace)
		return 0;
	*at = (size_t)(brace - *word) + 1;
	for (; *values; values += 2) {
		char *filled;
		size_t before = (size_t)(brace - *word);

		if (strncmp(brace, values[0], strlen(values[0])))
			continue;
		if (asprintf(&filled, "%.*s%s%s", (int)before, *word, values[1],
			     brace + strlen(values[0])) < 0)
			return -ENOMEM;
		*at = before + strlen(values[1]);
		free(*word);
		*word = filled;
		return 0;
	}
	return 0;
}

int command_line_fill(char **words, const char *const *values)
{
	int r = 0;

	for (; *words && r == 0; words++) {
		bool found = true;
		size_t at = 0;

		while (r == 0 && found)
			r = fill_next(words, &at, values, &found);
	}
	return r;
}

void command_line_free(char **words)
{
	for (char **word = words; word && *word; word++)
		free(*word);
	free(words);
}
