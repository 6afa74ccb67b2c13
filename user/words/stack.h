/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The stacks of waits, in words and in JSON. */
#ifndef CLEW_WORDS_STACK_H
#define CLEW_WORDS_STACK_H

#include <stdbool.h>
#include <stdio.h>

#include "explain/why.h"
#include "format/json.h"
#include "trace/lines.h"
#include "trace/trace.h"

/*
 * Prints the function that a sleep began in and its callers, "XLogFlush <- CommitTransaction": of
 * the user stack from the function of the C library that the program called, of a thread without
 * one of the kernel stack without the scheduler. At most `most` functions. Safe for a terminal.
 * False: there is nothing to show of that sleep, and nothing is printed.
 */
bool clew_print_stack(FILE *out, const struct clew_trace *trace, const struct clew_sleep *sleep,
		      unsigned most);
/* `lead`, and the same of the task that ended the sleep, as it did so. Nothing for NULL. */
bool clew_print_waker_stack(FILE *out, const char *lead, const struct clew_trace *trace,
			    const struct clew_sleep *sleep, unsigned most);
/* False where it is NULL, too. */
bool clew_has_stack(const struct clew_trace *trace, const struct clew_sleep *sleep);
/*
 * In a why: `lead`, then "LWLockAcquire <- ProcArrayGroupClearXid", at most three functions.
 * Nothing where `sleep` is NULL or has no stack.
 */
void clew_print_in_stack(FILE *out, const char *lead, const struct clew_trace *trace,
			 const struct clew_sleep *sleep);
/* Prints the function that a frame lies in; one without a name by its file. A known line follows,
 * "(xlog.c:2871)", or "(xlog.c:2871, inlined)". Safe for a terminal. */
void clew_print_stack_place(FILE *out, const struct clew_stack_place *place);
/* Equal for frames of one function. */
uint64_t clew_stack_function_key(const struct clew_trace *trace, uint64_t frame, bool kernel);
/* The same for places of a frame: equal for those of one function. */
uint64_t clew_stack_place_key(const struct clew_trace *trace, const struct clew_stack_place *place,
			      uint64_t frame, bool kernel);
/* Equal for places at one line of one file, and for those without. */
uint64_t clew_stack_line_key(const struct clew_stack_place *place);
/* The sleep that a segment is a part of, if it is its own task's; NULL: it ran, was ready, or it is
 * about a request of another task. */
const struct clew_sleep *clew_stack_sleep(const struct clew_segment *segment);
/* A number of all that clew_print_in_stack() depends on; 0: it prints nothing. */
uint64_t clew_stack_key(const struct clew_trace *trace, const struct clew_sleep *sleep);
/* The time that the task of a why waited, and the part of it that has stacks, ns. */
void clew_stack_share(const struct clew_trace *trace, const struct clew_why *why,
		      uint64_t *ret_waited, uint64_t *ret_with);

#endif
