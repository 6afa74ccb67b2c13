/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The answer of `clew what-if --try` and `--quota`: how much an operation grows with the calls that
 * were delayed, or with less of a CPU or a disk. */
#ifndef CLEW_ANSWERS_DELAY_TRIED_H
#define CLEW_ANSWERS_DELAY_TRIED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "delay/slope.h"
#include "format/json.h"

/* A limit that was set in some blocks. */
struct clew_tried_quota {
	const char *asked; /* NULL: none was */
	bool cpu;	   /* CPU time, ns; else bytes of disks */
	uint64_t limit;	   /* a second */
	/* In blocks without it, and in those with it. */
	uint64_t used[2], ns[2];
};

struct clew_tried_delay {
	const char *function; /* NULL: there was a quota */
	struct clew_tried_quota quota;
	/* The operation that was timed is one of these. */
	const char *span, *class, *operation;
	const char *others; /* names that fit as well, NULL none */
	const struct clew_delay_block *blocks;
	size_t count;
	double busy;	    /* share of the CPUs' time in which they had something to do */
	struct slope slope; /* of a quota the ratio */
	bool predicted;	    /* a capture was asked, too, .. */
	double prediction;  /* .. and says that */
};

void clew_json_tried_delay(struct clew_json *json, const struct clew_tried_delay *tried);
void clew_print_tried_delay(FILE *out, const struct clew_tried_delay *tried);

#endif
