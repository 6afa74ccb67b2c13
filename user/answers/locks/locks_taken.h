/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Answers about takes of locks, in JSON and in words. docs/answers.md lists the fields. */
#ifndef CLEW_ANSWERS_LOCKS_LOCKS_TAKEN_H
#define CLEW_ANSWERS_LOCKS_LOCKS_TAKEN_H

#include <stdio.h>

#include "explain/locks_taken.h"
#include "format/json.h"

/* The field `key`: an object, null for NULL. */
void clew_json_taken(struct clew_json *json, const char *key, const struct clew_trace *trace,
		     const struct clew_taken_lock *lock);
/* The fields "taken_until" and "uncontended": the first `top` of the locks that nobody waited for,
 * null if none are known because no functions of locks were recorded. */
void clew_json_uncontended(struct clew_json *json, const struct clew_trace *trace,
			   const struct clew_taken_locks *taken, size_t top);

/* Prints the line of a lock that was waited for; nothing for NULL. */
void clew_print_taken(FILE *out, const struct clew_trace *trace,
		      const struct clew_taken_lock *lock);
/* Prints the first `top` of the locks that nobody waited for; nothing if no functions of locks were
 * recorded. */
void clew_print_uncontended(FILE *out, const struct clew_trace *trace,
			    const struct clew_taken_locks *taken, size_t top);

#endif
