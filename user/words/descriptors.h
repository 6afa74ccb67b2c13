/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Descriptors (what people call a thing that happened), in JSON and in words.
 */
#ifndef CLEW_WORDS_DESCRIPTORS_H
#define CLEW_WORDS_DESCRIPTORS_H

#include "relate/relate.h"
#include <stdio.h>

#include "format/json.h"

/*
 * Adds the word "path": the path of the file that an object is, or that a
 * request is for. `at`: ns.
 */
void clew_describe_object(const struct clew_trace *trace, const struct clew_object *object,
			  uint64_t at, struct clew_description *description);

/* The field "descriptors" of the open object. */
void clew_json_description(struct clew_json *json, const struct clew_description *description);

/*
 * The field "call" of the open object: a relation's lower call, and what called
 * it.
 */
void clew_json_call(struct clew_json *json, const struct clew_relations *relations,
		    const struct clew_relation *relation);
/* Prints "kv.get", safe for a terminal. */
void clew_print_call(FILE *out, const struct clew_activity *activity);

/*
 * Prints the words that programs announced, as " [TYPE=VALUE ...]"; nothing if
 * there are none.
 */
void clew_print_description(FILE *out, const struct clew_description *description);

#endif
