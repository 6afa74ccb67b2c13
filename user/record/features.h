/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds out by trying what this kernel offers clew. */
#ifndef CLEW_RECORD_FEATURES_H
#define CLEW_RECORD_FEATURES_H

#include <stdbool.h>
#include <stddef.h>

struct clew_feature {
	const char *name;
	const char *tier; /* "base": every causal edge; "kprobe", "fentry", "uprobe": more detail */
	const char *costs; /* what is lost without it, "" while it is there */
	bool available;
	char reason[512]; /* why not, "" if available */
	char *without; /* of "recording": "FEATURE: REASON; ..", the caller's; NULL: all is there */
};

#define CLEW_FEATURES_MOST 80

/* Tries everything. Returns how many features it has filled in. */
size_t clew_features_probe(struct clew_feature ret_features[CLEW_FEATURES_MOST]);

#endif
