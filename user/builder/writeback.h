/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Why data is written back, and which tasks dirtied it.
 */
#ifndef CLEW_BUILDER_WRITEBACK_H
#define CLEW_BUILDER_WRITEBACK_H

#include "base/map.h"
#include "base/vector.h"
#include "builder/findings.h"

struct clew_builder;
struct task;

/* Why something is written, as of the moment its bio was queued. */
struct why_written {
	uint64_t pass;	/* number of the pass over a file that it belongs to, 0 none */
	uint32_t task;	/* task that made it necessary, CLEW_NO_TASK none or unknown */
	uint8_t reason; /* enum clew_request_reason */
};

/* A task that dirtied much of a file system lately. */
#define BUILD_DIRTIERS 8u
struct dirtier {
	uint32_t task;
	uint64_t bytes; /* as of `at`; they decay with time */
	uint64_t at;
};

struct dirty_system {
	struct dirtier dirtiers[BUILD_DIRTIERS];
};

/* The task that last started the background writeback of a disk. */
struct background {
	uint64_t at;
	uint32_t task;
	bool throttled;
};

struct writeback_table {
	struct map orders; /* address of the kernel's writeback work -> index of a struct order */
	struct vector all_orders;
	struct map wakes; /* disk -> index of a struct background */
	struct vector all_wakes;
	struct map disks;   /* file system -> the disk its files are written to */
	struct map systems; /* file system -> index of a struct dirty_system */
	struct vector all_systems;
	uint64_t passes;
	uint32_t choices;
	size_t memory;
};

/* ---- writeback.c ---- */

int build_feed_writeback(struct clew_builder *builder, const struct clew_writeback *record);
/* Why a bio is queued, by what its task is doing. */
struct why_written build_why_written(struct clew_builder *builder, const struct clew_bio *record);
/* A task begins, or ends, to commit a transaction of a journal. */
int build_committing(struct clew_builder *builder, uint32_t task, bool begins);
/* A task begins to wait for a transaction, 0 none. */
int build_awaits(struct clew_builder *builder, uint32_t task, uint64_t transaction,
		 uint32_t device);
bool build_awaited(const struct task *task, uint64_t *ret_transaction, uint32_t *ret_device);
/* A worker begins another item. */
void build_flush_next(struct task *task);
void build_flush_done(struct clew_builder *builder, struct task *task);
void build_writebacks_done(struct clew_builder *builder);
size_t build_writebacks_memory(const struct clew_builder *builder);

/* ---- dirty.c ---- */

/* Finds or makes the entry of a key in a vector of items of `size`; NULL: no memory. */
void *writeback_entry(struct map *map, struct vector *vector, size_t size, uint64_t key);
const void *writeback_entry_find(const struct map *map, const struct vector *vector, uint64_t key);
int build_dirtied(struct clew_builder *builder, const struct clew_extent *record);
/* A task is made to wait, from now on, because too much is dirty. */
int build_throttled(struct clew_builder *builder, const struct task *task);

/* ns: a dirtier that starts background writeback queues the flusher's work item this soon, and
 * sleeps this soon if it is made to wait. */
#define WAKE_NEAR 10000000ull

#endif
