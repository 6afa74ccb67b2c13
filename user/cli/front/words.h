/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Options that take a word of a list. tools/completions reads the list from the error. */
#ifndef CLEW_CLI_FRONT_WORDS_H
#define CLEW_CLI_FRONT_WORDS_H

#include <stddef.h>

#include "cli/front/command.h"

/* The index of a word in a list, in which NULL stands for none. -1: it is not there, which one line
 * says, with the word that was likely meant. */
int clew_take_word(const struct clew_option *option, const char *argument, const char *const *known,
		   size_t count);
/* Fails with the word that was likely meant, and all of them. Returns CLEW_EXIT_INPUT. */
int clew_fail_word(const char *option, const char *word, size_t length, const char *const *known,
		   size_t count);

#endif
