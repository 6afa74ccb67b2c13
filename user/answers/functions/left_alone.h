/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Probes that a recording found and left alone, from the text that the capture has of them
 * ("left_alone"; NULL: none). */
#ifndef CLEW_ANSWERS_FUNCTIONS_LEFT_ALONE_H
#define CLEW_ANSWERS_FUNCTIONS_LEFT_ALONE_H

#include <stdint.h>
#include <stdio.h>

struct clew_json;

/*
 * Prints a line for each file, with `before` in front; a last line counts the
 * files that are too many.
 */
void clew_print_left_alone(FILE *out, const char *before, const char *text);
/* An array under that key. */
void clew_json_left_alone(struct clew_json *json, const char *key, const char *text);

/* Files that were left out, as they did not open in time; of none it prints nothing. */
void clew_print_late_files(FILE *out, const char *before, uint64_t count);

#endif
