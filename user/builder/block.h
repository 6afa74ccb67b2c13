/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Bios and block requests.
 */
#ifndef CLEW_BUILDER_BLOCK_H
#define CLEW_BUILDER_BLOCK_H

#include "base/map.h"
#include "builder/findings.h"
#include "builder/writeback.h"

struct clew_builder;
struct flight;
struct wake;

/* Bits of bio.bi_opf and request.cmd_flags; they are part of the kernel's interface. */
#define BLOCK_OPERATION	  0xffu
#define BLOCK_READ	  0u
#define BLOCK_WRITE	  1u
#define BLOCK_FLUSH	  2u
#define BLOCK_META	  (1u << 12)
#define BLOCK_IDLE	  (1u << 15) /* more comes at once: for metadata, only what goes to a journal */
#define BLOCK_FUA	  (1u << 17)
#define BLOCK_PREFLUSH	  (1u << 18)
#define BLOCK_READ_AHEAD  (1u << 19)
#define BLOCK_SECTOR_BITS 9
#define BLOCK_LOOP_MAJOR  7u

/* A bio in flight. */
struct bio {
	uint64_t address;
	uint64_t sector;
	uint64_t queued;
	uint64_t inode, index;
	uint32_t bytes;
	uint32_t device;
	uint32_t operation;
	uint32_t file_device;
	uint32_t task;
	uint64_t upper;	 /* number of the request above, CLEW_NO_REQUEST none */
	uint64_t number; /* its own, where its device has no requests */
	/* when an I/O limit let it go, 0: none held it; the group that it is charged to, and the
	   one with the limit, 0 unknown */
	uint64_t released, group, limited;
	struct flight *flight; /* its pages, NULL none known */
	struct why_written why;
	struct bio *next;  /* the next one at this sector of this device, or in the free list */
	bool queued_again; /* the rest of a bio that was split */
	bool swap;	   /* it swaps pages in or out */
};

/* A request. `older` is the one that had its address before. */
struct request {
	struct clew_block_request block;
	uint64_t address;
	uint64_t allocated;
	uint64_t first_completed;
	uint64_t flushed;	/* when a cache flush that it waits for was issued */
	uint32_t done;		/* bytes */
	uint32_t covered;	/* bytes for which bios were queued below */
	uint64_t orphan;	/* address of its first bio, until that is recorded; 0 none */
	struct flight *flights; /* of its bios */
	uint64_t upper;
	bool ended;
	bool merged;			 /* into another request: it no longer exists */
	bool listed;			 /* in its device's list of issued requests */
	struct request *older, *newer;	 /* at its address */
	struct request *oldest;		 /* of the newest one at an address: the oldest one .. */
	uint32_t older_count;		 /* .. and how many older ones there are */
	struct request *next, *previous; /* in its device's list of issued requests */
};

struct disk_issue {
	uint64_t at;
	uint32_t task;
};

#define DISK_ISSUES 16u
struct disk {
	uint32_t device;
	uint32_t flush_task; /* task that last asked for a flush of its cache */
	struct why_written flush_why;
	uint64_t flush_queued;
	uint64_t flush_issued; /* the last time */
	bool flush_wanted;     /* since then */
	bool flush_by_fua;     /* .. by a write through the cache, perhaps without a flush */
	unsigned next_issue;
	struct disk_issue issues[DISK_ISSUES]; /* the latest, of a loop device */
	struct request *first, *last;	       /* issued, not ended */
	uint32_t orphans;		       /* of those: with an `orphan` */
};

/* A bio that an I/O limit has just let go, until its QUEUE record comes. */
struct block_limit {
	uint64_t bio; /* address, 0 none */
	uint64_t at, group, limited;
	uint32_t submitter;
};

#define BLOCK_LIMITS 16u
/* ns from a LIMIT record to the bio's QUEUE record, which one program sends. */
#define BLOCK_LIMIT_NEAR 20000000ull
struct block_limits {
	struct block_limit latest[BLOCK_LIMITS];
	unsigned next;
};

