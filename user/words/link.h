/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The steps from a wake back to what caused it, in JSON and in words.
 */
#ifndef CLEW_WORDS_LINK_H
#define CLEW_WORDS_LINK_H

#include "trace/trace.h"
#include <stdio.h>

#include "format/json.h"

/*
 * The field "through" of the open object: an array, empty where a task woke
 * another one directly.
 */
void clew_json_links(struct clew_json *json, const struct clew_trace *trace,
		     const struct clew_sleep *sleep);
/* The fields "slices", 1 in most waits, and "retried" of the open object. */
void clew_json_slices(struct clew_json *json, const struct clew_trace *trace,
		      const struct clew_sleep *sleep);
/*
 * Prints the first step: "the end of read of ..", "the interrupt of virtio1".
 * Safe for a terminal. False: there is none.
 */
bool clew_print_first_link(FILE *out, const struct clew_trace *trace,
			   const struct clew_sleep *sleep);
/* The word for what TCP held back data for; NULL: for nothing. */
const char *clew_held_name(enum clew_held held);
/* Prints ", held back by TCP until ..", ", lost on the way; sent again within ..". */
void clew_print_held(FILE *out, enum clew_held held, const struct clew_sleep *sleep);
/* The same for a wait for what had to be sent again. False: it was for something else. */
bool clew_print_lost(FILE *out, const struct clew_sleep *sleep);

/* The object of a request's or work item's step. */
struct clew_object clew_link_object(const struct clew_link *link);

/*
 * Prints the timer of a wait whose first step is a timer: "its timeout", "a
 * timer that X had armed", "a timer (FUNCTION)".
 */
void clew_print_timer(FILE *out, const struct clew_trace *trace, const struct clew_sleep *sleep);

#endif
