/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The code that a running task was in, in words and in JSON: a system call, page faults,
 * yields.
 */
#ifndef CLEW_WORDS_RUNNING_H
#define CLEW_WORDS_RUNNING_H

#include <stdio.h>

#include "explain/running.h"
#include "explain/why.h"
#include "format/json.h"

/* Prints "in CALL", and what was done there for memory. */
void clew_print_call_of(FILE *out, const struct clew_stay *stay);
/* Prints " in CALL" or ", perhaps in CALL"; nothing for NULL. */
void clew_print_stay(FILE *out, const struct clew_stay *stay);
/* Prints ", in CALL at 2 of 3 ticks, 12 page faults"; nothing where nothing is known. */
void clew_print_running(FILE *out, const struct clew_running *running);

/* The word in JSON for an enum clew_wait_reason about memory; NULL: none. */
const char *clew_memory_word(unsigned reason);
/* The field "in" of a RUNNING segment; none where nothing is known. */
void clew_json_running(struct clew_json *json, const struct clew_trace *trace,
		       const struct clew_segment *segment);

#endif
