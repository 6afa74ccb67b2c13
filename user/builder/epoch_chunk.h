/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where the epochs of a file's pages are kept. See epoch.h.
 *
 * The pages of a file are kept in chunks of 64, and in a chunk those with equal
 * state in one segment: a file written in one go takes a segment a chunk. Segments
 * lie in order of place and do not overlap.
 */
#ifndef CLEW_BUILDER_EPOCH_CHUNK_H
#define CLEW_BUILDER_EPOCH_CHUNK_H

#include "builder/epoch.h"

#define CHUNK_BITS  6u
#define CHUNK_PAGES (1u << CHUNK_BITS)

struct epoch {
	uint64_t begin, told;		  /* of its becoming dirty */
	uint64_t write_begin, write_told; /* of the latest write */
	struct epoch *next;		  /* a later one of the page */
	const struct flight *flight;	  /* that carries it; NULL: none yet */
	uint32_t opener;
	uint32_t set;	     /* who wrote to the page in it */
	uint32_t set_before; /* the same without the latest write */
	uint32_t writer;     /* whose that is */
	uint32_t doubtful; /* of set_before: of whose writes it is not known before `doubtful_told`
			      that they were on this page */
	uint64_t doubtful_told;
	uint32_t later; /* who wrote to the page while it was carried */
	bool opened;	/* it was seen to become dirty */
	bool landed;	/* what carried it has arrived */
	bool movable;	/* the latest write may turn out to be the next epoch's */
	bool began; /* the latest event, a write if there is one, began on this page: that moment is
		       its own */
};

struct segment {
	uint8_t first, end; /* pages in the chunk */
	bool used;
	uint32_t asker; /* who brought it into the page cache, 0 unknown */
	uint64_t asked_at;
	struct epoch *epochs; /* in order */
};

struct chunk {
	uint64_t index;
	uint32_t file;
	uint16_t count, capacity;
	struct segment *segments;
};

/* What is done to the segments of a range. */
struct epoch_visit {
	const struct file_range *range;
	int (*segment)(struct epoch_table *table, struct segment *segment, uint64_t offset,
		       struct epoch_visit *visit);
	bool make;  /* segments where there are none */
	bool parts; /* the range's first page from the others, where something is on its way */
	uint32_t task;
	uint64_t begin, told;
	uint64_t taken;	  /* when pages of the file last went on their way */
	uint64_t written; /* when the task last began to write to any file */
	uint64_t landed;  /* UINT64_MAX: not in the capture */
	const struct flight *flight;
	void *callback, *context;
};

/* NULL: no memory. */
struct epoch *epoch_new(struct epoch_table *table);
void epoch_remove(struct epoch_table *table, struct epoch **place);

/* The first that no bio carries yet. */
static inline struct epoch **epoch_first_open(struct segment *segment)
{
	struct epoch **place = &segment->epochs;

	while (*place && (*place)->flight)
		place = &(*place)->next;
	return place;
}

static inline struct epoch *epoch_last(const struct segment *segment)
{
	struct epoch *epoch = segment->epochs;

	while (epoch && epoch->next)
		epoch = epoch->next;
	return epoch;
}

/* 0 or -ENOMEM. UINT32_MAX: no page of the file is known, and none is to be made. */
int epoch_file_number(struct epoch_table *table, const struct file_range *range, bool make,
		      uint32_t *ret_file);

/* NULL: nothing is known there. */
struct chunk *epoch_chunk_find(const struct epoch_table *table, uint32_t file, uint64_t index);
/* No segment lies on both sides of `page` any more. 0 or -ENOMEM. */
int epoch_chunk_cut(struct epoch_table *table, struct chunk *chunk, unsigned page);
/* Drops segments that say nothing, and the chunk with the last of them. */
void epoch_chunk_drop_empty(struct epoch_table *table, const struct file_range *range,
			    struct chunk *chunk);

/* The page behind the last; no more than can be true. */
uint64_t epoch_page_end(const struct file_range *range);
/* Calls visit->segment for each segment of visit->range; its error, or -ENOMEM. */
int epoch_visit_range(struct epoch_table *table, struct epoch_visit *visit);

/* Forget: nothing is known of any page any more. Done: nor is any memory kept for it. */
void epoch_chunks_forget(struct epoch_table *table);
void epoch_chunks_done(struct epoch_table *table);

#endif
