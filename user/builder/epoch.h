/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The state of pages in the page cache: the tasks that wrote to them since they were
 * last clean, the bio that carries them, and the task that read them in.
 *
 * An epoch of a page begins when the page becomes dirty. It ends with the bio that
 * writes the page, or unwritten when the page leaves the page cache. A page may have
 * several epochs: while one is in flight the next one is open. Nothing is kept for a
 * page that is clean and was used. Calls come in the order of what they report.
 */
#ifndef CLEW_BUILDER_EPOCH_H
#define CLEW_BUILDER_EPOCH_H

#include "base/map.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EPOCH_PAGE_BITS 12
#define EPOCH_SETS_FEW	(1u << 18) /* so many sets are not worth a sweep */
#define EPOCH_SET_BYTES 128	   /* what a set takes, with the maps that find it */

/* A range of a file, in bytes. */
struct file_range {
	uint64_t inode;
	uint64_t offset;
	uint64_t bytes;
	uint32_t device;
};

/* A set of tasks. A set is known by its number; equal sets have equal numbers; 0 is the empty set.
 */
struct task_set {
	uint32_t parent; /* the set without `task`, which is its greatest */
	uint32_t task;
	uint32_t count; /* 0: it is free */
};

struct epoch;
struct chunk;
struct flight;

struct epoch_table {
	struct map files;  /* (inode, device) -> number of a file some of whose pages are known */
	struct map chunks; /* (index of 64 pages, file) -> struct chunk * */
	uint32_t *free_files;
	uint32_t file_count, free_file_count, free_file_capacity;
	uint64_t *file_taken;  /* by file: when a bio last took pages of it */
	uint64_t *file_used;   /* by file: when pages of it were last made known */
	uint32_t *file_chunks; /* by file: how many of its chunks there are */
	size_t file_capacity;
	struct map written;   /* task -> when its last write began */
	struct map hooked;    /* device -> 1: each write to a file of it is recorded */
	struct map set_nodes; /* (parent, task) -> set */
	struct map set_sums;  /* (set, task) -> the set with the task */
	struct task_set *sets;
	uint32_t set_count, set_capacity; /* free ones count */
	uint32_t set_free;		  /* the first, linked through `parent`; 0: there is none */
	uint32_t set_free_count;
	uint32_t set_kept; /* how many the last sweep kept */
	struct epoch *free_epochs;
	struct epoch_block *blocks;
	size_t epochs;	      /* how many there are */
	size_t epoch_blocks;  /* and how many blocks of them */
	size_t most;	      /* bytes that are to do, 0: no limit */
	uint64_t given_up;    /* ranges that were forgotten for want of room, and writers of them */
	uint64_t *uses_ended; /* by slot: until when uses may be missing; NULL: none are */
	size_t memory;
};

/* One range that a bio carries: `set` wrote it before the bio took it, `later` while it was in
 * flight. */
struct epoch_finding {
	uint64_t offset;
	uint64_t bytes;
	uint32_t set;
	uint32_t later;
	uint64_t begin; /* when it became dirty */
	bool known;
	bool guessed; /* `set` made a folio of several pages dirty, and need not have written this
			 one */
};

/* The ways in which folios become dirty. */
struct epoch_dirtying {
	uint32_t task;
	uint64_t begin, until; /* as below */
	bool own;	       /* by writes that have a record of their own, and by no others */
	bool large;	       /* they have several pages */
};

/* All return 0 or -ENOMEM. `begin`..`until`: the interval in which the event happened. */
/* *ret_dirtied: bytes of pages that were clean before a write that is known by now. A folio becomes
 * dirty as a whole; its other pages count when they are written to. */
int epoch_dirty(struct epoch_table *table, const struct file_range *range,
		const struct epoch_dirtying *by, uint64_t *ret_dirtied);
/* The pages became dirty once more without a write: what was written to them before still is to
 * reach the disk. */
int epoch_redirty(struct epoch_table *table, const struct file_range *range);
int epoch_write(struct epoch_table *table, const struct file_range *range, uint32_t task,
		uint64_t begin, uint64_t until, uint64_t *ret_dirtied);
