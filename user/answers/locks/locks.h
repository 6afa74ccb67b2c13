/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Locks that were waited for, in JSON and in words. docs/answers.md lists the fields. */
#ifndef CLEW_ANSWERS_LOCKS_LOCKS_H
#define CLEW_ANSWERS_LOCKS_LOCKS_H

#include <stdio.h>

#include "explain/locks.h"
#include "explain/locks_taken.h"
#include "format/json.h"

/* The fields "locks", "cycles", "deadlocks" and "uncontended" of the open object, with the first
 * `top` locks. The holders of these must have been explained. */
void clew_json_locks(struct clew_json *json, const struct clew_trace *trace,
		     const struct clew_locks *locks, const struct clew_taken_locks *taken,
		     size_t top);

/* Prints the lock that cost most and why it was held, circles, the first `top` locks, and the first
 * `top` of those that nobody waited for. */
void clew_print_locks(FILE *out, const struct clew_trace *trace, const struct clew_locks *locks,
		      const struct clew_taken_locks *taken, size_t top);

/* Put the time of a holder by kind: the field "doing", and one of its elements in words. */
void clew_json_lock_doings(struct clew_json *json, const struct clew_trace *trace,
			   const struct clew_lock_holder *holder);
void clew_print_lock_doing(FILE *out, const struct clew_trace *trace, uint32_t holder,
			   const struct clew_lock_doing *doing);

/* Prints what people call a lock, safe for a terminal. */
void clew_print_lock_name(FILE *out, const struct clew_trace *trace,
			  const struct clew_contended *lock);

/* The traced function from which most of the waits came, by their time; CLEW_NO_NUMBER: none. */
uint32_t clew_lock_function(const struct clew_trace *trace, const struct clew_contended *lock);

#endif
