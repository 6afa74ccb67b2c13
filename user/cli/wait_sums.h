/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Waits added up by object, kind, task, call or holder. */
#ifndef CLEW_CLI_WAIT_SUMS_H
#define CLEW_CLI_WAIT_SUMS_H

#include "cli/view.h"
#include "trace/trace.h"

/*
 * Adds the part of a wait within the view's window to the sums. By holder, each of its holders has
 * the time for which it held. 0 or -ENOMEM.
 */
int clew_wait_sums_add(struct clew_sums *sums, const struct clew_view *view,
		       const struct clew_trace *trace, const struct clew_sleep *sleep);

/* Names of the groups; the context is a struct clew_wait_names. */
struct clew_wait_names {
	const struct clew_trace *trace;
	const struct clew_view *view;
};
struct clew_sums_names clew_wait_sums_names(struct clew_wait_names *names);

#endif
