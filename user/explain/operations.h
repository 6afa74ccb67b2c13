/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The waits that separate operations, for captures and causal traces alike.
 */
#ifndef CLEW_EXPLAIN_OPERATIONS_H
#define CLEW_EXPLAIN_OPERATIONS_H

#include "explain/chosen.h"
#include "explain/why.h"
#include "trace/idle.h"

/*
 * True if a list of waits leaves a wait out unless it is asked for: a wait for work, an idle kernel
 * thread, and time for which a program chose to sleep.
 */
bool wait_is_idle(const struct clew_trace *trace, const struct clew_sleep *sleep);
/* The same, and a wait of which the capture does not show what it is, or that nothing in it began
 * or ended. */
bool sleep_is_idle(const struct clew_trace *trace, const struct clew_sleep *sleep);

/* True if a wait separates a thread's operations: one for work, a rest, or one that reaches beyond
 * the capture on both sides. */
bool wait_separates(const struct clew_trace *trace, const struct clew_sleep *sleep);

/* The order of operations: negative if `a` comes first, as the longer or the earlier one. */
int clew_operation_compare(const struct clew_operation *a, const struct clew_operation *b);

#endif
