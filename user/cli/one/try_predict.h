/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The slope that a capture predicts for `clew what-if --try`, and the operations of one that were
 * timed. */
#ifndef CLEW_CLI_ONE_TRY_PREDICT_H
#define CLEW_CLI_ONE_TRY_PREDICT_H

#include "cli/one/what_if_try.h"
#include "compare/timed.h"
#include "trace/trace.h"

/* The operations of a class, or the announced calls, that are asked for in a trace. With none,
 * it fails and names others. timed_done() in any case. Returns 0 or, after clew_fail(), an exit
 * status. */
int clew_try_find(const struct clew_try_values *values, const struct clew_trace *trace,
		  const char *title, struct timed *ret_timed);

/* The slope that a capture with the function and the operation predicts, for calls that take `ns`
 * longer. Returns 0 or, after clew_fail(), an exit status. */
int clew_try_predict(const struct clew_try_values *values, const char *operand, uint64_t ns,
		     double *ret_slope);

#endif
