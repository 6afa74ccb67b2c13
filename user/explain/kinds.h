/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds operations of all kinds. See classes.h. */
#ifndef CLEW_EXPLAIN_KINDS_H
#define CLEW_EXPLAIN_KINDS_H

#include "explain/classes.h"

/*
 * Adds the operations of the chosen tasks that overlap from..to, ns, as struct clew_kind_operation.
 * Operations of a long capture that end behind clew_trace_works_until() are left out. *ret_busy: ns
 * of the longest life of a command in which its first thread did not wait for work. 0 or -ENOMEM.
 */
int kinds_find(const struct clew_trace *trace, const struct clew_chosen *chosen, uint64_t from,
	       uint64_t to, struct vector *operations, uint64_t *ret_busy);

#endif
