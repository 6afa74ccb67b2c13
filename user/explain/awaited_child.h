/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The child process for which a wait is that nothing ends in the capture. */
#ifndef CLEW_EXPLAIN_AWAITED_CHILD_H
#define CLEW_EXPLAIN_AWAITED_CHILD_H

#include "trace/trace.h"

/*
 * The first thread of that child: the one that the call names, OBSERVED; or, where any child ends
 * the wait, the only one that is known to live, CANDIDATE. CLEW_NO_TASK: the wait is for something
 * else, is over, or may be for several children. Cost: each task once.
 */
uint32_t clew_awaited_child(const struct clew_trace *trace, const struct clew_sleep *sleep,
			    uint8_t *ret_evidence);

#endif
