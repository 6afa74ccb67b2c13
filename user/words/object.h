/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Objects that are waited for, in JSON and in words, the same in every answer.
 * docs/answers.md lists the fields.
 */
#ifndef CLEW_WORDS_OBJECT_H
#define CLEW_WORDS_OBJECT_H

#include "trace/trace.h"
#include <stdio.h>

#include "format/json.h"

/* True unless the request is a flush, for data or empty. */
bool clew_has_sector(const struct clew_block_request *block);

/* The field "sector" of the open object: null where a request has none. */
void clew_json_sector(struct clew_json *json, const struct clew_block_request *block);

/* The field "dev": the numbers of a device. */
void clew_json_device(struct clew_json *json, uint32_t device);

/* The field `key`: an object; null if there is none and the wait has no name of its own. `sleep`:
 * the wait that it belongs to, or NULL. */
void clew_json_object_of(struct clew_json *json, const char *key, const struct clew_trace *trace,
			 const struct clew_object *object, const struct clew_sleep *sleep);
/* Prints what people call it, safe for a terminal. False: there is no object, nothing is printed.
 */
bool clew_print_object(FILE *out, const struct clew_trace *trace, const struct clew_object *object,
		       const struct clew_sleep *sleep);

/* The same for the lock that a task waited for without leaving its CPU. */
struct clew_object clew_spin_object(const struct clew_spin *spin);
void clew_json_spin_object(struct clew_json *json, const char *key, const struct clew_trace *trace,
			   const struct clew_spin *spin);
void clew_print_spin_object(FILE *out, const struct clew_trace *trace,
			    const struct clew_spin *spin);

#endif
