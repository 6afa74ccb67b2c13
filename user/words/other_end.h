/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The tasks that have the other end of what a wait is for, in JSON and in words. */
#ifndef CLEW_WORDS_OTHER_END_H
#define CLEW_WORDS_OTHER_END_H

#include <stdio.h>

#include "explain/why.h"
#include "format/json.h"

/*
 * The fields `other_end`, `function` and `candidates` of a wait in the open object; none of them
 * if nothing is known.
 */
void clew_json_other_end(struct clew_json *json, const struct clew_trace *trace,
			 const struct clew_sleep *sleep);
/*
 * Prints `; the other end is open in A, B`, or `; perhaps for A or B`, or nothing. `all`: also the
 * kernel's function that the task sleeps in.
 */
void clew_print_other_end(FILE *out, const struct clew_trace *trace, const struct clew_sleep *sleep,
			  bool all);

#endif
