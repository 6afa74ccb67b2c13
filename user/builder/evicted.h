/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pages of files that left the page cache because a group of tasks had reached its memory limit,
 * until they come back or the file loses them.
 */
#ifndef CLEW_BUILDER_EVICTED_H
#define CLEW_BUILDER_EVICTED_H

#include "base/map.h"
#include "builder/epoch.h"

struct evicted {
	struct map files;  /* (inode, device) -> its number */
	struct map chunks; /* (file << 40 | chunk, 0) -> bits of 64 pages */
};

/* 0 or -ENOMEM. */
int evicted_add(struct evicted *evicted, const struct file_range *range);
/*
 * Takes the pages of a range out. `take` gets each run of those that were there, in order; NULL:
 * nobody wants to know. Returns 0 or what `take` returned.
 */
int evicted_remove(struct evicted *evicted, const struct file_range *range,
		   int (*take)(void *context, uint64_t offset, uint64_t bytes), void *context);
/* Forgets all; it can be used again. */
void evicted_done(struct evicted *evicted);

#endif
