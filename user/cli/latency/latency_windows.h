/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Times of waits of a long capture, in windows. */
#ifndef CLEW_CLI_LATENCY_LATENCY_WINDOWS_H
#define CLEW_CLI_LATENCY_LATENCY_WINDOWS_H

#include "answers/latency/latency.h"
#include "cli/operand/selection.h"

/*
 * Adds the times of a long capture. *ret_names: a trace with its names; NULL: nothing was done, as
 * the operand is no long capture, or the question needs the capture in one piece. If `by_given` is
 * false and the capture has no functions, `options->by` is set to waits by kind. Returns 0 or,
 * after clew_fail(), an exit status.
 */
int clew_latency_in_windows(const char *operand, struct clew_selection *selection, bool *by_given,
			    struct clew_latency_options *options, struct clew_latency *latency,
			    struct clew_latency_left_out *left_out, struct clew_trace **ret_names);

#endif
