/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The keys of clew latency --live: how groups are sorted, and which are shown. */
#ifndef CLEW_CLI_LATENCY_LATENCY_KEYS_H
#define CLEW_CLI_LATENCY_LATENCY_KEYS_H

#include <stdio.h>

#include "explain/latency.h"

#define CLEW_LATENCY_FILTER 64 /* bytes with the NUL */

struct clew_latency_keys {
	struct clew_latency_view view; /* its filter is the text below, or NULL */
	char filter[CLEW_LATENCY_FILTER];
	bool typing; /* keys go to the filter */
	bool frozen;
	bool quit;
};

/* Takes the keys that were pressed. True: something else is to be shown. */
bool clew_latency_keys_read(struct clew_latency_keys *keys);
/* Prints a line that says which keys there are and what they are set to. */
void clew_latency_keys_print(FILE *out, const struct clew_latency_keys *keys);

#endif
