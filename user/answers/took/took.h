/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The last lines of `clew record -- COMMAND`: what the command took, and what for. */
#ifndef CLEW_ANSWERS_TOOK_TOOK_H
#define CLEW_ANSWERS_TOOK_TOOK_H

#include <stdint.h>
#include <stdio.h>

#include "live/took.h"
#include "trace/trace.h"

struct clew_took_answer {
	const struct took *took;
	const struct clew_trace *names; /* identities, and nothing else */
	uint64_t to;			/* when the command ended */
	const char *fault;		/* why the sums are not what it took; NULL: they are */
	const char *command;		/* in words */
	const char *output;		/* the capture */
};

void clew_print_took(FILE *out, const struct clew_took_answer *answer);

#endif
