/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counts how long disks took to answer requests, by disk, operation and reason.
 *
 * Invariant: memory is fixed. The first ANSWERS_MOST of these triples have sums of their own, and
 * all others share one. A triple keeps its sums, so that they never fall.
 */
#ifndef CLEW_DAEMON_ANSWERS_H
#define CLEW_DAEMON_ANSWERS_H

#include <stddef.h>

#include "builder/findings.h"
#include "daemon/buckets.h"

#define ANSWERS_MOST 50

struct answers_of {
	uint32_t device;
	const char *operation, *reason; /* words of <clew/tokens.h>; both NULL: of all others */
	struct buckets buckets;
};

struct answers {
	struct answers_of of[ANSWERS_MOST + 1];
	size_t count;
};

/* Adds a request that is over, unless it is not known when it was queued. A write behind which the
 * disk is flushed counts when it is written, and the flush by itself. */
void answers_add(struct answers *answers, const struct clew_block_request *request);

#endif
