/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Waits, as text and as JSON: a list of them or their sums. */
#ifndef CLEW_ANSWERS_WAITS_WAITS_H
#define CLEW_ANSWERS_WAITS_WAITS_H

#include <stdio.h>

#include "answers/columns.h"
#include "explain/waits.h"
#include "format/json.h"

/* Items are struct clew_sleep. */
extern const struct clew_column clew_wait_columns[];

/* One wait. `stacks`: with those of the wait; in JSON with their numbers in json->stacks. */
void clew_print_wait(FILE *out, const struct clew_trace *trace, bool stacks,
		     const struct clew_sleep *sleep);
void clew_json_wait(struct clew_json *json, const struct clew_trace *trace, bool stacks,
		    const struct clew_sleep *sleep);

/* For clew_waits_asked.write: a wait as it will be in the list. */
void clew_write_wait(FILE *out, const struct clew_trace *trace, const struct clew_sleep *sleep);
void clew_write_wait_json(FILE *out, const struct clew_trace *trace,
			  const struct clew_sleep *sleep);

/*
 * Finishes waits, and prints the list or the sums and what is missing from them. `trace` has the
 * names. `part`: only an interval was asked for. 0 or -ENOMEM.
 */
int clew_print_waits(FILE *out, const struct clew_trace *trace, struct clew_waits *waits,
		     bool part);
/* The same as an object of its own. */
int clew_json_waits(struct clew_json *json, const struct clew_trace *trace,
		    struct clew_waits *waits);

#endif
