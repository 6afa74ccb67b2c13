/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The answer of `blame`, as text and as JSON. */
#ifndef CLEW_ANSWERS_PATH_BLAME_H
#define CLEW_ANSWERS_PATH_BLAME_H

#include <stdio.h>

#include "analyse/sum/blame.h"

/* Writes a finished sum, about from..to, as text with the `top` longest pairs, or as JSON (NULL).
 * 0 or -ENOMEM. */
int clew_say_blame(FILE *out, struct clew_blame_sum *sum, clew_time from, clew_time to,
		   const uint32_t *top);

#endif