/* `unused` is called for pages that were read in and never used, with the task that read them. */
typedef int (*epoch_unused)(void *context, uint64_t offset, uint64_t bytes, uint32_t asker);
int epoch_drop(struct epoch_table *table, const struct file_range *range, epoch_unused unused,
	       void *context);
/* The pages are empty now, in folios that stay as dirty as they were. */
int epoch_clear(struct epoch_table *table, const struct file_range *range);
int epoch_ask(struct epoch_table *table, const struct file_range *range, uint32_t task,
	      uint64_t at);
/* `used` is called for pages that were read in and not used before. */
typedef int (*epoch_used)(void *context, uint64_t offset, uint64_t bytes, uint32_t asker,
			  uint64_t asked_at);
int epoch_use(struct epoch_table *table, const struct file_range *range, epoch_used used,
	      void *context);
/* Uses of files in the inode's slot are not recorded from `at` on: of what was read in there
 * before it is unknown from then on whether it is used. */
int epoch_uses_end(struct epoch_table *table, uint64_t inode, uint64_t at);
/* A bio takes these pages: the oldest open epoch of each becomes its own. */
int epoch_take_off(struct epoch_table *table, const struct file_range *range, struct flight *flight,
		   uint64_t at);
/* A bio takes these pages to the journal: it has a copy of their epoch, which stays open. */
int epoch_copy_off(struct epoch_table *table, const struct file_range *range,
		   struct flight *flight);
/* The bio ended at `at`, UINT64_MAX unknown: what was written before may be in it. */
int epoch_land(struct epoch_table *table, const struct file_range *range,
	       const struct flight *flight, uint64_t at);
/* Calls `found` for all ranges that `flight` carries, in order of offset; `over`: their epochs are
 * dropped then. */
typedef int (*epoch_found)(void *context, const struct epoch_finding *finding);
int epoch_flight(struct epoch_table *table, const struct file_range *range,
		 const struct flight *flight, bool over, epoch_found found, void *context);
/* Calls `asked` for pages that were read in and are known to be unused still. */
typedef int (*epoch_asked)(void *context, const struct file_range *range, uint32_t asker,
			   uint64_t asked_at);
int epoch_each_unused(const struct epoch_table *table, epoch_asked asked, void *context);
/* Forgets the files that were used least recently if there is no room for more. */
void epoch_make_room(struct epoch_table *table);
/* Records were lost: drops what is known of all pages. */
void epoch_forget(struct epoch_table *table);
void epoch_done(struct epoch_table *table);
size_t epoch_memory(const struct epoch_table *table);

/* The set with a task, with the tasks of another set, or without them. UINT32_MAX: no memory. */
uint32_t epoch_set_with(struct epoch_table *table, uint32_t set, uint32_t task);
uint32_t epoch_set_union(struct epoch_table *table, uint32_t set, uint32_t other);
uint32_t epoch_set_without(struct epoch_table *table, uint32_t set, uint32_t other);
bool epoch_set_has(const struct epoch_table *table, uint32_t set, uint32_t task);
/* True if there are so many sets that a sweep is due. */
static inline bool epoch_sets_many(const struct epoch_table *table)
{
	uint32_t used = table->set_count - table->set_free_count;
	size_t few = table->most ? table->most / 8 / EPOCH_SET_BYTES : EPOCH_SETS_FEW;

	return used > (few < EPOCH_SETS_FEW ? few : EPOCH_SETS_FEW) &&
	       used > 2 * (uint64_t)table->set_kept;
}

/* Notes in `keep`, a bit for each of set_count sets, that a set and those below it stay. */
void epoch_sets_keep(const struct epoch_table *table, uint64_t *keep, uint32_t set);
/* Notes the sets that the epochs of all pages refer to. */
void epoch_keep_sets(const struct epoch_table *table, uint64_t *keep);
/* Frees all others. 0 or -ENOMEM, and then nothing is freed. */
int epoch_sets_sweep(struct epoch_table *table, const uint64_t *keep);
/* The tasks of a set in order; `tasks` has room for sets[set].count. */
uint32_t epoch_set_tasks(const struct epoch_table *table, uint32_t set, uint32_t *tasks);

#endif
