/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Says of which files an answer has lines, and why not of the others. */
#ifndef CLEW_WORDS_LINES_H
#define CLEW_WORDS_LINES_H

#include <stdio.h>

#include "format/json.h"
#include "trace/lines.h"

/* Prints "Lines of 3 files.", and a line for each file that has none. Nothing unless the trace has
 * lines and some were asked for. */
void clew_print_lines_told(FILE *out, const struct clew_trace *trace);
/* The field "lines" of the open object, an array of the files; nothing unless the trace has
 * lines. */
void clew_json_lines_told(struct clew_json *json, const struct clew_trace *trace);

#endif
