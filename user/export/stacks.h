/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The tree of stacks that an export is about. */
#ifndef CLEW_EXPORT_STACKS_H
#define CLEW_EXPORT_STACKS_H

#include "export/export.h"
#include "stacks/tree.h"

/* Adds up the stacks that the export is about. 0 or -ENOMEM; stacks_done() frees it in either
 * case. */
int stacks_make(struct stacks *stacks, const struct clew_export *export);
/* ---- stacks_chain.c: waits and operations by what they waited for ---- */

void stacks_chains(struct stacks *stacks, const struct clew_export *export,
		   const struct stacks_asked *asked);

#endif
