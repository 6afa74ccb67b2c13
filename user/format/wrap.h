/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Text in columns of a terminal. Escape sequences for colours take no column, and
 * no character is ever cut.
 */
#ifndef CLEW_FORMAT_WRAP_H
#define CLEW_FORMAT_WRAP_H

#include <stddef.h>
#include <stdio.h>

/* The columns that the first `size` bytes of a text take. */
size_t clew_columns(const char *text, size_t size);

/*
 * Prints words at most `width` columns wide. `column`: where the first word starts;
 * later lines begin with `indent` blanks. A number and its unit stay together. A
 * word that is wider than a line is broken, behind a slash if it has one.
 */
void clew_print_wrapped(FILE *out, const char *text, size_t column, size_t indent, size_t width);

/*
 * Prints a line of `size` bytes, without its line feed, at most `width` columns
 * wide. Later lines are set in to below the words of the first: behind its last run
 * of several blanks, and two columns more.
 */
void clew_print_line(FILE *out, const char *line, size_t size, size_t width);

/* Prints a text in exactly `width` columns: with blanks behind it, or cut, with ".." at its end. */
void clew_print_column(FILE *out, const char *text, size_t width);

#endif
