/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* When two waits are for the same object. */
#ifndef CLEW_WORDS_WAIT_KEY_H
#define CLEW_WORDS_WAIT_KEY_H

#include "trace/trace.h"

#include "words/sums.h"

/* Waits for one object have equal keys, whatever their calls; waits for none, by kind and call. */
struct clew_sum_key clew_wait_object_key(const struct clew_trace *trace,
					 const struct clew_sleep *sleep);

/* Adds `ns` of a wait; the item is its index among the trace's sleeps. 0 or -ENOMEM. */
int clew_sums_add_wait(struct clew_sums *sums, struct clew_sum_key key, uint64_t ns,
		       const struct clew_trace *trace, const struct clew_sleep *sleep);

#endif
