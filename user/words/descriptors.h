/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What people call a thing that happened, in JSON and in words. */
#ifndef CLEW_WORDS_DESCRIPTORS_H
#define CLEW_WORDS_DESCRIPTORS_H

#include "relate/relate.h"
#include <stdio.h>

#include "words/json.h"

/* The path of the file that an object was then, or that a request is for, as word "path". */
void clew_describe_object(const struct clew_trace *trace, const struct clew_object *object,
			  uint64_t at, struct clew_description *description);

/* "descriptors" of the object that is open. */
void clew_json_description(struct clew_json *json, const struct clew_description *description);

/* "call" of the object that is open: the call that a relation is of, and by what it was called. */
void clew_json_call(struct clew_json *json, const struct clew_relations *relations,
		    const struct clew_relation *relation);
/* "kv.get", safe to print. */
void clew_print_call(FILE *out, const struct clew_activity *activity);

/* Those that programs announced, as " [TYPE=VALUE ...]"; nothing if there is none. */
void clew_print_description(FILE *out, const struct clew_description *description);

#endif
