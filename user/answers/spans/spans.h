/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The answers of `clew spans`: calls of traced functions, and announced calls by a key. */
#ifndef CLEW_ANSWERS_SPANS_SPANS_H
#define CLEW_ANSWERS_SPANS_SPANS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "answers/spans/logical.h"
#include "explain/calls.h"
#include "format/json.h"
#include "relate/keys.h"

/* `each`: each activation, too. */
void clew_print_calls(FILE *out, const struct clew_calls *calls, bool each);
/* `logical`: NULL if no runtimes were recorded. 0 or -ENOMEM. */
int clew_json_calls(FILE *out, const struct clew_calls *calls, const struct clew_logical *logical,
		    bool each);

/* "kv.get". Returns buffer. */
#define CLEW_KEYS_NAME_SIZE (2 * CLEW_ANNOUNCE_TEXT)
const char *clew_keys_name(const struct clew_keys_call *call, char buffer[CLEW_KEYS_NAME_SIZE]);

void clew_print_keys_call(FILE *out, const struct clew_keys *keys,
			  const struct clew_keys_call *call);
/* Behind the calls, which are `count`. */
void clew_print_keys_end(FILE *out, const struct clew_keys *keys, const char *key, uint64_t count);

/* An element of the open array. */
void clew_json_keys_call(struct clew_json *json, const struct clew_keys *keys,
			 const struct clew_keys_call *call);
/* The field "ledger". */
void clew_json_keys_ledger(struct clew_json *json, const struct clew_keys_about *about);

#endif
