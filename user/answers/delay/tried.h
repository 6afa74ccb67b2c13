/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The answer of `clew what-if --try`: how much an operation grows with the calls that were delayed.
 */
#ifndef CLEW_ANSWERS_DELAY_TRIED_H
#define CLEW_ANSWERS_DELAY_TRIED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "delay/slope.h"
#include "format/json.h"

struct clew_tried_delay {
	const char *function, *span;
	const struct clew_delay_block *blocks;
	size_t count;
	double busy; /* share of the CPUs' time in which they had something to do */
	struct slope slope;
	bool predicted;	   /* a capture was asked, too, .. */
	double prediction; /* .. and says that */
};

void clew_json_tried_delay(struct clew_json *json, const struct clew_tried_delay *tried);
void clew_print_tried_delay(FILE *out, const struct clew_tried_delay *tried);

#endif
