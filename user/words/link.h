/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The steps from a wake back to what caused it, in JSON and in words.
 */
#ifndef CLEW_WORDS_LINK_H
#define CLEW_WORDS_LINK_H

#include "trace/trace.h"
#include <stdio.h>

#include "words/json.h"

/* The field "through" of the object that is open: an array, empty where a task woke another by
 * itself. */
void clew_json_links(struct clew_json *json, const struct clew_trace *trace,
		     const struct clew_sleep *sleep);
/* "the end of read of ..", "the interrupt of virtio1": of the first step, safe to print. False:
 * there is none. */
bool clew_print_first_link(FILE *out, const struct clew_trace *trace,
			   const struct clew_sleep *sleep);
/* The object of a request's or work item's step. */
struct clew_object clew_link_object(const struct clew_link *link);

/* Whether a timer ended a wait that the waiting call had itself set for it: its timeout, or the
 * time it slept. */
bool clew_is_own_timeout(const struct clew_trace *trace, const struct clew_sleep *sleep);
/* "its timeout", "a timer that X had armed", "a timer (FUNCTION)": of a wait whose first step is a
 * timer. */
void clew_print_timer(FILE *out, const struct clew_trace *trace, const struct clew_sleep *sleep);

#endif
