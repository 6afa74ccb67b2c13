/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Calls of traced functions while they are recorded, by callsite path: each is put into its group
 * as soon as it is over and it is known what its time was.
 */
#ifndef CLEW_CLI_LATENCY_LATENCY_CALLS_H
#define CLEW_CLI_LATENCY_LATENCY_CALLS_H

#include "answers/latency/latency.h"
#include "cli/operand/selection.h"

/* The findings that it needs, besides those that name tasks and functions. */
#define CLEW_LATENCY_CALLS_WANT                                                                    \
	(CLEW_FINDING_BIT(CLEW_FINDING_ENTERED) | CLEW_FINDING_BIT(CLEW_FINDING_FRAME) |           \
	 CLEW_FINDING_BIT(CLEW_FINDING_RUN) | CLEW_FINDING_BIT(CLEW_FINDING_READY) |               \
	 CLEW_FINDING_BIT(CLEW_FINDING_SLEEP))

struct clew_latency_calls;

/* `tasks`: what names tasks and functions, and may still grow; all pointers are the caller's. 0 or
 * -ENOMEM. */
int clew_latency_calls_new(const struct clew_trace *tasks, struct clew_selection *selection,
			   struct clew_latency *latency, struct clew_latency_names *names,
			   struct clew_latency_calls **ret_calls);
/* Takes a finding; those that it does not want are ignored. 0 or -ENOMEM. */
int clew_latency_calls_take(struct clew_latency_calls *calls, struct clew_finding finding);
/* No finding comes any more. 0 or -ENOMEM. */
int clew_latency_calls_finish(struct clew_latency_calls *calls);
void clew_latency_calls_free(struct clew_latency_calls *calls);

#endif
