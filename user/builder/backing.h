/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Files behind loop devices, and the tasks that wrote what went to them.
 */
#ifndef CLEW_BUILDER_BACKING_H
#define CLEW_BUILDER_BACKING_H

#include "base/map.h"
#include "builder/epoch.h"
#include "builder/findings.h"

struct clew_builder;

struct backing_table {
	struct clew_pages pending; /* names a position for a request that comes next; bio 0: none */
	struct map files;	   /* (inode, device) -> index in `backings` */
	struct map disks;	   /* loop device -> index in `backings` */
	struct backing *backings;
	uint32_t count, capacity;
	struct map places; /* (4096 bytes of a disk, disk) -> newest of its origins */
	struct backing_origin *origins;
	uint32_t origin_count, origin_capacity, free_origin;
};

/* A set of tasks that wrote what an upper request carried to a range of the loop device. */
struct build_origin {
	uint64_t sector;
	uint64_t bytes;
	uint64_t queued;
	uint64_t landed;
	uint32_t set;
};

/* True if a file is behind a loop device. */
bool build_is_backing(const struct clew_builder *builder, uint64_t inode, uint32_t device);
/* That disk; 0: it is behind none. */
uint32_t build_disk_over(const struct clew_builder *builder, uint64_t inode, uint32_t device);
/* True if a disk may be one with a file behind it. */
bool build_is_backed(uint32_t disk);
void build_feed_backing(struct clew_builder *builder, const struct clew_pages *record);
/* A request is issued that the last build_feed_backing() may have been for. */
int build_backing_issued(struct clew_builder *builder, const struct clew_request *record);
int build_origin_add(struct clew_builder *builder, uint32_t disk,
		     const struct build_origin *origin);
/* The tasks that wrote a page of such a file, for a bio that was queued at `at`; 0: none is known.
 */
int build_origin_take(struct clew_builder *builder, const struct file_range *page, uint64_t at,
		      uint32_t *ret_set);
/* Notes in `keep` the sets of all origins, see epoch_sets_keep(). */
void build_origins_keep(const struct clew_builder *builder, uint64_t *keep);
void build_backings_done(struct clew_builder *builder);
size_t build_backings_memory(const struct clew_builder *builder);

#endif
