/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The state of pages in the page cache, as far as it can matter still: who wrote
 * them since they were last clean, which bio carries them, who asked for them.
 *
 * An epoch of a page begins when it becomes dirty and ends with the bio that writes
 * it, or unwritten when it leaves the page cache. A page may have several: while one
 * is on its way to the disk the next one is open. Nothing is kept of a page that is
 * clean and used. Calls come in the order in which things happened.
 */
#ifndef CLEW_BUILDER_EPOCH_H
#define CLEW_BUILDER_EPOCH_H

#include "base/map.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EPOCH_PAGE_BITS 12

/* A stretch of a file, in bytes. */
struct file_range {
	uint64_t inode;
	uint64_t offset;
	uint64_t bytes;
	uint32_t device;
};

/* A set of tasks, by its number: equal sets have equal numbers. 0: the empty one. */
struct task_set {
	uint32_t parent; /* the same without `task`, which is the greatest */
	uint32_t task;
	uint32_t count;
};

struct epoch;
struct chunk;
struct flight;

struct epoch_table {
	struct map files;  /* (inode, device) -> number of a file some of whose pages are known */
	struct map chunks; /* (index of 64 pages, file) -> struct chunk * */
	uint32_t *free_files;
	uint32_t file_count, free_file_count, free_file_capacity;
	uint64_t *file_taken;  /* by file: when pages of it last went on their way */
	uint32_t *file_chunks; /* by file: how many of its chunks there are */
	size_t file_capacity;
	struct map written;   /* task -> when its last write began */
	struct map hooked;    /* device -> 1: each write to a file of it is told of */
	struct map set_nodes; /* (parent, task) -> set */
	struct map set_sums;  /* (set, task) -> the set with the task */
	struct task_set *sets;
	uint32_t set_count, set_capacity;
	struct epoch *free_epochs;
	struct epoch_block *blocks;
	size_t epochs; /* how many there are */
	uint64_t given_up;
	size_t memory;
};

/* One stretch of what a bio carries: `set` wrote it, `later` wrote it while it was on its way. */
struct epoch_finding {
	uint64_t offset;
	uint64_t bytes;
	uint32_t set;
	uint32_t later;
	uint64_t begin; /* when it became dirty */
	bool known;
};

/* All return 0 or -ENOMEM. `begin`..`told`: the event's time. */
/* `own`: by writes that are told apart, and no other. */
int epoch_dirty(struct epoch_table *table, const struct file_range *range, uint32_t task,
		uint64_t begin, uint64_t told, bool own);
int epoch_write(struct epoch_table *table, const struct file_range *range, uint32_t task,
		uint64_t begin, uint64_t told);
/* `unused` is called for what was asked for and never used, with who asked. */
typedef int (*epoch_unused)(void *context, uint64_t offset, uint64_t bytes, uint32_t asker);
int epoch_drop(struct epoch_table *table, const struct file_range *range, epoch_unused unused,
	       void *context);
/* The pages are empty now, in folios that stay as dirty as they were. */
int epoch_clear(struct epoch_table *table, const struct file_range *range);
int epoch_ask(struct epoch_table *table, const struct file_range *range, uint32_t task,
	      uint64_t at);
/* `used` is called for what somebody asked for and nobody had used yet. */
typedef int (*epoch_used)(void *context, uint64_t offset, uint64_t bytes, uint32_t asker,
			  uint64_t asked_at);
int epoch_use(struct epoch_table *table, const struct file_range *range, epoch_used used,
	      void *context);
/* A bio with these pages is on its way: the oldest open epoch of each is its. */
int epoch_take_off(struct epoch_table *table, const struct file_range *range, struct flight *flight,
		   uint64_t at);
/* They arrived at `at`, UINT64_MAX never: what was written before may be in them. */
int epoch_land(struct epoch_table *table, const struct file_range *range,
	       const struct flight *flight, uint64_t at);
/* What of an epoch is on its way in `flight`, in order of place, all of it; `over`: it is forgotten
 * then. */
typedef int (*epoch_found)(void *context, const struct epoch_finding *finding);
int epoch_flight(struct epoch_table *table, const struct file_range *range,
		 const struct flight *flight, bool over, epoch_found found, void *context);
/* What was asked for and is unused still. */
typedef int (*epoch_asked)(void *context, const struct file_range *range, uint32_t asker,
			   uint64_t asked_at);
int epoch_each_unused(const struct epoch_table *table, epoch_asked asked, void *context);
/* Something was lost: nothing is known of any page any more. */
void epoch_forget(struct epoch_table *table);
void epoch_done(struct epoch_table *table);
size_t epoch_memory(const struct epoch_table *table);

/* The set and one more task, or one more set, or without what is in another. UINT32_MAX: no memory.
 */
uint32_t epoch_set_with(struct epoch_table *table, uint32_t set, uint32_t task);
uint32_t epoch_set_union(struct epoch_table *table, uint32_t set, uint32_t other);
uint32_t epoch_set_without(struct epoch_table *table, uint32_t set, uint32_t other);
bool epoch_set_has(const struct epoch_table *table, uint32_t set, uint32_t task);
/* Its tasks in order; `tasks` has room for sets[set].count. */
uint32_t epoch_set_tasks(const struct epoch_table *table, uint32_t set, uint32_t *tasks);

#endif
