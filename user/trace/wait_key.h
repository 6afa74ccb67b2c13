/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* When two waits are for the same object. */
#ifndef CLEW_TRACE_WAIT_KEY_H
#define CLEW_TRACE_WAIT_KEY_H

#include "trace/trace.h"

struct clew_wait_key {
	uint64_t parts[3];
};

/*
 * True if a wait's object is what it waits for. A page fault and a stop happen in the
 * middle of a call, and are not waits for that call's object.
 */
bool clew_waits_for_object(const struct clew_sleep *sleep);

/* Waits for one object have equal keys, whatever their calls; waits for none, by kind and call. */
struct clew_wait_key clew_wait_key(const struct clew_trace *trace, const struct clew_sleep *sleep);

#endif
