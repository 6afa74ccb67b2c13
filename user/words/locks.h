/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Locks that were waited for, in JSON and in words. docs/answers.md lists the fields. */
#ifndef CLEW_WORDS_LOCKS_H
#define CLEW_WORDS_LOCKS_H

#include <stdio.h>

#include "explain/locks.h"
#include "words/json.h"

/* The fields "locks" and "cycles" of the open object, with the first `top` locks. The holders of
 * these must have been explained. */
void clew_json_locks(struct clew_json *json, const struct clew_trace *trace,
		     const struct clew_locks *locks, size_t top);

/* Prints the lock that cost most and why it was held, circles, and the first `top` locks. 0 or
 * -ENOMEM. */
int clew_print_locks(FILE *out, const struct clew_trace *trace, const struct clew_locks *locks,
		     size_t top);

/* Prints what people call a lock, safe for a terminal. */
void clew_print_lock_name(FILE *out, const struct clew_trace *trace,
			  const struct clew_contended *lock);

/* The traced function from which most of the waits came, by their time; CLEW_NO_NUMBER: none. */
uint32_t clew_lock_function(const struct clew_trace *trace, const struct clew_contended *lock);

#endif
