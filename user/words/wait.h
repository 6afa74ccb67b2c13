/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The ends of a wait, the same in lists, JSON and SQL. */
#ifndef CLEW_WORDS_WAIT_H
#define CLEW_WORDS_WAIT_H

#include "trace/trace.h"

/* When a wait ended, at the latest with the capture, ns. */
uint64_t clew_wait_end(const struct clew_trace *trace, const struct clew_sleep *sleep);
/* "at the capture's end", or how long after the interval reading ended: behind "not over". */
const char *clew_end_words(const struct clew_trace *trace);
/* The time that its thread was ready after it, at most until the capture's end, ns. */
uint64_t clew_wait_runqueue(const struct clew_trace *trace, const struct clew_sleep *sleep);
/* "start", "end" or "both", of what is not in the capture; NULL: nothing. */
const char *clew_wait_open_name(unsigned open);

#endif
