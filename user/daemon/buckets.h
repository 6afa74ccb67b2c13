/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counts lengths in buckets with fixed bounds, for a metric of type histogram. base/histogram.h is
 * more precise, but a metric needs the same bounds in each series.
 *
 * Invariant: memory is fixed. A length lies in the first bucket whose bound it does not exceed; the
 * last bucket has no bound.
 */
#ifndef CLEW_DAEMON_BUCKETS_H
#define CLEW_DAEMON_BUCKETS_H

#include <stdint.h>

#define BUCKETS_BOUNDS 19
#define BUCKETS	       (BUCKETS_BOUNDS + 1)

/* Ascending, from 10 us to 10 s. */
extern const struct bucket_bound {
	uint64_t ns;
	const char *seconds; /* as a label has it */
} buckets_bounds[BUCKETS_BOUNDS];

struct buckets {
	uint64_t counts[BUCKETS]; /* of each bucket alone */
	uint64_t count, ns;	  /* of all */
};

/* The bucket of a length. */
unsigned buckets_of(uint64_t ns);
void buckets_add(struct buckets *buckets, uint64_t ns);

#endif
