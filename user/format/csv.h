/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Fields of comma-separated values (RFC 4180). */
#ifndef CLEW_FORMAT_CSV_H
#define CLEW_FORMAT_CSV_H

#include <stdbool.h>
#include <stdio.h>

/* Writes one field, in quotes where it needs them. It is UTF-8: U+FFFD stands for any other byte.
 * `spreadsheet`: a text that would be a formula there begins with an apostrophe. */
void clew_csv_field(FILE *out, const char *text, bool spreadsheet);

#endif
