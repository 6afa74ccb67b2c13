/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Judges if a program that carries a probe would still do the same with somebody at it. */
#ifndef CLEW_RECORD_FUNCTIONS_PROBE_JUDGE_H
#define CLEW_RECORD_FUNCTIONS_PROBE_JUDGE_H

#include <stdbool.h>

struct clew_entries;
struct clew_probe;

/* All zero: no file is at hand. */
struct probe_judge {
	int descriptor;		      /* of the file at hand, the caller's */
	struct clew_entries *entries; /* of its functions, NULL: nothing asked for them yet */
	bool no_entries;	      /* it did, and they cannot be had */
	enum { NOP5_UNTRIED, NOP5_STAYS, NOP5_CALLED } nop5;
};

/* A file is at hand from here to probe_judge_end(). */
void probe_judge_begin(struct probe_judge *judge, int descriptor);
/* Why nobody may be at that probe of the file: a word, static. NULL: one may. */
const char *probe_judge_reason(struct probe_judge *judge, const struct clew_probe *probe);
void probe_judge_end(struct probe_judge *judge);

#endif
