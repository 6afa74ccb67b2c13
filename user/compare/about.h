/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The machines and the programs that captures are of. */
#ifndef CLEW_COMPARE_ABOUT_H
#define CLEW_COMPARE_ABOUT_H

#include "compare/compare.h"

/* The key of a capture's description of itself. */
const char *about_key(enum compare_about about);
/* Adds what a capture says of its machine, and the build ids of files. 0 or -ENOMEM. */
int about_add(struct compare *compare, enum compare_side_name side, const struct clew_trace *trace);
/* Finds the files that were built anew. 0 or -ENOMEM. */
int about_rebuilt(const struct compare *compare, struct compare_result *result);

#endif
