/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Logical spans as operations. See classes.h. */
#ifndef CLEW_EXPLAIN_SPAN_KINDS_H
#define CLEW_EXPLAIN_SPAN_KINDS_H

#include "explain/classes.h"

/*
 * Adds the logical spans of the chosen tasks that overlap from..to, ns, behind the operations of
 * kinds_find(), and counts their runs as a part of the work of the threads that they ran in. 0 or
 * -ENOMEM.
 */
int span_kinds_find(const struct clew_trace *trace, const struct clew_chosen *chosen, uint64_t from,
		    uint64_t to, struct vector *operations);

#endif
