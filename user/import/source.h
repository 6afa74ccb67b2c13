/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The lines of a trace in text: those of a file, or those in the string "systemTraceEvents" of a
 * file in JSON. A line that is longer than any event is cut.
 */
#ifndef CLEW_IMPORT_SOURCE_H
#define CLEW_IMPORT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define SOURCE_LINE 8192 /* bytes, with the NUL */

struct source {
	FILE *in;
	bool json;
	bool inside; /* JSON: in the string */
	bool over;
	char line[SOURCE_LINE];
};

/* Begins at the file's begin. False: it is JSON that has no such string. */
bool source_begin(struct source *source, FILE *in);
/* The next line, without its end; NULL: there are no more. It is valid until the next call. */
const char *source_next(struct source *source);

#endif
