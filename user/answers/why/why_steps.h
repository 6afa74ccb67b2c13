/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The segments of a why as text in order of time, what a task waited for above it. */
#ifndef CLEW_ANSWERS_WHY_WHY_STEPS_H
#define CLEW_ANSWERS_WHY_WHY_STEPS_H

#include "explain/why.h"
#include <stdio.h>

/* `all`: print each segment, whatever their number. 0 or -ENOMEM. */
int clew_print_steps(FILE *out, const struct clew_trace *trace,
		     const struct clew_relations *relations, const struct clew_why *why, bool all);

#endif