struct block_table {
	struct map bios;	/* address -> struct bio * */
	struct map places;	/* (sector, device) -> the newest struct bio * that begins there */
	struct map requests;	/* address -> struct request * */
	struct map disk_places; /* device -> index in `disks` */
	struct disk *disks;
	size_t disk_count, disk_capacity;
	struct bio *free_bios;
	struct block_limits limits;
	uint64_t numbers;
	size_t memory;
};

/* The link to a request. `begin`: when it was issued; `end`: when it was over for that wake. */
static inline struct clew_link block_link(const struct clew_block_request *block, uint64_t begin,
					  uint64_t end)
{
	bool writes = (block->operation & BLOCK_OPERATION) == BLOCK_WRITE;

	return (struct clew_link){
		.kind = CLEW_LINK_REQUEST,
		.evidence = CLEW_EVIDENCE_EXACT,
		.number = block->number,
		.at = block->queued,
		.begin = begin,
		.end = end,
		.released = block->released,
		.task = block->submitter,
		.device = block->device,
		.flags = (uint8_t)((block->swap ? CLEW_LINK_SWAP : 0) |
				   (writes ? CLEW_LINK_WRITE : 0)),
	};
}

/* ---- block_table.c ---- */

/* NULL: no such bio is in flight. */
struct bio *block_bio_find(const struct block_table *table, uint64_t address);
/* The bio that begins at a sector, or (`covers`) contains it. */
struct bio *block_bio_at(const struct block_table *table, uint32_t device, uint64_t sector,
			 bool covers);
void block_bio_forget(struct block_table *table, struct bio *bio);
/* Adds a bio to those at its sector, or removes it. */
int block_place_add(struct block_table *table, struct bio *bio);
void block_place_remove(struct block_table *table, struct bio *bio);
/* NULL: no memory. */
struct disk *block_disk(struct block_table *table, uint32_t device);
void build_blocks_done(struct clew_builder *builder);
size_t build_blocks_memory(const struct clew_builder *builder);

/* ---- block.c ---- */

int build_feed_bio(struct clew_builder *builder, const struct clew_bio *record);
/* A bio of direct I/O that is recorded when the request that it is a part of is issued. */
int block_feed_part(struct clew_builder *builder, const struct clew_request *record);

/* ---- limit.c ---- */

int build_feed_limit(struct clew_builder *builder, const struct clew_limit *record);
/* Gives a bio that is queued what its LIMIT record said, if it has one. */
void block_limit_take(struct clew_builder *builder, struct bio *bio);
/* A sleep was ended by a request: if an I/O limit held that back and nobody is known to have
 * submitted it, it was submitted before the sleep began. */
void build_limit_awaited(struct clew_builder *builder, const struct wake *wake,
			 const struct clew_sleep *sleep);

/* ---- request.c ---- */

int build_feed_request(struct clew_builder *builder, const struct clew_request *record);
/* The request at an address that had completed, in part at least, at `at`; NULL unknown. */
struct request *build_request_at(const struct clew_builder *builder, uint64_t address, uint64_t at);
struct clew_link build_request_link(const struct request *request, uint64_t at);
/*
 * A request may be issued before its first bio is recorded, as the clocks of CPUs differ
 * a little. Joins a bio to such a request. False: there is none.
 */
bool block_adopt(struct clew_builder *builder, struct bio *bio);
/* The number of the loop device's request that a bio serves, CLEW_NO_REQUEST none. */
uint64_t block_upper_of(struct clew_builder *builder, const struct bio *bio);
/* The same where the request's address is known. */
uint64_t block_upper_at(struct clew_builder *builder, uint64_t address, uint32_t bytes);
/* The loop device of the request that a task issued last before `at`, 0 none. */
uint32_t build_issued_before(const struct clew_builder *builder, uint32_t task, uint64_t at);
/* Emits all requests that have not been emitted. */
int build_blocks_finish(struct clew_builder *builder);

#endif
