/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Standard output as a person reads it: lines that fit the terminal, colours, and
 * a pager for what is longer than a screen. Output to a pipe or a file has neither
 * colours nor a pager.
 */
#ifndef CLEW_CLI_FRONT_TERMINAL_H
#define CLEW_CLI_FRONT_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/front/command.h"

/* Values of the options that every command has; see options.c. */
int clew_take_color(const struct clew_option *option, const char *argument, void *value);
int clew_take_no_pager(const struct clew_option *option, const char *argument, void *value);

/*
 * From here on, standard output goes through this module, as far as the kind of
 * output needs that. Call it once, before the first output.
 */
void clew_terminal_begin(enum clew_output output);

/* Writes what is left, and waits for the pager to end. Returns 0 or, if not all could be written,
 * -errno. */
int clew_terminal_end(void);

/* True if people want colours on standard output: it is a terminal, or they say so. */
bool clew_terminal_wants_color(void);

/* The columns of the terminal; without one, 80. */
size_t clew_terminal_width(void);
/* True for a terminal with less than so many columns. */
bool clew_terminal_narrower(size_t columns);
/* The lines that fill a screen, at least 24; without a terminal, 40. */
size_t clew_terminal_lines(void);

#endif
