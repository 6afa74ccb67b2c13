/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Command lines that no shell reads: words between blanks, without quotes, variables or patterns.
 */
#ifndef CLEW_BASE_COMMAND_LINE_H
#define CLEW_BASE_COMMAND_LINE_H

#include <stddef.h>

/* Appends the text's words to a list of *count, which ends with NULL. 0 or -ENOMEM. */
int command_line_add(char ***words, size_t *count, const char *text);

/* Appends the text as one word. 0 or -ENOMEM. */
int command_line_add_word(char ***words, size_t *count, const char *text);

/*
 * Puts values into a list of words in place of their names in braces: {from}. `values` has pairs of
 * a name, braces included, and a value, and ends with NULL. 0 or -ENOMEM.
 */
int command_line_fill(char **words, const char *const *values);

void command_line_free(char **words);

#endif
