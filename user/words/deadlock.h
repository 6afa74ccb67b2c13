/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Deadlocks in words and in JSON, the same in every answer. */
#ifndef CLEW_WORDS_DEADLOCK_H
#define CLEW_WORDS_DEADLOCK_H

#include <stdio.h>

#include "format/json.h"
#include "trace/deadlock.h"

/* Prints "A waits for B to end, B for its thread C, C for room in pipe:[7] that only A reads". It
 * begins with A = `task` if that is in the circle. */
void clew_print_circle(FILE *out, const struct clew_trace *trace,
		       const struct clew_deadlock *deadlock, uint32_t task);

/* The same behind "deadlock: ". */
void clew_print_deadlock(FILE *out, const struct clew_trace *trace,
			 const struct clew_deadlock *deadlock, uint32_t task);

/* The same on a line of its own, "Deadlock: ..", broken at a width, and an empty line. */
void clew_print_deadlock_line(FILE *out, const struct clew_trace *trace,
			      const struct clew_deadlock *deadlock, size_t width);

/* The field `key` of the open object; NULL: an element of the open array. */
void clew_json_deadlock(struct clew_json *json, const char *key, const struct clew_trace *trace,
			const struct clew_deadlock *deadlock);
/* The field "deadlocks" of the open object: all of the trace. */
void clew_json_deadlocks(struct clew_json *json, const struct clew_trace *trace);

#endif
