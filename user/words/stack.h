/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The stacks of waits, in words and in JSON. */
#ifndef CLEW_WORDS_STACK_H
#define CLEW_WORDS_STACK_H

#include <stdbool.h>
#include <stdio.h>

#include "trace/trace.h"
#include "words/json.h"

/*
 * Prints the function that a sleep began in and its callers, "XLogFlush <- CommitTransaction": of
 * the user stack without the functions of the C library that lead into the kernel, of a thread
 * without one of the kernel stack without the scheduler. At most `most` functions. Safe for a
 * terminal. False: the capture has no stack of that sleep, and nothing is printed.
 */
bool clew_print_stack(FILE *out, const struct clew_trace *trace, const struct clew_sleep *sleep,
		      unsigned most);
/* The field "stack" of the open object; null: the capture has none of that sleep. */
void clew_json_stack(struct clew_json *json, const struct clew_trace *trace,
		     const struct clew_sleep *sleep);

#endif
