/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pages of files on their way between the page cache and a disk.
 */
#ifndef CLEW_BUILDER_PAGES_H
#define CLEW_BUILDER_PAGES_H

#include "base/map.h"
#include "base/vector.h"
#include "builder/epoch.h"
#include "builder/evicted.h"
#include "builder/findings.h"
#include "builder/page_queue.h"
#include "builder/writeback.h"

struct bio;
struct clew_builder;

/* ns: extents and flights wait this long, until nothing that happened before them is still to
 * come. */
#define BUILD_PAGES_GRACE 1000000000ull
/* ns: an upper request ends at most this long after all that was made of it below. */
#define BUILD_UPPER_MOST 3000000000ull

/* A range of a file in a bio. */
struct part {
	struct file_range range;
	uint32_t set; /* metadata: the tasks that touched the block since it was last written */
	uint32_t at;  /* position in the bio, bytes */
};

/* The pages of a bio in flight. They are kept until their writers are known. */
struct flight {
	struct flight *next;			  /* of its request */
	struct flight *list_next, *list_previous; /* of all flights */
	uint64_t queued;
	uint64_t landed; /* 0: it is in flight still; CLEW_TIME_OPEN: its end will not be seen */
	uint64_t sector;
	uint32_t bytes;
	uint32_t task;
	uint32_t disk;
	uint64_t request; /* number, CLEW_NO_REQUEST none yet */
	uint32_t part_count, part_capacity;
	struct part *parts;
	struct why_written why;
	bool write;
	bool metadata; /* pages of a disk with a journal: the journal names their writers */
	bool direct;   /* from or to the task's own memory */
	bool journal;  /* it takes its pages to the journal, and they stay dirty */
	bool frozen;   /* with `journal`: as they were before some of their writers wrote */
	bool squeezed; /* compressed: its pages are more than its bytes, and all of them lie where
			  it begins */
};

enum flight_stage { FLIGHT_TAKES_OFF, FLIGHT_LANDS, FLIGHT_SETTLED };

struct page_table {
	struct epoch_table epochs;
	struct page_queue queue;
	struct evicted evicted;
	struct clew_extent *free_extents; /* linked through `inode` */
	struct flight *free_flights, *flights;
	struct map calls;      /* device -> 1: what calls write to files of it is recorded */
	struct map sent;       /* (pass, writer) -> 1: that edge has been emitted */
	struct vector writers; /* uint32_t; of one finding */
	size_t memory;
};

/* ---- flight.c ---- */

/* The pages of a bio that is queued; *ret_flight NULL: none are known, or nobody wants to know. */
int build_flight_new(struct clew_builder *builder, const struct clew_bio *record,
		     const struct bio *bio, struct flight **ret_flight);
int build_feed_pages(struct clew_builder *builder, const struct clew_pages *record);
/* The first bytes of its bio go on in another bio. */
int build_flight_split(struct clew_builder *builder, struct flight *whole, uint32_t bytes,
		       struct flight **ret_front);
/* Its bio ends at that moment; CLEW_TIME_OPEN: the end was not seen. */
int build_flight_land(struct clew_builder *builder, struct flight *flight, uint64_t at);
/* A request of direct I/O. On a file behind a loop device its origins are known a little later. */
int build_flight_direct(struct clew_builder *builder, const struct clew_block_request *block,
			uint64_t offset);
void flight_free(struct page_table *table, struct flight *flight);
void flights_done(struct page_table *table);

/* ---- flight_stage.c ---- */

/* Does what a flight's stage asks for, now that all that happened before is known. */
int flight_advance(struct clew_builder *builder, struct flight *flight, enum flight_stage stage);

/* ---- set_sweep.c ---- */

/* Frees the sets of writers that nothing refers to. Only between records. 0 or -ENOMEM. */
int build_sets_sweep(struct clew_builder *builder);

/* ---- pages.c ---- */

int build_feed_extent(struct clew_builder *builder, const struct clew_extent *record);
/* Handles what happened up to BUILD_PAGES_GRACE before `now`, or everything. */
int build_pages_drain(struct clew_builder *builder, uint64_t now, bool all);
/* Records were lost. */
int build_pages_lost(struct clew_builder *builder);
void build_pages_done(struct clew_builder *builder);
size_t build_pages_memory(const struct clew_builder *builder);

#endif
