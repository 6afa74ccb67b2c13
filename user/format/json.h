/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A JSON document, written as it goes to a stream. The output is valid JSON
 * (ASCII and UTF-8) whatever bytes the strings hold: each byte that is no part
 * of a valid UTF-8 sequence becomes U+FFFD.
 *
 * Inside an object each call has a key; inside an array, and for the document
 * itself, the key is NULL. Errors of the stream are left on the stream.
 */
#ifndef CLEW_FORMAT_JSON_H
#define CLEW_FORMAT_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The form of answers that docs/answers.md describes. */
#define CLEW_JSON_FORMAT 2

struct clew_stack_table;

struct clew_json {
	FILE *out;
	struct clew_stack_table *stacks; /* where the document's stacks are; NULL: it has none */
	unsigned depth;
	bool follows;  /* the innermost object or array has an element already */
	bool one_line; /* the document has no line feeds within */
};

/* Begins the object that is the answer of a command, with its format. */
void clew_json_answer(struct clew_json *json);

void clew_json_object(struct clew_json *json, const char *key);
void clew_json_object_end(struct clew_json *json);
void clew_json_array(struct clew_json *json, const char *key);
void clew_json_array_end(struct clew_json *json);

/* An element that was written before, in a document of its own. */
void clew_json_written(struct clew_json *json, const char *value);
void clew_json_string(struct clew_json *json, const char *key, const char *value); /* NULL: null */
void clew_json_unsigned(struct clew_json *json, const char *key, uint64_t value);
void clew_json_signed(struct clew_json *json, const char *key, int64_t value);
void clew_json_number(struct clew_json *json, const char *key, double value); /* not finite: null */
/* Nanoseconds as a number of microseconds with three decimals. */
void clew_json_microseconds(struct clew_json *json, const char *key, uint64_t ns);
void clew_json_bool(struct clew_json *json, const char *key, bool value);
void clew_json_null(struct clew_json *json, const char *key);
/* A number; null where it is `unknown`. */
void clew_json_known(struct clew_json *json, const char *key, uint64_t value, uint64_t unknown);
/* A number; null where it is not `known`. */
void clew_json_maybe(struct clew_json *json, const char *key, bool known, uint64_t value);

/* Ends the document with a line feed. */
void clew_json_end(struct clew_json *json);

#endif
