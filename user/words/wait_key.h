/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* When two waits are for the same object. */
#ifndef CLEW_WORDS_WAIT_KEY_H
#define CLEW_WORDS_WAIT_KEY_H

#include "trace/trace.h"

#include "words/sums.h"

/* Waits for one object have equal keys, whatever their calls; waits for none, by kind and call. */
struct clew_sum_key clew_wait_object_key(const struct clew_trace *trace,
					 const struct clew_sleep *sleep);

#endif
