/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The control groups of whom an answer of `why` names, where these are others than the asked one's.
 */
#ifndef CLEW_ANSWERS_WHY_OTHER_GROUPS_H
#define CLEW_ANSWERS_WHY_OTHER_GROUPS_H

#include "explain/why.h"
#include <stdio.h>

/*
 * Prints a line for each group or container that the asked thread is not in, with its tasks that
 * had at least a hundredth of the time, those with most first. Nothing for the root group, where no
 * group but its own has such tasks, and without memory.
 */
void clew_print_other_groups(FILE *out, const struct clew_trace *trace, const struct clew_why *why);

#endif
