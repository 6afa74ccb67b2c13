/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Text about running and ready segments that comes behind the words of their group: calls and
 * faults, samples, and traced functions.
 */
#ifndef CLEW_ANSWERS_WHY_DETAILS_H
#define CLEW_ANSWERS_WHY_DETAILS_H

#include "explain/why.h"
#include "trace/trace.h"

/* Appends it to `text`, which is freed. NULL: `text` was NULL, or no memory. */
char *clew_details_append(char *text, const struct clew_trace *trace,
			  const struct clew_segment *const *segments, size_t count);

#endif
